//! Background jobs in Redis.
//!
//! All jobs of a bot are in one partition, so that the leader starts them by one call, in the order of their queue. A
//! turn of another partition adds a job by an effect (`jobs/carrier.rs`), because no function touches two partitions.

use serde::{Deserialize, Serialize};

use super::connection::Call;
use super::keys::KeyKind;
use super::ordered::id_of;
use super::rows::unreadable;
use super::writes::WriteAnswer;
use super::{NO_WRITES, RedisBackend};
use crate::clock::Millis;
use crate::store::{
    BoxError, Enqueued, Epoch, JobCount, JobFailure, JobFilter, JobId, JobLimits, JobPoll, JobRequest, JobRow,
    JobStart, JobState, JobUpdate, NewJob, StoreError, StoreResult, Tick,
};

/// The partition of the jobs. It can never change.
const PARTITION: usize = 0;
/// How many jobs become available, or are removed, at once: the server does nothing else meanwhile.
const STEP: usize = 500;
/// How many jobs are read at once for a filtered list.
const PAGE: usize = 500;

/// A job, as the functions in the server read it.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct StoredJob {
    name: Box<str>,
    queue: Box<str>,
    args: Box<str>,
    state: JobState,
    priority: u8,
    run_at: Millis,
    scheduled_at: Millis,
    attempt: u32,
    max_attempts: u32,
    epoch: i64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cancel: bool,
    enqueued_at: Millis,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<Millis>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_at: Option<Millis>,
    /// JSON: the functions do not read it, and their own encoder cannot tell an empty list from an empty object.
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    once: Option<Box<str>>,
}

/// A job to add, and what it may repeat.
#[derive(Serialize)]
struct Addition {
    job: StoredJob,
    states: Vec<JobState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    period: Option<u64>,
}

/// The new values of a job.
#[derive(Serialize)]
struct StoredUpdate {
    epoch: i64,
    attempt: u32,
    state: JobState,
    run_at: Millis,
    max_attempts: u32,
    at: Millis,
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Box<str>>,
}

fn json(value: &impl Serialize) -> StoreResult<String> {
    serde_json::to_string(value).map_err(|error| StoreError::WritesFailed(error.into()))
}

fn errors_json(errors: &[JobFailure]) -> StoreResult<Option<String>> {
    if errors.is_empty() { Ok(None) } else { json(&errors).map(Some) }
}

fn addition(job: NewJob, now: Millis) -> StoreResult<String> {
    let (state, run_at) = job.start(now);
    let key = job.unique_key();
    let period = job.unique.as_ref().and_then(|unique| unique.period);
    let states = job.unique.map(|unique| unique.states).unwrap_or_default();
    let stored = StoredJob {
        name: job.name,
        queue: job.queue,
        args: job.args,
        state,
        priority: job.priority,
        run_at,
        scheduled_at: run_at,
        max_attempts: job.max_attempts,
        enqueued_at: now,
        key,
        once: job.once,
        ..StoredJob::default()
    };
    let period = period.map(|period| u64::try_from(period.as_millis()).unwrap_or(u64::MAX));
    json(&Addition { job: stored, states, period })
}

fn read_job(bot: i64, id: &str, row: &str) -> Result<JobRow, BoxError> {
    let job: StoredJob = serde_json::from_str(row)?;
    Ok(JobRow {
        id: JobId(id.parse()?),
        bot,
        name: job.name,
        queue: job.queue,
        args: job.args,
        state: job.state,
        priority: job.priority,
        run_at: job.run_at,
        scheduled_at: job.scheduled_at,
        attempt: job.attempt,
        max_attempts: job.max_attempts,
        epoch: Epoch(job.epoch),
        cancel_requested: job.cancel,
        enqueued_at: job.enqueued_at,
        started_at: job.started_at,
        finished_at: job.finished_at,
        errors: job.errors.map_or(Ok(Vec::new()), |errors| serde_json::from_str(&errors))?,
        result: job.result,
    })
}

fn read_jobs(bot: i64, pairs: &[String]) -> StoreResult<Vec<JobRow>> {
    pairs.chunks_exact(2).map(|pair| read_job(bot, &pair[0], &pair[1]).map_err(unreadable)).collect()
}

fn number(text: Option<&String>) -> StoreResult<u64> {
    text.and_then(|text| text.parse().ok()).ok_or_else(|| unreadable("a count is not a number"))
}

impl RedisBackend {
    /// Calls a function that changes jobs under the lease.
    async fn change_jobs(
        &self,
        function: &'static str,
        (bot, epoch): (i64, Epoch),
        args: impl IntoIterator<Item = String>,
    ) -> StoreResult<WriteAnswer> {
        let lease = self.held_leases.get(epoch, bot)?;
        let args = args.into_iter().collect();
        let target = (bot, PARTITION);
        let answer = self.writer.write(function, Some(&lease.fencing_token), target, KeyKind::JobTicks, args).await?;
        self.check_word(bot, epoch, &answer.word).await?;
        Ok(answer)
    }

