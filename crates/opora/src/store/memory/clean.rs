//! Removes what is kept for a time only, some of it at a time, and keeps the rest within bounds: memory is not a disk.

use super::shelves::Room;
use crate::store::{Bounds, Cleaned};

/// How many rows of a kind go at once, so that turns do not wait long for the lock.
const ROWS_AT_ONCE: usize = 1_000;

/// How many marks are kept: far more than Telegram delivers again.
const MARKS_MOST: usize = 10_000;
/// How many transitions and how many ended conversations are kept.
const RECORDS_MOST: usize = 2_000;

impl Room {
    /// Drops the oldest of what would grow for ever.
    pub(super) fn bound(&mut self) {
        self.marks.forget_above(MARKS_MOST);
        self.conversations.forget_ended_above(RECORDS_MOST);
        for id in self.transitions_by_age.take_above(RECORDS_MOST) {
            self.transitions.remove(&id);
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
