//! Background jobs in the tables of an SQL database.
//!
//! All of it runs on the connection of a commit, like the application's writes: so a turn, the application and the
//! leader add and change jobs in their own transactions, on SQLite and on PostgreSQL.

use std::collections::HashMap;

use super::columns::{Columns, Value, count};
use super::rows::Rows;
use crate::clock::Millis;
use crate::store::writes::Connection;
use crate::store::{
    Database, DomainWrites, Enqueued, Epoch, JobId, JobLimits, JobRequest, JobRow, JobState, JobUpdate, NewJob,
    StoreError, StoreResult, Tick, WriteError,
};

mod reads;

/// How many jobs become available, or are removed, in one step.
const STEP: i64 = 1_000;

/// Something that is read from a row.
trait ReadRow: Sized {
    fn read(row: &impl Columns) -> sqlx::Result<Self>;
}

/// Runs a statement within a commit.
async fn rows<T: ReadRow>(
    database: &mut Database<'_>,
    statement: &'static str,
    values: Vec<Value>,
) -> sqlx::Result<Vec<T>> {
    match database.connection() {
        Connection::Sqlite(connection) => {
            let query = crate::store::sqlite::bound(sqlx::query(statement), values);
            query.fetch_all(&mut **connection).await?.iter().map(|row| T::read(row)).collect()
        }
        #[cfg(feature = "postgres")]
        Connection::Postgres(connection) => {
            let query = crate::store::postgres::bound(sqlx::query(statement), values);
            query.fetch_all(&mut **connection).await?.iter().map(|row| T::read(row)).collect()
        }
    }
}

/// Runs a statement within a commit. Returns the number of changed rows.
async fn change(database: &mut Database<'_>, statement: &'static str, values: Vec<Value>) -> sqlx::Result<u64> {
    match database.connection() {
        Connection::Sqlite(connection) => {
            let query = crate::store::sqlite::bound(sqlx::query(statement), values);
            Ok(query.execute(&mut **connection).await?.rows_affected())
        }
        #[cfg(feature = "postgres")]
        Connection::Postgres(connection) => {
            let query = crate::store::postgres::bound(sqlx::query(statement), values);
            Ok(query.execute(&mut **connection).await?.rows_affected())
        }
    }
}

/// A statement for SQLite and for PostgreSQL, over rows that are bound as the first value.
struct OverRows {
    sqlite: &'static str,
    postgres: &'static str,
}

