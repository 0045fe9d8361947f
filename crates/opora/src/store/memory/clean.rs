//! Removes what is kept for a time only, some of it at a time, and keeps the rest within bounds: memory is not a disk.

use super::shelves::Room;
use crate::store::{Bounds, Cleaned};

/// How many rows of a kind go at once, so that turns do not wait long for the lock.
const ROWS_AT_ONCE: usize = 1_000;

/// How many marks are kept: far more than Telegram delivers again.
const MARKS_MOST: usize = 10_000;
/// How many transitions, ended conversations, failed sends and parked turns are kept, of each.
const RECORDS_MOST: usize = 2_000;
/// How many labels of messages and how many names of posts are kept, of each.
const NAMES_MOST: usize = 10_000;

impl Room {
    /// Drops the oldest of what would grow for ever.
    pub(super) fn bound(&mut self) {
        self.marks.forget_above(MARKS_MOST);
        self.conversations.forget_ended_above(RECORDS_MOST);
        for id in self.transitions_by_age.take_above(RECORDS_MOST) {
            self.transitions.remove(&id);
        }
        self.outbox.forget_above(RECORDS_MOST, NAMES_MOST);
        while self.parked.len() > RECORDS_MOST
            && let Some((id, parked)) = self.parked.pop_first()
        {
            tracing::error!(
                parked = id.0,
                kind = parked.kind,
                "memory holds too many parked turns; the oldest is dropped"
            );
        }
    }

    pub(super) fn clean(&mut self, bounds: Bounds) -> Cleaned {
        let Bounds { marks_before, records_before, parked_most, .. } = bounds;
        let old_transitions = self.transitions_by_age.take_before(records_before, ROWS_AT_ONCE);
        old_transitions.iter().for_each(|id| {
            self.transitions.remove(id);
        });
        let aged = old_transitions.len()
            + self.marks.forget_before(marks_before, ROWS_AT_ONCE)
            + self.outbox.forget_posts_before(marks_before, ROWS_AT_ONCE)
            + self.outbox.forget_failed_before(records_before, ROWS_AT_ONCE)
            + self.outbox.forget_labels_before(records_before, ROWS_AT_ONCE)
            + self.conversations.forget_ended_before(records_before, ROWS_AT_ONCE);
        let parked = self.parked.len().saturating_sub(parked_most).min(ROWS_AT_ONCE);
        (0..parked).for_each(|_| drop(self.parked.pop_first()));
        Cleaned { aged: aged as u64, parked: parked as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Millis;
    use crate::key::DialogueKey;
    use crate::store::{Epoch, LeaseAnswer, MemoryStore, Outgoing, Parked, ParkedId, Settled, Settlement, Store};
    use crate::testing::holder;

    const BOT: i64 = 1;

    async fn led() -> (MemoryStore, Epoch) {
        let store = MemoryStore::new();
        let Ok(LeaseAnswer::Granted(epoch)) = store.claim(BOT, &holder("t"), None).await else { panic!("no lease") };
        (store, epoch)
    }

    fn message() -> Outgoing {
        Outgoing {
            chat: Some(1),
            method: "sendMessage".into(),
            body: "{}".into(),
            uploads: Vec::new(),
            if_unsure: Default::default(),
            label: None,
            edits_label: None,
            secret: false,
        }
    }

    #[tokio::test]
    async fn failed_sends_labels_and_posts_are_bounded_by_number_and_the_oldest_go() {
        let (store, epoch) = led().await;
        let many = i64::try_from(NAMES_MOST).unwrap() + 10;
        for number in 0..many {
            let at = Millis(number);
            let key = DialogueKey::private(BOT, 1);
            let ids = store.post(epoch, &format!("post {number}"), vec![(key, message()); 2], at).await.unwrap();
            let label = Some((1, format!("label {number}").into(), number));
            let settled = vec![
                Settled { id: ids[0], outcome: Settlement::Sent { labelled: label } },
                Settled { id: ids[1], outcome: Settlement::Failed("no".into()) },
            ];
            store.settle(epoch, settled, at).await.unwrap();
        }
        let failed = store.statistics(Some(BOT)).await.unwrap().failed;
        assert_eq!(usize::try_from(failed).unwrap(), RECORDS_MOST);
        for (number, is_kept) in [(many - 1, true), (10, true), (9, false), (0, false)] {
            let labelled = store.labelled(BOT, 1, &format!("label {number}")).await.unwrap();
            assert_eq!(labelled.is_some(), is_kept, "label {number}");
            let again = vec![(DialogueKey::private(BOT, 1), message())];
            let posted = store.post(epoch, &format!("post {number}"), again, Millis(many)).await.unwrap();
            assert_eq!(posted.is_empty(), is_kept, "post {number}");
        }
    }

    #[tokio::test]
    async fn parked_turns_are_bounded_by_number_and_the_oldest_go() {
        let (store, epoch) = led().await;
        let mut ids: Vec<ParkedId> = Vec::new();
        for number in 0..RECORDS_MOST + 10 {
            let key = DialogueKey::private(BOT, 1);
            let reason = number.to_string();
            let parked = Parked::new(key, "update", String::new(), reason, 3);
            ids.push(store.park(epoch, Vec::new(), parked, Vec::new()).await.unwrap().id);
        }
        let parked = store.statistics(Some(BOT)).await.unwrap().parked;
        assert_eq!(usize::try_from(parked).unwrap(), RECORDS_MOST);
        assert!(store.operator().parked_one(ids[9]).await.unwrap().is_none());
        assert!(store.operator().parked_one(ids[10]).await.unwrap().is_some());
    }
}
