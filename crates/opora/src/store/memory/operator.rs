//! Operator queries of the memory store.

use std::collections::{BTreeMap, BTreeSet};

use super::data::{BotData, MemoryData, later};
use crate::key::ConversationKey;
use crate::store::{ConversationRow, Filter, ParkedId, ParkedTurn, StateCount, StateName, Statistics, TransitionRow};

impl MemoryData {
    pub(super) fn list(&self, filter: &Filter, after: Option<&ConversationKey>, limit: usize) -> Vec<ConversationRow> {
        // Keys are ordered by bot first.
        let first = after.map_or(i64::MIN, |key| key.bot);
        let by_bot = self.by_bot.range(first..).map(|(_, rows)| rows);
        by_bot.flat_map(|rows| rows.conversations.list(filter, after)).take(limit).collect()
    }

    pub(super) fn statistics(&self, bot: Option<i64>) -> Statistics {
        let mut all = Statistics::default();
        let mut by_state = BTreeMap::<StateName, i64>::new();
        for rows in self.data_of(bot) {
            let (active, states) = rows.conversations.counts();
            all.active += active;
            states.for_each(|StateCount { state, conversations }| *by_state.entry(state).or_default() += conversations);
            all.inbox += rows.inbox.len() as i64;
            all.inbox_oldest = all.inbox_oldest.into_iter().chain(rows.inbox.oldest()).min();
            all.outbox += rows.outbox.len() as i64;
            all.outbox_oldest = all.outbox_oldest.into_iter().chain(rows.outbox.oldest()).min();
            all.failed += rows.outbox.failed() as i64;
            all.timers += rows.timers.len() as i64;
            all.effects += rows.effects.len() as i64;
            let oldest_effect = rows.effects.values().next().map(|row| row.at);
            all.effects_oldest = all.effects_oldest.into_iter().chain(oldest_effect).min();
            all.parked += rows.parked.len() as i64;
        }
        let counted = by_state.into_iter().map(|(state, conversations)| StateCount { state, conversations });
        all.by_state = counted.collect();
        all
    }

    pub(super) fn bots(&self) -> Vec<i64> {
        let by_bot = self.by_bot.iter().filter(|(_, rows)| !rows.is_empty()).map(|(bot, _)| *bot);
        by_bot.chain(self.leases.bots()).collect::<BTreeSet<_>>().into_iter().collect()
    }

    pub(super) fn parked(
        &self,
        bot: Option<i64>,
        limit: usize,
        wanted: impl Fn(&ParkedTurn) -> bool,
    ) -> Vec<ParkedTurn> {
        let mut found: Vec<_> =
            self.data_of(bot).flat_map(|rows| rows.parked.values()).filter(|row| wanted(row)).collect();
        found.sort_by_key(|parked| (parked.at, parked.id));
        found.into_iter().take(limit).cloned().collect()
    }

    pub(super) fn retry_parked(&mut self, id: ParkedId) -> bool {
        let parked = self.by_bot.values_mut().find_map(|rows| rows.parked.get_mut(&id));
        parked.map(|parked| parked.retry = true).is_some()
    }

    pub(super) fn transitions_after(&self, bot: i64, after: i64, limit: usize) -> Vec<TransitionRow> {
        self.read(bot, |rows| later(&rows.transitions, after).take(limit).cloned().collect())
    }

    pub(super) fn transitions_of(&self, key: &ConversationKey, after: i64, limit: usize) -> Vec<TransitionRow> {
        let of_key = |rows: &BotData| {
            later(&rows.transitions, after).filter(|row| row.key == *key).take(limit).cloned().collect()
        };
        self.read(key.bot, of_key)
    }

    fn data_of(&self, bot: Option<i64>) -> impl Iterator<Item = &BotData> {
        self.by_bot.iter().filter(move |(of, _)| bot.is_none_or(|bot| bot == **of)).map(|(_, rows)| rows)
    }
}

impl BotData {
    fn is_empty(&self) -> bool {
        self.conversations.is_empty()
            && self.inbox.len() + self.outbox.len() + self.outbox.failed() + self.timers.len() == 0
            && self.effects.is_empty()
            && self.parked.is_empty()
            && self.transitions.is_empty()
    }
}
