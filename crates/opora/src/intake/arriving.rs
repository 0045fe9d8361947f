//! Whose updates are on their way into the inbox.
//!
//! Until they are there, no later update of the same conversation may begin its turn without them.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::key::DialogueKey;

/// How many updates of each conversation are on their way. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arriving(Arc<Mutex<HashMap<DialogueKey, usize>>>);

/// A look at all of it, while nobody else hands anything over.
pub(super) struct Look<'a> {
    shared: &'a Arriving,
    counts: MutexGuard<'a, HashMap<DialogueKey, usize>>,
    mine: Vec<DialogueKey>,
}

/// Some updates that are on their way; when this goes, they have arrived, or never will.
#[derive(Debug)]
pub(super) struct OnTheirWay {
    shared: Arriving,
    keys: Vec<DialogueKey>,
}

impl Arriving {
    pub(super) fn look(&self) -> Look<'_> {
        Look { shared: self, counts: self.0.lock(), mine: Vec::new() }
    }
}

impl Look<'_> {
    /// Whether something of this conversation is on its way.
    pub(super) fn has(&self, key: &DialogueKey) -> bool {
        // Nearly always there is nothing: then nothing is hashed.
        !self.counts.is_empty() && self.counts.contains_key(key)
    }

    /// One more of this conversation is.
    pub(super) fn add(&mut self, key: &DialogueKey) {
        *self.counts.entry(key.clone()).or_default() += 1;
        self.mine.push(key.clone());
    }

    pub(super) fn done(self) -> OnTheirWay {
        OnTheirWay { shared: self.shared.clone(), keys: self.mine }
    }
}

impl Drop for OnTheirWay {
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
    fn a_conversation_is_free_when_the_last_of_its_updates_has_arrived() {
        let arriving = Arriving::default();
        let anna = DialogueKey::private(1, 2);
        let one = || {
            let mut look = arriving.look();
            look.add(&anna);
            look.done()
        };
        let first = one();
        let second = one();
        drop(first);
        assert!(arriving.look().has(&anna));
        drop(second);
        assert!(!arriving.look().has(&anna));
    }
}
