//! Jobs by hand: a test enqueues, moves the clock, and runs what is due.
//!
//! Jobs run as in a bot, on a real store, but one after another and only when the test says so. Time stands still until
//! [`JobStage::advance`].
//!
//! ```
//! # use std::time::Duration;
//! # use opora::jobs::{Job, JobContext, JobError, JobState, Workers};
//! # use opora::testing::jobs::JobStage;
//! # #[derive(serde::Serialize, serde::Deserialize)] struct Report { number: u32 }
//! # impl Job for Report { const NAME: &'static str = "report"; }
//! async fn report(job: Report, context: JobContext) -> Result<u32, JobError> {
//!     if context.attempt() == 1 {
//!         return Err(JobError::Retry("the printer is off".into()));
//!     }
//!     Ok(job.number)
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let stage = JobStage::new(Workers::new().worker(report));
//! let id = stage.enqueue(Report { number: 7 }).await;
//! assert_eq!(stage.run_due().await[0].state, JobState::Scheduled);
//! stage.advance(Duration::from_secs(10)).await;
//! assert_eq!(stage.job(id).await.result.as_deref(), Some("7"));
//! # }
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Clock;
use crate::jobs::{JobRunner, RunnerHandle, Schedule, Workers};
use crate::store::{Epoch, JobFilter, JobId, JobRequest, JobRow, LeaseAnswer, MemoryStore, NewJob, Store, StoreResult};
use crate::turn::Context;

/// The id of the bot.
const BOT: i64 = 7;

/// The jobs of a bot in this process.
#[derive(Debug)]
pub struct JobStage {
    workers: Arc<Workers>,
    schedules: Arc<[Schedule]>,
    values: Arc<Context>,
    store: Arc<dyn Store>,
    clock: Clock,
    lease: tokio::sync::OnceCell<(i64, Epoch)>,
}

impl JobStage {
    /// A stage in memory for these functions.
    #[must_use]
    pub fn new(workers: Workers) -> Self {
        Self::on(workers, Context::new(), Arc::new(MemoryStore::new()), super::clock_at_noon())
    }

    /// A stage on another store, with values of the application and a clock that is set by hand.
    #[must_use]
    pub fn on(workers: Workers, values: Context, store: Arc<dyn Store>, clock: Clock) -> Self {
        Self::with(workers, (Arc::new(values), store, clock), tokio::sync::OnceCell::new())
    }

    /// A stage under a lease that is held already.
    pub(super) fn under(lease: (i64, Epoch), workers: Workers, parts: (Arc<Context>, Arc<dyn Store>, Clock)) -> Self {
        Self::with(workers, parts, tokio::sync::OnceCell::new_with(Some(lease)))
    }

    fn with(
        workers: Workers,
        (values, store, clock): (Arc<Context>, Arc<dyn Store>, Clock),
        lease: tokio::sync::OnceCell<(i64, Epoch)>,
    ) -> Self {
        Self { workers: Arc::new(workers), schedules: Arc::new([]), values, store, clock, lease }
    }

    /// Adds schedules. Their first ticks are those after the first [`JobStage::run_due`].
    #[must_use]
    pub fn schedules(self, schedules: impl Into<Vec<Schedule>>) -> Self {
        Self { schedules: schedules.into().into(), ..self }
    }

    /// The clock, which only the test moves.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Enqueues a job. Returns its id, or that of the job that it repeats.
    ///
    /// # Panics
    /// If the store fails.
    pub async fn enqueue(&self, job: impl Into<NewJob>) -> JobId {
        let job = job.into();
        NewJob::check_all(std::slice::from_ref(&job)).unwrap_or_else(|mistake| panic!("{mistake}"));
        ok(self.store.enqueue_jobs(BOT, vec![job], self.clock.now()).await)[0].id()
    }

    /// Enqueues what the schedules are due, and runs all due jobs. Returns the jobs that ran, as they are then.
    ///
    /// # Panics
    /// If the store fails.
    pub async fn run_due(&self) -> Vec<JobRow> {
        let (bot, epoch) = self.lease().await;
        let runner = JobRunner {
            bot,
            epoch,
            store: Arc::clone(&self.store),
            clock: self.clock.clone(),
            workers: Arc::clone(&self.workers),
            schedules: Arc::clone(&self.schedules),
            values: Arc::clone(&self.values),
            handle: RunnerHandle::default(),
        };
        let ran: BTreeMap<JobId, ()> = ok(runner.run_due().await).into_iter().map(|update| (update.id, ())).collect();
        let mut rows = Vec::with_capacity(ran.len());
        for id in ran.into_keys() {
            rows.push(self.job(id).await);
        }
        rows
    }

    /// Moves the clock and runs what is due then. Returns the jobs that ran, as they are then.
    pub async fn advance(&self, time: Duration) -> Vec<JobRow> {
        self.clock.advance(time);
        self.run_due().await
    }

    /// A job as it is now.
    ///
    /// # Panics
    /// If there is none, or the store fails.
    pub async fn job(&self, id: JobId) -> JobRow {
        let filter = JobFilter { bot: BOT, id: Some(id), ..JobFilter::default() };
        let found = ok(self.store.operator().jobs(&filter, None, 1).await).pop();
        found.unwrap_or_else(|| panic!("there is no job {}", id.0))
    }

    /// All jobs, the oldest first.
    ///
    /// # Panics
    /// If the store fails.
    pub async fn jobs(&self) -> Vec<JobRow> {
        let filter = JobFilter { bot: BOT, ..JobFilter::default() };
        let mut rows = ok(self.store.operator().jobs(&filter, None, 10_000).await);
        rows.reverse();
        rows
    }

    /// Makes an operator's request. Returns how many jobs or queues it changes.
    ///
    /// # Panics
    /// If the store fails.
    pub async fn request(&self, request: JobRequest) -> u64 {
        ok(self.store.operator().request_jobs(BOT, request, self.clock.now()).await)
    }

    async fn lease(&self) -> (i64, Epoch) {
        let claim = || async {
            match ok(self.store.claim(BOT, &super::chat::holder("jobs"), None).await) {
                LeaseAnswer::Granted(epoch) => (BOT, epoch),
                LeaseAnswer::Held(lease) => panic!("the store of this stage belongs to {:?}", lease.holder),
            }
        };
        *self.lease.get_or_init(claim).await
    }
}

fn ok<T>(answer: StoreResult<T>) -> T {
    answer.unwrap_or_else(|error| panic!("the stage's store failed: {error}"))
}
