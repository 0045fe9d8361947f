//! The machine's time: counted from the start, never set.
//!
//! The monotonic clock stands still while a machine sleeps; how long that was, the system's uptime tells. It has really
//! passed, so it counts. Where the wall clock was set meanwhile, nobody here can say which of the two is right: an hour
//! too many would end dialogues early. So that is only told, and a start believes the wall clock anew.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::Millis;

/// Smaller differences are nobody's business: clocks are corrected by as much.
const NOTICED: Duration = Duration::from_secs(5);
/// How often the other clocks are looked at while they differ.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A difference is told once it has stayed for so long.
const STAYS: Duration = Duration::from_secs(60);

/// Time that is counted from a start.
#[derive(Debug)]
pub(super) struct Machine {
    started_at: Millis,
    uptime_at_start: Option<Duration>,
    /// For how long the machine has slept since; it never becomes less.
    slept_ms: AtomicI64,
    /// The wall clock was elsewhere when it was last looked at.
    is_apart: AtomicBool,
    difference: Mutex<Difference>,
}

/// What the machine's clocks say at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Readings {
    /// Since the start, as long as the machine did not sleep.
    pub(super) steady: Duration,
    pub(super) wall: Millis,
}

/// The difference between the wall clock and this one.
#[derive(Debug, Default)]
struct Difference {
    looked_at: Option<Duration>,
    since: Option<Duration>,
    told_ms: Option<i64>,
}

/// What a look at the other clocks has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Slept(Duration),
    /// The wall clock has been elsewhere for a while; by so much it is ahead.
    Apart {
        ahead_ms: i64,
    },
}

impl Machine {
    pub(super) fn start(started_at: Millis, uptime_at_start: Option<Duration>) -> Self {
        Self {
            started_at,
            uptime_at_start,
            slept_ms: AtomicI64::new(0),
            is_apart: AtomicBool::new(false),
            difference: Mutex::default(),
        }
    }

    /// The time by these readings. `uptime` is for how long the system runs, sleep included, where that is known; it is
    /// asked for only where the others differ.
    pub(super) fn now(&self, readings: Readings, uptime: impl FnOnce() -> Option<Duration>) -> Millis {
        let (now, found) = self.at(readings, uptime);
        match found {
            None => {}
            Some(Found::Slept(slept)) => {
                tracing::warn!(seconds = slept.as_secs(), "the machine has slept; that time counts");
            }
            Some(Found::Apart { ahead_ms }) => tracing::error!(
                ahead_seconds = ahead_ms / 1000,
                "the machine's date was set while this process runs, which goes by the date of its start: if the new one \
                 is right, restart it"
            ),
        }
        now
    }

    /// The time by these readings, and what there is to tell.
    fn at(&self, now: Readings, uptime: impl FnOnce() -> Option<Duration>) -> (Millis, Option<Found>) {
        if is_near(now.wall, self.counted(now.steady)) && !self.is_apart.load(Ordering::Relaxed) {
            return (self.counted(now.steady), None);
        }
        let found = self.look(now, uptime);
        (self.counted(now.steady), found)
    }

    fn counted(&self, steady: Duration) -> Millis {
        Millis(self.started_at.plus(steady).0.saturating_add(self.slept_ms.load(Ordering::Relaxed)))
    }

    fn look(&self, now: Readings, uptime: impl FnOnce() -> Option<Duration>) -> Option<Found> {
        let mut difference = self.difference.lock();
        if difference.looked_at.is_some_and(|at| now.steady < at + LOOK_EVERY) {
            return None;
        }
        difference.looked_at = Some(now.steady);
        let slept = self.sleep(now.steady, uptime());
        let ahead_ms = now.wall.0.saturating_sub(self.counted(now.steady).0);
        let is_near = is_near(now.wall, self.counted(now.steady));
        self.is_apart.store(!is_near, Ordering::Relaxed);
        if is_near {
            difference.since = None;
            difference.told_ms = None;
            return slept;
        }
        let since = *difference.since.get_or_insert(now.steady);
        let is_told = difference.told_ms.is_some_and(|told| is_near_ms(told, ahead_ms));
        if is_told || now.steady.saturating_sub(since) < STAYS {
            return slept;
        }
        difference.told_ms = Some(ahead_ms);
        Some(Found::Apart { ahead_ms })
    }

