//! One attempt of a job, and what its result makes of the job.

use std::time::Duration;

use futures_util::TryFutureExt;
use tokio_util::task::AbortOnDropHandle;

use super::workers::Worker;
use super::{JobContext, JobError};
use crate::clock::Millis;
use crate::failpoints;
use crate::progress::Progress;
use crate::store::{JobFailure, JobRow, JobState, JobUpdate, storable};

/// The most characters that are kept of the reason of a failure.
const MAX_REASON: usize = 2_000;
/// The largest result of a job, in bytes.
const MAX_RESULT: usize = 1 << 20;
/// The most failures that are kept of a job. More attempts are possible only if an operator asks for them.
const MAX_FAILURES: usize = 100;

/// Why the attempt of an instance that has ended failed.
const RESCUED: &str = "the instance that ran this attempt has ended";
/// Why a job waits that no function is registered for.
const NO_FUNCTION: &str = "no function is registered for this kind of job";
/// How long such a job waits before the next look.
const NO_FUNCTION_PAUSE: Duration = Duration::from_secs(60);

/// The result of an attempt.
pub(super) type AttemptResult = Result<Option<Box<str>>, JobError>;

/// Runs the function in a task of its own, so that a panic fails only this attempt. The task ends when this is dropped.
pub(super) async fn run(worker: Worker, args: Box<str>, context: JobContext) -> AttemptResult {
    failpoints::hit(failpoints::JOB_BEFORE_RUN).await;
    let progress = Progress::default();
    // The error is written as text in here too: its own code may panic.
    let work = (worker.run)(args, context).map_err(|error| match error {
        JobError::Retry(error) => JobError::Retry(error.to_string().into()),
        other => other,
    });
    let work = progress.clone().scope(work);
    let run = AbortOnDropHandle::new(tokio::spawn(work));
    let result = match progress.until_stalled(worker.timeout, run).await {
        Ok(Ok(result)) => result.and_then(check_size),
        Ok(Err(panic)) => Err(JobError::Retry(format!("it panicked: {panic}").into())),
        Err(_) => Err(JobError::Retry(format!("it took longer than {:?}", worker.timeout).into())),
    };
    failpoints::hit(failpoints::JOB_AFTER_RUN).await;
    result
}

fn check_size(result: Option<Box<str>>) -> AttemptResult {
    match result.as_ref().map_or(0, |result| result.len()) {
        0..=MAX_RESULT => Ok(result),
        length => Err(JobError::Discard(format!("its result has {length} bytes; at most {MAX_RESULT} are kept"))),
    }
}

/// The end of an attempt, for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttemptEnd {
    Completed,
    Failed,
    Discarded,
    Cancelled,
    Snoozed,
}

/// What the result of an attempt makes of a job. `backoff` is the pause before another attempt.
pub(super) fn update(row: &JobRow, result: AttemptResult, now: Millis, backoff: Duration) -> (JobUpdate, AttemptEnd) {
    let mut update = JobUpdate { at: now, ..JobUpdate::compare(row) };
    let end = match result {
        Ok(result) => {
            update.result = result;
            update.state = JobState::Completed;
            AttemptEnd::Completed
        }
        Err(JobError::Snooze(when)) => {
            wait(&mut update, when.resolve(now), now);
            update.max_attempts = update.max_attempts.saturating_add(1);
            AttemptEnd::Snoozed
        }
        Err(JobError::Cancel(reason)) => {
            add_failure(&mut update, now, reason);
            update.state = JobState::Cancelled;
            AttemptEnd::Cancelled
        }
        Err(JobError::Discard(reason)) => {
            add_failure(&mut update, now, reason);
            update.state = JobState::Discarded;
            AttemptEnd::Discarded
        }
        Err(JobError::Retry(error)) => {
            add_failure(&mut update, now, error.to_string());
            if row.attempt < row.max_attempts {
                wait(&mut update, now.plus(backoff), now);
                AttemptEnd::Failed
            } else {
                update.state = JobState::Discarded;
                AttemptEnd::Discarded
            }
        }
    };
    (update, end)
}

/// A job whose attempt was cut off by the end of its instance. The attempt counts. At the second time in a row the job
/// waits for the backoff: it may be what ends the instances.
pub(super) fn rescued(row: &JobRow, now: Millis, backoff: Duration) -> (JobUpdate, AttemptEnd) {
    let is_again = row.errors.last().is_some_and(|last| last.reason == RESCUED);
    update(row, Err(JobError::Retry(RESCUED.into())), now, if is_again { backoff } else { Duration::ZERO })
}

/// A job that this program has no function for: perhaps a newer program enqueued it. The attempt does not count.
pub(super) fn without_function(row: &JobRow, now: Millis) -> (JobUpdate, AttemptEnd) {
    let (mut update, end) = update(row, Err(JobError::Snooze(NO_FUNCTION_PAUSE.into())), now, Duration::ZERO);
    if row.errors.last().is_none_or(|last| last.reason != NO_FUNCTION) {
        add_failure(&mut update, now, NO_FUNCTION.to_owned());
    }
    (update, end)
}

/// A job whose attempt was ended by an orderly stop. The attempt does not count.
pub(super) fn put_back(row: &JobRow, now: Millis) -> (JobUpdate, AttemptEnd) {
    update(row, Err(JobError::Snooze(now.into())), now, Duration::ZERO)
}

fn wait(update: &mut JobUpdate, run_at: Millis, now: Millis) {
    let run_at = storable(run_at);
    update.state = if run_at > now { JobState::Scheduled } else { JobState::Available };
    update.run_at = run_at;
}

fn add_failure(update: &mut JobUpdate, at: Millis, reason: String) {
    let reason = match reason.char_indices().nth(MAX_REASON) {
        Some((end, _)) => format!("{}…", &reason[..end]),
        None => reason,
    };
    update.errors.push(JobFailure { attempt: update.attempt, at, reason });
    let excess = update.errors.len().saturating_sub(MAX_FAILURES);
    update.errors.drain(..excess);
}

/// The pause before another attempt of a job that fails: the backoff of its kind, and up to a quarter more, so that
/// jobs that failed together do not start together. Attempts that were snoozed or put back do not lengthen it.
pub(super) fn pause(worker: Option<&Worker>, row: &JobRow) -> Duration {
    const WITHOUT_WORKER: Duration = Duration::from_secs(60);
    const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);
    let failed_attempts = u32::try_from(row.errors.len()).unwrap_or(u32::MAX).saturating_add(1);
    let backoff = worker.map_or(WITHOUT_WORKER, |worker| {
        // It is the application's function.
        let of_the_kind = worker.backoff;
        std::panic::catch_unwind(|| of_the_kind(failed_attempts)).unwrap_or(WITHOUT_WORKER)
    });
    let backoff = backoff.min(LONGEST);
    backoff + backoff.mul_f64(fastrand::f64() / 4.0)
}
