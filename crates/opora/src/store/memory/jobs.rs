//! Background jobs in memory.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound::{Excluded, Unbounded};

use super::NO_WRITES;
use super::data::MemoryData;
use crate::clock::Millis;
use crate::store::{
    Enqueued, Epoch, JobCount, JobFilter, JobId, JobLimits, JobPoll, JobRequest, JobRow, JobStart, JobState, JobUpdate,
    NewJob, StoreError, StoreResult, Tick,
};

/// How many jobs become available, or are removed, in one step.
const STEP: usize = 1_000;

/// The jobs of a bot.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    rows: BTreeMap<JobId, JobRow>,
    /// Jobs that wait for their time.
    scheduled: BTreeSet<(Millis, JobId)>,
    /// Jobs that can start, by queue and in their order.
    available: HashMap<Box<str>, BTreeSet<(u8, Millis, JobId)>>,
    running: BTreeSet<JobId>,
    finished: BTreeSet<(Millis, JobId)>,
    /// Jobs by unique key and state.
    unique: HashMap<(String, JobState), BTreeSet<JobId>>,
    once: HashMap<Box<str>, JobId>,
    /// The two keys of a job, to remove them with it.
    keys: HashMap<JobId, (Option<String>, Option<Box<str>>)>,
    paused: BTreeSet<Box<str>>,
    ticks: BTreeMap<Box<str>, Millis>,
    last: i64,
}

impl Jobs {
    fn index(&mut self, id: JobId, is_in: bool) {
        fn change<T: Ord>(set: &mut BTreeSet<T>, value: T, is_in: bool) {
            if is_in {
                set.insert(value);
            } else {
                set.remove(&value);
            }
        }
        let Some(row) = self.rows.get(&id) else { return };
        if let Some((Some(key), _)) = self.keys.get(&id) {
            let place = (key.clone(), row.state);
            let ids = self.unique.entry(place.clone()).or_default();
            change(ids, id, is_in);
            if ids.is_empty() {
                self.unique.remove(&place);
            }
        }
        match row.state {
            JobState::Scheduled => change(&mut self.scheduled, (row.run_at, id), is_in),
            JobState::Available => {
                change(self.available.entry(row.queue.clone()).or_default(), (row.priority, row.run_at, id), is_in);
            }
            JobState::Running => change(&mut self.running, id, is_in),
            _ => change(&mut self.finished, (row.finished_at.unwrap_or_default(), id), is_in),
        }
    }

    /// Changes a row and the sets that it is in. False if there is no such job.
    fn change(&mut self, id: JobId, change: impl FnOnce(&mut JobRow)) -> bool {
        self.index(id, false);
        let Some(row) = self.rows.get_mut(&id) else { return false };
        change(row);
        self.index(id, true);
        true
    }

    fn repeated(&self, job: &NewJob, now: Millis) -> Option<JobId> {
        if let Some(known) = job.once.as_ref().and_then(|once| self.once.get(once)) {
            return Some(*known);
        }
        let (unique, key) = (job.unique.as_ref()?, job.unique_key()?);
        let latest = unique.states.iter().filter_map(|state| self.unique.get(&(key.clone(), *state))?.last());
        let counts =
            |id: &&JobId| self.rows.get(id).is_some_and(|row| unique.applies_to(row.state, row.enqueued_at, now));
        latest.filter(counts).max().copied()
    }

    pub(super) fn enqueue(&mut self, bot: i64, job: NewJob, now: Millis) -> Enqueued {
        if let Some(known) = self.repeated(&job, now) {
            return Enqueued::Known(known);
        }
        self.last += 1;
        let id = JobId(self.last);
        let (state, run_at) = job.start(now);
        let unique = job.unique_key();
        if let Some(once) = &job.once {
            self.once.insert(once.clone(), id);
        }
        if unique.is_some() || job.once.is_some() {
            self.keys.insert(id, (unique, job.once));
        }
        let row = JobRow {
            id,
            bot,
            name: job.name,
            queue: job.queue,
            args: job.args,
            state,
            priority: job.priority,
            run_at,
            scheduled_at: run_at,
            max_attempts: job.max_attempts,
            enqueued_at: now,
            ..JobRow::default()
        };
        self.rows.insert(id, row);
        self.index(id, true);
        Enqueued::New(id)
    }

