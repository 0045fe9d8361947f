//! Parks turns that fail for good, and tells the person in a turn of its own.
//!
//! Nothing here runs a parked turn again; that is up to the operator.

use super::failure::{Failure, NotCommitted};
use super::{Engine, TurnRun, inputs};
use crate::key::ConversationKey;
use crate::mailbox::QueuedInput;
use crate::outbox::posted_rows;
use crate::store::{
    Commit, ConversationRow, Opened, Outgoing, ParkResult, ParkedId, ParkedTurn, StateChange, StoreError,
};
use crate::turn::TurnInput;

/// The result of parking an input.
pub(super) enum Parking {
    /// It is parked. The id is unknown if the answer of the store was lost.
    Done(Option<ParkedId>),
    /// A turn has processed it already.
    AlreadyProcessed,
    /// The bot stops, and the input stays in the inbox.
    Stopped,
}

impl Engine {
    /// Parks an input that cannot be read. If it is a press, the press is answered.
    pub(super) async fn park_unread(&self, key: &ConversationKey, inputs: &[QueuedInput], failure: Failure) {
        let parked = inputs::parked(key, inputs, failure.description.clone(), 1);
        if let Parking::Done(id) = self.park(inputs, parked, inputs::unread_answers(inputs)).await {
            log_parked(key, id, 1, &failure, "an input cannot be read and is parked");
        }
    }

    /// Parks a turn that keeps failing, and answers a pressed button. Then it tells the person in a turn of its own.
    pub(super) async fn park_failed(&self, run: TurnRun<'_>, failure: Failure) {
        let parked = inputs::parked(run.key, run.inputs, failure.description.clone(), run.failures);
        let id = match self.park(run.inputs, parked, inputs::callback_answers(&run.turn_input)).await {
            Parking::Done(id) => id,
            Parking::AlreadyProcessed => return self.already_processed(&run),
            Parking::Stopped => return,
        };
        log_parked(run.key, id, run.failures, &failure, "a turn keeps failing and is parked");
        metrics::counter!("opora_turns_total", "outcome" => "parked").increment(1);
        self.run_follow_up(TurnRun::new(run.key, &[], run.turn_input.failed(failure.description))).await;
    }

    /// Runs a follow-up turn without a queued input. If it fails too, the conversation is ended, so that the person is
    /// not stuck. A parked row keeps its state for the operator.
    async fn run_follow_up(&self, mut run: TurnRun<'_>) {
        let mut failures = 0;
        while failures < self.settings.attempts {
            let reason = match self.attempt(&mut run).await {
                Ok(()) => return,
                Err(reason) => reason,
            };
            self.cache.forget(run.key);
            match reason {
                NotCommitted::Stop => return self.lost.cancel(),
                NotCommitted::AlreadyProcessed => return self.already_processed(&run),
                NotCommitted::Wait(error) => {
                    if !self.wait(&mut run, &error).await {
                        return;
                    }
                }
                _ => failures += 1,
            }
        }
        tracing::error!(key = %run.key, "the follow-up of a failed turn failed too; the conversation is ended");
        if let Err(error) = self.end(run.key).await {
            tracing::error!(key = %run.key, %error, "cannot end a conversation");
        }
    }

    /// Ends a conversation, with a copy of its state for the operator.
    async fn end(&self, key: &ConversationKey) -> Result<(), StoreError> {
        let ended = self.try_to_end(key).await;
        ended.and(self.store.abandon_turn(self.epoch, key).await)
    }

    async fn try_to_end(&self, key: &ConversationKey) -> Result<(), StoreError> {
        let opened = self.store.open_for_turn(self.epoch, key, None, self.clock.now()).await?;
        let Opened::At { version, stored } = opened else { return Ok(()) };
        if let Some(stored) = stored {
            let reason = "the follow-up of a failed turn failed too".to_owned();
            let key = key.clone();
            let updated_at = self.clock.now();
            let copy = ParkedTurn::state(&ConversationRow { key, version, stored: Some(stored), updated_at }, reason);
            if !matches!(self.park(&[], copy, Vec::new()).await, Parking::Done(_)) {
                return Ok(());
            }
        }
        let end = Commit::new(key.clone(), version, self.clock.now());
        self.store.commit(self.epoch, Commit { state: StateChange::Clear, ..end }).await?;
        Ok(())
    }

    /// Parks a copy of a state that cannot be read, and tells the person in a turn that ends it. False if the bot stops
    /// before the copy is stored; then nothing is changed.
    pub(super) async fn park_state(&self, run: &TurnRun<'_>, row: ConversationRow, failure: Failure) -> bool {
        let copy = ParkedTurn::state(&row, failure.description.clone());
        let Parking::Done(id) = self.park(&[], copy, Vec::new()).await else { return false };
        log_parked(run.key, id, 1, &failure, "a stored state cannot be read and is parked");
        self.run_follow_up(TurnRun::new(run.key, &[], run.turn_input.clone().unreadable())).await;
        true
    }

    /// Stores a parked row in place of its inputs, together with `messages` to send. Waits for the store if necessary.
    pub(super) async fn park(&self, inputs: &[QueuedInput], parked: ParkedTurn, messages: Vec<Outgoing>) -> Parking {
        let key = parked.key.clone();
        let mut run = TurnRun::new(&key, inputs, TurnInput::Expired);
        loop {
            let parked = ParkedTurn { at: self.clock.now(), ..parked.clone() };
            let at = parked.at;
            match self.store.park(self.epoch, run.processed.clone(), parked, messages.clone()).await {
                Ok(ParkResult { id, outbox }) => {
                    let messages = messages.into_iter().map(|outgoing| (key.clone(), outgoing));
                    self.courier.enqueue(posted_rows(outbox, messages, at));
                    return Parking::Done(Some(id));
                }
                // After a lost answer, an earlier attempt of this call may have stored the row.
                Err(StoreError::AlreadyProcessed) if run.waits > 0 => {
                    self.reload_store();
                    return Parking::Done(None);
                }
                Err(StoreError::AlreadyProcessed) => return Parking::AlreadyProcessed,
                Err(error) if error.ends_lease() => {
                    self.lost.cancel();
                    return Parking::Stopped;
                }
                Err(error) => {
                    if !self.wait(&mut run, &error).await {
                        return Parking::Stopped;
                    }
                }
            }
        }
    }
}

/// Logs a parked row: the kind of failure as an error, its text at debug.
fn log_parked(key: &ConversationKey, id: Option<ParkedId>, attempts: u32, failure: &Failure, message: &'static str) {
    let parked = id.map(|id| id.0);
    let Failure { kind, description } = failure;
    tracing::error!(%key, parked, attempts, %kind, "{message}");
    tracing::debug!(%key, parked, %description, "reason of a parked row");
}
