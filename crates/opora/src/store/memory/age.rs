//! Finds what is old without looking at what is not.

use std::collections::BTreeSet;
use std::ops::Bound;

use crate::clock::Millis;

/// Things by the time at which they came.
#[derive(Debug)]
pub(super) struct ByAge<T>(BTreeSet<(Millis, T)>);

impl<T> Default for ByAge<T> {
    fn default() -> Self {
        Self(BTreeSet::new())
    }
}

impl<T: Ord> ByAge<T> {
    pub(super) fn add(&mut self, at: Millis, thing: T) {
        self.0.insert((at, thing));
    }

    pub(super) fn remove(&mut self, at: Millis, thing: T) {
        self.0.remove(&(at, thing));
    }

    /// Takes out the oldest ones from before a time, at most `limit`.
    pub(super) fn take_before(&mut self, before: Millis, limit: usize) -> Vec<T> {
        let mut old = Vec::new();
        while old.len() < limit && self.0.first().is_some_and(|(at, _)| *at < before) {
            old.extend(self.0.pop_first().map(|(_, thing)| thing));
        }
        old
    }

    /// Takes out the oldest ones above a number.
    pub(super) fn take_above(&mut self, most: usize) -> Vec<T> {
        let above = self.0.len().saturating_sub(most);
        (0..above).filter_map(|_| self.0.pop_first().map(|(_, thing)| thing)).collect()
    }

    /// The things up to a time, the earliest first.
    pub(super) fn until(&self, now: Millis) -> impl Iterator<Item = &T> {
        self.0.iter().take_while(move |(at, _)| *at <= now).map(|(_, thing)| thing)
    }

    /// The things behind one of them, the earliest first.
    pub(super) fn after(&self, place: Option<(Millis, T)>) -> impl Iterator<Item = &T> {
        let from = place.map_or(Bound::Unbounded, Bound::Excluded);
        self.0.range((from, Bound::Unbounded)).map(|(_, thing)| thing)
    }

    pub(super) fn earliest(&self) -> Option<Millis> {
        self.0.first().map(|(at, _)| *at)
    }
}
