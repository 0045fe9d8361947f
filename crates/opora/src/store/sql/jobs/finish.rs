//! Completes jobs together with their last writes: many jobs in one commit.
//!
//! Each job's writes run in a savepoint of their own, so that a failure undoes only them. One statement then completes
//! all jobs whose writes succeeded.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt;
use tokio::sync::oneshot::Receiver;

use super::{returning, update};
use crate::clock::Stopwatch;
use crate::store::sql::decide::GROUP_WRITES_LIMIT;
use crate::store::sql::failure::{is_transient, unavailable};
use crate::store::writes::Connection;
use crate::store::{Database, DomainWrites, JobUpdate, Refusal, StoreError, StoreResult, WriteError};

/// What became of a job that was to be completed with its last writes.
#[derive(Debug)]
pub(crate) enum Finish {
    /// It is completed, and its writes are done.
    Done,
    /// Its writes failed. Nothing of it is stored.
    Failed(StoreError),
    /// The writes before took too long, so these have not run.
    NotRun(DomainWrites),
}

/// What became of the jobs, once the commit has been answered.
#[derive(Debug)]
pub(crate) struct FinishAnswer {
    answer: Receiver<Vec<Finish>>,
    /// The index of the job whose writes ran last.
    running: Arc<AtomicUsize>,
}

/// Why nothing of a batch was stored.
#[derive(Debug)]
pub(crate) struct BatchFailed {
    pub(crate) error: StoreError,
    /// The index of the job whose writes are the cause, if it was one of them.
    pub(crate) culprit: Option<usize>,
}

impl FinishAnswer {
    /// Reads the answer. `committed` is the answer to the commit.
    pub(crate) async fn read<T>(self, committed: StoreResult<T>) -> Result<Vec<Finish>, BatchFailed> {
        match committed {
            Ok(_) => self.answer.await.map_err(|gone| BatchFailed { error: unavailable(gone), culprit: None }),
            Err(error) => {
                let is_of_writes = matches!(error, StoreError::WritesFailed(_) | StoreError::Refused(_));
                let culprit = is_of_writes.then(|| self.running.load(Ordering::Relaxed));
                Err(BatchFailed { error, culprit })
            }
        }
    }
}

/// Writes that complete jobs. They run under the lease of the jobs.
pub(crate) fn finish(ends: Vec<(JobUpdate, DomainWrites)>) -> (DomainWrites, FinishAnswer) {
    let running = Arc::<AtomicUsize>::default();
    let place = Arc::clone(&running);
    let (writes, answer) = returning(move |database| Box::pin(async move { finish_all(database, ends, &place).await }));
    (writes, FinishAnswer { answer, running })
}

async fn finish_all(
    database: &mut Database<'_>,
    ends: Vec<(JobUpdate, DomainWrites)>,
    running: &AtomicUsize,
) -> Result<Vec<Finish>, WriteError> {
    let began = Stopwatch::start();
    let mut done = Vec::with_capacity(ends.len());
    let mut places = Vec::with_capacity(ends.len());
    let mut answers = Vec::with_capacity(ends.len());
    run(database, &BEGIN).await?;
    for (place, (update, writes)) in ends.into_iter().enumerate() {
        if place > 0 && began.elapsed() >= GROUP_WRITES_LIMIT {
            answers.push(Finish::NotRun(writes));
            continue;
        }
        running.store(place, Ordering::Relaxed);
        let answer = run_in_savepoint(database, writes).await?;
        if matches!(answer, Finish::Done) {
            done.push(update);
            places.push(place);
        }
        answers.push(answer);
    }
    run(database, &END).await?;
    let applied = update(database, done, None).await?;
    if let Some(ended) = applied.iter().position(|applied| !applied) {
        // Only a row that was changed by hand: the lease is held, and nothing else ends an attempt that runs here.
        running.store(places[ended], Ordering::Relaxed);
        return Err(WriteError::Failed("the attempt has ended already".into()));
    }
    Ok(answers)
}

/// Runs writes after a savepoint, which is there again afterwards.
async fn run_in_savepoint(database: &mut Database<'_>, writes: DomainWrites) -> Result<Finish, WriteError> {
    let added = database.added_jobs();
    let written = match AssertUnwindSafe(writes.run(database)).catch_unwind().await {
        Ok(Ok(())) => run(database, &NEXT).await.map_err(WriteError::from),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(WriteError::Failed("they panicked".into())),
    };
    let error = match written {
        Ok(()) => return Ok(Finish::Done),
        // The server is the cause. All jobs of the batch run again.
        Err(WriteError::Failed(error)) if is_transient(&*error) => return Err(WriteError::Failed(error)),
        Err(WriteError::Failed(error)) => StoreError::WritesFailed(error),
        Err(WriteError::Refused(Refusal(reason))) => StoreError::Refused(Refusal(reason)),
    };
    run(database, &UNDO).await?;
    database.forget_added_jobs(added);
    Ok(Finish::Failed(error))
}

/// A script for each database.
struct Script {
    sqlite: &'static str,
    postgres: &'static str,
}

const BEGIN: Script = Script { sqlite: "SAVEPOINT opora_job", postgres: "SAVEPOINT opora_job" };

/// Keeps what was written, and begins the next savepoint. PostgreSQL checks deferred constraints now, because at the
/// commit they would fail the whole batch.
const NEXT: Script = Script {
    sqlite: "RELEASE opora_job; SAVEPOINT opora_job",
    postgres: "
SAVEPOINT opora_job_check; SET CONSTRAINTS ALL IMMEDIATE; ROLLBACK TO SAVEPOINT opora_job_check;
RELEASE SAVEPOINT opora_job; SAVEPOINT opora_job",
};

const UNDO: Script = Script { sqlite: "ROLLBACK TO opora_job", postgres: "ROLLBACK TO SAVEPOINT opora_job" };

const END: Script = Script { sqlite: "RELEASE opora_job", postgres: "RELEASE SAVEPOINT opora_job" };

async fn run(database: &mut Database<'_>, script: &Script) -> sqlx::Result<()> {
    match database.connection() {
        Connection::Sqlite(connection) => sqlx::raw_sql(script.sqlite).execute(&mut **connection).await.map(drop),
        #[cfg(feature = "postgres")]
        Connection::Postgres(connection) => sqlx::raw_sql(script.postgres).execute(&mut **connection).await.map(drop),
    }
}
