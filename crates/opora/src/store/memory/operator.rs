//! What an operator asks of the memory store.

use std::collections::{BTreeMap, BTreeSet};

use super::shelves::{Room, Shelves, later};
use crate::key::DialogueKey;
use crate::store::{ConversationRow, Filter, Parked, ParkedId, Place, PlaceCount, Statistics, TransitionRow};

impl Shelves {
    pub(super) fn list(&self, filter: &Filter, after: Option<&DialogueKey>, limit: usize) -> Vec<ConversationRow> {
        // The bot comes first in the order of keys.
        let first = after.map_or(i64::MIN, |key| key.bot);
        let rooms = self.rooms.range(first..).map(|(_, room)| room);
        rooms.flat_map(|room| room.conversations.list(filter, after)).take(limit).collect()
    }

    pub(super) fn statistics(&self, bot: Option<i64>) -> Statistics {
        let mut all = Statistics::default();
        let mut by_place = BTreeMap::<Place, i64>::new();
        for room in self.rooms_of(bot) {
            let (active, places) = room.conversations.counts();
            all.active += active;
            places.for_each(|PlaceCount { place, conversations }| *by_place.entry(place).or_default() += conversations);
            all.inbox += room.inbox.len() as i64;
            all.outbox += room.outbox.len() as i64;
            all.outbox_oldest = all.outbox_oldest.into_iter().chain(room.outbox.oldest()).min();
            all.failed += room.outbox.failed() as i64;
            all.timers += room.timers.len() as i64;
            all.effects += room.effects.len() as i64;
            all.parked += room.parked.len() as i64;
        }
        let counted = by_place.into_iter().map(|(place, conversations)| PlaceCount { place, conversations });
        all.by_place = counted.collect();
        all
    }

    pub(super) fn bots(&self) -> Vec<i64> {
        let rooms = self.rooms.iter().filter(|(_, room)| !room.is_empty()).map(|(bot, _)| *bot);
        rooms.chain(self.leases.bots()).collect::<BTreeSet<_>>().into_iter().collect()
    }

    pub(super) fn parked(&self, bot: Option<i64>, limit: usize, wanted: impl Fn(&Parked) -> bool) -> Vec<Parked> {
        let mut found: Vec<_> =
            self.rooms_of(bot).flat_map(|room| room.parked.values()).filter(|row| wanted(row)).collect();
        found.sort_by_key(|parked| (parked.at, parked.id));
        found.into_iter().take(limit).cloned().collect()
    }

    pub(super) fn retry_parked(&mut self, id: ParkedId) -> bool {
        let parked = self.rooms.values_mut().find_map(|room| room.parked.get_mut(&id));
        parked.map(|parked| parked.retry = true).is_some()
    }

    pub(super) fn transitions_after(&self, bot: i64, after: i64, limit: usize) -> Vec<TransitionRow> {
        self.read(bot, |room| later(&room.transitions, after).take(limit).cloned().collect())
    }

    pub(super) fn transitions_of(&self, key: &DialogueKey, after: i64, limit: usize) -> Vec<TransitionRow> {
        let of_key =
            |room: &Room| later(&room.transitions, after).filter(|row| row.key == *key).take(limit).cloned().collect();
        self.read(key.bot, of_key)
    }

    fn rooms_of(&self, bot: Option<i64>) -> impl Iterator<Item = &Room> {
        self.rooms.iter().filter(move |(of, _)| bot.is_none_or(|bot| bot == **of)).map(|(_, room)| room)
    }
}

impl Room {
    fn is_empty(&self) -> bool {
        self.conversations.is_empty()
            && self.inbox.len() + self.outbox.len() + self.outbox.failed() + self.timers.len() == 0
            && self.effects.is_empty()
            && self.parked.is_empty()
            && self.transitions.is_empty()
    }
}
