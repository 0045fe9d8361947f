//! Takes an input through its turn: open, handler, commit, and what comes after.
//!
//! A handler runs against the state as it stands and changes nothing by itself. Only the commit does; a turn that fails
//! before it leaves nothing. What a failure means is decided by its kind: run again, wait, or park; see `trouble`.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use self::after::After;
pub(crate) use self::cache::StateCache;
use self::trouble::{Failure, Kind, Trouble};
pub(crate) use self::unheard::Unheard;
use crate::clock::{Clock, Stopwatch};
use crate::dialogue::Script;
use crate::effects::Effects;
use crate::failpoints;
use crate::key::DialogueKey;
use crate::mailbox::{Letter, Reader};
use crate::outbox::Courier;
use crate::schedule::Wakeup;
use crate::store::{
    Commit, Committed, ConversationRow, EffectRow, Epoch, Mark, Opened, OutboxRow, Refusal, Store, StoreError, Stored,
    Taken, Transition, Version,
};
use crate::turn::{Context, Event, Hearing, Moment, Outcome, TurnError};

mod after;
mod cache;
mod letters;
mod moment;
mod report;
mod trouble;
mod unheard;

/// How turns are run, and what happens when they fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnSettings {
    /// How long a handler may take.
    pub deadline: Duration,
    /// How often a failing turn is tried before it is parked.
    pub attempts: u32,
    /// The wait before the second try; it doubles with each.
    pub backoff: Duration,
    /// How many conversations' states are held in memory.
    pub cached: usize,
}

impl Default for TurnSettings {
    fn default() -> Self {
        Self { deadline: Duration::from_secs(30), attempts: 3, backoff: Duration::from_millis(250), cached: 4096 }
    }
}

/// Everything a turn needs.
pub(crate) struct Engine {
    pub(crate) epoch: Epoch,
    pub(crate) script: Arc<Script>,
    pub(crate) context: Arc<Context>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Clock,
    pub(crate) courier: Courier,
    pub(crate) effects: Effects,
    pub(crate) wakeup: Wakeup,
    pub(crate) settings: TurnSettings,
    pub(crate) cache: StateCache,
    pub(crate) unheard: Unheard,
    /// Ended when the lease is lost: nothing more may be written.
    pub(crate) lost: CancellationToken,
    /// Ended when the stop's deadline is over: turns that wait for a store give up; their inputs stay in the inbox.
    pub(crate) cut: CancellationToken,
}

/// One input and how far its turn has come.
struct Work<'a> {
    key: &'a DialogueKey,
    /// What it arrived as; empty for a turn without an input of its own.
    letters: &'a [Letter],
    event: Event,
    takes: Vec<Taken>,
    refusal: Option<Refusal>,
    refusals: u32,
    failures: u32,
    waits: u32,
    /// It waits for another bot that is at work in the conversation.
    is_locked_out: bool,
    /// What was stored has been set aside for this input: that does not help a second time.
    is_set_aside: bool,
    /// A commit from this version may have happened without its answer: the next look asks the store, and not the cache.
    unsure_from: Option<Version>,
}

impl Reader for Engine {
    fn read<'a>(&'a self, key: &'a DialogueKey, letters: Vec<Letter>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let decided = AssertUnwindSafe(self.take(key, &letters)).catch_unwind().await.is_ok();
            if !decided {
                tracing::error!(%key, "an input could not even be parked, for something panicked; it waits for the next start");
            }
            // Its turn ends undecided only when the bot stops: then a fresh update stays with Telegram.
            if decided && !self.lost.is_cancelled() && !self.cut.is_cancelled() {
                letters.iter().for_each(Letter::durable);
            }
            self.wakeup.done(key, &letters);
        })
    }
}

