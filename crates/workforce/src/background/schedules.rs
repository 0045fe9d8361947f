//! The schedules with their last and next ticks.

use chrono_tz::Tz;
use opora::clock::Millis;
use opora::jobs::Schedule;

use crate::application::App;

/// A scheduled job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleStatus {
    pub name: &'static str,
    pub queue: &'static str,
    /// The cron expression; none if the configuration switches the schedule off.
    pub cron: Option<String>,
    /// By whose clock it ticks.
    pub zone: Tz,
    pub last: Option<Millis>,
    pub next: Option<Millis>,
}

/// All scheduled jobs. Their ticks are those of the leader, whichever instance answers.
pub async fn schedules(app: &App, now: Millis) -> anyhow::Result<Vec<ScheduleStatus>> {
    let zone = app.schedule_zone().await?;
    let ticks = app.domain.store().job_ticks(app.bot_id).await?;
    let jobs = app.rooms.jobs();
    let active = jobs.schedules(&app.schedules, zone)?;
    let status = |name: &'static str, queue: &'static str| {
        let schedule = active.iter().find(|schedule| schedule.name() == name);
        let last = ticks.iter().find(|(schedule, _)| **schedule == *name).map(|(_, at)| *at);
        let next = schedule.and_then(|schedule| schedule.next_after(now));
        ScheduleStatus { name, queue, cron: schedule.map(Schedule::cron), zone, last, next }
    };
    let mut all: Vec<_> = jobs.list().iter().map(|job| status(job.name, job.queue)).collect();
    all.sort_unstable_by_key(|schedule| schedule.name);
    Ok(all)
}
