//! A cache of states that this instance has just written, so that the next turn need not read the store.
//!
//! It is only a shortcut: a commit compares versions, and a state that was changed elsewhere is read again.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::key::ConversationKey;
use crate::store::{StoredState, Version};

type CachedState = (Version, Option<StoredState>);

/// The states used last, up to about `limit`, in two generations; the older one is dropped as a whole.
#[derive(Debug)]
pub(crate) struct StateCache {
    generations: Mutex<Generations>,
    limit: usize,
}

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<ConversationKey, CachedState>,
    old: HashMap<ConversationKey, CachedState>,
}

impl StateCache {
    pub(crate) fn new(limit: usize) -> Self {
        Self { generations: Mutex::default(), limit: limit / 2 }
    }

    /// Removes and returns a state: a turn that fails must not leave it here.
    pub(crate) fn take(&self, key: &ConversationKey) -> Option<CachedState> {
        let mut generations = self.generations.lock();
        generations.young.remove(key).or_else(|| generations.old.remove(key))
    }

    pub(crate) fn put(&self, key: &ConversationKey, version: Version, stored: Option<StoredState>) {
        if self.limit == 0 {
            return;
        }
        let mut generations = self.generations.lock();
        if generations.young.len() >= self.limit {
            generations.old = std::mem::take(&mut generations.young);
        }
        generations.young.insert(key.clone(), (version, stored));
    }

    pub(crate) fn forget(&self, key: &ConversationKey) {
        drop(self.take(key));
    }

    /// Removes a bot's ended conversations.
    pub(crate) fn forget_ended(&self, bot: i64) {
        let stays = |key: &ConversationKey, (_, stored): &mut CachedState| key.bot != bot || stored.is_some();
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
    fn the_cache_holds_the_latest_states_up_to_its_limit() {
        let cache = StateCache::new(100);
        let key = |user| ConversationKey::private(1, user);
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
