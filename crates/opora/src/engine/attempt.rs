//! One attempt at a turn: open the conversation, run the handler, commit.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use super::failure::{Failure, FailureKind, NotCommitted};
use super::post_commit::PostCommit;
use super::{Engine, TurnRun, inputs, report, unhandled};
use crate::clock::{Millis, Stopwatch};
use crate::failpoints;
use crate::jobs::place_in_commit;
use crate::key::ConversationKey;
use crate::mailbox::QueuedInput;
use crate::store::{
    Commit, Committed, ConversationRow, EffectRow, Opened, OutboxRow, StoreError, StoredState, Version,
};
use crate::turn::{Handling, TurnError, TurnInput, TurnResult, TurnStart};

/// What a handler has returned, and for which state.
struct Handled {
    version: Version,
    stored: Option<StoredState>,
    outcome: TurnResult,
    at: Millis,
    duration: Duration,
}

impl Engine {
    /// Makes one attempt. Nothing of it remains unless it commits.
    pub(super) async fn attempt(&self, run: &mut TurnRun<'_>) -> Result<(), NotCommitted> {
        let result = self.handle_and_commit(run).await;
        let has_committed = matches!(result, Ok(true));
        if !has_committed && let Err(error) = self.store.abandon_turn(self.epoch, run.key).await {
            // The lock of the conversation expires.
            tracing::debug!(key = %run.key, %error, "cannot abandon a turn");
        }
        result.map(drop)
    }

    /// Runs the handler and commits. False if there was nothing to commit.
    async fn handle_and_commit(&self, run: &mut TurnRun<'_>) -> Result<bool, NotCommitted> {
        let (version, stored) = self.open(run).await?;
        // A turn without an input has no mark. A higher version says that its commit succeeded.
        if run.processed.is_empty() && run.unsure_from.is_some_and(|from| version > from) {
            return Err(NotCommitted::AlreadyProcessed);
        }
        failpoints::hit(failpoints::TURN_BEFORE_HANDLER).await;
        let watch = Stopwatch::start();
        let at = self.clock.now();
        let outcome = self.run_handler(run, version, &stored, at).await?;
        let duration = watch.elapsed();
        failpoints::hit(failpoints::TURN_AFTER_HANDLER).await;
        if matches!(run.turn_input, TurnInput::Expired) && run.processed.is_empty() && outcome.changes_nothing() {
            self.cache.put(run.key, version, stored);
            return Ok(false);
        }
        self.commit(run, Handled { version, stored, outcome, at, duration }).await.map(|()| true)
    }

    /// Runs the handler for the present state.
    async fn run_handler(
        &self,
        run: &TurnRun<'_>,
        version: Version,
        stored: &Option<StoredState>,
        now: Millis,
    ) -> Result<TurnResult, NotCommitted> {
        let shared_update = run.turn_input.update().filter(|_| self.store.is_shared_with_other_programs());
        let start = TurnStart {
            key: run.key.clone(),
            version,
            stored: stored.clone(),
            input: run.turn_input.clone(),
            now,
            refusal: run.refusal.clone(),
            context: Arc::clone(&self.context),
            destination: shared_update.and_then(|update| inputs::destination(update)),
        };
        run.inputs.iter().for_each(|input| input.set_handler_running(true));
        let handled = self.handle(start).await;
        run.inputs.iter().for_each(|input| input.set_handler_running(false));
        handled.map_err(|failure| match failure.kind {
            FailureKind::State => {
                let row = |stored| ConversationRow { key: run.key.clone(), version, stored, updated_at: now };
                NotCommitted::Unreadable(stored.clone().map(|stored| Box::new(row(Some(stored)))), failure)
            }
            FailureKind::Unavailable => NotCommitted::Wait(StoreError::Unavailable(failure.description.into())),
            _ => NotCommitted::Failed(failure),
        })
    }

