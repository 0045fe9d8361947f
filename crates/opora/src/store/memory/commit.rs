//! Commits and parks turns: checks everything before it changes anything.

use super::NO_WRITES;
use super::data::{BotData, MemoryData, Numbers};
use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::{
    Commit, Committed, Effect, EffectId, EffectRow, Epoch, InputRef, OutboxId, OutboxRow, Outgoing, ParkResult,
    ParkedId, ParkedTurn, StoreError, StoreResult, TimerChange, TimerId, TimerRow, Transition, TransitionRow, Version,
};

impl MemoryData {
    pub(super) fn commit(&mut self, epoch: Epoch, commit: Commit) -> StoreResult<Committed> {
        self.leases.check(epoch, commit.key.bot)?;
        let Self { by_bot, numbers, .. } = self;
        let rows = by_bot.entry(commit.key.bot).or_default();
        rows.check_unprocessed(&commit.processed)?;
        if rows.conversations.at(&commit.key).0 != commit.from {
            return Err(StoreError::Overtaken(commit.key));
        }
        if commit.writes.is_some() {
            return Err(StoreError::Unsupported(NO_WRITES));
        }
        let mut turn = CommitInProgress { rows, numbers, epoch, at: commit.at };
        turn.rows.mark_processed(commit.processed, commit.at);
        let outbox = turn.say(&commit.key, commit.outgoing);
        turn.set_timers(&commit.key, commit.timers);
        let effects = turn.ask(&commit.key, commit.effects);
        let key_of_record = commit.transition.is_some().then(|| commit.key.clone());
        let version = turn.rows.conversations.change(commit.key, commit.state, commit.at);
        if let (Some(key), Some(transition)) = (key_of_record, commit.transition) {
            turn.record(key, version, transition);
        }
        turn.rows.trim();
        Ok(Committed { version, outbox, effects })
    }

    pub(super) fn park(
        &mut self,
        epoch: Epoch,
        processed: Vec<InputRef>,
        parked: ParkedTurn,
        outgoing: Vec<Outgoing>,
    ) -> StoreResult<ParkResult> {
        self.leases.check(epoch, parked.key.bot)?;
        let Self { by_bot, numbers, .. } = self;
        let rows = by_bot.entry(parked.key.bot).or_default();
        rows.check_unprocessed(&processed)?;
        rows.mark_processed(processed, parked.at);
        let id = ParkedId(numbers.next(epoch));
        let outbox = CommitInProgress { rows, numbers, epoch, at: parked.at }.say(&parked.key, outgoing);
        rows.parked.insert(id, ParkedTurn { id, ..parked });
        rows.trim();
        Ok(ParkResult { id, outbox })
    }
}

impl BotData {
    fn check_unprocessed(&self, processed: &[InputRef]) -> StoreResult<()> {
        let waits = |input: &InputRef| match input {
            InputRef::Update { seq, mark } => self.inbox.has(*seq) && !self.marks.is_processed(mark),
            InputRef::DirectUpdate(mark) => !self.marks.is_processed(mark),
            InputRef::Outcome(seq) => self.inbox.has(*seq),
            InputRef::Timer(id) => self.timers.has(*id),
            InputRef::Parked(id) => self.parked.contains_key(id),
        };
        if processed.iter().all(waits) { Ok(()) } else { Err(StoreError::AlreadyProcessed) }
    }

    fn mark_processed(&mut self, processed: Vec<InputRef>, at: Millis) {
        for input in processed {
            match input {
                InputRef::Update { seq, mark } => {
                    self.inbox.remove(seq);
                    self.marks.take(mark, at);
                }
                InputRef::DirectUpdate(mark) => {
                    if let Some(seq) = self.marks.waiting(&mark) {
                        self.inbox.remove(seq);
                    }
                    self.marks.take(mark, at);
                }
                InputRef::Outcome(seq) => self.inbox.remove(seq),
                InputRef::Timer(id) => self.timers.remove(id),
                InputRef::Parked(id) => {
                    self.parked.remove(&id);
                }
            }
        }
    }
}

/// A commit that passed its checks.
struct CommitInProgress<'a> {
    rows: &'a mut BotData,
    numbers: &'a mut Numbers,
    epoch: Epoch,
    at: Millis,
}

impl CommitInProgress<'_> {
    fn say(&mut self, key: &ConversationKey, outgoing: Vec<Outgoing>) -> Vec<OutboxId> {
        let put = |outgoing| {
            let id = OutboxId(self.numbers.next(self.epoch));
            self.rows.outbox.put(OutboxRow { id, key: key.clone(), outgoing, was_sending: false, at: self.at });
            id
        };
        outgoing.into_iter().map(put).collect()
    }

    fn set_timers(&mut self, key: &ConversationKey, changes: Vec<TimerChange>) {
        for change in changes {
            match change {
                TimerChange::Set { name, due_at, body } => {
                    let id = TimerId(self.numbers.next(self.epoch));
                    self.rows.timers.set(TimerRow { id, key: key.clone(), name, due_at, body });
                }
                TimerChange::Cancel(name) => self.rows.timers.cancel(key, &name),
            }
        }
    }

    fn ask(&mut self, key: &ConversationKey, effects: Vec<Effect>) -> Vec<EffectId> {
        let put = |effect| {
            let id = EffectId(self.numbers.next(self.epoch));
            self.rows.effects.insert(id, EffectRow { id, key: key.clone(), effect, at: self.at });
            id
        };
        effects.into_iter().map(put).collect()
    }

    fn record(&mut self, key: ConversationKey, version: Version, transition: Transition) {
        let id = self.numbers.next(self.epoch);
        let Transition { from, to, by, took_us } = transition;
        let row = TransitionRow { id, key, version, at: self.at, from, to, by: by.into(), took_us };
        self.rows.transitions_by_age.add(self.at, id);
        self.rows.transitions.insert(id, row);
    }
}
