//! A bounded map of the latest entries.

use std::collections::HashMap;
use std::hash::Hash;

/// The latest entries, in two generations: when the younger one is full, the older one is dropped as a whole.
#[derive(Debug)]
pub(crate) struct Generations<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
    /// The size of a generation. With 0 nothing is kept.
    capacity: usize,
}

impl<K: Eq + Hash, V> Generations<K, V> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), capacity }
    }

    pub(crate) fn put(&mut self, key: K, value: V) {
        if self.capacity == 0 {
            return;
        }
        if self.young.len() >= self.capacity {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.young.get(key).or_else(|| self.old.get(key))
    }

    pub(crate) fn take(&mut self, key: &K) -> Option<V> {
        self.young.remove(key).or_else(|| self.old.remove(key))
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.old.keys().chain(self.young.keys())
    }

    pub(crate) fn retain(&mut self, stays: impl Fn(&K, &V) -> bool) {
        self.young.retain(|key, value| stays(key, value));
        self.old.retain(|key, value| stays(key, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_latest_entries_are_kept() {
        let mut latest = Generations::new(100);
        (0..1000).for_each(|key| latest.put(key, key));
        assert!((900..1000).all(|key| latest.get(&key) == Some(&key)));
        assert_eq!(latest.get(&0), None);
        assert!(latest.keys().count() <= 200);
        latest.put(999, 5);
        assert_eq!(latest.take(&999), Some(5), "the last value counts");
    }

    #[test]
    fn without_capacity_nothing_is_kept() {
        let mut latest = Generations::new(0);
        latest.put(1, 1);
        assert_eq!(latest.get(&1), None);
    }
}
