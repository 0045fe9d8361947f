//! Jobs of the application: what the rooms declare, and the bot's workers and schedules that it becomes.
//!
//! The library (`opora::jobs`) stores, runs and repeats jobs. A room declares its jobs in
//! [`Room::jobs`](crate::rooms::Room::jobs). A job runs at least once, so a repeated run must change nothing. Only the
//! leader runs jobs, but a former leader may wake up in the middle of one: every write compares the row that it
//! changes.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono_tz::Tz;
use opora::bot::{Bot, HandleError, QueueSettings, SendLimits};
use opora::jobs::{Job, JobContext, JobError, NewJob, Schedule, ScheduleError, Workers};
use opora::key::ConversationKey;
use opora::store::StoreError;

use crate::application::App;
use crate::domain::NotWritten;

/// Messages to people. One job at a time, so that messages keep their order.
pub const NOTIFICATIONS: &str = "notifications";
/// Plans, shifts, sites and pay.
pub const SHIFTS: &str = "shifts";
/// Long calculations.
pub const ANALYTICS: &str = "analytics";
/// Everything else.
pub const DEFAULT: &str = "default";

/// All queues, in the order of pages and lists.
pub const QUEUES: [&str; 4] = [NOTIFICATIONS, SHIFTS, ANALYTICS, DEFAULT];

/// The attempts of a job that a schedule repeats. After them an operator sees it, and the next tick enqueues it again.
pub const SCHEDULED_ATTEMPTS: u32 = 5;
/// Notices per second, so that answers to people get a third of Telegram's 30 messages.
const NOTICES_PER_SECOND: u32 = 20;
/// How long a message waits for a store that is away.
const POST_RETRY_INTERVAL: Duration = Duration::from_secs(5);
/// How soon a starting instance tries again to enqueue the jobs of its start, at first and at last.
const START_RETRY_INTERVAL: Duration = Duration::from_millis(500);
const START_RETRY_INTERVAL_LONGEST: Duration = Duration::from_secs(30);

