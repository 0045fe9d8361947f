//! All data of the memory store, by bot.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::age::ByAge;
use super::conversations::Conversations;
use super::inbox::{Inbox, Marks};
use super::jobs::Jobs;
use super::leases::Leases;
use super::outbox::Outbox;
use super::timers::Timers;
use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::{
    Delivered, EffectId, EffectRow, Epoch, InboxRow, Incoming, Mark, Opened, Origin, OutboxId, OutboxRow, Outgoing,
    ParkedId, ParkedTurn, Receipt, Seq, Settled, StoreResult, TransitionRow,
};

#[derive(Debug, Default)]
pub(super) struct MemoryData {
    pub(super) leases: Leases,
    pub(super) by_bot: BTreeMap<i64, BotData>,
    pub(super) numbers: Numbers,
}

#[derive(Debug, Default)]
pub(super) struct BotData {
    pub(super) inbox: Inbox,
    pub(super) marks: Marks,
    pub(super) conversations: Conversations,
    pub(super) outbox: Outbox,
    pub(super) timers: Timers,
    pub(super) effects: BTreeMap<EffectId, EffectRow>,
    pub(super) jobs: Jobs,
    pub(super) parked: BTreeMap<ParkedId, ParkedTurn>,
    pub(super) transitions: BTreeMap<i64, TransitionRow>,
    pub(super) transitions_by_age: ByAge<i64>,
}

/// Gives rising ids, also over takeovers.
#[derive(Debug, Default)]
pub(super) struct Numbers(i64);

impl Numbers {
    pub(super) fn next(&mut self, epoch: Epoch) -> i64 {
        self.0 += 1;
        epoch.first_number() + self.0
    }
}

impl MemoryData {
    /// Reads a bot's data; the default if there is none.
    pub(super) fn read<T: Default>(&self, bot: i64, read: impl FnOnce(&BotData) -> T) -> T {
        self.by_bot.get(&bot).map(read).unwrap_or_default()
    }

    /// The data that this epoch may write.
    pub(super) fn write(&mut self, epoch: Epoch) -> StoreResult<&mut BotData> {
        let bot = self.leases.bot_of(epoch)?;
        Ok(self.by_bot.entry(bot).or_default())
    }

    pub(super) fn receive(&mut self, epoch: Epoch, batch: Vec<Incoming>) -> StoreResult<Vec<Receipt>> {
        let bots: BTreeSet<i64> = batch.iter().map(|incoming| incoming.key.bot).collect();
        bots.iter().try_for_each(|bot| self.leases.check(epoch, *bot))?;
        let bot = self.leases.bot_of(epoch)?;
        Ok(batch.into_iter().map(|incoming| self.put(bot, incoming).map_or(Receipt::Known, Receipt::New)).collect())
    }

    /// Accepts updates from any instance.
    pub(super) fn deliver(&mut self, batch: Vec<Incoming>) -> Vec<Delivered> {
        let one = |incoming: Incoming| {
            let bot = incoming.key.bot;
            let key = incoming.key.clone();
            let waits = !self.read(bot, |rows| rows.inbox.of_key_after(&key, Seq(i64::MIN), 1)).is_empty();
            let place = if waits { Delivered::Behind } else { Delivered::First };
            self.put(bot, incoming).map_or(Delivered::Known, place)
        };
        batch.into_iter().map(one).collect()
    }

    /// Puts an input into the inbox; none if it is known.
    fn put(&mut self, bot: i64, incoming: Incoming) -> Option<Seq> {
        let rows = self.by_bot.entry(bot).or_default();
        if matches!(&incoming.origin, Origin::Update(mark) if rows.marks.knows(mark)) {
            return None;
        }
        // The latest epoch of any bot, so that positions rise.
        let seq = Seq(self.numbers.next(self.leases.latest()));
        if let Origin::Update(mark) = &incoming.origin {
            rows.marks.wait(mark, seq);
        }
        rows.inbox.put(InboxRow { seq, incoming });
        Some(seq)
    }

    pub(super) fn open(&self, key: &ConversationKey, mark: Option<&Mark>) -> Opened {
        let Some(rows) = self.by_bot.get(&key.bot) else {
            return Opened::At { version: Default::default(), stored: None };
        };
        if mark.is_some_and(|mark| rows.marks.is_processed(mark)) {
            return Opened::AlreadyProcessed;
        }
        let (version, stored) = rows.conversations.at(key);
        Opened::At { version, stored: stored.cloned() }
    }

    pub(super) fn post(
        &mut self,
        epoch: Epoch,
        once: &str,
        outgoing: Vec<(ConversationKey, Outgoing)>,
        at: Millis,
    ) -> StoreResult<Vec<OutboxId>> {
        let bot = self.leases.bot_of(epoch)?;
        outgoing.iter().try_for_each(|(key, _)| self.leases.check(epoch, key.bot))?;
        let rows = self.by_bot.entry(bot).or_default();
        let numbers = &mut self.numbers;
        if !rows.outbox.note_post(once, at) {
            return Ok(Vec::new());
        }
        let put = |(key, outgoing)| {
            let id = OutboxId(numbers.next(epoch));
            rows.outbox.put(OutboxRow { id, key, outgoing, was_sending: false, at });
            id
        };
        let ids = outgoing.into_iter().map(put).collect();
        rows.trim();
        Ok(ids)
    }

    pub(super) fn effects_after(&self, bot: i64, after: EffectId, limit: usize) -> Vec<EffectRow> {
        self.read(bot, |rows| later(&rows.effects, after).take(limit).cloned().collect())
    }

    pub(super) fn finish_effect(&mut self, epoch: Epoch, id: EffectId, outcome: Incoming) -> StoreResult<Receipt> {
        self.leases.check(epoch, outcome.key.bot)?;
        let rows = self.by_bot.entry(outcome.key.bot).or_default();
        if rows.effects.remove(&id).is_none() {
            return Ok(Receipt::Known);
        }
        let bot = outcome.key.bot;
        Ok(self.put(bot, outcome).map_or(Receipt::Known, Receipt::New))
    }
}

impl BotData {
    pub(super) fn settle(&mut self, settled: Vec<Settled>, at: Millis) {
        settled.into_iter().for_each(|settled| self.outbox.settle(settled, at));
        self.trim();
    }

    pub(super) fn next_due(&self) -> Option<Millis> {
        self.timers.earliest().into_iter().chain(self.conversations.earliest_expiry()).min()
    }
}

/// The rows after an id, in order.
pub(super) fn later<K: Ord, V>(rows: &BTreeMap<K, V>, after: K) -> impl Iterator<Item = &V> {
    rows.range((Bound::Excluded(after), Bound::Unbounded)).map(|(_, row)| row)
}
