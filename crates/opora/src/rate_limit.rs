//! Limits how often something is logged or written.

use std::time::Duration;

use tokio::time::Instant;

/// Admits a limited number in a time window.
#[derive(Debug, Default)]
pub(crate) struct RateLimit {
    since: Option<Instant>,
    admitted: u32,
    suppressed: u64,
}

impl RateLimit {
    /// Admits one more, and returns how many were suppressed since the last one. None if the limit is reached.
    pub(crate) fn admit(&mut self, now: Instant, limit: u32, window: Duration) -> Option<u64> {
        if self.since.is_none_or(|since| now.duration_since(since) >= window) {
            self.since = Some(now);
            self.admitted = 0;
        }
        if self.admitted >= limit {
            self.suppressed += 1;
            return None;
        }
        self.admitted += 1;
        Some(std::mem::take(&mut self.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::timer_now;

    #[tokio::test(start_paused = true)]
    async fn a_rate_limit_counts_what_it_suppressed() {
        let mut limit = RateLimit::default();
        let minute = Duration::from_secs(60);
        assert_eq!(limit.admit(timer_now(), 1, minute), Some(0));
        assert_eq!(limit.admit(timer_now(), 1, minute), None);
        assert_eq!(limit.admit(timer_now(), 1, minute), None);
        tokio::time::advance(minute).await;
        assert_eq!(limit.admit(timer_now(), 1, minute), Some(2));
    }
}
