//! Schedules: a cron expression in a time zone, and the job that each tick enqueues.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use chrono::{DateTime, TimeZone};
use chrono_tz::Tz;
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};

use crate::clock::{Millis, When};
use crate::store::NewJob;

/// A tick that is later than this was missed, because no instance led at its time.
const LATE: Duration = Duration::from_secs(60);
/// How many missed ticks are caught up in one step.
const TICKS_PER_STEP: usize = 500;

/// What happens to the ticks of the time in which no instance led.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissedTicks {
    /// Nothing: the next run is at the next tick.
    Skip,
    /// One run for all of them.
    #[default]
    RunOnce,
    /// A run for each of them, the oldest first.
    CatchUp,
}

/// Enqueues a job at the ticks of a cron expression, once for each tick over all instances.
///
/// ```
/// # use opora::jobs::{Job, MissedTicks, Schedule};
/// # #[derive(serde::Serialize, serde::Deserialize)] struct Payroll {}
/// # impl Job for Payroll { const NAME: &'static str = "payroll"; }
/// let payroll = Schedule::new("payroll", "0 4 * * *", "Europe/Moscow", Payroll {})?.missed(MissedTicks::CatchUp);
/// # Ok::<(), opora::jobs::ScheduleError>(())
/// ```
///
/// Where the clocks change, a job at a fixed time runs once in each of the two nights: at a time that does not exist it
/// runs right after the gap, and at a time that comes twice it runs at the first one. A job with a `*` or a step in its
/// minutes or hours follows the clock.
#[derive(Clone)]
pub struct Schedule {
    name: Box<str>,
    cron: Cron,
    zone: Tz,
    missed: MissedTicks,
    job: NewJob,
}

/// Why a schedule is not valid.
#[derive(Debug, thiserror::Error)]
pub enum ScheduleError {
    /// The cron expression is wrong, or has no tick at all.
    #[error("`{0}` is not a cron expression with five fields: {1}")]
    Cron(String, String),
    /// There is no such time zone.
    #[error("`{0}` is not a time zone such as Europe/Moscow")]
    Zone(String),
    /// The job cannot be stored.
    #[error("{0}")]
    Job(String),
}

impl Schedule {
    /// A schedule. The name is stored with its last tick, so another expression may keep it. The expression has five
    /// fields: minute, hour, day, month, weekday. The zone is a name such as `Europe/Moscow` or `UTC`.
    pub fn new(name: &str, cron: &str, zone: &str, job: impl Into<NewJob>) -> Result<Self, ScheduleError> {
        let job = job.into();
        if let Some(mistake) = job.mistake {
            return Err(ScheduleError::Job(mistake));
        }
        let wrong = |why: String| ScheduleError::Cron(cron.to_owned(), why);
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let parsed = parser.parse(cron).map_err(|error| wrong(error.to_string()))?;
        let zone = Tz::from_str(zone).map_err(|_| ScheduleError::Zone(zone.to_owned()))?;
        let schedule = Self { name: name.into(), cron: parsed, zone, missed: MissedTicks::default(), job };
        if schedule.next_after(Millis(0)).is_none() {
            return Err(wrong("it has no tick".to_owned()));
        }
        Ok(schedule)
    }

    /// Sets what happens to missed ticks.
    #[must_use]
    pub fn missed(self, missed: MissedTicks) -> Self {
        Self { missed, ..self }
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The cron expression.
    #[must_use]
    pub fn cron(&self) -> String {
        self.cron.as_str().to_owned()
    }

    /// The first tick after a time.
    #[must_use]
    pub fn next_after(&self, time: Millis) -> Option<Millis> {
        let next = self.cron.find_next_occurrence(&self.local(time)?, false).ok()?;
        Some(Millis(next.timestamp_millis()))
    }

    /// The last tick at or before a time.
    fn last_until(&self, time: Millis) -> Option<Millis> {
        let last = self.cron.find_previous_occurrence(&self.local(time)?, true).ok()?;
        Some(Millis(last.timestamp_millis()))
    }

    /// The time in the schedule's zone, in whole seconds.
    fn local(&self, time: Millis) -> Option<DateTime<Tz>> {
        self.zone.timestamp_opt(time.0.div_euclid(1000), 0).single()
    }

    /// The job of a tick. It has the tick as its time.
    pub(crate) fn job_at(&self, tick: Millis) -> NewJob {
        NewJob { when: When::At(tick), ..self.job.clone() }
    }

    /// What is due after the last noted tick: the tick to note, and the ticks that get a run. None if nothing is due.
    pub(super) fn due(&self, noted: Millis, now: Millis) -> Option<(Millis, Vec<Millis>)> {
        let first = self.next_after(noted).filter(|first| *first <= now)?;
        if self.missed == MissedTicks::CatchUp {
            let later = |tick: &Millis| self.next_after(*tick).filter(|next| *next <= now);
            let ticks: Vec<_> = std::iter::successors(Some(first), later).take(TICKS_PER_STEP).collect();
            return ticks.last().copied().map(|last| (last, ticks));
        }
        // Never before the first one: a search backwards must not bring a noted tick again.
        let last = self.last_until(now).unwrap_or(first).max(first);
        let runs = self.missed == MissedTicks::RunOnce || now.since(last) <= LATE;
        Some((last, if runs { vec![last] } else { Vec::new() }))
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schedule")
            .field("name", &self.name)
            .field("cron", &self.cron.as_str())
            .field("zone", &self.zone)
            .field("missed", &self.missed)
            .field("job", &self.job.name)
            .finish()
    }
}