impl OverRows {
    fn pick(&self, database: &Database<'_>) -> &'static str {
        if database.is_postgres() { self.postgres } else { self.sqlite }
    }
}

fn rows_of<T: serde::Serialize>(all: impl IntoIterator<Item = T>) -> Result<Value, serde_json::Error> {
    let mut rows = Rows::default();
    all.into_iter().try_for_each(|row| rows.add(&row))?;
    Ok(Value::Rows(rows))
}

fn number(millis: Millis) -> Value {
    Value::Number(millis.0)
}

impl ReadRow for JobId {
    fn read(row: &impl Columns) -> sqlx::Result<Self> {
        row.number(0).map(Self)
    }
}

impl ReadRow for JobRow {
    fn read(row: &impl Columns) -> sqlx::Result<Self> {
        read_job(row)
    }
}

/// The columns of [`read_job`].
macro_rules! job_columns {
    () => {
        "id, bot, name, queue, args, state, priority, run_at, attempt, max_attempts, epoch, cancel_requested, \
         enqueued_at, started_at, finished_at, errors, result, scheduled_at"
    };
}
use job_columns;

fn read_job(row: &impl Columns) -> sqlx::Result<JobRow> {
    let small = |column| Ok::<_, sqlx::Error>(u32::try_from(row.number(column)?).unwrap_or(u32::MAX));
    Ok(JobRow {
        id: JobId(row.number(0)?),
        bot: row.number(1)?,
        name: row.text(2)?,
        queue: row.text(3)?,
        args: row.text(4)?,
        state: state(&row.str(5)?)?,
        priority: u8::try_from(row.number(6)?).unwrap_or(u8::MAX),
        run_at: Millis(row.number(7)?),
        attempt: small(8)?,
        max_attempts: small(9)?,
        epoch: Epoch(row.number(10)?),
        cancel_requested: row.number(11)? != 0,
        enqueued_at: Millis(row.number(12)?),
        started_at: row.maybe_number(13)?.map(Millis),
        finished_at: row.maybe_number(14)?.map(Millis),
        errors: row.json(15)?.unwrap_or_default(),
        result: row.maybe_text(16)?,
        scheduled_at: Millis(row.number(17)?),
    })
}

fn state(name: &str) -> sqlx::Result<JobState> {
    JobState::of_name(name).ok_or_else(|| sqlx::Error::Decode(format!("there is no state `{name}` of jobs").into()))
}

/// An earlier job that a new one may repeat: the latest of its key and state.
struct EarlierJob {
    id: JobId,
    key: String,
    state: JobState,
    enqueued_at: Millis,
}

impl ReadRow for EarlierJob {
    fn read(row: &impl Columns) -> sqlx::Result<Self> {
        Ok(Self {
            id: JobId(row.number(0)?),
            key: row.text(1)?,
            state: state(&row.str(2)?)?,
            enqueued_at: Millis(row.number(3)?),
        })
    }
}

/// A new job: it repeats an earlier one, or has this place among the added ones.
#[derive(Clone, Copy)]
enum Place {
    Known(JobId),
    Added(usize),
}

/// What the jobs of a batch repeat.
#[derive(Default)]
struct Repetitions {
    /// Stored jobs by key.
    earlier: HashMap<String, Vec<EarlierJob>>,
    /// Jobs of the same batch by key, with their states.
    of_batch: HashMap<String, Vec<(JobState, Place)>>,
}

impl Repetitions {
    fn find(&self, job: &NewJob, key: &str, now: Millis) -> Option<Place> {
        let counts = |state, enqueued_at| match &job.unique {
            Some(unique) => unique.applies_to(state, enqueued_at, now),
            // By `once`, every job that is kept counts.
            None => true,
        };
        let in_batch = self.of_batch.get(key).and_then(|jobs| jobs.iter().find(|(state, _)| counts(*state, now)));
        if let Some((_, place)) = in_batch {
            return Some(*place);
        }
        let earlier = self.earlier.get(key)?.iter().filter(|job| counts(job.state, job.enqueued_at));
        earlier.map(|job| job.id).max().map(Place::Known)
    }
}

/// The states in which an earlier job counts.
fn counted_states(job: &NewJob) -> &[JobState] {
    job.unique.as_ref().map_or(&JobState::ALL, |unique| &unique.states)
}

/// The key under which a job is stored: that of [`crate::store::Unique`], otherwise its `once`.
fn stored_key(job: &NewJob) -> Option<String> {
    job.unique_key().or_else(|| job.once.as_ref().map(|once| format!("once {once}")))
}

/// Adds jobs.
pub(in crate::store) async fn enqueue(
    database: &mut Database<'_>,
    bot: i64,
    jobs: Vec<NewJob>,
    now: Millis,
) -> Result<Vec<Enqueued>, WriteError> {
    let keys: Vec<Option<String>> = jobs.iter().map(stored_key).collect();
    let mut repetitions = Repetitions::default();
    if keys.iter().any(Option::is_some) {
        if database.is_postgres() {
            // Two transactions that add the same key at the same time would not see each other.
            change(database, "SELECT pg_advisory_xact_lock(1869639540, hashint8($1))", vec![Value::Number(bot)])
                .await?;
        }
        let asked = jobs.iter().zip(&keys).filter_map(|(job, key)| Some((job, key.as_ref()?)));
        let asked = asked.flat_map(|(job, key)| counted_states(job).iter().map(move |state| (key, state.name())));
        let values = vec![rows_of(asked)?, Value::Number(bot)];
        for earlier in rows::<EarlierJob>(database, EARLIER.pick(database), values).await? {
            repetitions.earlier.entry(earlier.key.clone()).or_default().push(earlier);
        }
    }
    let mut places = Vec::with_capacity(jobs.len());
    let mut added = Rows::default();
    let mut added_count = 0;
    for (job, key) in jobs.iter().zip(keys) {
        let known = key.as_deref().and_then(|key| repetitions.find(job, key, now));
        let place = known.unwrap_or(Place::Added(added_count));
        if known.is_none() {
            let (state, run_at) = job.start(now);
            let NewJob { name, queue, args, priority, max_attempts, .. } = job;
            added.add(&(name, queue, args, state.name(), priority, run_at, max_attempts, &key))?;
            added_count += 1;
            if let Some(key) = key {
                repetitions.of_batch.entry(key).or_default().push((state, place));
            }
        }
        places.push((place, known.is_none()));
    }
    let mut ids: Vec<JobId> = Vec::new();
    if added_count > 0 {
        let values = vec![Value::Rows(added), Value::Number(bot), number(now)];
        ids = rows(database, ADD.pick(database), values).await?;
        // Ids rise in the order of the rows, but the answer may have another order.
        ids.sort_unstable();
    }
    let id = |place| match place {
        Place::Known(id) => id,
        Place::Added(index) => ids.get(index).copied().unwrap_or_default(),
    };
    let answer = |(place, is_new)| if is_new { Enqueued::New(id(place)) } else { Enqueued::Known(id(place)) };
    Ok(places.into_iter().map(answer).collect())
}

/// The latest job of each key and state that is asked for. A key may have many finished jobs, so they are not counted.
const EARLIER: OverRows = OverRows {
    sqlite: "
SELECT earlier.id, unique_key, state, enqueued_at FROM json_each($1) AS asked
JOIN opora_jobs AS earlier ON earlier.id = (
    SELECT max(id) FROM opora_jobs WHERE bot = $2 AND unique_key = asked.value->>0 AND state = asked.value->>1)",
    postgres: "
SELECT earlier.id, unique_key, state, enqueued_at FROM jsonb_array_elements($1::jsonb) AS asked (value)
CROSS JOIN LATERAL (
    SELECT id, unique_key, state, enqueued_at FROM opora_jobs
    WHERE bot = $2 AND unique_key = asked.value->>0 AND state = asked.value->>1 ORDER BY id DESC LIMIT 1) AS earlier",
};

const ADD: OverRows = OverRows {
    sqlite: "
INSERT INTO opora_jobs
    (bot, name, queue, args, state, priority, run_at, scheduled_at, max_attempts, unique_key, enqueued_at)
SELECT $2, value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>5, value->>6, value->>7, $3
FROM json_each($1) ORDER BY key RETURNING id",
    postgres: "
INSERT INTO opora_jobs
    (bot, name, queue, args, state, priority, run_at, scheduled_at, max_attempts, unique_key, enqueued_at)
SELECT $2, value->>0, value->>1, value->>2, value->>3, (value->>4)::bigint, (value->>5)::bigint, (value->>5)::bigint,
       (value->>6)::bigint, value->>7, $3
FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS element (value, place) ORDER BY place RETURNING id",
};

/// Begins attempts of due jobs.
pub(in crate::store) async fn start(
    database: &mut Database<'_>,
    (bot, epoch): (i64, Epoch),
    wanted: Vec<(Box<str>, usize)>,
    now: Millis,
) -> Result<Vec<JobRow>, WriteError> {
    change(database, BECOME_AVAILABLE, vec![Value::Number(bot), number(now), Value::Number(STEP)]).await?;
    let mut started = Vec::new();
    // A bot has few queues.
    for (queue, limit) in wanted {
        let values = vec![
            Value::Number(bot),
            Value::Text(queue.into()),
            Value::Number(epoch.0),
            number(now),
            Value::Number(count(limit)),
        ];
        let mut of_queue: Vec<JobRow> = rows(database, START, values).await?;
        of_queue.sort_by_key(|row| (row.priority, row.run_at, row.id));
        started.append(&mut of_queue);
    }
    Ok(started)
}

const BECOME_AVAILABLE: &str = "
UPDATE opora_jobs SET state = 'available'
WHERE state = 'scheduled' AND id IN (
    SELECT id FROM opora_jobs WHERE bot = $1 AND state = 'scheduled' AND run_at <= $2 ORDER BY run_at, id LIMIT $3)";

/// The outer condition is checked again for a row that another transaction has changed meanwhile.
const START: &str = concat!(
    "
UPDATE opora_jobs SET state = 'running', attempt = attempt + 1, epoch = $3, started_at = $4
WHERE state = 'available' AND id IN (
    SELECT id FROM opora_jobs
    WHERE bot = $1 AND queue = $2 AND state = 'available'
      AND NOT EXISTS (SELECT 1 FROM opora_paused_queues WHERE bot = $1 AND queue = $2)
    ORDER BY priority, run_at, id LIMIT $5)
RETURNING ",
    job_columns!()
);

/// Not all updates apply, so nothing happens.
#[derive(Debug, thiserror::Error)]
#[error("an attempt of a job has ended already")]
struct AttemptEnded;

/// Ends attempts, and runs writes if all updates apply.
pub(in crate::store) async fn update(
    database: &mut Database<'_>,
    updates: Vec<JobUpdate>,
    writes: Option<DomainWrites>,
) -> Result<Vec<bool>, WriteError> {
    let row = |update: &JobUpdate| {
        let errors = serde_json::to_string(&update.errors)?;
        let JobUpdate { id, epoch, attempt, state, run_at, max_attempts, at, result, .. } = update;
        Ok((*id, *epoch, *attempt, state.name(), *run_at, *max_attempts, *at, errors, result.clone()))
    };
    let said = updates.iter().map(row).collect::<Result<Vec<_>, serde_json::Error>>()?;
    let changed: Vec<JobId> = rows(database, UPDATE.pick(database), vec![rows_of(said)?]).await?;
    if let Some(writes) = writes {
        if changed.len() < updates.len() {
            return Err(AttemptEnded.into());
        }
        writes.run(database).await?;
    }
    Ok(updates.iter().map(|update| changed.contains(&update.id)).collect())
}

/// The answer to an update of so many jobs: if not all applied, none did.
pub(in crate::store) fn updated(answer: StoreResult<Vec<bool>>, jobs: usize) -> StoreResult<Vec<bool>> {
    match answer {
        Err(StoreError::WritesFailed(why)) if why.is::<AttemptEnded>() => Ok(vec![false; jobs]),
        answer => answer,
    }
}

/// The rows are `said`.
macro_rules! update_of {
    ($said:literal) => {
        concat!(
            "
UPDATE opora_jobs SET run_at = said.run_at, max_attempts = said.max_attempts, errors = said.errors,
    result = said.result, cancel_requested = CASE WHEN said.state = 'running' THEN cancel_requested ELSE 0 END,
    state = CASE WHEN said.state IN ('scheduled', 'available') AND cancel_requested <> 0 THEN 'cancelled'
                 ELSE said.state END,
    finished_at = CASE WHEN said.state = 'running' THEN NULL
                       WHEN said.state IN ('scheduled', 'available') AND cancel_requested = 0 THEN NULL
                       ELSE said.at END
FROM (",
            $said,
            ") AS said
WHERE opora_jobs.id = said.id AND opora_jobs.state = 'running' AND opora_jobs.attempt = said.attempt
  AND opora_jobs.epoch = said.epoch
RETURNING opora_jobs.id"
        )
    };
}

const UPDATE: OverRows = OverRows {
    sqlite: update_of!(
        "SELECT value->>0 AS id, value->>1 AS epoch, value->>2 AS attempt, value->>3 AS state, value->>4 AS run_at,
                value->>5 AS max_attempts, value->>6 AS at, value->>7 AS errors, value->>8 AS result
         FROM json_each($1)"
    ),
    postgres: update_of!(
        "SELECT (value->>0)::bigint AS id, (value->>1)::bigint AS epoch, (value->>2)::bigint AS attempt,
                value->>3 AS state, (value->>4)::bigint AS run_at, (value->>5)::bigint AS max_attempts,
                (value->>6)::bigint AS at, value->>7 AS errors, value->>8 AS result
         FROM jsonb_array_elements($1::jsonb)"
    ),
};

/// Removes finished jobs and results.
pub(in crate::store) async fn prune(
    database: &mut Database<'_>,
    bot: i64,
    limits: JobLimits,
) -> Result<u64, WriteError> {
    const RESULTS: &str = "
        UPDATE opora_jobs SET result = NULL WHERE id IN (
            SELECT id FROM opora_jobs WHERE bot = $1 AND result IS NOT NULL AND finished_at < $2
            ORDER BY finished_at LIMIT $3)";
    const FINISHED: &str = "
        DELETE FROM opora_jobs WHERE id IN (
            SELECT id FROM opora_jobs WHERE bot = $1 AND finished_at < $2 ORDER BY finished_at LIMIT $3)";
    const EXCESS: &str = "
        DELETE FROM opora_jobs WHERE id IN (
            SELECT id FROM opora_jobs
            WHERE bot = $1 AND (finished_at, id) <= (
                SELECT finished_at, id FROM opora_jobs WHERE bot = $1 AND finished_at IS NOT NULL
                ORDER BY finished_at DESC, id DESC LIMIT 1 OFFSET $2)
            ORDER BY finished_at, id LIMIT $3)";
    let mut removed = 0;
    let kept = count(limits.max_finished);
    for (statement, bound) in [(RESULTS, limits.results_before.0), (FINISHED, limits.finished_before.0), (EXCESS, kept)]
    {
        removed += change(database, statement, [bot, bound, STEP].map(Value::Number).into()).await?;
    }
    Ok(removed)
}

/// Notes a tick and adds its jobs. False if another tick was noted last.
pub(in crate::store) async fn tick(
    database: &mut Database<'_>,
    bot: i64,
    tick: Tick,
    jobs: Vec<NewJob>,
) -> Result<bool, WriteError> {
    const NOTE: &str = "
        INSERT INTO opora_job_ticks (bot, schedule, at) VALUES ($1, $2, $3)
        ON CONFLICT (bot, schedule) DO UPDATE SET at = excluded.at WHERE opora_job_ticks.at = $4";
    const FIRST: &str = "
        INSERT INTO opora_job_ticks (bot, schedule, at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    let mut values = vec![Value::Number(bot), Value::Text(tick.schedule.into()), number(tick.to)];
    let noted = match tick.from {
        Some(from) => {
            values.push(number(from));
            change(database, NOTE, values).await?
        }
        None => change(database, FIRST, values).await?,
    };
    if noted == 0 {
        return Ok(false);
    }
    enqueue(database, bot, jobs, tick.now).await?;
    Ok(true)
}

/// Carries out an operator's request.
pub(in crate::store) async fn request(
    database: &mut Database<'_>,
    bot: i64,
    request: JobRequest,
    now: Millis,
) -> Result<u64, WriteError> {
    const PAUSE: &str = "INSERT INTO opora_paused_queues (bot, queue) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    const RESUME: &str = "DELETE FROM opora_paused_queues WHERE bot = $1 AND queue = $2";
    let bot = Value::Number(bot);
    Ok(match request {
        JobRequest::Retry(ids) => change(database, RETRY.pick(database), vec![rows_of(ids)?, bot, number(now)]).await?,
        JobRequest::Cancel(ids) => {
            change(database, CANCEL.pick(database), vec![rows_of(ids)?, bot, number(now)]).await?
        }
        JobRequest::Pause(queue) => change(database, PAUSE, vec![bot, Value::Text(queue.into())]).await?,
        JobRequest::Resume(queue) => change(database, RESUME, vec![bot, Value::Text(queue.into())]).await?,
    })
}

/// `$1` is a list of ids.
macro_rules! over_ids {
    ($before:literal) => {
        OverRows {
            sqlite: concat!($before, " AND id IN (SELECT value FROM json_each($1))"),
            postgres: concat!(
                $before,
                " AND id = ANY (ARRAY(SELECT (value #>> '{}')::bigint FROM jsonb_array_elements($1::jsonb) AS asked (value)))"
            ),
        }
    };
}

const RETRY: OverRows = over_ids!(
    "
UPDATE opora_jobs SET state = 'available', run_at = $3, finished_at = NULL, result = NULL,
    max_attempts = CASE WHEN max_attempts > attempt THEN max_attempts ELSE attempt + 1 END
WHERE bot = $2 AND state <> 'running'"
);

const CANCEL: OverRows = over_ids!(
    "
UPDATE opora_jobs SET
    cancel_requested = CASE WHEN state = 'running' THEN 1 ELSE 0 END,
    finished_at = CASE WHEN state = 'running' THEN NULL ELSE CAST($3 AS bigint) END,
    state = CASE WHEN state = 'running' THEN 'running' ELSE 'cancelled' END
WHERE bot = $2 AND state IN ('scheduled', 'available', 'running')"
);

/// Writes that answer something.
pub(in crate::store) fn returning<T: Send + 'static>(
    run: impl for<'c> FnOnce(&'c mut Database<'_>) -> futures_util::future::BoxFuture<'c, Result<T, WriteError>>
    + Send
    + 'static,
) -> (DomainWrites, tokio::sync::oneshot::Receiver<T>) {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let writes = DomainWrites::new(move |database| {
        Box::pin(async move {
            let answer = run(database).await?;
            // The receiver may be gone.
            let _ = sender.send(answer);
            Ok(())
        })
    });
    (writes, receiver)
}
