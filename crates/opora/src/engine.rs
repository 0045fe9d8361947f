//! Takes an input through its turn: open, handler, commit, and what comes after.
//!
//! A handler runs against the state as it stands and changes nothing by itself. Only the commit does; a turn that fails
//! before it leaves nothing. What a failure means is decided here, by its kind: run again, wait, or park.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use self::after::After;
pub(crate) use self::cache::StateCache;
use crate::clock::{Clock, Stopwatch};
use crate::dialogue::Script;
use crate::effects::Effects;
use crate::failpoints;
use crate::key::DialogueKey;
use crate::mailbox::{Letter, Reader};
use crate::outbox::Courier;
use crate::schedule::Wakeup;
use crate::store::{
    Commit, Committed, EffectRow, Epoch, Mark, Opened, OutboxRow, Outgoing, Parked, Refusal, StateChange, Store,
    StoreError, Stored, Taken, Transition, Version,
};
use crate::turn::{Context, Event, Moment, Outcome, TurnError};

mod after;
mod cache;
mod letters;
mod report;

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
        Self { deadline: Duration::from_secs(30), attempts: 3, backoff: Duration::from_millis(250), cached: 8192 }
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
    /// Ended when the lease is lost: nothing more may be written.
    pub(crate) lost: CancellationToken,
    /// Ended when the stop's deadline is over: turns that wait for a store give up; their inputs stay in the inbox.
    pub(crate) cut: CancellationToken,
}

/// What to do with a turn that did not commit.
enum Trouble {
    /// Another turn came between: run again at once.
    Again,
    /// The application's writes said no: run again with the reason.
    Refused(Refusal),
    /// The store is away: wait.
    Wait(StoreError),
    /// The handler failed: try some more, then park.
    Failed(String),
    /// The state cannot be read: set it aside.
    Unreadable(Option<Box<Stored>>, String),
    /// An earlier turn took the input.
    Taken,
    /// The lease is over.
    Stop,
}

/// What came of parking an input.
enum Parking {
    Done,
    /// A turn had taken it before.
    TakenBefore,
    /// The bot stops: it stays where it is.
    NotNow,
}

/// The longest wait for a store that is away.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// How often the application's writes may refuse one turn before that counts as a failure.
const REFUSALS: u32 = 5;

/// One input and how far its turn has come.
struct Work<'a> {
    key: &'a DialogueKey,
    /// What it arrived as; empty for a turn without an input of its own.
    letters: &'a [Letter],
    event: Event,
    takes: Vec<Taken>,
    /// Sent with whatever the turn says.
    besides: Vec<Outgoing>,
    refusal: Option<Refusal>,
    refusals: u32,
    failures: u32,
    waits: u32,
    /// What was stored has been set aside for this input: that does not help a second time.
    is_set_aside: bool,
    /// A commit from this version may have happened without its answer: the next look asks the store, and not the cache.
    unsure_from: Option<Version>,
}

impl Reader for Engine {
    fn read<'a>(&'a self, key: &'a DialogueKey, letters: Vec<Letter>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            match letters::event(&letters) {
                Ok(event) => self.run(Work::new(key, &letters, event)).await,
                Err(reason) => {
                    tracing::error!(%key, %reason, "an input cannot be read and is parked");
                    // Whatever comes of it: there is nobody to help.
                    let _ = self.park(key, &letters, letters::parked(key, &letters, reason, 1)).await;
                }
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
            besides: Vec::new(),
            refusal: None,
            refusals: 0,
            failures: 0,
            waits: 0,
            is_set_aside: false,
            unsure_from: None,
        }
    }

    fn mark(&self) -> Option<&Mark> {
        self.takes.iter().find_map(|taken| match taken {
            Taken::Update { mark, .. } => Some(mark),
            _ => None,
        })
    }
}

impl Engine {
    /// Runs a turn until it has committed, is parked, or has to stay in the inbox.
    async fn run(&self, mut work: Work<'_>) {
        loop {
            if self.lost.is_cancelled() {
                return;
            }
            let trouble = match self.attempt(&mut work).await {
                Ok(()) => return,
                Err(trouble) => trouble,
            };
            self.cache.forget(work.key);
            match trouble {
                Trouble::Again => {}
                Trouble::Refused(refusal) if work.refusals < REFUSALS => {
                    work.refusals += 1;
                    work.refusal = Some(refusal);
                }
                Trouble::Refused(Refusal(reason)) => {
                    return self.give_up(work, format!("its writes were refused again and again: {reason}")).await;
                }
                Trouble::Wait(error) => {
                    if !self.wait(&mut work, &error).await {
                        return;
                    }
                }
                Trouble::Unreadable(Some(stored), reason) if !work.is_set_aside => {
                    work.is_set_aside = true;
                    if !self.set_aside(&work, *stored, reason).await {
                        return;
                    }
                }
                Trouble::Failed(reason) | Trouble::Unreadable(_, reason) => {
                    work.failures += 1;
                    metrics::counter!("opora_turn_failures_total").increment(1);
                    if work.failures >= self.settings.attempts {
                        return self.give_up(work, reason).await;
                    }
                    tracing::warn!(key = %work.key, attempt = work.failures, %reason, "a turn failed; trying again");
                    let pause = self.settings.backoff.saturating_mul(2_u32.saturating_pow(work.failures - 1));
                    tokio::time::sleep(pause).await;
                }
                Trouble::Taken => return self.taken_before(&work).await,
                Trouble::Stop => return self.lost.cancel(),
            }
        }
    }

