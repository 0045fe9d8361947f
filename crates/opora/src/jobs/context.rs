//! What the function of a job gets beside the job.

use std::any::type_name;
use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use crate::clock::{Clock, Millis};
use crate::store::{Database, DomainWrites, Epoch, JobId, JobRow, JobUpdate, Store, StoreError, WriteError};
use crate::turn::Context;

/// One attempt of a job.
#[derive(Clone)]
pub struct JobContext(Arc<Attempt>);

struct Attempt {
    row: JobRow,
    lease: Epoch,
    store: Arc<dyn Store>,
    clock: Clock,
    values: Arc<Context>,
    last_writes: Mutex<Option<DomainWrites>>,
}

/// Why writes of a job were not made.
#[derive(Debug, thiserror::Error)]
pub enum JobWriteError {
    /// The attempt does not count any more, because another instance took over. Nothing was written.
    #[error("another instance has taken over this job")]
    Ended,
    /// The store failed, or the writes did.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl JobContext {
    pub(super) fn new(row: JobRow, lease: Epoch, store: Arc<dyn Store>, clock: Clock, values: Arc<Context>) -> Self {
        Self(Arc::new(Attempt { row, lease, store, clock, values, last_writes: Mutex::default() }))
    }

    /// The job's id.
    #[must_use]
    pub fn id(&self) -> JobId {
        self.0.row.id
    }

    /// An idempotency key: the same for every attempt of this job, and for no other job. Pass it to other systems.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}-job-{}", self.0.row.bot, self.0.row.id.0)
    }

    /// The bot that runs the job.
    #[must_use]
    pub fn bot(&self) -> i64 {
        self.0.row.bot
    }

    /// The number of this attempt, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.0.row.attempt
    }

    /// Whether the job is discarded if this attempt fails.
    #[must_use]
    pub fn is_last(&self) -> bool {
        self.0.row.attempt >= self.0.row.max_attempts
    }

    /// When the job was to start at first, also in later attempts. For a job of a schedule this is the tick.
    #[must_use]
    pub fn scheduled_at(&self) -> Millis {
        self.0.row.scheduled_at
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> Millis {
        self.0.clock.now()
    }

    /// A value of the application, as [`Turn::context`](crate::turn::Turn::context).
    ///
    /// # Panics
    /// If there is none of this type. Only the attempt fails then.
    #[must_use]
    pub fn context<T: Send + Sync + 'static>(&self) -> Arc<T> {
        let name = type_name::<T>();
        self.0.values.get().unwrap_or_else(|| panic!("the bot was given no `{name}`; give it one with `context`"))
    }

    /// Writes to the application's tables, in a commit of its own. The commit compares the lease and the attempt, so a
    /// paused leader writes nothing after a takeover. A long job writes in such steps; each must be safe to repeat.
    pub async fn transact<F>(&self, run: F) -> Result<(), JobWriteError>
    where
        F: for<'c> FnOnce(&'c mut Database<'_>) -> BoxFuture<'c, Result<(), WriteError>> + Send + 'static,
    {
        let row = &self.0.row;
        let compare = vec![JobUpdate::compare(row)];
        let written = self.0.store.update_jobs(row.bot, self.0.lease, compare, Some(DomainWrites::new(run))).await?;
        if written == [true] { Ok(()) } else { Err(JobWriteError::Ended) }
    }

    /// Sets writes that commit together with the completion of the job, if the function returns `Ok`. So they happen
    /// exactly once. If they fail, the attempt fails.
    pub fn finish_with<F>(&self, run: F)
    where
        F: for<'c> FnOnce(&'c mut Database<'_>) -> BoxFuture<'c, Result<(), WriteError>> + Send + 'static,
    {
        *self.0.last_writes.lock() = Some(DomainWrites::new(run));
    }

    pub(super) fn take_last_writes(&self) -> Option<DomainWrites> {
        self.0.last_writes.lock().take()
    }
}

impl fmt::Debug for JobContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobContext").field("id", &self.id()).field("attempt", &self.attempt()).finish_non_exhaustive()
    }
}
