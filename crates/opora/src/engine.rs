//! Runs the turn of an input until it has committed or is parked.
//!
//! `run_turn` repeats a turn as long as that may help, and `attempt` is one attempt: open, handler, commit. A handler
//! changes nothing by itself, so an attempt that fails before its commit leaves nothing behind. `failure` maps errors
//! to the next step, and `parking` parks inputs that keep failing.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use self::failure::{Failure, FailureKind, NotCommitted};
pub(crate) use self::report::TurnMeters;
pub(crate) use self::unhandled::UnhandledReporter;
use crate::clock::Clock;
use crate::dialogue::Script;
use crate::effects::Effects;
use crate::jobs::RunnerHandle;
use crate::key::ConversationKey;
use crate::mailbox::{InputProcessor, QueuedInput};
use crate::outbox::Courier;
use crate::schedule::ScheduleHandle;
use crate::store::{Epoch, InputRef, Mark, Refusal, StateCache, Store, StoreError, Version};
use crate::turn::{Context, TurnInput};

mod attempt;
mod failure;
mod inputs;
mod parking;
mod post_commit;
mod report;
mod unhandled;
mod wait_notice;

/// The longest pause while the store is unavailable.
const MAX_STORE_PAUSE: Duration = Duration::from_secs(5);
/// The pause before a lock is requested again. It is short, because the store has waited for the lock already.
const LOCK_PAUSE: Duration = Duration::from_millis(50);
/// How often the application's writes may refuse a turn before it fails.
const MAX_REFUSALS: u32 = 5;

/// Settings of turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnSettings {
    /// How long a handler may take.
    pub deadline: Duration,
    /// How many attempts a turn has before it is parked.
    pub attempts: u32,
    /// The pause before the second attempt. It doubles with each attempt.
    pub backoff: Duration,
    /// How many states are cached in memory.
    pub cached: usize,
}

impl Default for TurnSettings {
    fn default() -> Self {
        Self { deadline: Duration::from_secs(30), attempts: 3, backoff: Duration::from_millis(250), cached: 4096 }
    }
}

/// Runs turns.
pub(crate) struct Engine {
    pub(crate) epoch: Epoch,
    pub(crate) script: Arc<Script>,
    pub(crate) context: Arc<Context>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Clock,
    pub(crate) courier: Courier,
    pub(crate) effects: Effects,
    pub(crate) schedule: ScheduleHandle,
    pub(crate) jobs: RunnerHandle,
    pub(crate) settings: TurnSettings,
    pub(crate) cache: StateCache,
    pub(crate) unhandled: UnhandledReporter,
    pub(crate) meters: TurnMeters,
    /// Cancelled when the lease is lost: nothing more may be written.
    pub(crate) lost: CancellationToken,
    /// Cancelled at the deadline of a stop: turns that wait for the store give up, and their inputs stay in the inbox.
    pub(crate) give_up: CancellationToken,
}

/// The progress of one turn.
struct TurnRun<'a> {
    key: &'a ConversationKey,
    /// Empty for a turn without a queued input, such as a failure notice.
    inputs: &'a [QueuedInput],
    turn_input: TurnInput,
    processed: Vec<InputRef>,
    refusal: Option<Refusal>,
    refusals: u32,
    failures: u32,
    waits: u32,
    /// Another bot holds the lock of the conversation.
    is_locked_out: bool,
    /// The unreadable state was parked for this input. That does not help a second time.
    is_state_parked: bool,
    /// A commit from this version may have succeeded although its answer was lost. So the next attempt reads the store,
    /// not the cache.
    unsure_from: Option<Version>,
}

impl InputProcessor for Engine {
    fn process<'a>(&'a self, key: &'a ConversationKey, inputs: Vec<QueuedInput>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let is_done = AssertUnwindSafe(self.process_inputs(key, &inputs)).catch_unwind().await.is_ok();
            if !is_done {
                tracing::error!(%key, "an input could not be parked because of a panic; it waits for the next start");
            }
            // If the bot stops, the turn may be unfinished. Then Telegram keeps a direct update.
            if is_done && !self.lost.is_cancelled() && !self.give_up.is_cancelled() {
                inputs.iter().for_each(QueuedInput::mark_durable);
            }
            self.schedule.finished(key, &inputs);
        })
    }
}

impl<'a> TurnRun<'a> {
    fn new(key: &'a ConversationKey, inputs: &'a [QueuedInput], turn_input: TurnInput) -> Self {
        Self {
            key,
            inputs,
            turn_input,
            processed: inputs.iter().filter_map(QueuedInput::input_ref).collect(),
            refusal: None,
            refusals: 0,
            failures: 0,
            waits: 0,
            is_locked_out: false,
            is_state_parked: false,
            unsure_from: None,
        }
    }

    fn mark(&self) -> Option<&Mark> {
        self.processed.iter().find_map(|input| match input {
            InputRef::Update { mark, .. } | InputRef::DirectUpdate(mark) => Some(mark),
            _ => None,
        })
    }
}