    fn start(&mut self, epoch: Epoch, JobStart { queues, also_scheduled, now }: JobStart) -> Vec<JobRow> {
        let most = if also_scheduled { STEP } else { 0 };
        let due: Vec<JobId> = self.scheduled.range(..=(now, JobId(i64::MAX))).take(most).map(|(_, id)| *id).collect();
        for id in due {
            self.change(id, |row| row.state = JobState::Available);
        }
        let mut started = Vec::new();
        for (queue, limit) in queues {
            let Some(available) = self.available.get(&queue).filter(|_| !self.paused.contains(&queue)) else {
                continue;
            };
            let ids: Vec<JobId> = available.iter().take(limit).map(|(.., id)| *id).collect();
            for id in ids {
                self.change(id, |row| {
                    row.state = JobState::Running;
                    row.attempt += 1;
                    row.epoch = epoch;
                    row.started_at = Some(now);
                });
                started.extend(self.rows.get(&id).cloned());
            }
        }
        started
    }

    fn update(&mut self, update: JobUpdate) -> bool {
        let fits = self.rows.get(&update.id).is_some_and(|row| update.fits(row));
        if fits && update.state != JobState::Running {
            self.change(update.id, |row| {
                let is_cancelled = row.cancel_requested && !update.state.is_finished();
                row.state = if is_cancelled { JobState::Cancelled } else { update.state };
                row.finished_at = row.state.is_finished().then_some(update.at);
                row.run_at = update.run_at;
                row.max_attempts = update.max_attempts;
                row.errors = update.errors;
                row.result = update.result;
                row.cancel_requested = false;
            });
        }
        fits
    }

    fn poll(&self) -> JobPoll {
        let with_jobs = self.available.iter().filter(|(queue, jobs)| !jobs.is_empty() && !self.paused.contains(*queue));
        let available = with_jobs.map(|(queue, _)| queue.clone()).collect();
        let next_scheduled = self.scheduled.first().map(|(run_at, _)| *run_at);
        let wants_cancel = |id: &&JobId| self.rows.get(id).is_some_and(|row| row.cancel_requested);
        JobPoll { available, next_scheduled, to_cancel: self.running.iter().filter(wants_cancel).copied().collect() }
    }

    fn remove(&mut self, id: JobId) {
        self.index(id, false);
        self.rows.remove(&id);
        if let Some((_, Some(once))) = self.keys.remove(&id) {
            self.once.remove(&once);
        }
    }

    fn prune(&mut self, limits: JobLimits) -> u64 {
        let old = (limits.results_before, JobId(0));
        let with_result = |(_, id): &&(Millis, JobId)| self.rows.get(id).is_some_and(|row| row.result.is_some());
        let results: Vec<JobId> =
            self.finished.range(..old).filter(with_result).take(STEP).map(|(_, id)| *id).collect();
        for id in &results {
            self.change(*id, |row| row.result = None);
        }
        let excess = self.finished.len().saturating_sub(limits.max_finished);
        let gone = self.finished.iter().enumerate();
        let gone = gone.take_while(|(index, (at, _))| *index < excess || *at < limits.finished_before);
        let gone: Vec<JobId> = gone.take(STEP).map(|(_, (_, id))| *id).collect();
        gone.iter().for_each(|id| self.remove(*id));
        (results.len() + gone.len()) as u64
    }

    fn count(&self, finished_since: Option<Millis>) -> Vec<JobCount> {
        let mut counts: BTreeMap<(&str, &str, JobState), JobCount> = BTreeMap::new();
        for row in self.rows.values().filter(|row| finished_since.is_some() || !row.state.is_finished()) {
            let kind = (&*row.queue, &*row.name, row.state);
            let count = counts.entry(kind).or_insert_with(|| JobCount {
                queue: row.queue.clone(),
                name: row.name.clone(),
                state: row.state,
                jobs: 0,
                oldest: (row.state == JobState::Available).then_some(row.run_at),
                recent: 0,
            });
            count.jobs += 1;
            count.oldest = count.oldest.map(|oldest| oldest.min(row.run_at));
            count.recent += i64::from(row.finished_at.is_some() && row.finished_at >= finished_since);
        }
        counts.into_values().collect()
    }

    fn retry(&mut self, id: JobId, now: Millis) -> bool {
        let can = self.rows.get(&id).is_some_and(|row| row.state != JobState::Running);
        can && self.change(id, |row| {
            row.state = JobState::Available;
            row.run_at = now;
            row.max_attempts = row.max_attempts.max(row.attempt + 1);
            row.finished_at = None;
            row.result = None;
        })
    }

