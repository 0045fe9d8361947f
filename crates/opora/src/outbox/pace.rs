//! How many calls are worth having under way at once.
//!
//! Against a server that answers in a millisecond, a few connections carry everything, and more only cost memory;
//! against one that takes fifty, many must wait side by side. So the number follows how long answers take.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Below this it does not go: enough for a server that answers at once.
const FEWEST: usize = 32;
/// So many calls for each millisecond that an answer takes.
const PER_MILLISECOND: u64 = 5;

/// How long answers took lately.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// A moving average.
    answer_us: AtomicU64,
}

impl Pace {
    /// An answer took so long. Two at once may lose one of them: it is an average.
    pub fn answered(&self, took: Duration) {
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).min(10_000_000);
        let before = self.answer_us.load(Ordering::Relaxed);
        let after = if before == 0 { took } else { (before * 7 + took) / 8 };
        self.answer_us.store(after, Ordering::Relaxed);
    }

    /// How many calls may be under way, at most `most`.
    pub fn limit(&self, most: usize) -> usize {
        let wanted = self.answer_us.load(Ordering::Relaxed).saturating_mul(PER_MILLISECOND) / 1000;
        usize::try_from(wanted).unwrap_or(most).max(FEWEST).min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_answers_allow_more_calls_at_once_and_quick_ones_fewer() {
        let pace = Pace::default();
        assert_eq!(pace.limit(256), FEWEST);
        for _ in 0..50 {
            pace.answered(Duration::from_millis(50));
        }
        assert_eq!(pace.limit(256), 250);
        assert_eq!(pace.limit(8), 8);
        for _ in 0..50 {
            pace.answered(Duration::from_micros(500));
        }
        assert_eq!(pace.limit(256), FEWEST);
    }
}