impl Engine {
    /// Runs the turn of an input. A panic outside of its handler is a failed attempt as well.
    async fn process_inputs(&self, key: &ConversationKey, inputs: &[QueuedInput]) {
        let turn_input = match inputs::turn_input(inputs) {
            Ok(turn_input) => turn_input,
            Err(reason) => return self.park_unread(key, inputs, FailureKind::Input.because(reason)).await,
        };
        for failures in 1.. {
            let run = self.run_turn(TurnRun::new(key, inputs, turn_input.clone()));
            let Err(panic) = AssertUnwindSafe(run).catch_unwind().await else { return };
            self.cache.forget(key);
            metrics::counter!("opora_turn_failures_total").increment(1);
            let failure = FailureKind::Panic.because(format!("the turn panicked: {}", report::panic_message(&*panic)));
            if failures >= self.settings.attempts {
                return self.park_failed(TurnRun { failures, ..TurnRun::new(key, inputs, turn_input) }, failure).await;
            }
            self.pause_before_retry(key, failures, failure).await;
        }
    }

    /// Runs a turn until it has committed, is parked, or the bot stops.
    async fn run_turn(&self, mut run: TurnRun<'_>) {
        loop {
            if self.lost.is_cancelled() {
                return;
            }
            let reason = match self.attempt(&mut run).await {
                Ok(()) => return,
                Err(reason) => reason,
            };
            self.cache.forget(run.key);
            match reason {
                NotCommitted::Again => {}
                NotCommitted::Refused(refusal) if run.refusals < MAX_REFUSALS => {
                    run.refusals += 1;
                    run.refusal = Some(refusal);
                }
                NotCommitted::Refused(Refusal(reason)) => {
                    let description = format!("its writes were refused again and again: {reason}");
                    return self.park_failed(run, FailureKind::Refusals.because(description)).await;
                }
                NotCommitted::Wait(error) => {
                    if !self.wait(&mut run, &error).await {
                        return;
                    }
                }
                NotCommitted::Unreadable(Some(row), failure) if !run.is_state_parked => {
                    run.is_state_parked = true;
                    if !self.park_state(&run, *row, failure).await {
                        return;
                    }
                }
                NotCommitted::Failed(failure) | NotCommitted::Unreadable(_, failure) => {
                    run.failures += 1;
                    metrics::counter!("opora_turn_failures_total").increment(1);
                    if run.failures >= self.settings.attempts {
                        return self.park_failed(run, failure).await;
                    }
                    self.pause_before_retry(run.key, run.failures, failure).await;
                }
                NotCommitted::AlreadyProcessed => return self.already_processed(&run),
                NotCommitted::Unhandled(reason) => return self.park_unhandled(run, reason).await,
                NotCommitted::Stop => return self.lost.cancel(),
            }
        }
    }

    /// Logs a failed attempt, and waits before the next one.
    async fn pause_before_retry(&self, key: &ConversationKey, attempt: u32, failure: Failure) {
        let Failure { kind, description } = failure;
        tracing::warn!(%key, attempt, %kind, "a turn failed; trying again");
        tracing::debug!(%key, attempt, %description, "reason of a failed turn");
        let pause = self.settings.backoff.saturating_mul(2_u32.saturating_pow(attempt - 1));
        tokio::time::sleep(pause).await;
    }

    /// Waits for the store, or for the lock of another bot. False if the bot stops; then the input stays in the inbox.
    async fn wait(&self, run: &mut TurnRun<'_>, error: &StoreError) -> bool {
        if let StoreError::Locked { lock } = error {
            if !std::mem::replace(&mut run.is_locked_out, true) {
                tracing::warn!(key = %run.key, %lock, "another bot holds the conversation's lock; the turn waits");
            }
            return self.pause(LOCK_PAUSE).await;
        }
        if run.waits == 0 {
            match error {
                StoreError::NoCopy { notice, .. } => self.send_wait_notice(run, notice).await,
                _ => tracing::error!(key = %run.key, %error, "the store is unavailable; the turn waits"),
            }
        }
        run.waits += 1;
        let pause =
            Duration::from_millis(50).saturating_mul(2_u32.saturating_pow(run.waits.min(10))).min(MAX_STORE_PAUSE);
        self.pause(pause).await
    }

    /// Sleeps. False if the bot stops meanwhile.
    async fn pause(&self, pause: Duration) -> bool {
        tokio::select! {
            () = self.give_up.cancelled() => false,
            () = self.lost.cancelled() => false,
            () = tokio::time::sleep(pause) => true,
        }
    }

    /// Ends a turn whose input is processed already: it was delivered twice, or the answer of its commit was lost.
    fn already_processed(&self, run: &TurnRun<'_>) {
        metrics::counter!("opora_turns_total", "outcome" => "known").increment(1);
        tracing::debug!(key = %run.key, "input already processed");
        if run.unsure_from.is_some() {
            self.reload_store();
        }
    }

    /// Reads messages, effects and timers from the store, because a commit whose answer was lost may have written some.
    fn reload_store(&self) {
        self.courier.reload();
        self.effects.reload();
        self.schedule.wake_now();
    }
}
