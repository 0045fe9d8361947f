//! The messages that were settled last.

use std::collections::HashSet;

use crate::store::OutboxId;

/// How many are remembered at least: more than a courier settles in the second that a Redis may lose.
const REMEMBERED: usize = 10_000;

/// What this process has settled last: two generations, of which the older one is dropped whole.
#[derive(Debug, Default)]
pub(super) struct Recent {
    young: HashSet<OutboxId>,
    old: HashSet<OutboxId>,
}

impl Recent {
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
    fn it_remembers_the_last_ones_and_not_all() {
        let mut recent = Recent::default();
        (0..50_000).for_each(|id| recent.note(std::iter::once(OutboxId(id))));
        assert!(recent.has(OutboxId(49_999)) && recent.has(OutboxId(40_001)));
        assert!(!recent.has(OutboxId(0)));
        assert!(recent.young.len() + recent.old.len() <= 2 * REMEMBERED);
    }
}
