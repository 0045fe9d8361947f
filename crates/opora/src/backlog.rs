//! Rows of which the store has all and memory a part: messages to send, effects to carry out.
//!
//! No row is taken up twice: not if it is settled while its page is read, and not if it is read before its own turn
//! brings it. How many rows memory holds, and in which order, is left to the caller.

use std::collections::HashSet;
use std::hash::Hash;

/// Which rows are known, by their ids.
#[derive(Debug)]
pub(crate) struct Backlog<Id> {
    /// Rows that wait, are under way, or are not settled yet.
    held: HashSet<Id>,
    /// Rows settled since the page under way was asked for.
    settled_meanwhile: Option<HashSet<Id>>,
    /// Rows of this epoch that were read before they were brought, in two generations.
    ahead: [HashSet<Id>; 2],
    /// The size of a generation.
    ahead_most: usize,
    /// Rows before this are of earlier epochs: no turn of this process brings them.
    first_of_epoch: Id,
}

impl<Id: Copy + Ord + Hash> Backlog<Id> {
    pub fn new(ahead_most: usize, first_of_epoch: Id) -> Self {
        Self {
            held: HashSet::new(),
            settled_meanwhile: None,
            ahead: [HashSet::new(), HashSet::new()],
            ahead_most,
            first_of_epoch,
        }
    }

    /// How many rows are held.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether a row that a turn brings was read from the store before.
    pub fn was_read(&mut self, id: Id) -> bool {
        self.ahead.iter_mut().any(|ids| !ids.is_empty() && ids.remove(&id))
    }

    /// Whether a row that was just read has to be taken up: it is not held, and was not settled meanwhile.
    pub fn is_missing(&self, id: Id) -> bool {
        !self.held.contains(&id) && !self.settled_meanwhile.as_ref().is_some_and(|ids| ids.contains(&id))
    }

    /// Holds a row; false if it was held.
    pub fn hold(&mut self, id: Id) -> bool {
        self.held.insert(id)
    }

    /// Takes note that a row that is held now was read, so that it is known when its turn brings it.
    pub fn note_read(&mut self, id: Id) {
        if id >= self.first_of_epoch {
            if self.ahead[0].len() >= self.ahead_most {
                self.ahead.swap(0, 1);
                self.ahead[0].clear();
            }
            self.ahead[0].insert(id);
        }
    }

    /// Takes note that a row is settled; false if it was not held.
    pub fn settled(&mut self, id: Id) -> bool {
        if let Some(meanwhile) = &mut self.settled_meanwhile {
            meanwhile.insert(id);
        }
        self.held.remove(&id)
    }

    /// A page is asked for.
    pub fn begin_page(&mut self) {
        self.settled_meanwhile = Some(HashSet::new());
    }

    /// The page was read, or could not be.
    pub fn end_page(&mut self) {
        self.settled_meanwhile = None;
    }
}
