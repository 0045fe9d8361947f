//! What becomes of turns that do not commit: run again, wait, or park and help.
//!
//! The words of a failure may quote what a person wrote: they go to the parked row, which only the operator sees, and to
//! the log at level debug. Above that the log has the kind of failure, whose turn it was, and the number of the row.

use std::fmt;
use std::time::Duration;

use super::{Engine, Work, letters, moment};
use crate::key::DialogueKey;
use crate::mailbox::Letter;
use crate::store::{
    Commit, ConversationRow, Opened, OutboxRow, Outgoing, Parked, ParkedId, Refusal, SetAside, StateChange, StoreError,
};
use crate::turn::{Event, TurnError};

/// What to do with a turn that did not commit.
pub(super) enum Trouble {
    /// Another turn came between: run again at once.
    Again,
    /// The application's writes said no: run again with the reason.
    Refused(Refusal),
    /// The store is away: wait.
    Wait(StoreError),
    /// The handler failed: try some more, then park.
    Failed(Failure),
    /// The state cannot be read: set it aside.
    Unreadable(Option<Box<ConversationRow>>, Failure),
    /// An earlier turn took the input.
    Taken,
    /// No handler hears the input: keep it for the operator.
    Unheard(String),
    /// The lease is over.
    Stop,
}

/// Why a turn failed: what kind of failure it is, and in words.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) kind: Kind,
    pub(super) words: String,
}

/// What kind of failure it is; this much the log may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Handler,
    Panic,
    Deadline,
    Writes,
    Refusals,
    State,
    Input,
    /// What the handler needs is away for now: no failure of the turn's.
    Away,
}

impl Kind {
    pub(super) fn because(self, words: impl Into<String>) -> Failure {
        Failure { kind: self, words: words.into() }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Handler => "the handler answered with an error",
            Self::Panic => "the handler panicked",
            Self::Deadline => "the handler took too long",
            Self::Writes => "the application's writes failed",
            Self::Refusals => "the application's writes were refused again and again",
            Self::State => "what is stored cannot be read",
            Self::Input => "the input cannot be read",
            Self::Away => "what the handler needs is away",
        })
    }
}

/// What came of parking an input.
pub(super) enum Parking {
    /// It is parked; under which number, unless the answer was lost.
    Done(Option<ParkedId>),
    /// A turn had taken it before.
    TakenBefore,
    /// The bot stops: it stays where it is.
    NotNow,
}

/// The longest wait for a store that is away.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// The pause before a lock is asked for again; the store has waited for it already.
const LOCK_PAUSE: Duration = Duration::from_millis(50);
/// How often the application's writes may refuse one turn before that counts as a failure.
const REFUSALS: u32 = 5;

