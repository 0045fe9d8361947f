//! Decides whether turns start before their updates are stored in the inbox.
//!
//! An early start saves a write if turns commit quickly. If they are slow, waiting for them only delays the intake.
//! Then updates are stored first for some batches, before an early start is tried again.

use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;

use crate::mailbox::DirectUpdate;

/// The largest number of batches that are stored first before an early start is tried again.
const MAX_PAUSE_BATCHES: u32 = 32;

/// Learns from recent batches. Starts turns early at first.
#[derive(Debug)]
pub(crate) struct StartEarly {
    is_allowed: bool,
    /// How many of the next batches are stored first.
    pause_left: AtomicU32,
    /// The length of the last pause. 0 after a batch that committed in time.
    last_pause: AtomicU32,
    /// Updates of the last batch with slow handlers.
    slow: Mutex<Vec<DirectUpdate>>,
}

impl StartEarly {
    /// With `is_allowed` false, turns never start early.
    pub(crate) fn new(is_allowed: bool) -> Self {
        Self { is_allowed, pause_left: AtomicU32::new(0), last_pause: AtomicU32::new(0), slow: Mutex::default() }
    }

    /// Whether turns of the next batch start early. Call it once for each batch.
    pub(crate) fn next_batch(&self) -> bool {
        let slow = std::mem::take(&mut *self.slow.lock());
        if !slow.is_empty() {
            self.record(!slow.iter().any(DirectUpdate::is_handler_running));
        }
        let count_down = |pause: u32| pause.checked_sub(1);
        self.is_allowed && self.pause_left.fetch_update(Ordering::AcqRel, Ordering::Acquire, count_down).is_err()
    }

    /// Watches updates with slow handlers. If a handler still runs when the next batch arrives, it counts as too slow.
    pub(crate) fn watch(&self, slow: Vec<DirectUpdate>) {
        *self.slow.lock() = slow;
    }

    /// Records whether a batch committed in time. A single slow batch may be a hiccup, so the pause grows with every
    /// slow batch in a row.
    pub(crate) fn record(&self, in_time: bool) {
        if in_time {
            self.last_pause.store(0, Ordering::Release);
            return;
        }
        let longer = |pause: u32| Some((pause * 2).clamp(1, MAX_PAUSE_BATCHES));
        let last = self.last_pause.fetch_update(Ordering::AcqRel, Ordering::Acquire, longer);
        // The closure always returns a number.
        let pause = last.ok().and_then(longer).unwrap_or(MAX_PAUSE_BATCHES);
        self.pause_left.store(pause, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many batches are stored first until turns start early again.
    fn pause(start_early: &StartEarly) -> usize {
        (0..).take_while(|_| !start_early.next_batch()).count()
    }

    #[test]
    fn slow_batches_in_a_row_make_the_pause_longer() {
        assert!(!StartEarly::new(false).next_batch());
        let start_early = StartEarly::new(true);
        assert_eq!(pause(&start_early), 0);
        let pauses: Vec<_> = (0..7)
            .map(|_| {
                start_early.record(false);
                pause(&start_early)
            })
            .collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 32]);
    }

    #[test]
    fn a_batch_in_time_makes_the_next_pause_short() {
        let start_early = StartEarly::new(true);
        start_early.record(false);
        start_early.record(false);
        assert_eq!(pause(&start_early), 2);
        start_early.record(true);
        start_early.record(false);
        assert_eq!(pause(&start_early), 1);
    }
}
