//! Tracks which stored rows are in memory: messages to send, or effects to run.
//!
//! The store has all rows and memory has a part. No row is taken up twice, even if it is settled while its page is
//! read, or read before its turn hands it over. The caller decides how many rows memory holds, and in which order.

use std::collections::HashSet;
use std::hash::Hash;

use crate::store::Generations;

/// The ids of the rows in memory.
#[derive(Debug)]
pub(crate) struct Backlog<Id> {
    /// Rows that wait, are being worked on, or are not settled yet.
    held: HashSet<Id>,
    /// Rows settled while a page is being read.
    settled_during_read: Option<HashSet<Id>>,
    /// Rows of this epoch that were read before their turn handed them over.
    read_early: Generations<Id, ()>,
    /// Rows before this one belong to earlier epochs. No turn of this process hands them over.
    first_of_epoch: Id,
}

impl<Id: Copy + Ord + Hash> Backlog<Id> {
    pub fn new(read_early_max: usize, first_of_epoch: Id) -> Self {
        Self {
            held: HashSet::new(),
            settled_during_read: None,
            read_early: Generations::new(read_early_max),
            first_of_epoch,
        }
    }

    /// How many rows are held.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether a row that a turn hands over was read from the store before.
    pub fn was_read(&mut self, id: Id) -> bool {
        self.read_early.take(&id).is_some()
    }

    /// Whether a row that was just read is neither held nor settled during the read.
    pub fn is_missing(&self, id: Id) -> bool {
        !self.held.contains(&id) && !self.settled_during_read.as_ref().is_some_and(|ids| ids.contains(&id))
    }

    /// Holds a row. False if it was held already.
    pub fn hold(&mut self, id: Id) -> bool {
        self.held.insert(id)
    }

    /// Notes that a held row was read, so that it is recognised when its turn hands it over.
    pub fn note_read(&mut self, id: Id) {
        if id >= self.first_of_epoch {
            self.read_early.put(id, ());
        }
    }

    /// Notes that a row is settled. False if it was not held.
    pub fn settled(&mut self, id: Id) -> bool {
        if let Some(settled) = &mut self.settled_during_read {
            settled.insert(id);
        }
        self.held.remove(&id)
    }

    /// Starts to read a page.
    pub fn begin_page(&mut self) {
        self.settled_during_read = Some(HashSet::new());
    }

    /// The page was read, or the read failed.
    pub fn end_page(&mut self) {
        self.settled_during_read = None;
    }
}