impl Engine {
    /// Runs a turn until it has committed, is parked, or has to stay in the inbox.
    pub(super) async fn run(&self, mut work: Work<'_>) {
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
                    let words = format!("its writes were refused again and again: {reason}");
                    return self.give_up(work, Kind::Refusals.because(words)).await;
                }
                Trouble::Wait(error) => {
                    if !self.wait(&mut work, &error).await {
                        return;
                    }
                }
                Trouble::Unreadable(Some(row), failure) if !work.is_set_aside => {
                    work.is_set_aside = true;
                    if !self.set_aside(&work, *row, failure).await {
                        return;
                    }
                }
                Trouble::Failed(failure) | Trouble::Unreadable(_, failure) => {
                    work.failures += 1;
                    metrics::counter!("opora_turn_failures_total").increment(1);
                    if work.failures >= self.settings.attempts {
                        return self.give_up(work, failure).await;
                    }
                    self.try_again(work.key, work.failures, failure).await;
                }
                Trouble::Taken => return self.taken_before(&work).await,
                Trouble::Unheard(reason) => return self.keep_unheard(work, reason).await,
                Trouble::Stop => return self.lost.cancel(),
            }
        }
    }

    /// Tells of a failed try, and waits before the next.
    pub(super) async fn try_again(&self, key: &DialogueKey, attempt: u32, failure: Failure) {
        let Failure { kind, words } = failure;
        tracing::warn!(%key, attempt, %kind, "a turn failed; trying again");
        tracing::debug!(%key, attempt, %words, "why a turn failed");
        let pause = self.settings.backoff.saturating_mul(2_u32.saturating_pow(attempt - 1));
        tokio::time::sleep(pause).await;
    }

    /// Parks an input that nobody can read; if it was a press, it is answered all the same.
    pub(super) async fn park_unread(&self, key: &DialogueKey, letters: &[Letter], failure: Failure) {
        let parked = letters::parked(key, letters, failure.words.clone(), 1);
        if let Parking::Done(id) = self.park(letters, parked, letters::unread_answers(letters)).await {
            tell(key, id, 1, &failure, "an input cannot be read and is parked");
        }
    }

    /// Waits for a store that is away, or for a lock of another bot's. False when the bot stops meanwhile: the input stays
    /// in the inbox.
    async fn wait(&self, work: &mut Work<'_>, error: &StoreError) -> bool {
        if let Some(held) = moment::lock_held(error) {
            if !std::mem::replace(&mut work.is_locked_out, true) {
                tracing::warn!(key = %work.key, lock = %held.lock, "another bot holds the conversation's lock; the turn waits");
            }
            return self.pause(LOCK_PAUSE).await;
        }
        if work.waits == 0 {
            match moment::of(error) {
                Some(moment) => self.one_moment(work, &moment.once).await,
                None => tracing::error!(key = %work.key, %error, "the store is away; the turn waits"),
            }
        }
        work.waits += 1;
        let pause =
            Duration::from_millis(50).saturating_mul(2_u32.saturating_pow(work.waits.min(10))).min(LONGEST_WAIT);
        self.pause(pause).await
    }

    /// False when the bot stops meanwhile.
    async fn pause(&self, pause: Duration) -> bool {
        tokio::select! {
            () = self.cut.cancelled() => false,
            () = self.lost.cancelled() => false,
            () = tokio::time::sleep(pause) => true,
        }
    }

    /// The input's turn committed before: by a delivery twice, or by a commit whose answer was lost.
    pub(super) async fn taken_before(&self, work: &Work<'_>) {
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

    /// Parks a turn that keeps failing, and then helps its person in a turn of its own. A pressed button is answered with
    /// the parking, whatever comes of that turn.
    pub(super) async fn give_up(&self, work: Work<'_>, failure: Failure) {
        let parked = letters::parked(work.key, work.letters, failure.words.clone(), work.failures);
        let id = match self.park(work.letters, parked, letters::callback_answers(&work.event)).await {
            Parking::Done(id) => id,
            Parking::TakenBefore => return self.taken_before(&work).await,
            Parking::NotNow => return,
        };
        tell(work.key, id, work.failures, &failure, "a turn keeps failing and is parked");
        metrics::counter!("opora_turns_total", "outcome" => "parked").increment(1);
        self.afterwards(Work::new(work.key, &[], work.event.failed(failure.words))).await;
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
        if let Err(error) = self.end(work.key).await {
            tracing::error!(key = %work.key, %error, "a conversation could not be ended");
        }
    }

    /// Ends a conversation, with a copy of its state for the operator.
    async fn end(&self, key: &DialogueKey) -> Result<(), StoreError> {
        let ended = self.try_to_end(key).await;
        ended.and(self.store.leave(self.epoch, key).await)
    }

    async fn try_to_end(&self, key: &DialogueKey) -> Result<(), StoreError> {
        let opened = self.store.enter(self.epoch, key, None, self.clock.now()).await?;
        let Opened::At { version, stored } = opened else { return Ok(()) };
        if let Some(stored) = stored {
            let reason = "its person could not be helped".to_owned();
            let (key, updated_at) = (key.clone(), self.clock.now());
            let copy = Parked::state(&ConversationRow { key, version, stored: Some(stored), updated_at }, reason);
            if !matches!(self.park(&[], copy, Vec::new()).await, Parking::Done(_)) {
                return Ok(());
            }
        }
        let end = Commit::new(key.clone(), version, self.clock.now());
        self.store.commit(self.epoch, Commit { state: StateChange::Clear, ..end }).await?;
        Ok(())
    }

    /// Keeps a copy of a state that cannot be read for the operator, tells the person, and ends it. False when the bot
    /// stops before there is a copy: then nothing is touched.
    async fn set_aside(&self, work: &Work<'_>, row: ConversationRow, failure: Failure) -> bool {
        let copy = Parked::state(&row, failure.words.clone());
        let Parking::Done(id) = self.park(&[], copy, Vec::new()).await else { return false };
        tell(work.key, id, 1, &failure, "a stored state cannot be read and is set aside");
        self.afterwards(Work::new(work.key, &[], work.event.clone().unreadable())).await;
        true
    }

    /// Sets an input aside, waiting for the store if need be; `said` goes out with it.
    pub(super) async fn park(&self, letters: &[Letter], parked: Parked, said: Vec<Outgoing>) -> Parking {
        let key = parked.key.clone();
        let mut work = Work::new(&key, letters, Event::Expired);
        loop {
            let parked = Parked { at: self.clock.now(), ..parked.clone() };
            let at = parked.at;
            match self.store.park(self.epoch, work.takes.clone(), parked, said.clone()).await {
                Ok(SetAside { id, outbox }) => {
                    let rows = outbox.into_iter().zip(said).map(|(id, outgoing)| OutboxRow {
                        id,
                        key: key.clone(),
                        outgoing,
                        was_sending: false,
                        at,
                    });
                    self.courier.enqueue(rows.collect());
                    return Parking::Done(Some(id));
                }
                // After a lost answer it may be this very call that took it.
                Err(StoreError::AlreadyTaken) if work.waits > 0 => {
                    self.look_again();
                    return Parking::Done(None);
                }
                Err(StoreError::AlreadyTaken) => return Parking::TakenBefore,
                Err(error) if error.ends_the_lease() => {
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

/// Tells of something parked: the kind of failure for everybody, its words for who looks closely.
fn tell(key: &DialogueKey, id: Option<ParkedId>, attempts: u32, failure: &Failure, what: &'static str) {
    let (parked, Failure { kind, words }) = (id.map(|id| id.0), failure);
    tracing::error!(%key, parked, attempts, %kind, "{what}");
    tracing::debug!(%key, parked, %words, "why it is parked");
}

impl From<TurnError> for Failure {
    fn from(error: TurnError) -> Self {
        let kind = if matches!(error, TurnError::Unreadable(_)) { Kind::State } else { Kind::Handler };
        kind.because(error.to_string())
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Overtaken(_) => Self::Again,
            StoreError::AlreadyTaken => Self::Taken,
            StoreError::Fenced { .. } | StoreError::Lost { .. } => Self::Stop,
            StoreError::Refused(refusal) => Self::Refused(refusal),
            StoreError::Unreadable { source, .. } => Self::Unreadable(None, Kind::State.because(source.to_string())),
            error @ (StoreError::WritesFailed(_) | StoreError::Unsupported(_)) => {
                Self::Failed(Kind::Writes.because(error.to_string()))
            }
            error @ StoreError::Unavailable(_) => Self::Wait(error),
        }
    }
}
