//! Removes old rows in small steps, and bounds the rest by number: memory is limited.

use super::data::BotData;
use crate::store::{Cleaned, CleaningLimits};

/// The most rows of a kind removed in one step, so that turns do not wait long for the lock.
const CLEAN_LIMIT: usize = 1_000;

/// The most marks kept: far more than Telegram delivers again.
const MAX_MARKS: usize = 10_000;
/// The most transitions, ended conversations, failed messages and parked turns kept, of each.
const MAX_RECORDS: usize = 2_000;
/// The most labels and keys of posts kept, of each.
const MAX_NAMES: usize = 10_000;

impl BotData {
    /// Removes the oldest rows above the limits.
    pub(super) fn trim(&mut self) {
        self.marks.forget_above(MAX_MARKS);
        self.conversations.forget_ended_above(MAX_RECORDS);
        for id in self.transitions_by_age.take_above(MAX_RECORDS) {
            self.transitions.remove(&id);
        }
        self.outbox.forget_above(MAX_RECORDS, MAX_NAMES);
        while self.parked.len() > MAX_RECORDS
            && let Some((id, parked)) = self.parked.pop_first()
        {
            tracing::error!(parked = id.0, kind = parked.kind, "too many parked turns in memory; dropping the oldest");
        }
    }

    pub(super) fn clean(&mut self, limits: CleaningLimits) -> Cleaned {
        let CleaningLimits { marks_before, records_before, max_parked, .. } = limits;
        let old_transitions = self.transitions_by_age.take_before(records_before, CLEAN_LIMIT);
        old_transitions.iter().for_each(|id| {
            self.transitions.remove(id);
        });
        let aged = old_transitions.len()
            + self.marks.forget_before(marks_before, CLEAN_LIMIT)
            + self.outbox.forget_posts_before(marks_before, CLEAN_LIMIT)
            + self.outbox.forget_failed_before(records_before, CLEAN_LIMIT)
            + self.outbox.forget_labels_before(records_before, CLEAN_LIMIT)
            + self.conversations.forget_ended_before(records_before, CLEAN_LIMIT);
        let parked = self.parked.len().saturating_sub(max_parked).min(CLEAN_LIMIT);
        (0..parked).for_each(|_| drop(self.parked.pop_first()));
        Cleaned { aged: aged as u64, parked: parked as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Millis;
    use crate::key::ConversationKey;
    use crate::store::{Epoch, LeaseAnswer, MemoryStore, ParkedId, ParkedTurn, Settled, Settlement, Store};
    use crate::testing::conformance::fixture::message;
    use crate::testing::holder;

    const BOT: i64 = 1;

    async fn leading_store() -> (MemoryStore, Epoch) {
        let store = MemoryStore::new();
        let Ok(LeaseAnswer::Granted(epoch)) = store.claim(BOT, &holder("t"), None).await else { panic!("no lease") };
        (store, epoch)
    }

    #[tokio::test]
    async fn failed_sends_labels_and_posts_are_bounded() {
        let (store, epoch) = leading_store().await;
        let many = i64::try_from(MAX_NAMES).unwrap() + 10;
        for number in 0..many {
            let at = Millis(number);
            let key = ConversationKey::private(BOT, 1);
            let ids =
                store.post(epoch, &format!("post {number}"), vec![(key, message(1, "said")); 2], at).await.unwrap();
            let label = Some((1, format!("label {number}").into(), number));
            let settled = vec![
                Settled { id: ids[0], outcome: Settlement::Sent { labelled: label } },
                Settled { id: ids[1], outcome: Settlement::Failed("no".into()) },
            ];
            store.settle(epoch, settled, at).await.unwrap();
        }
        let failed = store.statistics(Some(BOT)).await.unwrap().failed;
        assert_eq!(usize::try_from(failed).unwrap(), MAX_RECORDS);
        for (number, is_kept) in [(many - 1, true), (10, true), (9, false), (0, false)] {
            let labelled = store.labelled(BOT, 1, &format!("label {number}")).await.unwrap();
            assert_eq!(labelled.is_some(), is_kept, "label {number}");
            let again = vec![(ConversationKey::private(BOT, 1), message(1, "said"))];
            let posted = store.post(epoch, &format!("post {number}"), again, Millis(many)).await.unwrap();
            assert_eq!(posted.is_empty(), is_kept, "post {number}");
        }
    }

    #[tokio::test]
    async fn parked_turns_are_bounded() {
        let (store, epoch) = leading_store().await;
        let mut ids: Vec<ParkedId> = Vec::new();
        for number in 0..MAX_RECORDS + 10 {
            let key = ConversationKey::private(BOT, 1);
            let reason = number.to_string();
            let parked = ParkedTurn::new(key, "update", String::new(), reason, 3);
            ids.push(store.park(epoch, Vec::new(), parked, Vec::new()).await.unwrap().id);
        }
        let parked = store.statistics(Some(BOT)).await.unwrap().parked;
        assert_eq!(usize::try_from(parked).unwrap(), MAX_RECORDS);
        assert!(store.operator().parked_by_id(ids[9]).await.unwrap().is_none());
        assert!(store.operator().parked_by_id(ids[10]).await.unwrap().is_some());
    }
}
