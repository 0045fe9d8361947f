//! Counts refused calls, so that a stranger cannot fill the log with warnings.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// At most one warning in this time.
const WARN_EVERY: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct Refusals(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Calls since the last warning.
    unreported: u64,
    warned_at: Option<Instant>,
}

impl Refusals {
    /// Counts a refused call. If a warning is due, returns the number of calls since the last one.
    pub(super) fn count(&self, now: Instant) -> Option<u64> {
        let mut state = self.0.lock();
        state.unreported += 1;
        let is_due = state.warned_at.is_none_or(|at| now.duration_since(at) >= WARN_EVERY);
        is_due.then(|| {
            state.warned_at = Some(now);
            std::mem::take(&mut state.unreported)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::timer_now;

    #[test]
    fn there_is_one_warning_a_minute_with_a_count() {
        let refusals = Refusals::default();
        let start = timer_now();
        let warnings: Vec<_> =
            (0..=180).filter_map(|second| refusals.count(start + Duration::from_secs(second))).collect();
        assert_eq!(warnings, [1, 60, 60, 60]);
    }
}