    fn cancel(&mut self, id: JobId, now: Millis) -> bool {
        let can = self.rows.get(&id).is_some_and(|row| !row.state.is_finished());
        can && self.change(id, |row| match row.state {
            JobState::Running => row.cancel_requested = true,
            _ => {
                row.state = JobState::Cancelled;
                row.finished_at = Some(now);
            }
        })
    }
}

impl MemoryData {
    pub(super) fn enqueue_jobs(&mut self, bot: i64, jobs: Vec<NewJob>, now: Millis) -> Vec<Enqueued> {
        let rows = &mut self.by_bot.entry(bot).or_default().jobs;
        jobs.into_iter().map(|job| rows.enqueue(bot, job, now)).collect()
    }

    /// The jobs of a bot whose lease has this epoch.
    fn jobs_under(&mut self, (bot, epoch): (i64, Epoch)) -> StoreResult<&mut Jobs> {
        self.leases.check(epoch, bot)?;
        Ok(&mut self.by_bot.entry(bot).or_default().jobs)
    }

    pub(super) fn start_jobs(&mut self, lease: (i64, Epoch), start: JobStart) -> StoreResult<Vec<JobRow>> {
        Ok(self.jobs_under(lease)?.start(lease.1, start))
    }

    pub(super) fn update_jobs(
        &mut self,
        lease: (i64, Epoch),
        updates: Vec<JobUpdate>,
        has_writes: bool,
    ) -> StoreResult<Vec<bool>> {
        if has_writes {
            return Err(StoreError::Unsupported(NO_WRITES));
        }
        let jobs = self.jobs_under(lease)?;
        Ok(updates.into_iter().map(|update| jobs.update(update)).collect())
    }

    pub(super) fn running_jobs(&self, bot: i64, after: JobId, limit: usize) -> Vec<JobRow> {
        self.read(bot, |rows| {
            let running = rows.jobs.running.range((Excluded(after), Unbounded)).filter_map(|id| rows.jobs.rows.get(id));
            running.take(limit).cloned().collect()
        })
    }

    pub(super) fn poll_jobs(&self, bot: i64) -> JobPoll {
        self.read(bot, |rows| rows.jobs.poll())
    }

    pub(super) fn prune_jobs(&mut self, lease: (i64, Epoch), limits: JobLimits) -> StoreResult<u64> {
        Ok(self.jobs_under(lease)?.prune(limits))
    }

    pub(super) fn job_ticks(&self, bot: i64) -> Vec<(Box<str>, Millis)> {
        self.read(bot, |rows| rows.jobs.ticks.iter().map(|(name, at)| (name.clone(), *at)).collect())
    }

    pub(super) fn tick_jobs(&mut self, lease: (i64, Epoch), tick: Tick, jobs: Vec<NewJob>) -> StoreResult<bool> {
        let rows = self.jobs_under(lease)?;
        if rows.ticks.get(&tick.schedule).copied() != tick.from {
            return Ok(false);
        }
        rows.ticks.insert(tick.schedule, tick.to);
        for job in jobs {
            rows.enqueue(lease.0, job, tick.now);
        }
        Ok(true)
    }

    pub(super) fn job_counts(&self, bot: i64, finished_since: Option<Millis>) -> Vec<JobCount> {
        self.read(bot, |rows| rows.jobs.count(finished_since))
    }

    pub(super) fn jobs(&self, filter: &JobFilter, before: Option<JobId>, limit: usize) -> Vec<JobRow> {
        self.read(filter.bot, |rows| {
            let rows = rows.jobs.rows.range(..before.unwrap_or(JobId(i64::MAX))).rev();
            rows.map(|(_, row)| row).filter(|row| filter.matches(row)).take(limit).cloned().collect()
        })
    }

    pub(super) fn request_jobs(&mut self, bot: i64, request: JobRequest, now: Millis) -> u64 {
        let jobs = &mut self.by_bot.entry(bot).or_default().jobs;
        let count = |done: bool| u64::from(done);
        match request {
            JobRequest::Retry(ids) => ids.into_iter().map(|id| count(jobs.retry(id, now))).sum(),
            JobRequest::Cancel(ids) => ids.into_iter().map(|id| count(jobs.cancel(id, now))).sum(),
            JobRequest::Pause(queue) => count(jobs.paused.insert(queue)),
            JobRequest::Resume(queue) => count(jobs.paused.remove(&queue)),
        }
    }

    pub(super) fn paused_queues(&self, bot: i64) -> Vec<Box<str>> {
        self.read(bot, |rows| rows.jobs.paused.iter().cloned().collect())
    }
}
