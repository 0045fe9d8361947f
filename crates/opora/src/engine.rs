//! Runs the turn of an input until it has committed or is parked.
//!
//! [`Reader::process`] takes an input to its end, `run_turn` repeats the turn as long as that helps, and `attempt` is
//! one try: open, handler, commit. A handler changes nothing by itself, so a try that fails before its commit leaves
//! nothing. `failure` says what each failure means, `parking` sets aside what cannot be done.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use self::failure::{Failure, FailureKind, NotCommitted};
pub(crate) use self::unheard::Unheard;
use crate::clock::Clock;
use crate::dialogue::Script;
use crate::effects::Effects;
use crate::key::DialogueKey;
use crate::mailbox::{Letter, Reader};
use crate::outbox::Courier;
use crate::schedule::Wakeup;
use crate::store::{Epoch, Mark, Refusal, StateCache, Store, StoreError, Taken, Version};
use crate::turn::{Context, Event};

mod after;
mod attempt;
mod failure;
mod letters;
mod moment;
mod parking;
mod report;
mod unheard;

/// The longest wait for a store that is away.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// The pause before a lock is asked for again; the store has waited for it already.
const LOCK_PAUSE: Duration = Duration::from_millis(50);
/// How often the application's writes may refuse one turn before that counts as a failure.
const REFUSALS: u32 = 5;

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
    /// A commit from this version may have happened without its answer: the next look asks the store, and not the
    /// cache.
    unsure_from: Option<Version>,
}

impl Reader for Engine {
    fn process<'a>(&'a self, key: &'a DialogueKey, letters: Vec<Letter>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let decided = AssertUnwindSafe(self.process_letters(key, &letters)).catch_unwind().await.is_ok();
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
    /// Runs the turn of an input. A panic outside of its handler is a failed turn as well.
    async fn process_letters(&self, key: &DialogueKey, letters: &[Letter]) {
        let event = match letters::event(letters) {
            Ok(event) => event,
            Err(reason) => return self.park_unread(key, letters, FailureKind::Input.because(reason)).await,
        };
        for failures in 1.. {
            let run = self.run_turn(Work::new(key, letters, event.clone()));
            let Err(panic) = AssertUnwindSafe(run).catch_unwind().await else { return };
            self.cache.forget(key);
            metrics::counter!("opora_turn_failures_total").increment(1);
            let failure = FailureKind::Panic.because(format!("its turn panicked: {}", report::panic_message(&*panic)));
            if failures >= self.settings.attempts {
                return self.give_up(Work { failures, ..Work::new(key, letters, event) }, failure).await;
            }
            self.try_again(key, failures, failure).await;
        }
    }

    /// Runs a turn until it has committed, is parked, or has to stay in the inbox.
    async fn run_turn(&self, mut work: Work<'_>) {
        loop {
            if self.lost.is_cancelled() {
                return;
            }
            let reason = match self.attempt(&mut work).await {
                Ok(()) => return,
                Err(reason) => reason,
            };
            self.cache.forget(work.key);
            match reason {
                NotCommitted::Again => {}
                NotCommitted::Refused(refusal) if work.refusals < REFUSALS => {
                    work.refusals += 1;
                    work.refusal = Some(refusal);
                }
                NotCommitted::Refused(Refusal(reason)) => {
                    let words = format!("its writes were refused again and again: {reason}");
                    return self.give_up(work, FailureKind::Refusals.because(words)).await;
                }
                NotCommitted::Wait(error) => {
                    if !self.wait(&mut work, &error).await {
                        return;
                    }
                }
                NotCommitted::Unreadable(Some(row), failure) if !work.is_set_aside => {
                    work.is_set_aside = true;
                    if !self.set_aside(&work, *row, failure).await {
                        return;
                    }
                }
                NotCommitted::Failed(failure) | NotCommitted::Unreadable(_, failure) => {
                    work.failures += 1;
                    metrics::counter!("opora_turn_failures_total").increment(1);
                    if work.failures >= self.settings.attempts {
                        return self.give_up(work, failure).await;
                    }
                    self.try_again(work.key, work.failures, failure).await;
                }
                NotCommitted::Taken => return self.taken_before(&work).await,
                NotCommitted::Unheard(reason) => return self.keep_unheard(work, reason).await,
                NotCommitted::Stop => return self.lost.cancel(),
            }
        }
    }

    /// Tells of a failed try, and waits before the next.
    async fn try_again(&self, key: &DialogueKey, attempt: u32, failure: Failure) {
        let Failure { kind, words } = failure;
        tracing::warn!(%key, attempt, %kind, "a turn failed; trying again");
        tracing::debug!(%key, attempt, %words, "why a turn failed");
        let pause = self.settings.backoff.saturating_mul(2_u32.saturating_pow(attempt - 1));
        tokio::time::sleep(pause).await;
    }

    /// Waits for a store that is away, or for a lock of another bot's. False when the bot stops meanwhile: the input
    /// stays in the inbox.
    async fn wait(&self, work: &mut Work<'_>, error: &StoreError) -> bool {
        if let StoreError::Locked { lock } = error {
            if !std::mem::replace(&mut work.is_locked_out, true) {
                tracing::warn!(key = %work.key, %lock, "another bot holds the conversation's lock; the turn waits");
            }
            return self.pause(LOCK_PAUSE).await;
        }
        if work.waits == 0 {
            match error {
                StoreError::NoCopy { notice, .. } => self.one_moment(work, notice).await,
                _ => tracing::error!(key = %work.key, %error, "the store is away; the turn waits"),
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
    async fn taken_before(&self, work: &Work<'_>) {
        metrics::counter!("opora_turns_total", "outcome" => "known").increment(1);
        tracing::debug!(key = %work.key, "an input was taken before");
        if work.unsure_from.is_some() {
            self.look_again();
        }
    }

    /// Reads the store again: a commit whose answer was lost may have left messages, effects or timers there.
    fn look_again(&self) {
        self.courier.reload();
        self.effects.reload();
        self.wakeup.now();
    }
}