    /// Commits a handler's outcome, and hands it over.
    async fn commit(&self, run: &mut TurnRun<'_>, handled: Handled) -> Result<(), NotCommitted> {
        let Handled { version, stored, mut outcome, at, duration } = handled;
        let handler_durations = self.meters.handler_duration(stored.as_ref(), &outcome.state);
        let enqueued = outcome.jobs.clone();
        place_in_commit(&mut outcome, &*self.store, (run.key.bot, at))
            .map_err(|error| NotCommitted::Failed(error.into()))?;
        let post_commit = PostCommit::new(&outcome, stored, run.key, at);
        if let Handling::Unhandled(reason) = &outcome.handling
            && self.unhandled.admits_row()
        {
            return Err(NotCommitted::Unhandled(reason.clone()));
        }
        let moved = outcome.transition.clone();
        let handling = outcome.handling.clone();
        let lost_result = outcome.lost_result.take();
        let turn = Commit { processed: run.processed.clone(), ..Commit::new(run.key.clone(), version, at) };
        let commit = outcome.into_commit(turn, micros(duration));
        failpoints::hit(failpoints::TURN_BEFORE_COMMIT).await;
        let committing = Stopwatch::start();
        let committed = self.store.commit(self.epoch, commit).await.map_err(|error| {
            if matches!(error, StoreError::Unavailable(_)) {
                run.unsure_from = Some(version);
            }
            NotCommitted::from(error)
        })?;
        run.inputs.iter().for_each(QueuedInput::mark_durable);
        failpoints::hit(failpoints::TURN_AFTER_COMMIT).await;
        self.finish_commit(run.key, post_commit, committed);
        // In SQL they are writes of the turn, and counted as such.
        let is_counted = self.store.has_jobs_in_sql();
        self.jobs.enqueued(&enqueued, is_counted);
        self.meters.committed(run.inputs, moved.is_some(), committing.elapsed(), self.clock.now());
        handler_durations.record(duration);
        match handling {
            Handling::Handled => report::handled(run.key, &run.turn_input, moved.as_ref(), duration),
            handling => self.unhandled.report(run.key, &run.turn_input, &handling),
        }
        if let Some(child) = lost_result {
            unhandled::report_lost_result(run.key, &child);
        }
        Ok(())
    }

    /// Reads the state from the cache or the store.
    async fn open(&self, run: &TurnRun<'_>) -> Result<(Version, Option<StoredState>), NotCommitted> {
        if run.unsure_from.is_none()
            && let Some(cached) = self.cache.take(run.key)
        {
            return Ok(cached);
        }
        match self.store.open_for_turn(self.epoch, run.key, run.mark(), self.clock.now()).await? {
            Opened::AlreadyProcessed => Err(NotCommitted::AlreadyProcessed),
            Opened::At { version, stored } => Ok((version, stored)),
        }
    }

    /// Runs the handler with its deadline. A panic is a failure, also in the application's code that classifies errors.
    async fn handle(&self, start: TurnStart) -> Result<TurnResult, Failure> {
        let handled = async { self.script.run(start).await.map_err(|error| self.classify(error)) };
        let run = AssertUnwindSafe(handled).catch_unwind();
        match tokio::time::timeout(self.settings.deadline, run).await {
            Ok(Ok(done)) => done,
            Ok(Err(panic)) => {
                Err(FailureKind::Panic.because(format!("the handler panicked: {}", report::panic_message(&*panic))))
            }
            Err(_) => {
                Err(FailureKind::Deadline.because(format!("the handler took longer than {:?}", self.settings.deadline)))
            }
        }
    }

    /// Turns a handler's error into a failure.
    fn classify(&self, error: TurnError) -> Failure {
        match error {
            TurnError::Failed(error) if self.script.is_transient(&error) => {
                FailureKind::Unavailable.because(error.to_string())
            }
            error => error.into(),
        }
    }

    /// Caches the state, and hands messages, effects and timers over.
    fn finish_commit(&self, key: &ConversationKey, post_commit: PostCommit, committed: Committed) {
        self.cache.put(key, committed.version, post_commit.stored);
        if !post_commit.outgoing.is_empty() {
            let rows = post_commit.outgoing.into_iter().zip(committed.outbox).map(|(row, id)| OutboxRow { id, ..row });
            self.courier.enqueue_of_turn(rows.collect());
        }
        if !post_commit.effects.is_empty() {
            let rows = post_commit.effects.into_iter().zip(committed.effects).map(|(row, id)| EffectRow { id, ..row });
            self.effects.enqueue(rows.collect());
        }
        if let Some(due) = post_commit.first_due {
            self.schedule.wake_at(due);
        }
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}
