//! One try at a turn: open the conversation, run the handler, commit.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use super::after::After;
use super::failure::{Failure, FailureKind, NotCommitted};
use super::{Engine, Work, letters, report, unheard};
use crate::clock::Stopwatch;
use crate::failpoints;
use crate::key::DialogueKey;
use crate::mailbox::Letter;
use crate::store::{
    Commit, Committed, ConversationRow, EffectRow, Opened, OutboxRow, StoreError, Stored, Transition, Version,
};
use crate::turn::{Event, Hearing, Moment, Outcome, TurnError};

impl Engine {
    /// One try: nothing of it remains unless it commits.
    pub(super) async fn attempt(&self, work: &mut Work<'_>) -> Result<(), NotCommitted> {
        let done = self.handle_and_commit(work).await;
        let has_committed = matches!(done, Ok(true));
        if !has_committed && let Err(error) = self.store.abandon_turn(self.epoch, work.key).await {
            // It runs out by itself.
            tracing::debug!(key = %work.key, %error, "a conversation could not be left");
        }
        done.map(drop)
    }

    /// Whether there was anything to commit.
    async fn handle_and_commit(&self, work: &mut Work<'_>) -> Result<bool, NotCommitted> {
        let (version, stored) = self.open(work).await?;
        // Nothing marks a turn without an input as done but the version, which only this conversation's turns raise.
        if work.takes.is_empty() && work.unsure_from.is_some_and(|from| version > from) {
            return Err(NotCommitted::Taken);
        }
        failpoints::hit(failpoints::TURN_BEFORE_HANDLER).await;
        let watch = Stopwatch::start();
        let now = self.clock.now();
        let shared_update = work.event.update().filter(|_| self.store.is_shared_with_other_programs());
        let place = shared_update.and_then(|update| letters::place(update));
        let moment = Moment {
            key: work.key.clone(),
            version,
            stored: stored.clone(),
            event: work.event.clone(),
            now,
            refusal: work.refusal.clone(),
            context: Arc::clone(&self.context),
            place,
        };
        work.letters.iter().for_each(|letter| letter.in_hand(true));
        let handled = self.handle(moment).await;
        work.letters.iter().for_each(|letter| letter.in_hand(false));
        let outcome = match handled {
            Ok(outcome) => outcome,
            Err(failure) if failure.kind == FailureKind::State => {
                let row = |stored| ConversationRow { key: work.key.clone(), version, stored, updated_at: now };
                return Err(NotCommitted::Unreadable(stored.map(|stored| Box::new(row(Some(stored)))), failure));
            }
            Err(failure) if failure.kind == FailureKind::Away => {
                return Err(NotCommitted::Wait(StoreError::Unavailable(failure.words.into())));
            }
            Err(failure) => return Err(NotCommitted::Failed(failure)),
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
            return Err(NotCommitted::Unheard(reason.clone()));
        }
        let moved = outcome.transition.clone();
        let hearing = outcome.hearing;
        let lost_result = outcome.lost_result;
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
            NotCommitted::from(error)
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
    async fn open(&self, work: &Work<'_>) -> Result<(Version, Option<Stored>), NotCommitted> {
        if work.unsure_from.is_none()
            && let Some(held) = self.cache.take(work.key)
        {
            return Ok(held);
        }
        match self.store.open_for_turn(self.epoch, work.key, work.mark(), self.clock.now()).await? {
            Opened::AlreadyTaken => Err(NotCommitted::Taken),
            Opened::At { version, stored } => Ok((version, stored)),
        }
    }

    /// Runs the handler with its deadline. A panic is a failure like any other, also one in the code that judges
    /// errors.
    async fn handle(&self, moment: Moment) -> Result<Outcome, Failure> {
        let judged = async { self.script.run(moment).await.map_err(|error| self.judge(error)) };
        let run = AssertUnwindSafe(judged).catch_unwind();
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

    /// What a handler's error means.
    fn judge(&self, error: TurnError) -> Failure {
        match error {
            TurnError::Failed(error) if self.script.passes(&error) => FailureKind::Away.because(error.to_string()),
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
