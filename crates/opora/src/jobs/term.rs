//! The jobs of a term: which run, which have ended, and what is due.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::attempt::{self, AttemptEnd, AttemptResult};
use super::last_writes::{self, LastWrites, Outcome, Tried};
use super::queues::Queues;
use super::runner::{JobRunner, Woken};
use super::scheduler::Scheduler;
use super::{JobError, metrics};
use crate::clock::{Millis, Stopwatch};
use crate::store::{DomainWrites, JobId, JobRow, JobState, JobUpdate, StoreResult};

/// How often the store is read when nothing is known to be due: other instances and operators add jobs too.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How often the running jobs are compared with those that run here. A call of the store may take effect after its
/// answer was given up, so one comparison after an error is not enough.
const RECONCILE_INTERVAL: Duration = Duration::from_secs(30);
/// How many running jobs are read at once.
const PAGE: usize = 1_000;

/// An attempt that runs.
struct Running {
    row: JobRow,
    watch: Stopwatch,
    _task: AbortOnDropHandle<()>,
}

/// An attempt that has ended.
pub(super) struct Ended {
    id: JobId,
    attempt: u32,
    result: AttemptResult,
    last_writes: Option<DomainWrites>,
    took: Duration,
}

/// The end of an attempt, on its way into the store.
struct End {
    row: JobRow,
    update: JobUpdate,
    end: AttemptEnd,
    /// None if the attempt did not run here.
    took: Option<Duration>,
    /// Whether it takes room in its queue until its end is stored.
    has_room: bool,
}

/// The jobs of a term.
pub(super) struct Term {
    runner: JobRunner,
    scheduler: Scheduler,
    queues: Queues,
    running: HashMap<JobId, Running>,
    sender: mpsc::UnboundedSender<Ended>,
    pub(super) ended: mpsc::UnboundedReceiver<Ended>,
    /// Ends that are not stored yet.
    ends: Vec<End>,
    /// Queues that may have jobs to start.
    promising: BTreeSet<Box<str>>,
    /// The store has to be read.
    is_woken: bool,
    last_poll: Option<Stopwatch>,
    /// The time of the next scheduled job that is known.
    next_scheduled: Option<Millis>,
    next_tick: Option<Millis>,
    /// When the running jobs were compared; none if they have to be compared now.
    reconciled: Option<Stopwatch>,
    /// Kinds of jobs that have no function, each logged once.
    unknown_kinds: HashSet<Box<str>>,
    /// Queues with jobs that do not run here, each logged once.
    unserved_queues: HashSet<Box<str>>,
}

impl Term {
    pub(super) fn new(runner: JobRunner) -> Self {
        let (sender, ended) = mpsc::unbounded_channel();
        Self {
            queues: Queues::new(runner.workers.queues(), runner.clock.now()),
            runner,
            scheduler: Scheduler::default(),
            running: HashMap::new(),
            sender,
            ended,
            ends: Vec::new(),
            promising: BTreeSet::new(),
            is_woken: true,
            last_poll: None,
            next_scheduled: None,
            next_tick: None,
            // An earlier leader may have left jobs behind.
            reconciled: None,
            unknown_kinds: HashSet::new(),
            unserved_queues: HashSet::new(),
        }
    }

    /// Jobs were enqueued. Those that can start at once are looked for without reading the store.
    pub(super) fn wake(&mut self, Woken { queues, has_others }: Woken) {
        for queue in queues {
            self.note_available(queue);
        }
        self.is_woken |= has_others;
    }

    /// A queue has jobs that can start.
    fn note_available(&mut self, queue: Box<str>) {
        if self.runner.workers.queues().contains_key(&queue) {
            self.promising.insert(queue);
        } else if self.unserved_queues.insert(queue.clone()) {
            tracing::warn!(%queue, "no function is registered for a job of this queue: its jobs wait");
        }
    }

    /// Does what can be done now. Returns how long nothing else is known to be due.
    pub(super) async fn work(&mut self) -> StoreResult<Duration> {
        self.store_ends().await?;
        if self.reconciled.is_none_or(|last| last.elapsed() >= RECONCILE_INTERVAL) {
            self.reconcile().await?;
            self.reconciled = Some(Stopwatch::start());
        }
        if self.needs_poll() {
            self.poll().await?;
        }
        self.start().await?;
        Ok(self.pause())
    }

    /// Whether the store has to be read. While there are jobs to start, once in a while is enough.
    fn needs_poll(&self) -> bool {
        let now = self.runner.clock.now();
        let is_due = [self.next_scheduled, self.next_tick].into_iter().flatten().any(|due| due <= now);
        let is_asked = (self.is_woken || is_due) && self.promising.is_empty();
        is_asked || self.last_poll.is_none_or(|last| last.elapsed() >= POLL_INTERVAL)
    }

