//! An index by age.

use std::collections::BTreeSet;
use std::ops::Bound;

use crate::clock::Millis;

#[derive(Debug)]
pub(super) struct ByAge<T>(BTreeSet<(Millis, T)>);

impl<T> Default for ByAge<T> {
    fn default() -> Self {
        Self(BTreeSet::new())
    }
}

impl<T: Ord> ByAge<T> {
    pub(super) fn add(&mut self, at: Millis, item: T) {
        self.0.insert((at, item));
    }

    pub(super) fn remove(&mut self, at: Millis, item: T) {
        self.0.remove(&(at, item));
    }

    /// Removes and returns the oldest items before a time, at most `limit`.
    pub(super) fn take_before(&mut self, before: Millis, limit: usize) -> Vec<T> {
        let mut old = Vec::new();
        while old.len() < limit && self.0.first().is_some_and(|(at, _)| *at < before) {
            old.extend(self.0.pop_first().map(|(_, item)| item));
        }
        old
    }

    /// Removes and returns the oldest items above a number.
    pub(super) fn take_above(&mut self, max: usize) -> Vec<T> {
        let above = self.0.len().saturating_sub(max);
        (0..above).filter_map(|_| self.0.pop_first().map(|(_, item)| item)).collect()
    }

    /// The items up to a time, earliest first.
    pub(super) fn until(&self, now: Millis) -> impl Iterator<Item = &T> {
        self.0.iter().take_while(move |(at, _)| *at <= now).map(|(_, item)| item)
    }

    /// The items after a position, earliest first.
    pub(super) fn after(&self, place: Option<(Millis, T)>) -> impl Iterator<Item = &T> {
        let from = place.map_or(Bound::Unbounded, Bound::Excluded);
        self.0.range((from, Bound::Unbounded)).map(|(_, item)| item)
    }

    pub(super) fn earliest(&self) -> Option<Millis> {
        self.0.first().map(|(at, _)| *at)
    }
}
