//! Whether turns are begun before their updates are in the inbox.
//!
//! That saves a write where turns commit within a moment. Where they often take longer, it would only hold up the
//! intake: then the inbox comes first, until it is worth another try.

use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;

use crate::mailbox::Fresh;

/// So many batches go through the inbox at most before haste is tried again.
const LONGEST_REST: u32 = 32;

/// What the last batches have taught. Starts with confidence.
#[derive(Debug)]
pub(crate) struct Haste {
    may_be: bool,
    /// Batches that are still stored first.
    rest: AtomicU32,
    /// How many were stored first the last time; none if haste has served since.
    rested: AtomicU32,
    /// Updates of the last batch whose handlers were waited for no longer.
    hanging: Mutex<Vec<Fresh>>,
}

impl Haste {
    /// Haste where it may be at all.
    pub(crate) fn new(may_be: bool) -> Self {
        Self { may_be, rest: AtomicU32::new(0), rested: AtomicU32::new(0), hanging: Mutex::default() }
    }

    /// Whether this batch is handed over before it is stored.
    pub(crate) fn is_on(&self) -> bool {
        let hanging = std::mem::take(&mut *self.hanging.lock());
        if !hanging.is_empty() {
            self.learn(!hanging.iter().any(Fresh::is_in_hand));
        }
        let left = |rest: u32| rest.checked_sub(1);
        self.may_be && self.rest.fetch_update(Ordering::AcqRel, Ordering::Acquire, left).is_err()
    }

    /// What becomes of these is judged when the next batch is there: handlers that are at them even then do hang.
    pub(crate) fn watch(&self, hanging: Vec<Fresh>) {
        *self.hanging.lock() = hanging;
    }

    /// A batch that was handed over has, or has not, committed in time. One that has not may be a hiccup of the
    /// machine; the more often it happens in a row, the longer is the rest.
    pub(crate) fn learn(&self, in_time: bool) {
        if in_time {
            self.rested.store(0, Ordering::Release);
            return;
        }
        let longer = |rested: u32| Some((rested * 2).clamp(1, LONGEST_REST));
        let rested = self.rested.fetch_update(Ordering::AcqRel, Ordering::Acquire, longer);
        // The closure always gives a number.
        let rest = rested.ok().and_then(longer).unwrap_or(LONGEST_REST);
        self.rest.store(rest, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many batches are stored first until haste is on again.
    fn rest(haste: &Haste) -> usize {
        (0..).take_while(|_| !haste.is_on()).count()
    }

    #[test]
    fn a_slow_batch_sends_the_next_one_through_the_inbox_and_slow_ones_in_a_row_send_more() {
        assert!(!Haste::new(false).is_on());
        let haste = Haste::new(true);
        assert_eq!(rest(&haste), 0);
        let rests: Vec<_> = (0..7)
            .map(|_| {
                haste.learn(false);
                rest(&haste)
            })
            .collect();
        assert_eq!(rests, [1, 2, 4, 8, 16, 32, 32]);
    }

    #[test]
    fn one_that_is_in_time_makes_the_next_hiccup_a_short_one() {
        let haste = Haste::new(true);
        haste.learn(false);
        haste.learn(false);
        assert_eq!(rest(&haste), 2);
        haste.learn(true);
        haste.learn(false);
        assert_eq!(rest(&haste), 1);
    }
}
