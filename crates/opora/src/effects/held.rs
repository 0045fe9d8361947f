//! Which wishes are held in memory, and how the rest comes from the store.
//!
//! The store is the truth; memory holds a bounded part of it, of each kind.

use std::collections::{HashMap, HashSet};

use crate::backlog::Backlog;
use crate::store::EffectId;

/// What is known of which wishes.
#[derive(Debug)]
pub(super) struct Held {
    backlog: Backlog<EffectId>,
    /// How many of each kind; a kind that fills its room leaves that of others alone.
    by_kind: HashMap<Box<str>, usize>,
    /// So many of a kind, and no more.
    most: usize,
    /// Kinds of which the store has wishes for which there was no room.
    left: HashSet<Box<str>>,
    /// The store has been asked to be read from the beginning.
    wanted: bool,
    is_loading: bool,
}

impl Held {
    pub fn new(most: usize, first_of_epoch: EffectId) -> Self {
        let most = most.max(1);
        Self {
            backlog: Backlog::new(most, first_of_epoch),
            by_kind: HashMap::new(),
            most,
            left: HashSet::new(),
            wanted: false,
            is_loading: false,
        }
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.backlog.len()
    }

    /// Takes note of a wish that a turn has committed; false if it is known, or has to stay in the store for now.
    pub fn bring(&mut self, id: EffectId, kind: &str) -> bool {
        !self.backlog.was_read(id) && self.backlog.is_missing(id) && self.take_up(id, kind)
    }

    /// Takes note of a wish that was read; false if it is known, or has to stay in the store for now.
    pub fn read(&mut self, id: EffectId, kind: &str) -> bool {
        let is_taken_up = self.backlog.is_missing(id) && self.take_up(id, kind);
        if is_taken_up {
            self.backlog.note_read(id);
        }
        is_taken_up
    }

    fn take_up(&mut self, id: EffectId, kind: &str) -> bool {
        let count = self.by_kind.get(kind).copied().unwrap_or_default();
        if count >= self.most {
            self.left.insert(kind.into());
            return false;
        }
        let is_new = self.backlog.hold(id);
        if is_new {
            self.by_kind.insert(kind.into(), count + 1);
        }
        is_new
    }

    /// Takes note that a wish is not worked on any more.
    pub fn finished(&mut self, id: EffectId, kind: &str) {
        if !self.backlog.settled(id) {
            return;
        }
        let Some(count) = self.by_kind.get_mut(kind) else { return };
        *count -= 1;
        // Not for each: whoever reads passes over all that is held.
        if *count <= self.most / 2 && self.left.remove(kind) {
            self.wanted = true;
        }
    }

    /// The store may have wishes that nobody works on.
    pub fn want(&mut self) {
        self.wanted = true;
    }

    /// Whether somebody has to begin to read: something is wanted, and nobody does so yet.
    pub fn begin_loading(&mut self) -> bool {
        let begins = self.wanted && !self.is_loading;
        self.is_loading |= begins;
        begins
    }

    /// Begins a pass from the beginning; false if nothing is wanted, and loading has ended.
    pub fn begin_pass(&mut self) -> bool {
        self.is_loading = std::mem::take(&mut self.wanted);
        self.is_loading
    }

    pub fn begin_page(&mut self) {
        self.backlog.begin_page();
    }

    pub fn end_page(&mut self) {
        self.backlog.end_page();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORK: &str = "work";

    #[test]
    fn a_wish_that_is_finished_while_a_page_is_read_is_not_taken_up_again() {
        let mut held = Held::new(10, EffectId(100));
        assert!(held.bring(EffectId(101), WORK));
        held.want();
        assert!(held.begin_loading() && held.begin_pass());
        held.begin_page();
        // It was not done when the page was read, and is by now.
        held.finished(EffectId(101), WORK);
        assert!(!held.read(EffectId(101), WORK));
        // Read before its turn has brought it, and finished at once.
        assert!(held.read(EffectId(102), WORK));
        held.finished(EffectId(102), WORK);
        held.end_page();
        assert!(!held.bring(EffectId(102), WORK));
        assert!(!held.begin_pass());
        assert_eq!(held.len(), 0);
    }

    #[test]
    fn what_does_not_fit_stays_in_the_store_and_is_read_when_half_of_its_kind_is_done() {
        let mut held = Held::new(4, EffectId(100));
        assert_eq!([101, 102, 103, 104, 105].map(|id| held.bring(EffectId(id), WORK)), [true, true, true, true, false]);
        assert!(!held.begin_loading(), "there is no room for it");
        held.finished(EffectId(101), WORK);
        assert!(!held.begin_loading());
        held.finished(EffectId(102), WORK);
        assert!(held.begin_loading());
        assert!(!held.begin_loading(), "one reads already");
        assert!(held.begin_pass());
        held.begin_page();
        assert!(!held.read(EffectId(103), WORK) && held.read(EffectId(105), WORK));
        held.end_page();
        assert!(!held.begin_pass());
    }

    #[test]
    fn a_kind_that_fills_its_room_leaves_that_of_another_alone() {
        let mut held = Held::new(1, EffectId(100));
        assert!(held.bring(EffectId(101), WORK) && !held.bring(EffectId(102), WORK));
        assert!(held.bring(EffectId(103), "download"));
        held.finished(EffectId(103), "download");
        assert!(!held.begin_loading(), "nothing of its kind was left");
    }
}
