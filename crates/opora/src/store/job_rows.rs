//! The rows of background jobs, as every store keeps them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Epoch;
use crate::clock::{Millis, When};

/// The id of a job. A later job of the same bot has a higher one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(pub i64);

/// Where a job is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// It waits for its time: it was enqueued for later, failed and is tried again, or was snoozed.
    Scheduled,
    /// It can start as soon as its queue has room.
    #[default]
    Available,
    /// An attempt runs.
    Running,
    /// An attempt has succeeded.
    Completed,
    /// Its last attempt has failed, or it gave up. An operator can run it again.
    Discarded,
    /// An operator or the job itself has cancelled it.
    Cancelled,
}

impl JobState {
    /// All states, in the order of a job's life.
    pub const ALL: [Self; 6] =
        [Self::Scheduled, Self::Available, Self::Running, Self::Completed, Self::Discarded, Self::Cancelled];

    /// The name, as it is stored and shown.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Available => "available",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Discarded => "discarded",
            Self::Cancelled => "cancelled",
        }
    }

    /// The state of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Whether no attempt follows, unless an operator asks for one.
    #[must_use]
    pub fn is_finished(self) -> bool {
        matches!(self, Self::Completed | Self::Discarded | Self::Cancelled)
    }
}

/// When a job counts as a repetition of another one: both have the same name and key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unique {
    /// What the jobs have in common.
    pub(crate) key: Box<str>,
    /// How long after the earlier job was enqueued; for ever if there is none.
    pub(crate) period: Option<Duration>,
    /// The states of the earlier job.
    pub(crate) states: Vec<JobState>,
}

impl Unique {
    /// While a job with this key waits or runs, another one is not added.
    #[must_use]
    pub fn by(key: impl Into<Box<str>>) -> Self {
        let states = vec![JobState::Scheduled, JobState::Available, JobState::Running];
        Self { key: key.into(), period: None, states }
    }

    /// Only jobs that were enqueued within this time count.
    #[must_use]
    pub fn within(self, period: Duration) -> Self {
        Self { period: Some(period), ..self }
    }

    /// Only jobs in these states count.
    #[must_use]
    pub fn in_states(self, states: impl Into<Vec<JobState>>) -> Self {
        Self { states: states.into(), ..self }
    }

    /// Finished jobs count too, while they are kept.
    #[must_use]
    pub fn also_finished(self) -> Self {
        self.in_states(JobState::ALL)
    }

    /// Whether an earlier job counts.
    pub(super) fn applies_to(&self, state: JobState, enqueued_at: Millis, now: Millis) -> bool {
        self.states.contains(&state) && self.period.is_none_or(|period| enqueued_at > now.minus(period))
    }
}

/// A job to add. [`crate::jobs::Job`] makes one of a typed job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewJob {
    pub(crate) name: Box<str>,
    pub(crate) queue: Box<str>,
    /// The job itself, as JSON.
    pub(crate) args: Box<str>,
    pub(crate) priority: u8,
    pub(crate) when: When,
    pub(crate) max_attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) unique: Option<Unique>,
    /// A job with the same value is not added again while this one is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) once: Option<Box<str>>,
    /// Why the job cannot be added.
    #[serde(skip)]
    pub(crate) mistake: Option<String>,
}

impl NewJob {
    /// The lowest priority. 0 is the highest.
    pub const LOWEST_PRIORITY: u8 = 9;

    /// The first mistake of these jobs.
    pub(crate) fn check_all(jobs: &[Self]) -> Result<(), String> {
        let bad_key = |job: &Self| job.unique.as_ref().is_some_and(|unique| unique.key.contains('\0'));
        let mistake = |job: &Self| {
            let of_key = || bad_key(job).then(|| format!("the unique key of `{}` has the character U+0000", job.name));
            job.mistake.clone().or_else(of_key)
        };
        jobs.iter().find_map(mistake).map_or(Ok(()), Err)
    }

    /// The first state of the job, and its time.
    pub(crate) fn start(&self, now: Millis) -> (JobState, Millis) {
        let run_at = storable(self.when.resolve(now));
        (if run_at > now { JobState::Scheduled } else { JobState::Available }, run_at)
    }

    /// The key under which the store looks for repetitions.
    pub(crate) fn unique_key(&self) -> Option<String> {
        self.unique.as_ref().map(|unique| format!("{}:{}", self.name, unique.key))
    }
}

/// The nearest time that every store keeps exactly: from 1970 to the year 5138.
pub(crate) fn storable(time: Millis) -> Millis {
    Millis(time.0.clamp(0, 99_999_999_999_999))
}

/// What became of a job that was enqueued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueued {
    /// It was added.
    New(JobId),
    /// It repeats this job, and was not added.
    Known(JobId),
}

impl Enqueued {
    /// The id of the job that runs.
    #[must_use]
    pub fn id(self) -> JobId {
        match self {
            Self::New(id) | Self::Known(id) => id,
        }
    }
}

/// A failed attempt of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobFailure {
    /// The number of the attempt.
    pub attempt: u32,
    /// When it failed.
    pub at: Millis,
    /// Why.
    pub reason: String,
}

