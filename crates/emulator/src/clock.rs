//! The only reader of the clock in this crate.
//!
//! Each bot has its own clock, which a test can move forward to let an update or a link expire without waiting.
//! Durations of calls are measured with the machine's monotonic clock, which does not move.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The wall time of one world: the machine's time plus the seconds added through `/client`.
#[derive(Debug, Default)]
pub struct Clock {
    offset_ms: AtomicI64,
}

impl Clock {
    /// Milliseconds since the epoch, as this world sees them.
    pub fn now_ms(&self) -> i64 {
        // A machine clock before 1970 counts as 1970.
        let machine = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        i64::try_from(machine.as_millis()).unwrap_or(i64::MAX) + self.offset_ms.load(Ordering::Relaxed)
    }

    /// Seconds since the epoch, the unit of every date in the Bot API.
    pub fn now(&self) -> i64 {
        self.now_ms() / 1000
    }

    pub fn advance(&self, seconds: i64) {
        self.offset_ms.fetch_add(seconds.saturating_mul(1000), Ordering::Relaxed);
    }

    pub fn offset_seconds(&self) -> i64 {
        self.offset_ms.load(Ordering::Relaxed) / 1000
    }
}

/// How long something took.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    pub fn start() -> Self {
        Self(Instant::now())
    }

    pub fn micros(self) -> u64 {
        u64::try_from(self.0.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}
