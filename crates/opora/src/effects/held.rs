//! Which wishes are held in memory, and how the rest comes from the store.
//!
//! The store is the truth; memory holds a bounded part of it. No wish is taken up twice: neither one that is finished while
//! a page is read, nor one that is read before the turn that committed it has brought it.

use std::collections::HashSet;

use crate::store::EffectId;

/// What is known of which wishes.
#[derive(Debug)]
pub(super) struct Held {
    under_way: HashSet<EffectId>,
    most: usize,
    /// The store has been asked to be read from the beginning.
    wanted: bool,
    is_loading: bool,
    /// Finished since the page under way was asked for.
    finished_meanwhile: Option<HashSet<EffectId>>,
    /// Wishes of this epoch that were read before they were brought, in two generations.
    ahead: [HashSet<EffectId>; 2],
    /// Wishes before this are of earlier epochs: nobody will bring them.
    first_of_epoch: EffectId,
}

impl Held {
    pub fn new(most: usize, first_of_epoch: EffectId) -> Self {
        Self {
            under_way: HashSet::new(),
            most: most.max(1),
            wanted: false,
            is_loading: false,
            finished_meanwhile: None,
            ahead: Default::default(),
            first_of_epoch,
        }
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.under_way.len()
    }

    /// Takes note of a wish that a turn has committed; false if it is known, or has to stay in the store for now.
    pub fn bring(&mut self, id: EffectId) -> bool {
        if self.ahead.iter_mut().any(|ids| !ids.is_empty() && ids.remove(&id)) {
            return false;
        }
        if self.under_way.len() >= self.most {
            self.wanted = true;
            return false;
        }
        self.under_way.insert(id)
    }

    /// Takes note of a wish that was read; false if it is known.
    pub fn read(&mut self, id: EffectId) -> bool {
        let is_finished = self.finished_meanwhile.as_ref().is_some_and(|ids| ids.contains(&id));
        if is_finished || !self.under_way.insert(id) {
            return false;
        }
        if id >= self.first_of_epoch {
            if self.ahead[0].len() >= self.most {
                self.ahead.swap(0, 1);
                self.ahead[0].clear();
            }
            self.ahead[0].insert(id);
        }
        true
    }

    /// Takes note that a wish is not worked on any more.
    pub fn finished(&mut self, id: EffectId) {
        self.under_way.remove(&id);
        if let Some(meanwhile) = &mut self.finished_meanwhile {
            meanwhile.insert(id);
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

    /// Begins a page, and answers for how many there is room.
    pub fn begin_page(&mut self, page: usize) -> Option<usize> {
        let room = self.most.saturating_sub(self.under_way.len()).min(page);
        if room == 0 {
            return None;
        }
        self.finished_meanwhile = Some(HashSet::new());
        Some(room)
    }

    pub fn end_page(&mut self) {
        self.finished_meanwhile = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = 10;

    #[test]
    fn a_wish_that_is_finished_while_a_page_is_read_is_not_taken_up_again() {
        let mut held = Held::new(10, EffectId(100));
        assert!(held.bring(EffectId(101)));
        held.want();
        assert!(held.begin_loading() && held.begin_pass());
        assert_eq!(held.begin_page(PAGE), Some(9));
        // It was not done when the page was read, and is by now.
        held.finished(EffectId(101));
        assert!(!held.read(EffectId(101)));
        // Read before its turn has brought it, and finished at once.
        assert!(held.read(EffectId(102)));
        held.finished(EffectId(102));
        held.end_page();
        assert!(!held.bring(EffectId(102)));
        assert!(!held.begin_pass());
        assert_eq!(held.len(), 0);
    }

    #[test]
    fn what_does_not_fit_stays_in_the_store_and_is_read_later() {
        let mut held = Held::new(2, EffectId(100));
        assert_eq!([101, 102, 103].map(|id| held.bring(EffectId(id))), [true, true, false]);
        assert!(held.begin_loading());
        assert!(!held.begin_loading(), "one reads already");
        assert!(held.begin_pass());
        assert_eq!(held.begin_page(PAGE), None);
        held.finished(EffectId(101));
        assert_eq!(held.begin_page(PAGE), Some(1));
        assert!(!held.read(EffectId(102)) && held.read(EffectId(103)));
        held.end_page();
        assert!(!held.begin_pass());
    }
}
