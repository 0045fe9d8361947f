//! Completes jobs with their last writes: as many as have ended meanwhile, in one commit.

use std::time::Duration;

use super::JobError;
use super::runner::JobRunner;
use crate::store::{BatchFailed, DomainWrites, Finish, JobRow, JobUpdate, StoreError, StoreResult, finish};

/// A job that is to be completed with its last writes.
pub(super) struct LastWrites {
    pub(super) row: JobRow,
    pub(super) update: JobUpdate,
    pub(super) writes: DomainWrites,
    pub(super) took: Duration,
}

/// A job whose last writes were tried.
pub(super) struct Tried {
    pub(super) row: JobRow,
    pub(super) took: Duration,
    pub(super) outcome: Outcome,
}

/// What became of the writes of a job.
pub(super) enum Outcome {
    /// They are stored, and so is the completion of the job.
    Stored(JobUpdate),
    /// The attempt fails.
    Failed(JobError),
    /// The writes of another job undid them. The attempt does not count.
    Undone,
}

/// Completes jobs with their last writes.
pub(super) async fn run(runner: &JobRunner, mut jobs: Vec<LastWrites>) -> Vec<Tried> {
    let mut tried = Vec::with_capacity(jobs.len());
    while !jobs.is_empty() {
        let mut jobs_tried = Vec::with_capacity(jobs.len());
        let mut ends = Vec::with_capacity(jobs.len());
        for LastWrites { row, update, writes, took } in jobs {
            ends.push((update.clone(), writes));
            jobs_tried.push((row, update, took));
        }
        jobs = Vec::new();
        match write(runner, ends).await {
            Ok(answers) => {
                for ((row, update, took), answer) in jobs_tried.into_iter().zip(answers) {
                    let outcome = match answer {
                        Finish::Done => Outcome::Stored(update),
                        Finish::Failed(error) => Outcome::Failed(failure(&error)),
                        Finish::NotRun(writes) => {
                            jobs.push(LastWrites { row, update, writes, took });
                            continue;
                        }
                    };
                    tried.push(Tried { row, took, outcome });
                }
            }
            Err(BatchFailed { error, culprit }) => {
                tried.extend(jobs_tried.into_iter().enumerate().map(|(place, (row, _, took))| {
                    let is_undone = culprit.is_some_and(|culprit| culprit != place);
                    let outcome = if is_undone { Outcome::Undone } else { Outcome::Failed(failure(&error)) };
                    Tried { row, took, outcome }
                }));
            }
        }
    }
    tried
}

/// Completes one job. Returns why its writes failed, if they did.
pub(super) async fn run_one(
    runner: &JobRunner,
    update: JobUpdate,
    writes: DomainWrites,
) -> StoreResult<Option<JobError>> {
    match write(runner, vec![(update, writes)]).await {
        Ok(answers) => Ok(answers.iter().find_map(|answer| match answer {
            Finish::Failed(error) => Some(failure(error)),
            _ => None,
        })),
        Err(BatchFailed { error, .. }) if is_of_the_job(&error) => Ok(Some(failure(&error))),
        Err(BatchFailed { error, .. }) => Err(error),
    }
}

async fn write(runner: &JobRunner, ends: Vec<(JobUpdate, DomainWrites)>) -> Result<Vec<Finish>, BatchFailed> {
    let (writes, answer) = finish(ends);
    answer.read(runner.store.update_jobs(runner.bot, runner.epoch, Vec::new(), Some(writes)).await).await
}

fn is_of_the_job(error: &StoreError) -> bool {
    matches!(error, StoreError::Refused(_) | StoreError::WritesFailed(_) | StoreError::Unsupported(_))
}

fn failure(error: &StoreError) -> JobError {
    // Without an answer it may be stored nevertheless. Then the job does not run any more, and this changes nothing.
    let reason = if is_of_the_job(error) { error.to_string() } else { format!("the store did not answer: {error}") };
    JobError::Retry(reason.into())
}
