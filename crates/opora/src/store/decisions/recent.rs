//! The messages that were settled last.

use std::collections::HashSet;

use crate::store::OutboxId;

/// How many are remembered at least: more than the courier settles in the second that Redis may lose.
const REMEMBERED: usize = 10_000;

/// The messages that this process settled last, in two generations; the older one is dropped as a whole.
#[derive(Debug, Default)]
pub(super) struct RecentlySettled {
    young: HashSet<OutboxId>,
    old: HashSet<OutboxId>,
}

impl RecentlySettled {
    pub(super) fn note(&mut self, ids: impl Iterator<Item = OutboxId>) {
        if self.young.len() >= REMEMBERED {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.extend(ids);
    }

    pub(super) fn has(&self, id: OutboxId) -> bool {
        self.young.contains(&id) || self.old.contains(&id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_ids_are_remembered() {
        let mut recent = RecentlySettled::default();
        (0..50_000).for_each(|id| recent.note(std::iter::once(OutboxId(id))));
        assert!(recent.has(OutboxId(49_999)) && recent.has(OutboxId(40_001)));
        assert!(!recent.has(OutboxId(0)));
        assert!(recent.young.len() + recent.old.len() <= 2 * REMEMBERED);
    }
}