/// A job in a store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRow {
    /// Its id.
    pub id: JobId,
    /// The bot that runs it.
    pub bot: i64,
    /// The name of the typed job.
    pub name: Box<str>,
    /// Its queue.
    pub queue: Box<str>,
    /// The job itself, as JSON.
    pub args: Box<str>,
    /// Its state.
    pub state: JobState,
    /// Its priority: 0 goes first.
    pub priority: u8,
    /// When it may start.
    pub run_at: Millis,
    /// When it was to start at first. For a job of a schedule this is the tick.
    pub scheduled_at: Millis,
    /// The number of the latest attempt; 0 before the first one.
    pub attempt: u32,
    /// How many attempts it may have. A snooze adds one.
    pub max_attempts: u32,
    /// The lease under which the latest attempt began.
    pub epoch: Epoch,
    /// An operator wants the running attempt to end.
    pub cancel_requested: bool,
    /// When it was enqueued.
    pub enqueued_at: Millis,
    /// When the latest attempt began.
    pub started_at: Option<Millis>,
    /// When it reached a finished state.
    pub finished_at: Option<Millis>,
    /// Every failed attempt, the first one first.
    pub errors: Vec<JobFailure>,
    /// What it returned, as JSON; removed after a while.
    pub result: Option<Box<str>>,
}

/// The new values of a job whose attempt is still the same one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobUpdate {
    /// The job.
    pub id: JobId,
    /// The lease under which the attempt began.
    pub epoch: Epoch,
    /// The number of the attempt. If the job is not running this attempt under that lease, nothing changes.
    pub attempt: u32,
    /// The new state. [`JobState::Running`] changes nothing and only compares. A job that an operator wants to cancel
    /// is cancelled instead of waiting for another attempt.
    pub state: JobState,
    /// When it may start.
    pub run_at: Millis,
    /// How many attempts it may have.
    pub max_attempts: u32,
    /// When the attempt ended. A job in a finished state has finished then.
    pub at: Millis,
    /// Every failed attempt.
    pub errors: Vec<JobFailure>,
    /// What it returned.
    pub result: Option<Box<str>>,
}

impl JobUpdate {
    /// An update that only compares: the attempt of this row still counts.
    #[must_use]
    pub fn compare(row: &JobRow) -> Self {
        Self {
            id: row.id,
            epoch: row.epoch,
            attempt: row.attempt,
            state: JobState::Running,
            run_at: row.run_at,
            max_attempts: row.max_attempts,
            at: Millis::default(),
            errors: row.errors.clone(),
            result: None,
        }
    }

    /// Whether it applies to a job as it is now.
    pub(super) fn fits(&self, row: &JobRow) -> bool {
        row.state == JobState::Running && row.attempt == self.attempt && row.epoch == self.epoch
    }
}

/// Which jobs to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobStart {
    /// The queues, and how many jobs of each at most.
    pub queues: Vec<(Box<str>, usize)>,
    /// Whether jobs that waited for their time are looked for. Without it only available jobs start.
    pub also_scheduled: bool,
    /// The time now.
    pub now: Millis,
}

/// What the runner has to know of a store's jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobPoll {
    /// The queues with jobs that can start now, without paused ones.
    pub available: Vec<Box<str>>,
    /// The time of the next job that waits for its time.
    pub next_scheduled: Option<Millis>,
    /// Running jobs that are to be cancelled.
    pub to_cancel: Vec<JobId>,
}

/// A tick of a schedule: its jobs are added, and the tick is noted, in one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tick {
    /// The name of the schedule.
    pub schedule: Box<str>,
    /// The tick that was noted last. If it is another one, nothing happens.
    pub from: Option<Millis>,
    /// The tick to note.
    pub to: Millis,
    /// The time now.
    pub now: Millis,
}

/// How long finished jobs are kept, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobLimits {
    /// Results of jobs that finished before are removed.
    pub results_before: Millis,
    /// Jobs that finished before are removed.
    pub finished_before: Millis,
    /// A bot keeps at most this many finished jobs. The oldest are removed first.
    pub max_finished: usize,
}

/// How many jobs of a kind are in a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobCount {
    /// Their queue.
    pub queue: Box<str>,
    /// Their name.
    pub name: Box<str>,
    /// Their state.
    pub state: JobState,
    /// How many.
    pub jobs: i64,
    /// Of available jobs: since when the oldest one could have started.
    pub oldest: Option<Millis>,
    /// Of finished jobs: how many have finished since the time that was asked for.
    pub recent: i64,
}

/// Which jobs to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// Of this bot.
    pub bot: i64,
    /// Only this job.
    pub id: Option<JobId>,
    /// In this queue.
    pub queue: Option<String>,
    /// With this name.
    pub name: Option<String>,
    /// In this state.
    pub state: Option<JobState>,
}

impl JobFilter {
    /// Whether a job passes the filter.
    pub(super) fn matches(&self, row: &JobRow) -> bool {
        self.id.is_none_or(|id| id == row.id)
            && self.queue.as_deref().is_none_or(|queue| *queue == *row.queue)
            && self.name.as_deref().is_none_or(|name| *name == *row.name)
            && self.state.is_none_or(|state| state == row.state)
    }
}

/// A request of an operator. It needs no lease: the row says what the leader does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobRequest {
    /// Runs these jobs as soon as possible, also finished ones. Running jobs stay as they are.
    Retry(Vec<JobId>),
    /// Cancels these jobs. A running attempt is ended by the leader.
    Cancel(Vec<JobId>),
    /// Starts no more jobs of a queue.
    Pause(Box<str>),
    /// Starts jobs of a queue again.
    Resume(Box<str>),
}