    /// Calls a function that changes jobs, from any instance.
    async fn change_jobs_unfenced(
        &self,
        function: &'static str,
        bot: i64,
        args: Vec<String>,
    ) -> StoreResult<WriteAnswer> {
        self.writer.write(function, None, (bot, PARTITION), KeyKind::JobTicks, args).await
    }

    async fn ask_jobs(&self, function: &'static str, bot: i64, args: Vec<String>) -> StoreResult<Vec<String>> {
        let bot_keys = self.keys.bot_keys(bot);
        self.connection.call(Call { function, keys: bot_keys.up_to(PARTITION, KeyKind::JobTicks), args }).await
    }

    pub(super) async fn add_jobs(&self, bot: i64, jobs: Vec<NewJob>, now: Millis) -> StoreResult<Vec<Enqueued>> {
        let mut args = vec![now.0.to_string()];
        for job in jobs {
            args.push(addition(job, now)?);
        }
        let answer = self.change_jobs_unfenced("add_jobs", bot, args).await?;
        let enqueued = |id: &String| match id.strip_prefix('+') {
            Some(id) => id.parse().map(|id| Enqueued::New(JobId(id))),
            None => id.parse().map(|id| Enqueued::Known(JobId(id))),
        };
        answer.rest.iter().map(enqueued).collect::<Result<_, _>>().map_err(unreadable)
    }

    pub(super) async fn start_due_jobs(
        &self,
        lease: (i64, Epoch),
        JobStart { queues, also_scheduled, now }: JobStart,
    ) -> StoreResult<Vec<JobRow>> {
        let most = if also_scheduled { STEP } else { 0 };
        let head = [lease.1.0.to_string(), now.0.to_string(), most.to_string()];
        let queues = queues.into_iter().flat_map(|(queue, limit)| [queue.into_string(), limit.to_string()]);
        let answer = self.change_jobs("start_jobs", lease, head.into_iter().chain(queues)).await?;
        read_jobs(lease.0, &answer.rest)
    }

    pub(super) async fn end_attempts(
        &self,
        lease: (i64, Epoch),
        updates: Vec<JobUpdate>,
        has_writes: bool,
    ) -> StoreResult<Vec<bool>> {
        if has_writes {
            return Err(StoreError::Unsupported(NO_WRITES));
        }
        let mut args = Vec::with_capacity(2 * updates.len());
        for update in updates {
            args.push(id_of(update.id.0));
            args.push(json(&StoredUpdate {
                epoch: update.epoch.0,
                attempt: update.attempt,
                state: update.state,
                run_at: update.run_at,
                max_attempts: update.max_attempts,
                at: update.at,
                errors: errors_json(&update.errors)?,
                result: update.result,
            })?);
        }
        let answer = self.change_jobs("update_jobs", lease, args).await?;
        Ok(answer.rest.iter().map(|applied| applied == "1").collect())
    }

    pub(super) async fn jobs_running(&self, bot: i64, after: JobId, limit: usize) -> StoreResult<Vec<JobRow>> {
        let args = vec![id_of(after.0), limit.to_string()];
        read_jobs(bot, &self.ask_jobs("running_jobs", bot, args).await?)
    }

    pub(super) async fn jobs_due(&self, bot: i64) -> StoreResult<JobPoll> {
        let answer = self.ask_jobs("poll_jobs", bot, Vec::new()).await?;
        let [due, queues, rest @ ..] = &answer[..] else { return Err(unreadable("an answer about jobs is too short")) };
        let queues: usize = queues.parse().map_err(unreadable)?;
        let (available, to_cancel) = rest.split_at(queues.min(rest.len()));
        let next_scheduled = Some(due).filter(|due| !due.is_empty()).map(|due| due.parse().map(Millis)).transpose();
        Ok(JobPoll {
            available: available.iter().map(|queue| queue.as_str().into()).collect(),
            next_scheduled: next_scheduled.map_err(unreadable)?,
            to_cancel: to_cancel
                .iter()
                .map(|id| id.parse().map(JobId))
                .collect::<Result<_, _>>()
                .map_err(unreadable)?,
        })
    }

    pub(super) async fn drop_old_jobs(&self, lease: (i64, Epoch), limits: JobLimits) -> StoreResult<u64> {
        let JobLimits { results_before, finished_before, max_finished } = limits;
        let args = [results_before.0.to_string(), finished_before.0.to_string(), max_finished.to_string()];
        let answer = self.change_jobs("prune_jobs", lease, args.into_iter().chain([STEP.to_string()])).await?;
        number(answer.rest.first())
    }