impl<'a> Work<'a> {
    fn new(key: &'a DialogueKey, letters: &'a [Letter], event: Event) -> Self {
        Self {
            key,
            letters,
            event,
            takes: letters.iter().filter_map(Letter::taken).collect(),
            refusal: None,
            refusals: 0,
            failures: 0,
            waits: 0,
            is_locked_out: false,
            is_set_aside: false,
            unsure_from: None,
        }
    }

    fn mark(&self) -> Option<&Mark> {
        self.takes.iter().find_map(|taken| match taken {
            Taken::Update { mark, .. } | Taken::Fresh(mark) => Some(mark),
            _ => None,
        })
    }
}

impl Engine {
    /// Takes an input through its turn. A panic outside of its handler is a failed turn as well.
    async fn take(&self, key: &DialogueKey, letters: &[Letter]) {
        let event = match letters::event(letters) {
            Ok(event) => event,
            Err(reason) => return self.park_unread(key, letters, Kind::Input.because(reason)).await,
        };
        for failures in 1.. {
            let run = self.run(Work::new(key, letters, event.clone()));
            let Err(panic) = AssertUnwindSafe(run).catch_unwind().await else { return };
            self.cache.forget(key);
            metrics::counter!("opora_turn_failures_total").increment(1);
            let failure = Kind::Panic.because(format!("its turn panicked: {}", report::panic_message(&*panic)));
            if failures >= self.settings.attempts {
                return self.give_up(Work { failures, ..Work::new(key, letters, event) }, failure).await;
            }
            self.try_again(key, failures, failure).await;
        }
    }

    /// One try: nothing of it remains unless it commits.
    async fn attempt(&self, work: &mut Work<'_>) -> Result<(), Trouble> {
        let done = self.turn(work).await;
        let has_committed = matches!(done, Ok(true));
        if !has_committed && let Err(error) = self.store.leave(self.epoch, work.key).await {
            // It runs out by itself.
            tracing::debug!(key = %work.key, %error, "a conversation could not be left");
        }
        done.map(drop)
    }

    /// One try; whether there was anything to commit.
    async fn turn(&self, work: &mut Work<'_>) -> Result<bool, Trouble> {
        let (version, stored) = self.open(work).await?;
        // Nothing marks a turn without an input as done but the version, which only this conversation's turns raise.
        if work.takes.is_empty() && work.unsure_from.is_some_and(|from| version > from) {
            return Err(Trouble::Taken);
        }
        failpoints::hit(failpoints::TURN_BEFORE_HANDLER).await;
        let (watch, now) = (Stopwatch::start(), self.clock.now());
        let moment = Moment {
            key: work.key.clone(),
            version,
            stored: stored.clone(),
            event: work.event.clone(),
            now,
            refusal: work.refusal.clone(),
            context: Arc::clone(&self.context),
            place: work.event.update().filter(|_| self.store.is_shared()).and_then(|update| letters::place(update)),
        };
        work.letters.iter().for_each(|letter| letter.in_hand(true));
        let handled = self.handle(moment).await;
        work.letters.iter().for_each(|letter| letter.in_hand(false));
        let outcome = match handled {
            Ok(outcome) => outcome,
            Err(failure) if failure.kind == Kind::State => {
                let row = |stored| ConversationRow { key: work.key.clone(), version, stored, updated_at: now };
                return Err(Trouble::Unreadable(stored.map(|stored| Box::new(row(Some(stored)))), failure));
            }
            Err(failure) if failure.kind == Kind::Away => {
                return Err(Trouble::Wait(StoreError::Unavailable(failure.words.into())));
            }
            Err(failure) => return Err(Trouble::Failed(failure)),
        };
        let took = watch.elapsed();
        failpoints::hit(failpoints::TURN_AFTER_HANDLER).await;
        if matches!(work.event, Event::Expired) && work.takes.is_empty() && outcome.changes_nothing() {
            self.cache.put(work.key, version, stored);
            return Ok(false);
        }
        let after = After::of(&outcome, stored, work.key, now);
        if let Hearing::Unheard(reason) = &outcome.hearing
            && self.unheard.admits_row()
        {
            return Err(Trouble::Unheard(reason.clone()));
        }
        let (moved, hearing, lost_result) = (outcome.transition.clone(), outcome.hearing, outcome.lost_result);
        let commit = Commit {
            key: work.key.clone(),
            from: version,
            takes: work.takes.clone(),
            state: outcome.state,
            outgoing: outcome.outgoing,
            timers: outcome.timers,
            effects: outcome.effects,
            transition: outcome.transition.map(|(from, to, by)| Transition {
                from,
                to,
                by: by.into(),
                took_us: micros(took),
            }),
            writes: outcome.writes,
            at: now,
        };
        failpoints::hit(failpoints::TURN_BEFORE_COMMIT).await;
        let committing = Stopwatch::start();
        let committed = self.store.commit(self.epoch, commit).await.map_err(|error| {
            if matches!(error, StoreError::Unavailable(_)) {
                work.unsure_from = Some(version);
            }
            Trouble::from(error)
        })?;
        work.letters.iter().for_each(Letter::durable);
        failpoints::hit(failpoints::TURN_AFTER_COMMIT).await;
        self.committed(work.key, after, committed);
        report::commit(work.letters, committing.elapsed(), self.clock.now());
        report::turn(took);
        match hearing {
            Hearing::Heard => report::handled(work.key, &work.event, moved.as_ref(), took),
            hearing => self.unheard.tell(work.key, &work.event, &hearing),
        }
        if let Some(child) = lost_result {
            unheard::tell_lost_result(work.key, &child);
        }
        Ok(true)
    }

