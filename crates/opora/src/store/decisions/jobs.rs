//! Background jobs beside a Redis: they are in the SQL database, and its fence says who may start and finish them.

use futures_util::future::BoxFuture;

use super::decision_row::check_fence;
use crate::store::sql::failure::unavailable;
use crate::store::sql::jobs;
use crate::store::{
    Database, DomainWrites, Epoch, JobLimits, JobRow, JobStart, JobUpdate, NewJob, SqlDatabase, StoreResult, Tick,
    WriteError,
};

type Lease = (i64, Epoch);

impl SqlDatabase {
    /// Changes jobs, if the fence is at the epoch of the lease.
    async fn change_jobs<T: Send + 'static>(
        &self,
        (bot, epoch): Lease,
        run: impl for<'c> FnOnce(&'c mut Database<'_>) -> BoxFuture<'c, Result<T, WriteError>> + Send + 'static,
    ) -> StoreResult<T> {
        let (writes, answer) = jobs::returning(move |database| {
            Box::pin(async move {
                check_fence(database, bot, epoch).await?;
                run(database).await
            })
        });
        self.write(writes).await?;
        answer.await.map_err(unavailable)
    }

    pub(super) async fn start_jobs(&self, lease: Lease, start: JobStart) -> StoreResult<Vec<JobRow>> {
        self.change_jobs(lease, move |database| Box::pin(jobs::start(database, lease, start))).await
    }

    pub(super) async fn update_jobs(
        &self,
        lease: Lease,
        updates: Vec<JobUpdate>,
        writes: Option<DomainWrites>,
    ) -> StoreResult<Vec<bool>> {
        let count = updates.len();
        let answer = self.change_jobs(lease, move |database| Box::pin(jobs::update(database, updates, writes))).await;
        jobs::updated(answer, count)
    }

    pub(super) async fn prune_jobs(&self, lease: Lease, limits: JobLimits) -> StoreResult<u64> {
        self.change_jobs(lease, move |database| Box::pin(jobs::prune(database, lease.0, limits))).await
    }

    pub(super) async fn tick_jobs(&self, lease: Lease, tick: Tick, jobs: Vec<NewJob>) -> StoreResult<bool> {
        self.change_jobs(lease, move |database| Box::pin(jobs::tick(database, lease.0, tick, jobs))).await
    }
}
