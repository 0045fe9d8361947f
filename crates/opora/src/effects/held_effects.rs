//! Tracks which effects are in memory, and when more are read from the store.
//!
//! The store has all effects. Memory holds a limited number of each kind.

use std::collections::{HashMap, HashSet};

use crate::backlog::Backlog;
use crate::store::EffectId;

/// The effects in memory.
#[derive(Debug)]
pub(super) struct HeldEffects {
    backlog: Backlog<EffectId>,
    /// How many effects of each kind are held. Each kind has its own limit.
    by_kind: HashMap<Box<str>, usize>,
    /// The limit for each kind.
    limit: usize,
    /// Kinds with effects that stayed in the store because there was no room.
    overflowed: HashSet<Box<str>>,
    /// The store has to be read from the beginning.
    is_load_requested: bool,
    is_loading: bool,
}

impl HeldEffects {
    pub fn new(limit: usize, first_of_epoch: EffectId) -> Self {
        let limit = limit.max(1);
        Self {
            backlog: Backlog::new(limit, first_of_epoch),
            by_kind: HashMap::new(),
            limit,
            overflowed: HashSet::new(),
            is_load_requested: false,
            is_loading: false,
        }
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.backlog.len()
    }

    /// Adds an effect that a turn has committed. False if it is known already, or has to stay in the store for now.
    pub fn add_committed(&mut self, id: EffectId, kind: &str) -> bool {
        !self.backlog.was_read(id) && self.backlog.is_missing(id) && self.add(id, kind)
    }

    /// Adds an effect that was read from the store. False if it is known already, or has to stay there for now.
    pub fn add_stored(&mut self, id: EffectId, kind: &str) -> bool {
        let is_added = self.backlog.is_missing(id) && self.add(id, kind);
        if is_added {
            self.backlog.note_read(id);
        }
        is_added
    }

    fn add(&mut self, id: EffectId, kind: &str) -> bool {
        let count = self.by_kind.get(kind).copied().unwrap_or_default();
        if count >= self.limit {
            self.overflowed.insert(kind.into());
            return false;
        }
        let is_new = self.backlog.hold(id);
        if is_new {
            self.by_kind.insert(kind.into(), count + 1);
        }
        is_new
    }

    /// Removes an effect that does not run any more.
    pub fn finished(&mut self, id: EffectId, kind: &str) {
        if !self.backlog.settled(id) {
            return;
        }
        let Some(count) = self.by_kind.get_mut(kind) else { return };
        *count -= 1;
        // Not after every effect, because a load reads all held effects too.
        if *count <= self.limit / 2 && self.overflowed.remove(kind) {
            self.is_load_requested = true;
        }
    }

    /// Requests a load, because the store may have effects that do not run.
    pub fn request_load(&mut self) {
        self.is_load_requested = true;
    }

    /// Whether the caller has to start a load: one is requested, and none is running.
    pub fn begin_loading(&mut self) -> bool {
        let begins = self.is_load_requested && !self.is_loading;
        self.is_loading |= begins;
        begins
    }

    /// Starts a pass over the store. False if no load is requested; then loading has ended.
    pub fn begin_pass(&mut self) -> bool {
        self.is_loading = std::mem::take(&mut self.is_load_requested);
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

    const KIND: &str = "work";

    #[test]
    fn an_effect_finished_during_a_read_is_not_added_again() {
        let mut held = HeldEffects::new(10, EffectId(100));
        assert!(held.add_committed(EffectId(101), KIND));
        held.request_load();
        assert!(held.begin_loading() && held.begin_pass());
        held.begin_page();
        // It finishes after the page was read.
        held.finished(EffectId(101), KIND);
        assert!(!held.add_stored(EffectId(101), KIND));
        // Read before its turn adds it, and finished at once.
        assert!(held.add_stored(EffectId(102), KIND));
        held.finished(EffectId(102), KIND);
        held.end_page();
        assert!(!held.add_committed(EffectId(102), KIND));
        assert!(!held.begin_pass());
        assert_eq!(held.len(), 0);
    }

    #[test]
    fn the_overflow_is_read_when_half_of_its_kind_is_done() {
        let mut held = HeldEffects::new(4, EffectId(100));
        assert_eq!(
            [101, 102, 103, 104, 105].map(|id| held.add_committed(EffectId(id), KIND)),
            [true, true, true, true, false]
        );
        assert!(!held.begin_loading(), "there is no room for it");
        held.finished(EffectId(101), KIND);
        assert!(!held.begin_loading());
        held.finished(EffectId(102), KIND);
        assert!(held.begin_loading());
        assert!(!held.begin_loading(), "a load is running already");
        assert!(held.begin_pass());
        held.begin_page();
        assert!(!held.add_stored(EffectId(103), KIND) && held.add_stored(EffectId(105), KIND));
        held.end_page();
        assert!(!held.begin_pass());
    }

    #[test]
    fn each_kind_has_its_own_limit() {
        let mut held = HeldEffects::new(1, EffectId(100));
        assert!(held.add_committed(EffectId(101), KIND) && !held.add_committed(EffectId(102), KIND));
        assert!(held.add_committed(EffectId(103), "download"));
        held.finished(EffectId(103), "download");
        assert!(!held.begin_loading(), "no effect of its kind overflowed");
    }
}