    /// How long nothing else is known to be due.
    fn pause(&self) -> Duration {
        if self.is_woken && self.promising.is_empty() {
            return Duration::ZERO;
        }
        let now = self.runner.clock.now();
        let until_poll = self.last_poll.map_or(Duration::ZERO, |last| POLL_INTERVAL.saturating_sub(last.elapsed()));
        // A job that is due and did not start waits for room.
        let due = [self.next_scheduled, self.next_tick].into_iter().flatten().filter(|due| *due > now).min();
        let until_due = due.map(|due| due.since(now));
        let until_allowed = self.queues.next_allowance(now).filter(|_| !self.promising.is_empty());
        [until_due, until_allowed].into_iter().flatten().fold(until_poll, Duration::min)
    }

    /// Ends attempts of earlier leaders, and runs jobs whose start was stored although the answer was lost.
    async fn reconcile(&mut self) -> StoreResult<()> {
        let runner = self.runner.clone();
        let mut after = JobId::default();
        loop {
            let rows = runner.store.running_jobs(runner.bot, after, PAGE).await?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = last.id;
            let (ours, of_others): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.epoch == runner.epoch);
            for row in ours {
                if !self.running.contains_key(&row.id) {
                    self.spawn(row);
                }
            }
            if of_others.is_empty() {
                continue;
            }
            tracing::warn!(bot = runner.bot, jobs = of_others.len(), "an instance has ended while these jobs ran");
            for row in of_others {
                let (update, end) = runner.rescue(&row);
                self.ends.push(End { row, update, end, took: None, has_room: false });
            }
            self.store_ends().await?;
            self.is_woken = true;
        }
    }

    /// Reads what is due, enqueues the jobs of schedules, and ends attempts that are to be cancelled.
    async fn poll(&mut self) -> StoreResult<()> {
        self.next_tick = match self.scheduler.tick(&self.runner).await {
            Ok((next_tick, _)) => next_tick,
            Err(error) => {
                self.scheduler.forget();
                return Err(error);
            }
        };
        let poll = self.runner.store.poll_jobs(self.runner.bot).await?;
        self.is_woken = false;
        self.last_poll = Some(Stopwatch::start());
        self.promising.clear();
        poll.available.into_iter().for_each(|queue| self.note_available(queue));
        self.next_scheduled = poll.next_scheduled;
        for id in poll.to_cancel {
            match self.running.remove(&id) {
                Some(running) => {
                    let cancelled = Err(JobError::Cancel("an operator has cancelled it".to_owned()));
                    self.end(running.row, cancelled, running.watch.elapsed());
                }
                // It does not run here, so it has to be found first.
                None => self.reconciled = None,
            }
        }
        self.store_ends().await
    }

    async fn start(&mut self) -> StoreResult<()> {
        let now = self.runner.clock.now();
        // Their queues are not known.
        let also_scheduled = self.next_scheduled.is_some_and(|due| due <= now);
        if also_scheduled {
            self.promising.extend(self.runner.workers.queues().keys().cloned());
        }
        let mut wanted = self.queues.room(now);
        wanted.retain(|(queue, _)| self.promising.contains(queue));
        if wanted.is_empty() {
            return Ok(());
        }
        let limits = wanted.clone();
        let started = self.runner.start(wanted, also_scheduled).await;
        let rows = started.inspect_err(|_| self.reconciled = None)?;
        if also_scheduled {
            // There may be more of them.
            (self.next_scheduled, self.is_woken) = (None, true);
        }
        for (queue, limit) in limits {
            if rows.iter().filter(|row| row.queue == queue).count() < limit {
                self.promising.remove(&queue);
            }
        }
        rows.into_iter().for_each(|row| self.spawn(row));
        self.store_ends().await
    }

    fn spawn(&mut self, row: JobRow) {
        self.queues.started(&row.queue, self.runner.clock.now());
        metrics::started(&row);
        let worker = match self.runner.worker(&row) {
            Ok(worker) => worker,
            Err((update, end)) => {
                if self.unknown_kinds.insert(row.name.clone()) {
                    tracing::warn!(name = %row.name, "no function is registered for this kind of job: its jobs wait");
                }
                self.ends.push(End { row, update, end, took: None, has_room: true });
                return;
            }
        };
        let context = self.runner.context(&row);
        let sender = self.sender.clone();
        let (id, number, args) = (row.id, row.attempt, row.args.clone());
        let attempt = async move {
            let watch = Stopwatch::start();
            let result = attempt::run(worker, args, context.clone()).await;
            let last_writes = context.take_last_writes().filter(|_| result.is_ok());
            // An error means that the runner has ended. Then the next leader runs the job again.
            let _ = sender.send(Ended { id, attempt: number, result, last_writes, took: watch.elapsed() });
        };
        let watch = Stopwatch::start();
        self.running.insert(id, Running { row, watch, _task: AbortOnDropHandle::new(tokio::spawn(attempt)) });
    }

    /// Takes the results of all attempts that have ended.
    pub(super) async fn collect(&mut self, first: Ended) {
        let mut with_writes = Vec::new();
        let mut next = Some(first);
        while let Some(Ended { id, attempt, result, last_writes, took }) = next {
            // Otherwise it was cancelled meanwhile, and perhaps started again.
            let is_current = self.running.get(&id).is_some_and(|running| running.row.attempt == attempt);
            if is_current && let Some(running) = self.running.remove(&id) {
                match last_writes {
                    Some(writes) => {
                        let (update, _) = self.runner.update(&running.row, result);
                        with_writes.push(LastWrites { row: running.row, update, writes, took });
                    }
                    None => self.end(running.row, result, took),
                }
            }
            next = self.ended.try_recv().ok();
        }
        for Tried { row, took, outcome } in last_writes::run(&self.runner, with_writes).await {
            match outcome {
                Outcome::Stored(update) => {
                    let end = AttemptEnd::Completed;
                    self.release(&End { row, update, end, took: Some(took), has_room: true });
                }
                Outcome::Failed(reason) => self.end(row, Err(reason), took),
                Outcome::Undone => {
                    let (update, end) = attempt::put_back(&row, self.runner.clock.now());
                    self.ends.push(End { row, update, end, took: Some(took), has_room: true });
                }
            }
        }
    }

    fn end(&mut self, row: JobRow, result: AttemptResult, took: Duration) {
        if let Err(JobError::Retry(error)) = &result {
            let [id, attempt] = [row.id.0, i64::from(row.attempt)];
            // Only debug, because the words may quote a person. The job keeps them.
            tracing::debug!(job = id, name = %row.name, attempt, %error, "reason of a failed job");
        }
        let (update, end) = self.runner.update(&row, result);
        self.ends.push(End { row, update, end, took: Some(took), has_room: true });
    }

    /// Stores the ends of attempts. They stay in memory until the store has answered.
    async fn store_ends(&mut self) -> StoreResult<()> {
        if self.ends.is_empty() {
            return Ok(());
        }
        let runner = &self.runner;
        let updates = self.ends.iter().map(|end| end.update.clone()).collect();
        let applied = runner.store.update_jobs(runner.bot, runner.epoch, updates, None).await?;
        for (end, applied) in std::mem::take(&mut self.ends).iter().zip(applied) {
            if applied {
                self.release(end);
            } else {
                // Another end is stored: by an earlier call whose answer was lost, or by hand.
                self.give_room(end);
            }
        }
        Ok(())
    }

    /// An attempt has ended, and the store knows it.
    fn release(&mut self, ended: &End) {
        self.give_room(ended);
        let End { row, update, end, took, .. } = ended;
        metrics::ended(row, *end, *took);
        let (job, name, attempt) = (row.id.0, &row.name, row.attempt);
        match end {
            AttemptEnd::Failed => tracing::warn!(job, %name, attempt, "a job failed; trying again"),
            AttemptEnd::Discarded => tracing::error!(job, %name, attempt, "a job failed for good and is discarded"),
            _ => tracing::debug!(job, %name, attempt, state = update.state.name(), "an attempt of a job has ended"),
        }
        match update.state {
            JobState::Available => self.note_available(row.queue.clone()),
            JobState::Scheduled => {
                let next = self.next_scheduled.map_or(update.run_at, |next| next.min(update.run_at));
                self.next_scheduled = Some(next);
            }
            _ => {}
        }
    }

    fn give_room(&mut self, End { row, has_room, .. }: &End) {
        if *has_room {
            self.queues.ended(&row.queue);
        }
    }

    /// Waits for the running jobs, or ends them and puts them back.
    pub(super) async fn drain(mut self, put_back: &CancellationToken) {
        while !self.running.is_empty() || !self.ends.is_empty() {
            if let Err(error) = self.store_ends().await {
                tracing::warn!(%error, "cannot store the ends of jobs; the next leader runs them again");
                return;
            }
            if self.running.is_empty() {
                return;
            }
            tokio::select! {
                biased;
                Some(ended) = self.ended.recv() => self.collect(ended).await,
                () = put_back.cancelled() => break,
            }
        }
        if self.running.is_empty() {
            return;
        }
        tracing::warn!(
            jobs = self.running.len(),
            "some jobs did not finish in time; they run again after the next start"
        );
        let now = self.runner.clock.now();
        // Dropping a running attempt aborts it.
        for (_, Running { row, watch, .. }) in std::mem::take(&mut self.running) {
            let (update, end) = attempt::put_back(&row, now);
            self.ends.push(End { row, update, end, took: Some(watch.elapsed()), has_room: true });
        }
        if let Err(error) = self.store_ends().await {
            tracing::warn!(%error, "cannot put jobs back; the next leader finds them");
        }
    }
}