    /// One try: nothing of it remains unless it commits.
    async fn attempt(&self, work: &mut Work<'_>) -> Result<(), Trouble> {
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
        };
        let mut outcome = match self.handle(moment).await {
            Ok(outcome) => outcome,
            Err(TurnError::Unreadable(reason)) => return Err(Trouble::Unreadable(stored.map(Box::new), reason)),
            Err(error) => return Err(Trouble::Failed(error.to_string())),
        };
        let took = watch.elapsed();
        failpoints::hit(failpoints::TURN_AFTER_HANDLER).await;
        if matches!(work.event, Event::Expired) && work.takes.is_empty() && outcome.changes_nothing() {
            self.cache.put(work.key, version, stored);
            return Ok(());
        }
        outcome.outgoing.extend(work.besides.iter().cloned());
        let moved = outcome.transition.clone();
        let after = After::of(&outcome, stored, work.key, now);
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
        failpoints::hit(failpoints::TURN_AFTER_COMMIT).await;
        self.committed(work.key, after, committed);
        report::commit(work.letters, committing.elapsed(), self.clock.now());
        report::turn(work.key, &work.event, moved.as_ref(), took);
        Ok(())
    }

    /// The state: as this instance left it, or from the store.
    async fn open(&self, work: &Work<'_>) -> Result<(Version, Option<Stored>), Trouble> {
        if work.unsure_from.is_none()
            && let Some(held) = self.cache.take(work.key)
        {
            return Ok(held);
        }
        match self.store.open(work.key, work.mark()).await? {
            Opened::AlreadyTaken => Err(Trouble::Taken),
            Opened::At { version, stored } => Ok((version, stored)),
        }
    }

    /// Runs the handler with its deadline; a panic is a failure like any other.
    async fn handle(&self, moment: Moment) -> Result<Outcome, TurnError> {
        let run = AssertUnwindSafe(self.script.run(moment)).catch_unwind();
        match tokio::time::timeout(self.settings.deadline, run).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(panic)) => {
                Err(TurnError::failed(format!("the handler panicked: {}", report::panic_message(&*panic))))
            }
            Err(_) => Err(TurnError::failed(format!("the handler took longer than {:?}", self.settings.deadline))),
        }
    }

    /// What follows a commit: it is remembered, and the courier and the effects start on what it asked for.
    fn committed(&self, key: &DialogueKey, after: After, committed: Committed) {
        self.cache.put(key, committed.version, after.stored);
        if !after.outgoing.is_empty() {
            let rows = after.outgoing.into_iter().zip(committed.outbox).map(|(row, id)| OutboxRow { id, ..row });
            self.courier.enqueue(rows.collect());
        }
        if !after.effects.is_empty() {
            let rows = after.effects.into_iter().zip(committed.effects).map(|(row, id)| EffectRow { id, ..row });
            self.effects.enqueue(rows.collect());
        }
        if let Some(due) = after.first_due {
            self.wakeup.at(due);
        }
    }

    /// Waits for a store that is away. False when the bot stops meanwhile: the input stays in the inbox.
    async fn wait(&self, work: &mut Work<'_>, error: &StoreError) -> bool {
        if work.waits == 0 {
            tracing::error!(key = %work.key, %error, "the store is away; the turn waits");
        }
        work.waits += 1;
        let pause =
            Duration::from_millis(50).saturating_mul(2_u32.saturating_pow(work.waits.min(10))).min(LONGEST_WAIT);
        tokio::select! {
            () = self.cut.cancelled() => false,
            () = self.lost.cancelled() => false,
            () = tokio::time::sleep(pause) => true,
        }
    }

    /// The input's turn committed before: by a delivery twice, or by a commit whose answer was lost.
    async fn taken_before(&self, work: &Work<'_>) {
        metrics::counter!("opora_turns_total", "outcome" => "known").increment(1);
        tracing::debug!(key = %work.key, "an input was taken before");
        if work.unsure_from.is_some() {
            self.look_again();
        }
    }

    /// A commit whose answer was lost may have left something in the store that nobody here has been told of.
    fn look_again(&self) {
        self.courier.reload();
        self.effects.reload();
        self.wakeup.now();
    }

    /// Parks a turn that keeps failing, and then helps its person in a turn of its own.
    async fn give_up(&self, work: Work<'_>, reason: String) {
        let parked = letters::parked(work.key, work.letters, reason.clone(), work.failures);
        match self.park(work.key, work.letters, parked).await {
            Parking::Done => {}
            Parking::TakenBefore => return self.taken_before(&work).await,
            Parking::NotNow => return,
        }
        tracing::error!(key = %work.key, attempts = work.failures, %reason, "a turn keeps failing and is parked");
        metrics::counter!("opora_turns_total", "outcome" => "parked").increment(1);
        let besides = letters::callback_answers(&work.event);
        self.afterwards(Work { besides, ..Work::new(work.key, &[], work.event.failed(reason)) }).await;
    }

    /// A turn without an input of its own. If that fails too, the conversation is ended, so that nobody stays stuck; the
    /// operator finds what it was.
    async fn afterwards(&self, mut work: Work<'_>) {
        let mut failures = 0;
        while failures < self.settings.attempts {
            let trouble = match self.attempt(&mut work).await {
                Ok(()) => return,
                Err(trouble) => trouble,
            };
            self.cache.forget(work.key);
            match trouble {
                Trouble::Stop => return self.lost.cancel(),
                Trouble::Taken => return self.taken_before(&work).await,
                Trouble::Wait(error) => {
                    if !self.wait(&mut work, &error).await {
                        return;
                    }
                }
                _ => failures += 1,
            }
        }
        tracing::error!(key = %work.key, "a conversation could not be helped and is ended");
        let ended = async {
            let Opened::At { version, stored } = self.store.open(work.key, None).await? else { return Ok(()) };
            if let Some(stored) = stored {
                let copy = letters::parked_state(work.key, stored, "its person could not be helped".to_owned());
                if !matches!(self.park(work.key, &[], copy).await, Parking::Done) {
                    return Ok(());
                }
            }
            let end = Commit::new(work.key.clone(), version, self.clock.now());
            let end = Commit { state: StateChange::Clear, outgoing: work.besides.clone(), ..end };
            self.store.commit(self.epoch, end).await?;
            self.courier.reload();
            Ok::<_, StoreError>(())
        };
        if let Err(error) = ended.await {
            tracing::error!(key = %work.key, %error, "a conversation could not be ended");
        }
    }

    /// Keeps a copy of a state that cannot be read for the operator, tells the person, and ends it. False when the bot
    /// stops before there is a copy: then nothing is touched.
    async fn set_aside(&self, work: &Work<'_>, stored: Stored, reason: String) -> bool {
        tracing::error!(key = %work.key, %reason, "a stored state cannot be read and is set aside");
        let copied = self.park(work.key, &[], letters::parked_state(work.key, stored, reason)).await;
        if !matches!(copied, Parking::Done) {
            return false;
        }
        self.afterwards(Work::new(work.key, &[], work.event.clone().unreadable())).await;
        true
    }

    /// Sets an input aside, waiting for the store if need be.
    async fn park(&self, key: &DialogueKey, letters: &[Letter], parked: Parked) -> Parking {
        let mut work = Work::new(key, letters, Event::Expired);
        loop {
            let parked = Parked { at: self.clock.now(), ..parked.clone() };
            match self.store.park(self.epoch, key, work.takes.clone(), parked).await {
                Ok(()) => return Parking::Done,
                // After a lost answer it may be this very call that took it.
                Err(StoreError::AlreadyTaken) if work.waits > 0 => {
                    self.look_again();
                    return Parking::Done;
                }
                Err(StoreError::AlreadyTaken) => return Parking::TakenBefore,
                Err(StoreError::Fenced { .. }) => {
                    self.lost.cancel();
                    return Parking::NotNow;
                }
                Err(error) => {
                    if !self.wait(&mut work, &error).await {
                        return Parking::NotNow;
                    }
                }
            }
        }
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Overtaken(_) => Self::Again,
            StoreError::AlreadyTaken => Self::Taken,
            StoreError::Fenced { .. } => Self::Stop,
            StoreError::Refused(refusal) => Self::Refused(refusal),
            StoreError::Unreadable { source, .. } => Self::Unreadable(None, source.to_string()),
            error @ (StoreError::WritesFailed(_) | StoreError::Unsupported(_)) => Self::Failed(error.to_string()),
            error @ StoreError::Unavailable(_) => Self::Wait(error),
        }
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}
