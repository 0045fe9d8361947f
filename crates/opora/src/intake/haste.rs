//! Whether turns are begun before their updates are in the inbox.
//!
//! That saves a write where turns commit within a moment. Where they often take longer, it would only hold up the
//! intake: then the inbox comes first, until it is worth another try.

use std::sync::atomic::{AtomicU32, Ordering};

/// So many batches go through the inbox after one that took too long.
const REST: u32 = 32;

/// What the last batches have taught. Starts with confidence.
#[derive(Debug)]
pub(crate) struct Haste {
    may_be: bool,
    /// Batches that are still stored first.
    rest: AtomicU32,
}

impl Haste {
    /// Haste where it may be at all.
    pub(crate) fn new(may_be: bool) -> Self {
        Self { may_be, rest: AtomicU32::new(0) }
    }

    /// Whether this batch is handed over before it is stored.
    pub(crate) fn is_on(&self) -> bool {
        let left = |rest: u32| rest.checked_sub(1);
        self.may_be && self.rest.fetch_update(Ordering::AcqRel, Ordering::Acquire, left).is_err()
    }

    /// A batch that was handed over has, or has not, committed in time.
    pub(crate) fn learn(&self, in_time: bool) {
        if !in_time {
            self.rest.store(REST, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_batch_sends_the_next_ones_through_the_inbox_and_then_haste_is_tried_again() {
        assert!(!Haste::new(false).is_on());
        let haste = Haste::new(true);
        assert!(haste.is_on());
        haste.learn(true);
        assert!(haste.is_on());
        haste.learn(false);
        assert_eq!((0..REST).filter(|_| haste.is_on()).count(), 0);
        assert!(haste.is_on());
    }
}
