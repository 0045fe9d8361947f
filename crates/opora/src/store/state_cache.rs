//! A cache of states that this instance has just written, so that the next turn need not read the store.
//!
//! It is only a shortcut: a commit compares versions, and a state that was changed elsewhere is read again.

use parking_lot::Mutex;

use crate::key::ConversationKey;
use crate::store::{Generations, StoredState, Version};

type CachedState = (Version, Option<StoredState>);

/// The states used last, up to about `limit`.
#[derive(Debug)]
pub(crate) struct StateCache {
    states: Mutex<Generations<ConversationKey, CachedState>>,
    limit: usize,
}

impl StateCache {
    pub(crate) fn new(limit: usize) -> Self {
        Self { states: Mutex::new(Generations::new(limit / 2)), limit }
    }

    /// Removes and returns a state: a turn that fails must not leave it here.
    pub(crate) fn take(&self, key: &ConversationKey) -> Option<CachedState> {
        self.states.lock().take(key)
    }

    pub(crate) fn put(&self, key: &ConversationKey, version: Version, stored: Option<StoredState>) {
        self.states.lock().put(key.clone(), (version, stored));
    }

    pub(crate) fn forget(&self, key: &ConversationKey) {
        drop(self.take(key));
    }

    /// Removes a bot's ended conversations.
    pub(crate) fn forget_ended(&self, bot: i64) {
        self.states.lock().retain(|key, (_, stored)| key.bot != bot || stored.is_some());
    }

    pub(crate) fn forget_all(&self) {
        *self.states.lock() = Generations::new(self.limit / 2);
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
        assert!(cache.states.lock().keys().count() <= 100);
    }
}