    /// Counts the time for which the machine has slept; answers it if it is new.
    fn sleep(&self, steady: Duration, uptime: Option<Duration>) -> Option<Found> {
        let up = uptime?.checked_sub(self.uptime_at_start?)?;
        let slept = i64::try_from(up.saturating_sub(steady).as_millis()).ok()?;
        let before = self.slept_ms.load(Ordering::Relaxed);
        if slept <= before || is_near_ms(slept, before) {
            return None;
        }
        // Only under the lock of the difference, so nobody has counted it meanwhile.
        self.slept_ms.store(slept, Ordering::Relaxed);
        Some(Found::Slept(Duration::from_millis(slept.abs_diff(before))))
    }
}

fn is_near(one: Millis, other: Millis) -> bool {
    is_near_ms(one.0, other.0)
}

fn is_near_ms(one: i64, other: i64) -> bool {
    Duration::from_millis(one.abs_diff(other)) < NOTICED
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Millis = Millis(1_800_000_000_000);
    const UP: Duration = Duration::from_secs(7777);
    const HOUR: Duration = Duration::from_secs(3600);
    const SECOND: Duration = Duration::from_secs(1);

    /// A clock whose readings a test sets by hand.
    struct ByHand {
        machine: Machine,
        steady: Duration,
        slept: Duration,
        wall_ahead_ms: i64,
    }

    impl ByHand {
        fn new() -> Self {
            let machine = Machine::start(START, Some(UP));
            Self { machine, steady: Duration::ZERO, slept: Duration::ZERO, wall_ahead_ms: 0 }
        }

        /// So long after the start it says this, after some time more.
        fn after(&mut self, more: Duration) -> (Duration, Option<Found>) {
            self.steady += more;
            let wall = Millis(START.plus(self.steady + self.slept).0 + self.wall_ahead_ms);
            let up = UP + self.steady + self.slept;
            let (now, found) = self.machine.at(Readings { steady: self.steady, wall }, || Some(up));
            (now.since(START), found)
        }
    }

    #[test]
    fn time_that_the_machine_slept_counts_at_once() {
        let mut clock = ByHand::new();
        assert_eq!(clock.after(HOUR), (HOUR, None));
        clock.slept = 8 * HOUR;
        assert_eq!(clock.after(SECOND), (9 * HOUR + SECOND, Some(Found::Slept(8 * HOUR))));
        assert_eq!(clock.after(SECOND), (9 * HOUR + 2 * SECOND, None));
        clock.slept += HOUR;
        assert_eq!(clock.after(SECOND), (10 * HOUR + 3 * SECOND, Some(Found::Slept(HOUR))));
    }

    #[test]
    fn a_wall_clock_that_is_set_changes_nothing_and_is_told_once_it_stays() {
        for ahead_ms in [3_600_000, -3_600_000, 20 * 365 * 24 * 3_600_000] {
            let mut clock = ByHand::new();
            clock.after(HOUR);
            clock.wall_ahead_ms = ahead_ms;
            let mut told = Vec::new();
            for second in 1..=300_u32 {
                let (now, found) = clock.after(SECOND);
                assert_eq!(now, HOUR + second * SECOND);
                told.extend(found);
            }
            assert_eq!(told, [Found::Apart { ahead_ms }]);
            // It was a mistake, and is made once more.
            clock.wall_ahead_ms = 0;
            assert_eq!(clock.after(SECOND).1, None);
            clock.wall_ahead_ms = ahead_ms;
            assert_eq!(clock.after(SECOND).1, None);
            assert_eq!(clock.after(STAYS).1, Some(Found::Apart { ahead_ms }));
        }
    }

    #[test]
    fn a_jump_that_does_not_stay_is_not_worth_a_word() {
        let mut clock = ByHand::new();
        for ahead_ms in [3_600_000, 0, -3_600_000, 0] {
            clock.wall_ahead_ms = ahead_ms;
            for _ in 0..30 {
                assert_eq!(clock.after(SECOND).1, None);
            }
        }
    }

    #[test]
    fn without_an_uptime_sleep_looks_like_a_date_that_was_set() {
        let machine = Machine::start(START, None);
        let at = |steady| machine.at(Readings { steady, wall: START.plus(steady + HOUR) }, || None);
        assert_eq!(at(SECOND), (START.plus(SECOND), None));
        let later = SECOND + STAYS;
        assert_eq!(at(later), (START.plus(later), Some(Found::Apart { ahead_ms: 3_600_000 })));
    }
}
