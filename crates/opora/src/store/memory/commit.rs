//! A turn becomes durable whole, or leaves nothing: everything is checked before anything is changed.

use super::NO_WRITES;
use super::shelves::{Numbers, Room, Shelves};
use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::{
    Commit, Committed, Effect, EffectId, EffectRow, Epoch, OutboxId, OutboxRow, Outgoing, Parked, ParkedId, SetAside,
    StoreError, StoreResult, Taken, TimerChange, TimerId, TimerRow, Transition, TransitionRow, Version,
};

impl Shelves {
    pub(super) fn commit(&mut self, epoch: Epoch, commit: Commit) -> StoreResult<Committed> {
        self.leases.check(epoch, commit.key.bot)?;
        let Self { rooms, numbers, .. } = self;
        let room = rooms.entry(commit.key.bot).or_default();
        room.check_untaken(&commit.takes)?;
        if room.conversations.at(&commit.key).0 != commit.from {
            return Err(StoreError::Overtaken(commit.key));
        }
        if commit.writes.is_some() {
            return Err(StoreError::Unsupported(NO_WRITES));
        }
        let mut turn = TurnOf { room, numbers, epoch, at: commit.at };
        turn.room.take(commit.takes, commit.at);
        let outbox = turn.say(&commit.key, commit.outgoing);
        turn.set_timers(&commit.key, commit.timers);
        let effects = turn.ask(&commit.key, commit.effects);
        let key_of_record = commit.transition.is_some().then(|| commit.key.clone());
        let version = turn.room.conversations.change(commit.key, commit.state, commit.at);
        if let (Some(key), Some(transition)) = (key_of_record, commit.transition) {
            turn.record(key, version, transition);
        }
        turn.room.bound();
        Ok(Committed { version, outbox, effects })
    }

    pub(super) fn park(
        &mut self,
        epoch: Epoch,
        taken: Vec<Taken>,
        parked: Parked,
        outgoing: Vec<Outgoing>,
    ) -> StoreResult<SetAside> {
        self.leases.check(epoch, parked.key.bot)?;
        let Self { rooms, numbers, .. } = self;
        let room = rooms.entry(parked.key.bot).or_default();
        room.check_untaken(&taken)?;
        room.take(taken, parked.at);
        let id = ParkedId(numbers.next(epoch));
        let outbox = TurnOf { room, numbers, epoch, at: parked.at }.say(&parked.key, outgoing);
        room.parked.insert(id, Parked { id, ..parked });
        room.bound();
        Ok(SetAside { id, outbox })
    }
}

impl Room {
    fn check_untaken(&self, takes: &[Taken]) -> StoreResult<()> {
        let waits = |taken: &Taken| match taken {
            Taken::Update { seq, mark } => self.inbox.has(*seq) && !self.marks.is_taken(mark),
            Taken::Fresh(mark) => !self.marks.is_taken(mark),
            Taken::Outcome(seq) => self.inbox.has(*seq),
            Taken::Timer(id) => self.timers.has(*id),
            Taken::Parked(id) => self.parked.contains_key(id),
        };
        if takes.iter().all(waits) { Ok(()) } else { Err(StoreError::AlreadyTaken) }
    }

    fn take(&mut self, takes: Vec<Taken>, at: Millis) {
        for taken in takes {
            match taken {
                Taken::Update { seq, mark } => {
                    self.inbox.remove(seq);
                    self.marks.take(mark, at);
                }
                Taken::Fresh(mark) => {
                    if let Some(seq) = self.marks.waiting(&mark) {
                        self.inbox.remove(seq);
                    }
                    self.marks.take(mark, at);
                }
                Taken::Outcome(seq) => self.inbox.remove(seq),
                Taken::Timer(id) => self.timers.remove(id),
                Taken::Parked(id) => {
                    self.parked.remove(&id);
                }
            }
        }
    }
}

/// A commit that passed its checks.
struct TurnOf<'a> {
    room: &'a mut Room,
    numbers: &'a mut Numbers,
    epoch: Epoch,
    at: Millis,
}

impl TurnOf<'_> {
    fn say(&mut self, key: &DialogueKey, outgoing: Vec<Outgoing>) -> Vec<OutboxId> {
        let put = |outgoing| {
            let id = OutboxId(self.numbers.next(self.epoch));
            self.room.outbox.put(OutboxRow { id, key: key.clone(), outgoing, was_sending: false, at: self.at });
            id
        };
        outgoing.into_iter().map(put).collect()
    }

    fn set_timers(&mut self, key: &DialogueKey, changes: Vec<TimerChange>) {
        for change in changes {
            match change {
                TimerChange::Set { name, due_at, body } => {
                    let id = TimerId(self.numbers.next(self.epoch));
                    self.room.timers.set(TimerRow { id, key: key.clone(), name, due_at, body });
                }
                TimerChange::Cancel(name) => self.room.timers.cancel(key, &name),
            }
        }
    }

    fn ask(&mut self, key: &DialogueKey, effects: Vec<Effect>) -> Vec<EffectId> {
        let put = |effect| {
            let id = EffectId(self.numbers.next(self.epoch));
            self.room.effects.insert(id, EffectRow { id, key: key.clone(), effect, at: self.at });
            id
        };
        effects.into_iter().map(put).collect()
    }

    fn record(&mut self, key: DialogueKey, version: Version, transition: Transition) {
        let id = self.numbers.next(self.epoch);
        let Transition { from, to, by, took_us } = transition;
        let row = TransitionRow { id, key, version, at: self.at, from, to, by: by.into(), took_us };
        self.room.transitions_by_age.add(self.at, id);
        self.room.transitions.insert(id, row);
    }
}
