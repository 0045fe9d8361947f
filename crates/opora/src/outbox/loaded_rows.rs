//! Which rows of the outbox are in memory.
//!
//! Memory holds a bounded part of the store's rows. Rows beyond the bound are not kept, but read from the store when
//! there is room. Until that is done, all new rows are read from the store too, which keeps the order per chat.

use crate::backlog::Backlog;
use crate::store::{OutboxId, OutboxRow};

/// The ids of the rows in memory, and how far the store was read.
#[derive(Debug)]
pub(super) struct LoadedRows {
    backlog: Backlog<OutboxId>,
    capacity: usize,
    /// Where to continue reading. None if memory has all rows.
    behind: Option<Behind>,
}

#[derive(Debug, Default)]
struct Behind {
    /// All rows up to this one were read.
    read_to: OutboxId,
    /// The first row that was not kept since then.
    missed: Option<OutboxId>,
}

impl LoadedRows {
    pub fn new(capacity: usize, first_of_epoch: OutboxId) -> Self {
        let capacity = capacity.max(1);
        Self { backlog: Backlog::new(capacity, first_of_epoch), capacity, behind: None }
    }

    /// How many rows are in memory.
    pub fn len(&self) -> usize {
        self.backlog.len()
    }

    /// Whether the store has rows that are not in memory.
    pub fn is_behind(&self) -> bool {
        self.behind.is_some()
    }

    /// Whether there is room for a page.
    pub fn has_room(&self, page: usize) -> bool {
        self.len() == 0 || self.len() + page <= self.capacity
    }

    /// Requests a read of the whole outbox: the store may have rows that are not in memory.
    pub fn reload(&mut self) {
        self.miss(OutboxId::default());
    }

    /// Adds a new row. False if it is not kept.
    pub fn add(&mut self, row: &OutboxRow) -> bool {
        if self.backlog.was_read(row.id) {
            return false;
        }
        // Calls outside of order need not wait behind the others.
        let keep = row.outgoing.chat.is_none() || (self.behind.is_none() && self.len() < self.capacity);
        if !keep {
            self.miss(row.id);
            return false;
        }
        self.backlog.hold(row.id)
    }

    /// Adds a row that was read from the store. False if it is known.
    pub fn add_read(&mut self, id: OutboxId) -> bool {
        let is_missing = self.backlog.is_missing(id) && self.backlog.hold(id);
        if is_missing {
            self.backlog.note_read(id);
        }
        is_missing
    }

    /// Removes settled rows.
    pub fn settled(&mut self, ids: impl Iterator<Item = OutboxId>) {
        for id in ids {
            self.backlog.settled(id);
        }
    }

    fn miss(&mut self, id: OutboxId) {
        let behind = self.behind.get_or_insert(Behind { read_to: OutboxId(i64::MAX), missed: None });
        behind.missed = Some(behind.missed.map_or(id, |missed| missed.min(id)));
    }

    /// Begins a page. Returns the id after which to read; none if no row is missing.
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
    use crate::key::ConversationKey;
    use crate::store::Version;
    use crate::telegram::{Destination, IntoOutgoing, Tag};

    fn row(id: i64) -> OutboxRow {
        let outgoing = "x".into_outgoing(&Destination::chat(id), &Tag::new(Version(1))).unwrap();
        OutboxRow {
            id: OutboxId(id),
            key: ConversationKey::private(1, id),
            outgoing,
            was_sending: false,
            at: Millis(0),
        }
    }

    #[test]
    fn rows_beyond_the_bound_are_read_later() {
        let mut rows = LoadedRows::new(2, OutboxId(100));
        assert_eq!([101, 102, 103, 104].map(|id| rows.add(&row(id))), [true, true, false, false]);
        rows.settled([OutboxId(101), OutboxId(102)].into_iter());
        assert!(!rows.add(&row(105)), "it would overtake 103");
        assert_eq!(rows.begin_page(), Some(OutboxId(102)));
        assert!([103, 104].iter().all(|id| rows.add_read(OutboxId(*id))));
        rows.end_page(Some(OutboxId(104)), false);
        assert_eq!(rows.begin_page(), Some(OutboxId(104)));
        assert!(rows.add_read(OutboxId(105)));
        rows.end_page(Some(OutboxId(105)), true);
        assert!(!rows.is_behind());
    }

    #[test]
    fn a_row_added_during_the_last_page_is_not_lost() {
        let mut rows = LoadedRows::new(10, OutboxId(100));
        rows.reload();
        assert_eq!(rows.begin_page(), Some(OutboxId(-1)));
        assert!(!rows.add(&row(101)));
        rows.end_page(None, true);
        assert!(rows.is_behind());
        assert_eq!(rows.begin_page(), Some(OutboxId(-1)));
        assert!(rows.add_read(OutboxId(101)));
        rows.end_page(Some(OutboxId(101)), true);
        assert!(!rows.is_behind());
    }

    #[test]
    fn no_row_is_added_twice() {
        let mut rows = LoadedRows::new(10, OutboxId(100));
        assert!(rows.add(&row(101)));
        rows.reload();
        rows.begin_page();
        // Unsent when the page was read, and settled since.
        rows.settled([OutboxId(101)].into_iter());
        assert!(!rows.add_read(OutboxId(101)));
        // Read before its turn adds it, and settled at once.
        assert!(rows.add_read(OutboxId(102)));
        rows.settled([OutboxId(102)].into_iter());
        rows.end_page(Some(OutboxId(102)), true);
        assert!(!rows.add(&row(102)));
        assert_eq!(rows.len(), 0);
    }
}
