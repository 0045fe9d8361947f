//! Begins and ends attempts of jobs.

use super::{OverRows, STEP, Value, change, job_columns, number, rows, rows_of};
use crate::store::sql::columns::count;
use crate::store::{
    Database, DomainWrites, Epoch, JobId, JobRow, JobStart, JobUpdate, StoreError, StoreResult, WriteError,
};

/// Begins attempts of due jobs.
pub(in crate::store) async fn start(
    database: &mut Database<'_>,
    (bot, epoch): (i64, Epoch),
    JobStart { queues, also_scheduled, now }: JobStart,
) -> Result<Vec<JobRow>, WriteError> {
    if also_scheduled {
        change(database, BECOME_AVAILABLE, vec![Value::Number(bot), number(now), Value::Number(STEP)]).await?;
    }
    let mut started = Vec::new();
    // A bot has few queues.
    for (queue, limit) in queues {
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
    let changed: Vec<JobId> =
        if said.is_empty() { Vec::new() } else { rows(database, UPDATE.pick(database), vec![rows_of(said)?]).await? };
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
