//! Conversations whose updates are being stored in the inbox.
//!
//! Until they are stored, no later update of the same conversation may start its turn.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::key::ConversationKey;

/// How many updates of each conversation are being stored. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct InboxWrites(Arc<Mutex<HashMap<ConversationKey, usize>>>);

/// Exclusive access to the counts, for the updates of one batch.
pub(super) struct LockedWrites<'a> {
    shared: &'a InboxWrites,
    counts: MutexGuard<'a, HashMap<ConversationKey, usize>>,
    added: Vec<ConversationKey>,
}

/// The updates of one batch that are being stored. Drop it when they are stored, or when the write failed.
#[derive(Debug)]
pub(super) struct InboxWriteGuard {
    shared: InboxWrites,
    keys: Vec<ConversationKey>,
}

impl InboxWrites {
    pub(super) fn lock(&self) -> LockedWrites<'_> {
        LockedWrites { shared: self, counts: self.0.lock(), added: Vec::new() }
    }
}

impl LockedWrites<'_> {
    /// Whether an update of this conversation is being stored.
    pub(super) fn contains(&self, key: &ConversationKey) -> bool {
        // The map is nearly always empty. Then nothing is hashed.
        !self.counts.is_empty() && self.counts.contains_key(key)
    }

    /// Adds an update of this conversation.
    pub(super) fn add(&mut self, key: &ConversationKey) {
        *self.counts.entry(key.clone()).or_default() += 1;
        self.added.push(key.clone());
    }

    pub(super) fn finish(self) -> InboxWriteGuard {
        InboxWriteGuard { shared: self.shared.clone(), keys: self.added }
    }
}

impl Drop for InboxWriteGuard {
    fn drop(&mut self) {
        let mut counts = self.shared.0.lock();
        for key in &self.keys {
            if let Some(count) = counts.get_mut(key) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(key);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_is_free_when_its_last_update_is_stored() {
        let writes = InboxWrites::default();
        let anna = ConversationKey::private(1, 2);
        let add = || {
            let mut locked = writes.lock();
            locked.add(&anna);
            locked.finish()
        };
        let first = add();
        let second = add();
        drop(first);
        assert!(writes.lock().contains(&anna));
        drop(second);
        assert!(!writes.lock().contains(&anna));
    }
}