    pub(super) async fn ticks_noted(&self, bot: i64) -> StoreResult<Vec<(Box<str>, Millis)>> {
        let bot_keys = self.keys.bot_keys(bot);
        let mut command = redis::cmd("HGETALL");
        command.arg(bot_keys.key(PARTITION, KeyKind::JobTicks));
        let ticks: std::collections::BTreeMap<String, i64> = self.connection.query(&command).await?;
        Ok(ticks.into_iter().map(|(schedule, at)| (schedule.into(), Millis(at))).collect())
    }

    pub(super) async fn note_tick(&self, lease: (i64, Epoch), tick: Tick, jobs: Vec<NewJob>) -> StoreResult<bool> {
        let from = tick.from.map(|from| from.0.to_string()).unwrap_or_default();
        let mut args = vec![tick.schedule.into_string(), from, tick.to.0.to_string(), tick.now.0.to_string()];
        for job in jobs {
            args.push(addition(job, tick.now)?);
        }
        let answer = self.change_jobs("tick_jobs", lease, args).await?;
        Ok(answer.rest.first().is_some_and(|noted| noted == "1"))
    }

    pub(super) async fn count_of_jobs(&self, bot: i64, finished_since: Option<Millis>) -> StoreResult<Vec<JobCount>> {
        let since = finished_since.map(|since| since.0.to_string()).unwrap_or_default();
        let answer = self.ask_jobs("count_jobs", bot, vec![since]).await?;
        let mut counts = Vec::with_capacity(answer.len() / 4);
        for texts in answer.chunks_exact(4) {
            let mut kind = texts[0].split('|');
            let (Some(queue), Some(name), Some(state)) =
                (kind.next(), kind.next(), kind.next().and_then(JobState::of_name))
            else {
                return Err(unreadable("a count names no kind of job"));
            };
            let jobs = texts[1].parse().map_err(unreadable)?;
            let oldest = Some(&texts[2]).filter(|text| !text.is_empty());
            let oldest = oldest.map(|text| text.parse().map(Millis)).transpose().map_err(unreadable)?;
            let recent = texts[3].parse().map_err(unreadable)?;
            counts.push(JobCount { queue: queue.into(), name: name.into(), state, jobs, oldest, recent });
        }
        counts.retain(|count| finished_since.is_some() || !count.state.is_finished());
        counts.sort_by(|one, other| (&one.queue, &one.name, one.state).cmp(&(&other.queue, &other.name, other.state)));
        Ok(counts)
    }

    /// Jobs that pass a filter, read in pages.
    pub(super) async fn list_jobs(
        &self,
        filter: &JobFilter,
        before: Option<JobId>,
        limit: usize,
    ) -> StoreResult<Vec<JobRow>> {
        let mut before = filter.id.map(|id| JobId(id.0.saturating_add(1))).or(before);
        let mut found = Vec::new();
        loop {
            let page = if filter.id.is_some() { 1 } else { PAGE };
            let args = vec![before.map(|before| id_of(before.0)).unwrap_or_default(), page.to_string()];
            let rows = read_jobs(filter.bot, &self.ask_jobs("jobs_before", filter.bot, args).await?)?;
            before = rows.last().map(|row| row.id);
            let is_last = rows.len() < PAGE;
            found.extend(rows.into_iter().filter(|row| filter.matches(row)).take(limit - found.len()));
            if is_last || found.len() >= limit {
                return Ok(found);
            }
        }
    }

    pub(super) async fn request(&self, bot: i64, request: JobRequest, now: Millis) -> StoreResult<u64> {
        let (function, ids) = match request {
            JobRequest::Retry(ids) => ("retry_jobs", ids),
            JobRequest::Cancel(ids) => ("cancel_jobs", ids),
            JobRequest::Pause(queue) => return self.change_paused("SADD", bot, &queue).await,
            JobRequest::Resume(queue) => return self.change_paused("SREM", bot, &queue).await,
        };
        let mut args = vec![now.0.to_string()];
        args.extend(ids.into_iter().map(|id| id_of(id.0)));
        number(self.change_jobs_unfenced(function, bot, args).await?.rest.first())
    }

    async fn change_paused(&self, command: &str, bot: i64, queue: &str) -> StoreResult<u64> {
        let bot_keys = self.keys.bot_keys(bot);
        let mut command = redis::cmd(command);
        command.arg(bot_keys.key(PARTITION, KeyKind::JobPaused)).arg(queue);
        self.connection.query(&command).await
    }

    pub(super) async fn queues_paused(&self, bot: i64) -> StoreResult<Vec<Box<str>>> {
        let bot_keys = self.keys.bot_keys(bot);
        let mut command = redis::cmd("SMEMBERS");
        command.arg(bot_keys.key(PARTITION, KeyKind::JobPaused));
        let mut queues: Vec<String> = self.connection.query(&command).await?;
        queues.sort();
        Ok(queues.into_iter().map(Into::into).collect())
    }
}
