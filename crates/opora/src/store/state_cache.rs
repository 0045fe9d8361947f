//! States that this instance has just written, so that the next turn need not ask the store.
//!
//! It is only ever a shortcut: a commit compares versions, and what was changed elsewhere is read again.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::key::DialogueKey;
use crate::store::{Stored, Version};

type Held = (Version, Option<Stored>);

/// The states used last, about as many as it was made for: two generations, of which the older one is dropped whole.
#[derive(Debug)]
pub(crate) struct StateCache {
    generations: Mutex<Generations>,
    limit: usize,
}

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<DialogueKey, Held>,
    old: HashMap<DialogueKey, Held>,
}

impl StateCache {
    pub(crate) fn new(limit: usize) -> Self {
        Self { generations: Mutex::default(), limit: limit / 2 }
    }

    /// Takes a state out: a turn that fails must not leave it here.
    pub(crate) fn take(&self, key: &DialogueKey) -> Option<Held> {
        let mut generations = self.generations.lock();
        generations.young.remove(key).or_else(|| generations.old.remove(key))
    }

    pub(crate) fn put(&self, key: &DialogueKey, version: Version, stored: Option<Stored>) {
        if self.limit == 0 {
            return;
        }
        let mut generations = self.generations.lock();
        if generations.young.len() >= self.limit {
            generations.old = std::mem::take(&mut generations.young);
        }
        generations.young.insert(key.clone(), (version, stored));
    }

    pub(crate) fn forget(&self, key: &DialogueKey) {
        drop(self.take(key));
    }

    /// Forgets a bot's conversations of which nothing is open.
    pub(crate) fn forget_ended(&self, bot: i64) {
        let stays = |key: &DialogueKey, (_, stored): &mut Held| key.bot != bot || stored.is_some();
        let mut generations = self.generations.lock();
        generations.young.retain(stays);
        generations.old.retain(stays);
    }

    pub(crate) fn forget_all(&self) {
        *self.generations.lock() = Generations::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_the_states_used_last_and_no_more_than_it_may() {
        let cache = StateCache::new(100);
        let key = |user| DialogueKey::private(1, user);
        for user in 0..1000 {
            cache.put(&key(user), Version(user), None);
        }
        assert_eq!(cache.take(&key(999)), Some((Version(999), None)));
        assert_eq!(cache.take(&key(999)), None);
        assert_eq!(cache.take(&key(0)), None);
        let generations = cache.generations.lock();
        assert!(generations.young.len() + generations.old.len() <= 100);
    }
}
