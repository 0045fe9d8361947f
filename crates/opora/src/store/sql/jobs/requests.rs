//! Removes old jobs, notes the ticks of schedules, and carries out requests of operators.

use super::{OverRows, STEP, Value, change, enqueue, number, rows_of};
use crate::clock::Millis;
use crate::store::sql::columns::count;
use crate::store::{Database, JobLimits, JobRequest, NewJob, Tick, WriteError};

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