    /// The state: as this instance left it, or from the store.
    async fn open(&self, work: &Work<'_>) -> Result<(Version, Option<Stored>), Trouble> {
        if work.unsure_from.is_none()
            && let Some(held) = self.cache.take(work.key)
        {
            return Ok(held);
        }
        match self.store.enter(self.epoch, work.key, work.mark(), self.clock.now()).await? {
            Opened::AlreadyTaken => Err(Trouble::Taken),
            Opened::At { version, stored } => Ok((version, stored)),
        }
    }

    /// Runs the handler with its deadline; a panic is a failure like any other, also one of whoever judges its error.
    async fn handle(&self, moment: Moment) -> Result<Outcome, Failure> {
        let judged = async { self.script.run(moment).await.map_err(|error| self.judge(error)) };
        let run = AssertUnwindSafe(judged).catch_unwind();
        match tokio::time::timeout(self.settings.deadline, run).await {
            Ok(Ok(done)) => done,
            Ok(Err(panic)) => {
                Err(Kind::Panic.because(format!("the handler panicked: {}", report::panic_message(&*panic))))
            }
            Err(_) => Err(Kind::Deadline.because(format!("the handler took longer than {:?}", self.settings.deadline))),
        }
    }

    /// What a handler's error means.
    fn judge(&self, error: TurnError) -> Failure {
        match error {
            TurnError::Failed(error) if self.script.passes(&error) => Kind::Away.because(error.to_string()),
            error => error.into(),
        }
    }

    /// What follows a commit: it is remembered, and the courier and the effects start on what it asked for.
    fn committed(&self, key: &DialogueKey, after: After, committed: Committed) {
        self.cache.put(key, committed.version, after.stored);
        if !after.outgoing.is_empty() {
            let rows = after.outgoing.into_iter().zip(committed.outbox).map(|(row, id)| OutboxRow { id, ..row });
            self.courier.enqueue_of_turn(rows.collect());
        }
        if !after.effects.is_empty() {
            let rows = after.effects.into_iter().zip(committed.effects).map(|(row, id)| EffectRow { id, ..row });
            self.effects.enqueue(rows.collect());
        }
        if let Some(due) = after.first_due {
            self.wakeup.at(due);
        }
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}
