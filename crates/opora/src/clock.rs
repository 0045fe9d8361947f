//! The only reader of the clock in this crate.
//!
//! Wall time is believed once, when a clock is made; from then on the machine's monotonic clock counts, and the time
//! for which the machine sleeps. So a jump of the wall clock ends no dialogue early and makes no second leader; one
//! that stays is told. A test sets the clock by hand instead.

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
    /// This time and `duration` more.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// This time less `duration`.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// How long after `earlier` this is; zero if it is not.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// What time it is for a bot. Clones share one clock.
#[derive(Clone, Debug)]
pub struct Clock(Arc<Source>);

#[derive(Debug)]
enum Source {
    Machine { started: Instant, machine: Machine, ahead: Duration },
    ByHand(AtomicI64),
}

impl Clock {
    /// The machine's clock.
    #[must_use]
    pub fn machine() -> Self {
        Self::machine_ahead(Duration::ZERO)
    }

    /// The machine's clock, always so much ahead of it: for a test that starts a process now and has it be later there.
    /// Those who share a store should go by clocks that never step back from one process to the next.
    #[must_use]
    pub fn machine_ahead(ahead: Duration) -> Self {
        let machine = Machine::start(wall(), uptime());
        Self(Arc::new(Source::Machine { started: Instant::now(), machine, ahead }))
    }

    /// A clock that stands still until [`Clock::advance`] moves it.
    #[must_use]
    pub fn set_by_hand(at: Millis) -> Self {
        Self(Arc::new(Source::ByHand(AtomicI64::new(at.0))))
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> Millis {
        match &*self.0 {
            Source::Machine { started, machine, ahead } => {
                machine.now(Readings { steady: started.elapsed(), wall: wall() }, uptime).plus(*ahead)
            }
            Source::ByHand(at) => Millis(at.load(Ordering::SeqCst)),
        }
    }

    /// Moves a clock that is set by hand; the machine's cannot be moved.
    pub fn advance(&self, duration: Duration) {
        if let Source::ByHand(at) = &*self.0 {
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
    // A clock set before 1970 counts as 1970: nothing here needs more.
    Millis(0).plus(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO))
}

/// For how long the system runs, sleep included. Elsewhere than on Linux nobody is asked, and sleep does not count.
fn uptime() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/uptime").ok()?;
    Duration::try_from_secs_f64(text.split_whitespace().next()?.parse().ok()?).ok()
}

/// The runtime's timer, for what is to happen later in this process; a test pauses it.
#[must_use]
pub(crate) fn timer_now() -> tokio::time::Instant {
    tokio::time::Instant::now()
}

/// How long something took; always by the machine's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts now.
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
    fn a_clock_that_is_ahead_stays_so_and_goes_on() {
        let ahead = Duration::from_secs(3600);
        let second = Duration::from_secs(1);
        let machine = Clock::machine();
        let later = Clock::machine_ahead(ahead);
        let before = machine.now();
        let now = later.now();
        let after = machine.now();
        // Each has believed the wall clock at a moment of its own.
        assert!(before.plus(ahead).minus(second) <= now && now <= after.plus(ahead + second));
        assert!(later.now() >= now);
        later.advance(ahead);
        assert!(later.now() <= machine.now().plus(ahead + second), "only a clock that is set by hand is moved");
    }
}
