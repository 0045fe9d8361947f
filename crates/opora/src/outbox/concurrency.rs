//! How many calls may run at once.
//!
//! For a server that answers in a millisecond a few connections are enough, and more only cost memory. For one that
//! takes fifty milliseconds, many calls must wait side by side. So the number follows the latency.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The smallest number of calls: enough for a server that answers at once.
const CALLS_MIN: usize = 32;
/// Calls for each millisecond of latency.
const CALLS_PER_MILLISECOND: u64 = 5;

/// The recent latency of answers.
#[derive(Debug, Default)]
pub(super) struct Concurrency {
    /// A moving average, in microseconds.
    answer_us: AtomicU64,
}

impl Concurrency {
    /// Records the latency of an answer. Of two concurrent updates one may be lost, which an average tolerates.
    pub fn record_latency(&self, latency: Duration) {
        let latency_us = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX).min(10_000_000);
        let before = self.answer_us.load(Ordering::Relaxed);
        let after = if before == 0 { latency_us } else { (before * 7 + latency_us) / 8 };
        self.answer_us.store(after, Ordering::Relaxed);
    }

    /// How many calls may run at once, at most `max`.
    pub fn limit(&self, max: usize) -> usize {
        let wanted = self.answer_us.load(Ordering::Relaxed).saturating_mul(CALLS_PER_MILLISECOND) / 1000;
        usize::try_from(wanted).unwrap_or(max).max(CALLS_MIN).min(max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_answers_allow_more_concurrent_calls() {
        let concurrency = Concurrency::default();
        assert_eq!(concurrency.limit(256), CALLS_MIN);
        for _ in 0..50 {
            concurrency.record_latency(Duration::from_millis(50));
        }
        assert_eq!(concurrency.limit(256), 250);
        assert_eq!(concurrency.limit(8), 8);
        for _ in 0..50 {
            concurrency.record_latency(Duration::from_micros(500));
        }
        assert_eq!(concurrency.limit(256), CALLS_MIN);
    }
}
