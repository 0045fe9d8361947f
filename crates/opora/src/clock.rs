//! The only module of this crate that reads the time.
//!
//! A clock reads the wall time once, when it is created. From then on it adds the monotonic time and the time that the
//! machine was suspended. So a jump of the wall clock ends no dialogue early and makes no second leader. A lasting
//! difference is logged. Tests use a manual clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use self::machine::{Machine, Readings};

mod machine;

/// Milliseconds since 1970, the unit of every stored time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Millis(pub i64);

impl Millis {
    /// The time `duration` later.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// The time `duration` earlier.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// The duration since `earlier`. Zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// A time as text, in UTC.
#[must_use]
pub fn utc(at: Millis) -> String {
    let time = chrono::DateTime::from_timestamp_millis(at.0);
    time.map_or_else(|| format!("{} ms", at.0), |time| time.format("%Y-%m-%d %H:%M:%S UTC").to_string())
}

/// When a timer fires or a job runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// This long after the turn, or after the call outside of a turn.
    After(Duration),
    /// At this time.
    At(Millis),
}

impl When {
    pub(crate) fn resolve(self, now: Millis) -> Millis {
        match self {
            Self::After(after) => now.plus(after),
            Self::At(at) => at,
        }
    }
}

impl From<Duration> for When {
    fn from(after: Duration) -> Self {
        Self::After(after)
    }
}

impl From<Millis> for When {
    fn from(at: Millis) -> Self {
        Self::At(at)
    }
}

/// A bot's clock. Clones share it.
#[derive(Clone, Debug)]
pub struct Clock(Arc<Source>);

#[derive(Debug)]
enum Source {
    Machine { started: Instant, machine: Machine, ahead: Duration },
    Manual(AtomicI64),
}

impl Clock {
    /// The machine's clock.
    #[must_use]
    pub fn machine() -> Self {
        Self::machine_ahead(Duration::ZERO)
    }

    /// The machine's clock, ahead by a fixed duration: for tests whose processes run at a later time. Processes that
    /// share a store must not go back in time from one process to the next.
    #[must_use]
    pub fn machine_ahead(ahead: Duration) -> Self {
        let machine = Machine::start(wall(), uptime());
        Self(Arc::new(Source::Machine { started: Instant::now(), machine, ahead }))
    }

    /// A clock that stands still until [`Clock::advance`] moves it.
    #[must_use]
    pub fn manual(at: Millis) -> Self {
        Self(Arc::new(Source::Manual(AtomicI64::new(at.0))))
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> Millis {
        match &*self.0 {
            Source::Machine { started, machine, ahead } => {
                machine.now(Readings { steady: started.elapsed(), wall: wall() }, uptime).plus(*ahead)
            }
            Source::Manual(at) => Millis(at.load(Ordering::SeqCst)),
        }
    }

    /// Moves a manual clock. Does nothing to a machine's clock.
    pub fn advance(&self, duration: Duration) {
        if let Source::Manual(at) = &*self.0 {
            at.fetch_add(Millis(0).plus(duration).0, Ordering::SeqCst);
        }
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::machine()
    }
}

fn wall() -> Millis {
    // A time before 1970 counts as 1970.
    Millis(0).plus(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO))
}

/// The time since boot, including suspended time. None on systems other than Linux; there suspended time does not
/// count.
fn uptime() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/uptime").ok()?;
    Duration::try_from_secs_f64(text.split_whitespace().next()?.parse().ok()?).ok()
}

/// The time of tokio's timer, for delays in this process. Tests can pause it.
#[must_use]
pub(crate) fn timer_now() -> tokio::time::Instant {
    tokio::time::Instant::now()
}

/// Measures durations with the machine's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts a stopwatch.
    #[must_use]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// The time since the start.
    #[must_use]
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_in_utc() {
        assert_eq!(utc(Millis(1_709_251_199_000)), "2024-02-29 23:59:59 UTC");
        assert_eq!(utc(Millis(951_868_800_000)), "2000-03-01 00:00:00 UTC");
    }

    #[test]
    fn a_clock_that_is_ahead_stays_ahead() {
        let ahead = Duration::from_secs(3600);
        let second = Duration::from_secs(1);
        let machine = Clock::machine();
        let later = Clock::machine_ahead(ahead);
        let before = machine.now();
        let now = later.now();
        let after = machine.now();
        // The two clocks read the wall clock at slightly different times.
        assert!(before.plus(ahead).minus(second) <= now && now <= after.plus(ahead + second));
        assert!(later.now() >= now);
        later.advance(ahead);
        assert!(later.now() <= machine.now().plus(ahead + second), "only a manual clock can be moved");
    }
}
