//! The machine's time, counted from the start of the process.
//!
//! The monotonic clock stops while a machine is suspended. The uptime of the system shows for how long, and that time
//! is added. If the wall clock is set while the process runs, it is unknown which clock is right, and a wrong hour
//! would end dialogues early. So the difference is only logged. The next start reads the wall clock again.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::Millis;

/// Smaller differences are ignored, because clocks are routinely corrected by that much.
const TOLERANCE: Duration = Duration::from_secs(5);
/// How often the clocks are compared while they differ.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// A difference is logged after it has lasted this long.
const LOG_AFTER: Duration = Duration::from_secs(60);

/// A clock that counts from its start.
#[derive(Debug)]
pub(super) struct Machine {
    started_at: Millis,
    uptime_at_start: Option<Duration>,
    /// How long the machine was suspended since the start. It never decreases.
    slept_ms: AtomicI64,
    /// Whether the wall clock differed at the last check.
    differs: AtomicBool,
    difference: Mutex<Difference>,
}

/// The readings of the machine's clocks at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Readings {
    /// The time since the start, without suspended time.
    pub(super) steady: Duration,
    pub(super) wall: Millis,
}

/// The difference between the wall clock and this clock.
#[derive(Debug, Default)]
struct Difference {
    checked_at: Option<Duration>,
    since: Option<Duration>,
    logged_ms: Option<i64>,
}

/// An event to log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClockEvent {
    Suspended(Duration),
    /// The wall clock has differed for a while.
    WallClockSet {
        ahead_ms: i64,
    },
}

impl Machine {
    pub(super) fn start(started_at: Millis, uptime_at_start: Option<Duration>) -> Self {
        Self {
            started_at,
            uptime_at_start,
            slept_ms: AtomicI64::new(0),
            differs: AtomicBool::new(false),
            difference: Mutex::default(),
        }
    }

    /// The time at these readings; logs events. `uptime` returns the time since boot, including suspended time. It is
    /// called only if the clocks differ.
    pub(super) fn now(&self, readings: Readings, uptime: impl FnOnce() -> Option<Duration>) -> Millis {
        let (now, event) = self.at(readings, uptime);
        match event {
            None => {}
            Some(ClockEvent::Suspended(slept)) => {
                tracing::warn!(seconds = slept.as_secs(), "the machine was suspended; that time counts");
            }
            Some(ClockEvent::WallClockSet { ahead_ms }) => tracing::error!(
                ahead_seconds = ahead_ms / 1000,
                "the system clock was changed; this process keeps its own time. If the new time is right, restart \
                 the process"
            ),
        }
        now
    }

    /// The time at these readings, and an event to log.
    fn at(&self, now: Readings, uptime: impl FnOnce() -> Option<Duration>) -> (Millis, Option<ClockEvent>) {
        if is_near_ms(now.wall.0, self.counted(now.steady).0) && !self.differs.load(Ordering::Relaxed) {
            return (self.counted(now.steady), None);
        }
        let event = self.check(now, uptime);
        (self.counted(now.steady), event)
    }

    fn counted(&self, steady: Duration) -> Millis {
        Millis(self.started_at.plus(steady).0.saturating_add(self.slept_ms.load(Ordering::Relaxed)))
    }

    fn check(&self, now: Readings, uptime: impl FnOnce() -> Option<Duration>) -> Option<ClockEvent> {
        let mut difference = self.difference.lock();
        if difference.checked_at.is_some_and(|at| now.steady < at + CHECK_INTERVAL) {
            return None;
        }
        difference.checked_at = Some(now.steady);
        let suspended = self.count_suspended(now.steady, uptime());
        let counted = self.counted(now.steady);
        let ahead_ms = now.wall.0.saturating_sub(counted.0);
        let is_near = is_near_ms(now.wall.0, counted.0);
        self.differs.store(!is_near, Ordering::Relaxed);
        if is_near {
            difference.since = None;
            difference.logged_ms = None;
            return suspended;
        }
        let since = *difference.since.get_or_insert(now.steady);
        let is_logged = difference.logged_ms.is_some_and(|logged| is_near_ms(logged, ahead_ms));
        if is_logged || now.steady.saturating_sub(since) < LOG_AFTER {
            return suspended;
        }
        difference.logged_ms = Some(ahead_ms);
        Some(ClockEvent::WallClockSet { ahead_ms })
    }

