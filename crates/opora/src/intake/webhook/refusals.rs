//! Counts calls that were refused, so that a stranger who makes many cannot fill the log.

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
    untold: u64,
    warned_at: Option<Instant>,
}

impl Refusals {
    /// Counts a refused call. If a warning is due: how many calls it is about.
    pub(super) fn count(&self, now: Instant) -> Option<u64> {
        let mut state = self.0.lock();
        state.untold += 1;
        let is_due = state.warned_at.is_none_or(|at| now.duration_since(at) >= WARN_EVERY);
        is_due.then(|| {
            state.warned_at = Some(now);
            std::mem::take(&mut state.untold)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::timer_now;

    #[test]
    fn a_minute_has_one_warning_with_the_count_since_the_last() {
        let refusals = Refusals::default();
        let start = timer_now();
        let told: Vec<_> = (0..=180).filter_map(|second| refusals.count(start + Duration::from_secs(second))).collect();
        assert_eq!(told, [1, 60, 60, 60]);
    }
}
