//! Which rows are in memory.
//!
//! The store is the truth; memory holds a bounded part of it. Above the bound, rows that come are not kept but read
//! again from the store when there is room. While that goes on, all new rows take the same way, so order per chat
//! holds.

use crate::backlog::Backlog;
use crate::store::{OutboxId, OutboxRow};

/// What is known of which rows.
#[derive(Debug)]
pub(super) struct Memory {
    backlog: Backlog<OutboxId>,
    most: usize,
    /// Where to read on; none if memory has everything.
    behind: Option<Behind>,
}

#[derive(Debug, Default)]
struct Behind {
    /// Everything up to here was read.
    read_to: OutboxId,
    /// The first row that was not kept since.
    missed: Option<OutboxId>,
}

impl Memory {
    pub fn new(most: usize, first_of_epoch: OutboxId) -> Self {
        let most = most.max(1);
        Self { backlog: Backlog::new(most, first_of_epoch), most, behind: None }
    }

    /// How many rows are held.
    pub fn len(&self) -> usize {
        self.backlog.len()
    }

    /// The store has rows that are not here.
    pub fn is_behind(&self) -> bool {
        self.behind.is_some()
    }

    /// There is room for a page.
    pub fn has_room(&self, page: usize) -> bool {
        self.len() == 0 || self.len() + page <= self.most
    }

    /// The store may have rows that are not here.
    pub fn reload(&mut self) {
        self.miss(OutboxId::default());
    }

    /// Takes note of a row that is brought; false if it is not to be kept.
    pub fn bring(&mut self, row: &OutboxRow) -> bool {
        if self.backlog.was_read(row.id) {
            return false;
        }
        // What stands outside of order need not queue up behind the rest.
        let keep = row.outgoing.chat.is_none() || (self.behind.is_none() && self.len() < self.most);
        if !keep {
            self.miss(row.id);
            return false;
        }
        self.backlog.hold(row.id)
    }

    /// Takes note of a row that was read; false if it is known.
    pub fn read(&mut self, id: OutboxId) -> bool {
        let is_missing = self.backlog.is_missing(id) && self.backlog.hold(id);
        if is_missing {
            self.backlog.note_read(id);
        }
        is_missing
    }

    /// Takes note of settled rows.
    pub fn settled(&mut self, ids: impl Iterator<Item = OutboxId>) {
        for id in ids {
            self.backlog.settled(id);
        }
    }

    fn miss(&mut self, id: OutboxId) {
        let behind = self.behind.get_or_insert(Behind { read_to: OutboxId(i64::MAX), missed: None });
        behind.missed = Some(behind.missed.map_or(id, |missed| missed.min(id)));
    }

    /// From where to read the next page; none if nothing is missing.
    pub fn begin_page(&mut self) -> Option<OutboxId> {
        let behind = self.behind.as_mut()?;
        let missed = behind.missed.take().map_or(OutboxId(i64::MAX), |missed| OutboxId(missed.0.saturating_sub(1)));
        behind.read_to = behind.read_to.min(missed);
        self.backlog.begin_page();
        Some(behind.read_to)
    }

    pub fn end_page(&mut self, last: Option<OutboxId>, is_last_page: bool) {
        self.backlog.end_page();
        let Some(behind) = &mut self.behind else { return };
        behind.read_to = last.map_or(behind.read_to, |last| last.max(behind.read_to));
        if is_last_page && behind.missed.is_none() {
            self.behind = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Millis;
    use crate::key::DialogueKey;
    use crate::store::Version;
    use crate::telegram::{Destination, IntoOutgoing, Tag};

    fn row(id: i64) -> OutboxRow {
        let outgoing = "x".into_outgoing(&Destination::chat(id), &Tag::new(Version(1))).unwrap();
        OutboxRow { id: OutboxId(id), key: DialogueKey::private(1, id), outgoing, was_sending: false, at: Millis(0) }
    }

    #[test]
    fn above_the_bound_rows_are_left_in_the_store_and_read_later() {
        let mut memory = Memory::new(2, OutboxId(100));
        assert_eq!([101, 102, 103, 104].map(|id| memory.bring(&row(id))), [true, true, false, false]);
        memory.settled([OutboxId(101), OutboxId(102)].into_iter());
        assert!(!memory.bring(&row(105)), "it would overtake 103");
        assert_eq!(memory.begin_page(), Some(OutboxId(102)));
        assert!([103, 104].iter().all(|id| memory.read(OutboxId(*id))));
        memory.end_page(Some(OutboxId(104)), false);
        assert_eq!(memory.begin_page(), Some(OutboxId(104)));
        assert!(memory.read(OutboxId(105)));
        memory.end_page(Some(OutboxId(105)), true);
        assert!(!memory.is_behind());
    }

    #[test]
    fn a_row_that_comes_while_the_last_page_is_read_is_not_forgotten() {
        let mut memory = Memory::new(10, OutboxId(100));
        memory.reload();
        assert_eq!(memory.begin_page(), Some(OutboxId(-1)));
        assert!(!memory.bring(&row(101)));
        memory.end_page(None, true);
        assert!(memory.is_behind());
        assert_eq!(memory.begin_page(), Some(OutboxId(-1)));
        assert!(memory.read(OutboxId(101)));
        memory.end_page(Some(OutboxId(101)), true);
        assert!(!memory.is_behind());
    }

    #[test]
    fn no_row_is_taken_up_twice() {
        let mut memory = Memory::new(10, OutboxId(100));
        assert!(memory.bring(&row(101)));
        memory.reload();
        memory.begin_page();
        // It was unsent when the page was read, and is settled by now.
        memory.settled([OutboxId(101)].into_iter());
        assert!(!memory.read(OutboxId(101)));
        // Read before its turn has brought it, and settled at once.
        assert!(memory.read(OutboxId(102)));
        memory.settled([OutboxId(102)].into_iter());
        memory.end_page(Some(OutboxId(102)), true);
        assert!(!memory.bring(&row(102)));
        assert_eq!(memory.len(), 0);
    }
}