    /// Adds the time that the machine was suspended. Returns an event if it is new.
    fn count_suspended(&self, steady: Duration, uptime: Option<Duration>) -> Option<ClockEvent> {
        let up = uptime?.checked_sub(self.uptime_at_start?)?;
        let slept = i64::try_from(up.saturating_sub(steady).as_millis()).ok()?;
        let before = self.slept_ms.load(Ordering::Relaxed);
        if slept <= before || is_near_ms(slept, before) {
            return None;
        }
        // The caller holds the lock of `difference`, so no other thread counts this.
        self.slept_ms.store(slept, Ordering::Relaxed);
        Some(ClockEvent::Suspended(Duration::from_millis(slept.abs_diff(before))))
    }
}

fn is_near_ms(one: i64, other: i64) -> bool {
    Duration::from_millis(one.abs_diff(other)) < TOLERANCE
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Millis = Millis(1_800_000_000_000);
    const UP: Duration = Duration::from_secs(7777);
    const HOUR: Duration = Duration::from_secs(3600);
    const SECOND: Duration = Duration::from_secs(1);

    /// A clock with manual readings.
    struct ManualReadings {
        machine: Machine,
        steady: Duration,
        slept: Duration,
        wall_ahead_ms: i64,
    }

    impl ManualReadings {
        fn new() -> Self {
            let machine = Machine::start(START, Some(UP));
            Self { machine, steady: Duration::ZERO, slept: Duration::ZERO, wall_ahead_ms: 0 }
        }

        /// Advances the clock. Returns its time since the start, and the event.
        fn after(&mut self, more: Duration) -> (Duration, Option<ClockEvent>) {
            self.steady += more;
            let wall = Millis(START.plus(self.steady + self.slept).0 + self.wall_ahead_ms);
            let up = UP + self.steady + self.slept;
            let (now, event) = self.machine.at(Readings { steady: self.steady, wall }, || Some(up));
            (now.since(START), event)
        }
    }

    #[test]
    fn suspended_time_counts_at_once() {
        let mut clock = ManualReadings::new();
        assert_eq!(clock.after(HOUR), (HOUR, None));
        clock.slept = 8 * HOUR;
        assert_eq!(clock.after(SECOND), (9 * HOUR + SECOND, Some(ClockEvent::Suspended(8 * HOUR))));
        assert_eq!(clock.after(SECOND), (9 * HOUR + 2 * SECOND, None));
        clock.slept += HOUR;
        assert_eq!(clock.after(SECOND), (10 * HOUR + 3 * SECOND, Some(ClockEvent::Suspended(HOUR))));
    }

    #[test]
    fn a_changed_wall_clock_is_only_logged() {
        for ahead_ms in [3_600_000, -3_600_000, 20 * 365 * 24 * 3_600_000] {
            let mut clock = ManualReadings::new();
            clock.after(HOUR);
            clock.wall_ahead_ms = ahead_ms;
            let mut events = Vec::new();
            for second in 1..=300_u32 {
                let (now, event) = clock.after(SECOND);
                assert_eq!(now, HOUR + second * SECOND);
                events.extend(event);
            }
            assert_eq!(events, [ClockEvent::WallClockSet { ahead_ms }]);
            // The clock is set back, and changed once more.
            clock.wall_ahead_ms = 0;
            assert_eq!(clock.after(SECOND).1, None);
            clock.wall_ahead_ms = ahead_ms;
            assert_eq!(clock.after(SECOND).1, None);
            assert_eq!(clock.after(LOG_AFTER).1, Some(ClockEvent::WallClockSet { ahead_ms }));
        }
    }

    #[test]
    fn a_short_jump_is_not_logged() {
        let mut clock = ManualReadings::new();
        for ahead_ms in [3_600_000, 0, -3_600_000, 0] {
            clock.wall_ahead_ms = ahead_ms;
            for _ in 0..30 {
                assert_eq!(clock.after(SECOND).1, None);
            }
        }
    }

    #[test]
    fn without_uptime_a_suspension_looks_like_a_changed_clock() {
        let machine = Machine::start(START, None);
        let at = |steady| machine.at(Readings { steady, wall: START.plus(steady + HOUR) }, || None);
        assert_eq!(at(SECOND), (START.plus(SECOND), None));
        let later = SECOND + LOG_AFTER;
        assert_eq!(at(later), (START.plus(later), Some(ClockEvent::WallClockSet { ahead_ms: 3_600_000 })));
    }
}
