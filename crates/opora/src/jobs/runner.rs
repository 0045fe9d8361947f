//! Runs the jobs of a bot while this instance leads.
//!
//! One task starts jobs, stores how their attempts end, and enqueues the jobs of schedules; each attempt is a task of
//! its own. Everything is in the store: what this task forgets, the next leader finds.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::attempt::{self, AttemptEnd, AttemptResult};
use super::scheduler::Scheduler;
use super::term::Term;
use super::workers::Worker;
use super::{JobContext, Schedule, Workers, last_writes};
use crate::clock::Clock;
use crate::store::{Epoch, JobRow, JobStart, JobUpdate, NewJob, Store, StoreResult, enqueued_jobs};
use crate::turn::{Context, When};

/// The pause after an error of the store.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Wakes the runner. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunnerHandle {
    notify: Arc<Notify>,
    woken: Arc<Mutex<Woken>>,
}

/// What the runner was woken for.
#[derive(Debug, Default)]
pub(super) struct Woken {
    /// Queues with new jobs that can start at once.
    pub(super) queues: BTreeSet<Box<str>>,
    /// The store has to be read.
    pub(super) has_others: bool,
}

impl RunnerHandle {
    /// Jobs were enqueued by a turn or a handle. In some stores they are counted already.
    pub(crate) fn enqueued(&self, jobs: &[NewJob], is_counted: bool) {
        if jobs.is_empty() {
            return;
        }
        if !is_counted {
            enqueued_jobs::count(enqueued_jobs::kinds(jobs));
        }
        let mut woken = self.woken.lock();
        for job in jobs {
            if job.when == When::After(Duration::ZERO) {
                woken.queues.insert(job.queue.clone());
            } else {
                woken.has_others = true;
            }
        }
        self.notify.notify_one();
    }

    /// A job was enqueued that can start at once.
    pub(crate) fn wake_queue(&self, queue: Box<str>) {
        self.woken.lock().queues.insert(queue);
        self.notify.notify_one();
    }

    /// There may be jobs to start.
    pub(crate) fn wake(&self) {
        self.woken.lock().has_others = true;
        self.notify.notify_one();
    }

    fn take(&self) -> Woken {
        std::mem::take(&mut *self.woken.lock())
    }
}

/// How the runner ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunnerStop {
    /// No more jobs start; running ones finish.
    pub(crate) drain: CancellationToken,
    /// Running jobs are ended and put back.
    pub(crate) put_back: CancellationToken,
}

/// What running jobs needs.
#[derive(Clone, Debug)]
pub(crate) struct JobRunner {
    pub(crate) bot: i64,
    pub(crate) epoch: Epoch,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Clock,
    pub(crate) workers: Arc<Workers>,
    pub(crate) schedules: Arc<[Schedule]>,
    pub(crate) values: Arc<Context>,
    pub(crate) handle: RunnerHandle,
}

impl JobRunner {
    /// Runs until it is stopped, or until the lease is lost. Returns when nothing runs any more.
    pub(crate) async fn run(self, stop: RunnerStop) {
        if self.workers.is_empty() && self.schedules.is_empty() {
            return;
        }
        let wake = self.handle.clone();
        let mut term = Term::new(self);
        let mut has_failed = false;
        while !stop.drain.is_cancelled() {
            let pause = match term.work().await {
                Ok(pause) => {
                    has_failed = false;
                    pause
                }
                Err(error) if error.ends_lease() => return,
                Err(error) => {
                    // Once for an outage.
                    if !std::mem::replace(&mut has_failed, true) {
                        tracing::warn!(%error, "cannot work on the jobs; trying again");
                    }
                    tokio::time::sleep(RETRY_PAUSE).await;
                    Duration::ZERO
                }
            };
            tokio::select! {
                biased;
                () = stop.drain.cancelled() => {}
                Some(ended) = term.ended.recv() => term.collect(ended).await,
                () = wake.notify.notified() => term.wake(wake.take()),
                () = tokio::time::sleep(pause) => {}
            }
        }
        term.drain(&stop.put_back).await;
    }

    /// Starts due jobs of these queues.
    pub(super) async fn start(&self, queues: Vec<(Box<str>, usize)>, also_scheduled: bool) -> StoreResult<Vec<JobRow>> {
        let start = JobStart { queues, also_scheduled, now: self.clock.now() };
        self.store.start_jobs(self.bot, self.epoch, start).await
    }

    pub(super) fn context(&self, row: &JobRow) -> JobContext {
        JobContext::new(row.clone(), self.epoch, Arc::clone(&self.store), self.clock.clone(), Arc::clone(&self.values))
    }

    pub(super) fn update(&self, row: &JobRow, result: AttemptResult) -> (JobUpdate, AttemptEnd) {
        attempt::update(row, result, self.clock.now(), self.pause(row))
    }

    /// The end of an attempt of an instance that has ended.
    pub(super) fn rescue(&self, row: &JobRow) -> (JobUpdate, AttemptEnd) {
        attempt::rescued(row, self.clock.now(), self.pause(row))
    }

    fn pause(&self, row: &JobRow) -> Duration {
        attempt::pause(self.workers.get(&row.name), row)
    }

    /// The function for a job, or the update of a job that has none.
    pub(super) fn worker(&self, row: &JobRow) -> Result<Worker, (JobUpdate, AttemptEnd)> {
        self.workers.get(&row.name).cloned().ok_or_else(|| attempt::without_function(row, self.clock.now()))
    }

    /// Runs what is due, one job after another, until nothing is due: for tests. Returns the jobs, as they are then.
    pub(crate) async fn run_due(&self) -> StoreResult<Vec<JobUpdate>> {
        let mut done = Vec::new();
        Scheduler::default().tick(self).await?;
        loop {
            let wanted = self.workers.queues().keys().map(|queue| (queue.clone(), 1)).collect();
            let rows = self.start(wanted, true).await?;
            if rows.is_empty() {
                return Ok(done);
            }
            for row in rows {
                let context = self.context(&row);
                let worker = match self.worker(&row) {
                    Ok(worker) => worker,
                    Err((update, _)) => {
                        self.store.update_jobs(self.bot, self.epoch, vec![update.clone()], None).await?;
                        done.push(update);
                        continue;
                    }
                };
                let result = attempt::run(worker, row.args.clone(), context.clone()).await;
                let writes = context.take_last_writes().filter(|_| result.is_ok());
                let (mut update, _) = self.update(&row, result);
                let failure = match writes {
                    Some(writes) => last_writes::run_one(self, update.clone(), writes).await?,
                    None => {
                        self.store.update_jobs(self.bot, self.epoch, vec![update.clone()], None).await?;
                        None
                    }
                };
                if let Some(reason) = failure {
                    (update, _) = self.update(&row, Err(reason));
                    self.store.update_jobs(self.bot, self.epoch, vec![update.clone()], None).await?;
                }
                done.push(update);
            }
        }
    }
}
