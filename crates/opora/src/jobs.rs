//! Background jobs: durable work with attempts, queues and schedules.
//!
//! A job is a value with a name. A turn, the application's writes or a [`Handle`](crate::bot::Handle) enqueues it; the
//! leader runs it with the function that is registered for its type. Every attempt is stored before it begins, and its
//! end is stored with the epoch of the lease and the number of the attempt: a former leader completes nothing. So a job
//! runs at least once, and its work must be safe to repeat.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::clock::When;
use crate::store::BoxError;

pub use self::context::{JobContext, JobWriteError};
pub use self::schedules::{MissedTicks, Schedule, ScheduleError};
pub use self::settings::{JobRetention, QueueSettings};
pub use self::workers::Workers;
pub use crate::store::{
    Enqueued, JobCount, JobFailure, JobFilter, JobId, JobRequest, JobRow, JobState, NewJob, Unique,
};

pub(crate) use self::carrier::{CARRIER, Carrier, place_in_commit};
pub(crate) use self::runner::{JobRunner, RunnerHandle, RunnerStop};

mod attempt;
mod carrier;
mod context;
mod last_writes;
pub(crate) mod metrics;
mod queues;
mod runner;
mod scheduler;
mod schedules;
mod settings;
mod term;
#[cfg(test)]
mod tests;
mod workers;

/// A kind of job. Its values are stored as JSON until they run, so a later program must still read them.
///
/// ```
/// use opora::jobs::{Job, JobContext, JobError, Unique};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct CloseShift {
///     shift: i64,
/// }
///
/// impl Job for CloseShift {
///     const NAME: &'static str = "close_shift";
///     const QUEUE: &'static str = "shifts";
///
///     fn unique(&self) -> Option<Unique> {
///         Some(Unique::by(self.shift.to_string()))
///     }
/// }
///
/// async fn close_shift(job: CloseShift, _: JobContext) -> Result<(), JobError> {
///     println!("closing shift {}", job.shift);
///     Ok(())
/// }
///
/// let bot = opora::bot::Bot::new("1:token").worker(close_shift);
/// ```
pub trait Job: Serialize + DeserializeOwned + Send + 'static {
    /// The stored name. It must not change while jobs of this kind wait.
    const NAME: &'static str;
    /// The queue.
    const QUEUE: &'static str = "default";
    /// The priority within the queue, from 0 (first) to [`NewJob::LOWEST_PRIORITY`].
    const PRIORITY: u8 = 0;
    /// How many attempts there are before the job is discarded.
    const MAX_ATTEMPTS: u32 = 20;
    /// How long an attempt may take. For a broadcast inside of it, this is the longest time without progress.
    const TIMEOUT: Duration = Duration::from_secs(300);

    /// The pause after a failed attempt, by how many attempts have failed so far. Up to a quarter of it is added at
    /// random.
    #[must_use]
    fn backoff(failed_attempts: u32) -> Duration {
        let first = Duration::from_secs(5);
        let longest = Duration::from_secs(3600);
        first.saturating_mul(2_u32.saturating_pow(failed_attempts.saturating_sub(1))).min(longest)
    }

    /// When this job repeats another one and is not added.
    #[must_use]
    fn unique(&self) -> Option<Unique> {
        None
    }
}

/// Why an attempt of a job ends without success.
#[derive(Debug)]
pub enum JobError {
    /// It may succeed later: try again after the backoff.
    Retry(BoxError),
    /// It will never succeed: the job is discarded.
    Discard(String),
    /// It is not needed any more: the job is cancelled.
    Cancel(String),
    /// Not now: run it again at this time. The attempt does not count.
    Snooze(When),
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for JobError {
    fn from(error: E) -> Self {
        Self::Retry(Box::new(error))
    }
}

impl<J: Job> From<J> for NewJob {
    fn from(job: J) -> Self {
        let (args, mistake) = match serde_json::to_string(&job) {
            Ok(args) => (args, mistake_in(J::NAME, J::QUEUE)),
            Err(error) => (String::new(), Some(format!("the job `{}` cannot be written: {error}", J::NAME))),
        };
        Self {
            name: J::NAME.into(),
            queue: J::QUEUE.into(),
            args: args.into(),
            priority: J::PRIORITY.min(Self::LOWEST_PRIORITY),
            when: When::After(Duration::ZERO),
            max_attempts: J::MAX_ATTEMPTS.max(1),
            unique: job.unique(),
            once: None,
            mistake,
        }
    }
}

/// How a job is enqueued, where that differs from its kind.
///
/// ```
/// # use std::time::Duration;
/// # use opora::jobs::{Job, NewJob};
/// # #[derive(serde::Serialize, serde::Deserialize)] struct Remind { plan: i64 }
/// # impl Job for Remind { const NAME: &'static str = "remind"; }
/// let later = NewJob::from(Remind { plan: 7 }).at(Duration::from_secs(3600)).priority(5);
/// ```
impl NewJob {
    /// Runs at a time, or after one.
    #[must_use]
    pub fn at(self, when: impl Into<When>) -> Self {
        Self { when: when.into(), ..self }
    }

    /// Sets the priority, from 0 (first) to [`NewJob::LOWEST_PRIORITY`].
    #[must_use]
    pub fn priority(self, priority: u8) -> Self {
        Self { priority: priority.min(Self::LOWEST_PRIORITY), ..self }
    }

    /// Sets the queue.
    #[must_use]
    pub fn queue(self, queue: &str) -> Self {
        let mistake = self.mistake.or_else(|| mistake_in(&self.name, queue));
        Self { queue: queue.into(), mistake, ..self }
    }

    /// Sets the number of attempts.
    #[must_use]
    pub fn max_attempts(self, attempts: u32) -> Self {
        Self { max_attempts: attempts.max(1), ..self }
    }

    /// Sets when it repeats another job.
    #[must_use]
    pub fn unique(self, unique: Unique) -> Self {
        Self { unique: Some(unique), ..self }
    }

    /// The name of its kind.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Names are parts of keys, and labels of metrics.
fn mistake_in(name: &str, queue: &str) -> Option<String> {
    let is_good = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
    };
    let bad = [name, queue].into_iter().find(|text| !is_good(text))?;
    Some(format!("`{bad}` is not a name of a job or a queue: use letters, digits, _, - and ."))
}
