//! Everything that the memory store keeps, a room for each bot.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::age::ByAge;
use super::conversations::Conversations;
use super::inbox::{Inbox, Marks};
use super::leases::Leases;
use super::outbox::Outbox;
use super::timers::Timers;
use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::{
    Delivered, EffectId, EffectRow, Epoch, InboxRow, Incoming, Mark, Opened, Origin, OutboxId, OutboxRow, Outgoing,
    Parked, ParkedId, Receipt, Seq, StoreResult, TransitionRow,
};

/// All bots.
#[derive(Debug, Default)]
pub(super) struct Shelves {
    pub(super) leases: Leases,
    pub(super) rooms: BTreeMap<i64, Room>,
    pub(super) numbers: Numbers,
}

/// One bot.
#[derive(Debug, Default)]
pub(super) struct Room {
    pub(super) inbox: Inbox,
    pub(super) marks: Marks,
    pub(super) conversations: Conversations,
    pub(super) outbox: Outbox,
    pub(super) timers: Timers,
    pub(super) effects: BTreeMap<EffectId, EffectRow>,
    pub(super) parked: BTreeMap<ParkedId, Parked>,
    pub(super) transitions: BTreeMap<i64, TransitionRow>,
    pub(super) transitions_by_age: ByAge<i64>,
}

/// Gives numbers that rise, also over takeovers.
#[derive(Debug, Default)]
pub(super) struct Numbers(i64);

impl Numbers {
    pub(super) fn next(&mut self, epoch: Epoch) -> i64 {
        self.0 += 1;
        epoch.first_number() + self.0
    }
}

impl Shelves {
    /// Looks into a bot's room; one that nothing was ever put into is empty.
    pub(super) fn read<T: Default>(&self, bot: i64, look: impl FnOnce(&Room) -> T) -> T {
        self.rooms.get(&bot).map(look).unwrap_or_default()
    }

    /// The room that this epoch may write to.
    pub(super) fn write(&mut self, epoch: Epoch) -> StoreResult<&mut Room> {
        let bot = self.leases.bot_of(epoch)?;
        Ok(self.rooms.entry(bot).or_default())
    }

    pub(super) fn receive(&mut self, epoch: Epoch, batch: Vec<Incoming>) -> StoreResult<Vec<Receipt>> {
        let bots: BTreeSet<i64> = batch.iter().map(|incoming| incoming.key.bot).collect();
        bots.iter().try_for_each(|bot| self.leases.check(epoch, *bot))?;
        let bot = self.leases.bot_of(epoch)?;
        Ok(batch.into_iter().map(|incoming| self.put(bot, incoming).map_or(Receipt::Known, Receipt::New)).collect())
    }

    /// Takes updates of any instance.
    pub(super) fn deliver(&mut self, batch: Vec<Incoming>) -> Vec<Delivered> {
        let one = |incoming: Incoming| {
            let bot = incoming.key.bot;
            let key = incoming.key.clone();
            let waits = !self.read(bot, |room| room.inbox.of_key_after(&key, Seq(i64::MIN), 1)).is_empty();
            let place = if waits { Delivered::Behind } else { Delivered::First };
            self.put(bot, incoming).map_or(Delivered::Known, place)
        };
        batch.into_iter().map(one).collect()
    }

    /// Puts an input into the inbox; none if it is known.
    fn put(&mut self, bot: i64, incoming: Incoming) -> Option<Seq> {
        let room = self.rooms.entry(bot).or_default();
        if matches!(&incoming.origin, Origin::Update(mark) if room.marks.knows(mark)) {
            return None;
        }
        // Whoever brings it, it stands behind what came before.
        let seq = Seq(self.numbers.next(self.leases.latest()));
        if let Origin::Update(mark) = &incoming.origin {
            room.marks.wait(mark, seq);
        }
        room.inbox.put(InboxRow { seq, incoming });
        Some(seq)
    }

    pub(super) fn open(&self, key: &DialogueKey, mark: Option<&Mark>) -> Opened {
        let Some(room) = self.rooms.get(&key.bot) else {
            return Opened::At { version: Default::default(), stored: None };
        };
        if mark.is_some_and(|mark| room.marks.is_taken(mark)) {
            return Opened::AlreadyTaken;
        }
        let (version, stored) = room.conversations.at(key);
        Opened::At { version, stored: stored.cloned() }
    }

    pub(super) fn post(
        &mut self,
        epoch: Epoch,
        once: &str,
        outgoing: Vec<(DialogueKey, Outgoing)>,
        at: Millis,
    ) -> StoreResult<Vec<OutboxId>> {
        let bot = self.leases.bot_of(epoch)?;
        outgoing.iter().try_for_each(|(key, _)| self.leases.check(epoch, key.bot))?;
        let room = self.rooms.entry(bot).or_default();
        let numbers = &mut self.numbers;
        if !room.outbox.first_time(once, at) {
            return Ok(Vec::new());
        }
        let put = |(key, outgoing)| {
            let id = OutboxId(numbers.next(epoch));
            room.outbox.put(OutboxRow { id, key, outgoing, was_sending: false, at });
            id
        };
        let ids = outgoing.into_iter().map(put).collect();
        room.bound();
        Ok(ids)
    }

    pub(super) fn effects_after(&self, bot: i64, after: EffectId, limit: usize) -> Vec<EffectRow> {
        self.read(bot, |room| later(&room.effects, after).take(limit).cloned().collect())
    }

    pub(super) fn finish_effect(&mut self, epoch: Epoch, id: EffectId, outcome: Incoming) -> StoreResult<Receipt> {
        self.leases.check(epoch, outcome.key.bot)?;
        let room = self.rooms.entry(outcome.key.bot).or_default();
        if room.effects.remove(&id).is_none() {
            return Ok(Receipt::Known);
        }
        let bot = outcome.key.bot;
        Ok(self.put(bot, outcome).map_or(Receipt::Known, Receipt::New))
    }
}

/// The rows after an id, in order.
pub(super) fn later<K: Ord, V>(rows: &BTreeMap<K, V>, after: K) -> impl Iterator<Item = &V> {
    rows.range((Bound::Excluded(after), Bound::Unbounded)).map(|(_, row)| row)
}