/// Declares a job without arguments, which a schedule enqueues. While one waits or runs, another one is not added. An
/// attempt has five minutes, or the given time.
macro_rules! scheduled_job {
    ($(#[$about:meta])* $visibility:vis $job:ident = $name:literal in $queue:expr) => {
        $crate::jobs::scheduled_job! {
            $(#[$about])* $visibility $job = $name in $queue, within std::time::Duration::from_secs(300)
        }
    };
    ($(#[$about:meta])* $visibility:vis $job:ident = $name:literal in $queue:expr, within $timeout:expr) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
        $visibility struct $job {}

        impl opora::jobs::Job for $job {
            const NAME: &'static str = $name;
            const QUEUE: &'static str = $queue;
            const MAX_ATTEMPTS: u32 = $crate::jobs::SCHEDULED_ATTEMPTS;
            const TIMEOUT: std::time::Duration = $timeout;

            fn unique(&self) -> Option<opora::jobs::Unique> {
                Some(opora::jobs::Unique::by(""))
            }
        }
    };
}
pub(crate) use scheduled_job;

/// The jobs of all rooms.
#[derive(Clone, Debug, Default)]
pub struct Jobs {
    workers: Workers,
    scheduled: Vec<ScheduledJob>,
}

/// A job that a schedule repeats.
#[derive(Clone, Debug)]
pub struct ScheduledJob {
    /// The name of the job and of its schedule.
    pub name: &'static str,
    pub queue: &'static str,
    /// When it runs unless the configuration says otherwise.
    pub usual_cron: &'static str,
    /// The job that a tick enqueues.
    pub job: NewJob,
    runs_at_start: bool,
}

/// The schedules of the configuration, by the names of their jobs. None switches a schedule off.
pub type ConfiguredSchedules = BTreeMap<String, Option<String>>;

impl Jobs {
    /// Adds the function for a kind of job that rooms enqueue.
    #[must_use]
    pub fn worker<J, F, R>(mut self, run: F) -> Self
    where
        J: Job,
        F: Fn(App, J, JobContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), JobError>> + Send + 'static,
    {
        self.workers = self.workers.worker(move |job: J, context: JobContext| run(app_of(&context), job, context));
        self
    }

    /// Adds a job and its schedule. Ticks that are missed while no instance leads are made up for by one run.
    #[must_use]
    pub fn scheduled<J, F, R>(mut self, job: J, usual_cron: &'static str, run: F) -> Self
    where
        J: Job,
        F: Fn(App) -> R + Send + Sync + 'static,
        R: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        self.workers = self.workers.worker(move |_: J, context: JobContext| {
            let done = run(app_of(&context));
            async move { done.await.map_err(failed) }
        });
        let (name, queue, job) = (J::NAME, J::QUEUE, NewJob::from(job));
        self.scheduled.push(ScheduledJob { name, queue, usual_cron, job, runs_at_start: false });
        self
    }

    /// The job that was added last runs soon after every start too.
    #[must_use]
    pub fn also_at_start(mut self) -> Self {
        if let Some(last) = self.scheduled.last_mut() {
            last.runs_at_start = true;
        }
        self
    }

    /// The jobs that schedules repeat.
    pub fn list(&self) -> &[ScheduledJob] {
        &self.scheduled
    }

    /// The functions for all jobs.
    pub fn workers(&self) -> Workers {
        let one = QueueSettings::concurrency(1);
        self.workers.clone().queue(NOTIFICATIONS, one).queue(ANALYTICS, one)
    }

    /// The schedules, by the clock of a time zone.
    pub fn schedules(&self, configured: &ConfiguredSchedules, zone: Tz) -> Result<Vec<Schedule>, ScheduleError> {
        let schedule = |one: &ScheduledJob| {
            let cron = match configured.get(one.name) {
                Some(configured) => configured.as_deref()?,
                None => one.usual_cron,
            };
            Some(Schedule::new(one.name, cron, zone.name(), one.job.clone()))
        };
        self.scheduled.iter().filter_map(schedule).collect()
    }
}

/// Limits the queues of a bot whose messages obey these limits.
pub fn limit_queues(bot: Bot, limits: SendLimits) -> Bot {
    match limits {
        SendLimits::Telegram => {
            let limited = QueueSettings::concurrency(1).rate(NOTICES_PER_SECOND, Duration::from_secs(1));
            bot.queue(NOTIFICATIONS, limited)
        }
        SendLimits::Off => bot,
    }
}

/// Enqueues the jobs that run soon after every start, once the bot runs. A schedule that is off has no such run.
pub async fn enqueue_at_start(app: &App, configured: &ConfiguredSchedules) {
    let jobs = app.rooms.jobs();
    let is_on = |one: &&ScheduledJob| configured.get(one.name).is_none_or(Option::is_some);
    let mut outage = Outage::default();
    for one in jobs.list().iter().filter(|one| one.runs_at_start).filter(is_on) {
        while let Err(error) = app.bot.enqueue(one.job.clone()).await {
            if matches!(error, HandleError::NotLeading) {
                tokio::time::sleep(START_RETRY_INTERVAL).await;
                continue;
            }
            if outage.failures == 0 {
                tracing::warn!(%error, job = one.name, "a job could not be enqueued; trying until it can be");
            }
            tokio::time::sleep(outage.pause()).await;
        }
        if outage.failures > 0 {
            tracing::info!(job = one.name, failures = outage.failures, "jobs can be enqueued again");
            outage = Outage::default();
        }
    }
}

/// The failures in a row since the store went away.
#[derive(Debug, Default)]
struct Outage {
    failures: u32,
}

impl Outage {
    /// Counts a failure; returns the pause after it.
    fn pause(&mut self) -> Duration {
        let pause = START_RETRY_INTERVAL.saturating_mul(2_u32.saturating_pow(self.failures));
        self.failures += 1;
        pause.min(START_RETRY_INTERVAL_LONGEST)
    }
}

/// A failed attempt, with all causes of its error. The next attempt follows after a pause.
pub fn failed(error: anyhow::Error) -> JobError {
    JobError::Retry(format!("{error:#}").into())
}

/// A message that was not posted. It is tried again while the bot or its store is away, however long that takes.
pub fn not_posted(error: HandleError) -> JobError {
    match error {
        HandleError::Message(error) => JobError::Discard(error.to_string()),
        HandleError::Store(error) if !error.is_transient() && !error.ends_lease() => error.into(),
        error => {
            tracing::debug!(%error, "a message is posted later");
            JobError::Snooze(POST_RETRY_INTERVAL.into())
        }
    }
}

/// The key of the system conversation.
pub fn system_conversation(bot: i64) -> ConversationKey {
    ConversationKey { bot, chat: 0, user: 0, thread: 0, business: Box::default() }
}

/// The result of a job's write for one of many rows; None if the row was skipped. A row that cannot be written does not
/// stop the others; an unavailable database ends the run.
pub fn written_or_skipped<T>(written: Result<T, NotWritten>, what: &'static str, id: i64) -> anyhow::Result<Option<T>> {
    match written {
        Ok(done) => Ok(Some(done)),
        // The row has changed meanwhile.
        Err(NotWritten::Refused(refusal)) => {
            tracing::debug!(refusal, what, id, "a job skips a row that has changed");
            Ok(None)
        }
        Err(NotWritten::Failed(StoreError::WritesFailed(error))) => {
            tracing::error!(%error, what, id, "a job skips a row that it cannot write; the next run tries again");
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

fn app_of(context: &JobContext) -> App {
    App::clone(&context.context::<App>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_of_an_outage_grow_to_half_a_minute() {
        let mut outage = Outage::default();
        let pauses: Vec<u128> = (0..9).map(|_| outage.pause().as_millis()).collect();
        assert_eq!(pauses, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
    }
}
