//! Removes what is kept for a time only, some of it at a time, and keeps the rest within bounds: memory is not a disk.

use super::shelves::Room;
use crate::clock::Millis;

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

    pub(super) fn clean(&mut self, marks_before: Millis, records_before: Millis) -> u64 {
        let old_transitions = self.transitions_by_age.take_before(records_before, ROWS_AT_ONCE);
        old_transitions.iter().for_each(|id| {
            self.transitions.remove(id);
        });
        let gone = old_transitions.len()
            + self.marks.forget_before(marks_before, ROWS_AT_ONCE)
            + self.outbox.forget_posts_before(marks_before, ROWS_AT_ONCE)
            + self.outbox.forget_failed_before(records_before, ROWS_AT_ONCE)
            + self.conversations.forget_ended_before(records_before, ROWS_AT_ONCE);
        gone as u64
    }
}
