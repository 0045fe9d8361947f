//! Reads of background jobs, on connections of their own.

use super::{job_columns, read_job, state};
use crate::clock::Millis;
use crate::store::sql::columns::{Columns, ReadConnections, Value, count};
use crate::store::sql::reads::Reads;
use crate::store::{JobCount, JobFilter, JobId, JobPoll, JobRow, JobState, StoreResult};

impl<P: ReadConnections> Reads<P> {
    pub(in crate::store) async fn running_jobs(&self, bot: i64, limit: usize) -> StoreResult<Vec<JobRow>> {
        const RUNNING: &str = concat!(
            "SELECT ",
            job_columns!(),
            " FROM opora_jobs WHERE bot = $1 AND state = 'running' ORDER BY id LIMIT $2"
        );
        let values = [bot, count(limit)].map(Value::Number).into();
        self.read(RUNNING, values, read_job).await
    }

    pub(in crate::store) async fn poll_jobs(&self, bot: i64) -> StoreResult<JobPoll> {
        // Either the time of a job that waits, or the id of a running job that is to be cancelled.
        const POLL: &str = "
            SELECT (SELECT min(run_at) FROM opora_jobs WHERE bot = $1 AND state = 'scheduled'), CAST(NULL AS bigint)
            UNION ALL
            SELECT (SELECT run_at FROM opora_jobs
                    WHERE bot = $1 AND state = 'available'
                      AND queue NOT IN (SELECT queue FROM opora_paused_queues WHERE bot = $1) LIMIT 1),
                   CAST(NULL AS bigint)
            UNION ALL
            SELECT CAST(NULL AS bigint), id FROM opora_jobs
            WHERE bot = $1 AND state = 'running' AND cancel_requested <> 0";
        let read = |row: &P::Row| Ok((row.maybe_number(0)?, row.maybe_number(1)?));
        let rows = self.read(POLL, vec![Value::Number(bot)], read).await?;
        let next_due = rows.iter().filter_map(|(due, _)| *due).min().map(Millis);
        Ok(JobPoll { next_due, to_cancel: rows.into_iter().filter_map(|(_, id)| id.map(JobId)).collect() })
    }

    pub(in crate::store) async fn job_ticks(&self, bot: i64) -> StoreResult<Vec<(Box<str>, Millis)>> {
        const TICKS: &str = "SELECT schedule, at FROM opora_job_ticks WHERE bot = $1 ORDER BY schedule";
        self.read(TICKS, vec![Value::Number(bot)], |row| Ok((row.text(0)?, Millis(row.number(1)?)))).await
    }

    pub(in crate::store) async fn job_counts(&self, bot: i64, with_finished: bool) -> StoreResult<Vec<JobCount>> {
        // Every unfinished state has an index of its own.
        const UNFINISHED: &str = "
            SELECT queue, name, state, count(*), min(run_at) FROM (
                SELECT queue, name, state, run_at FROM opora_jobs WHERE bot = $1 AND state = 'scheduled'
                UNION ALL SELECT queue, name, state, run_at FROM opora_jobs WHERE bot = $1 AND state = 'available'
                UNION ALL SELECT queue, name, state, run_at FROM opora_jobs WHERE bot = $1 AND state = 'running'
            ) AS unfinished GROUP BY queue, name, state";
        const ALL: &str = "
            SELECT queue, name, state, count(*), min(run_at) FROM opora_jobs WHERE bot = $1
            GROUP BY queue, name, state";
        let read = |row: &P::Row| {
            let state = state(&row.str(2)?)?;
            let oldest = Some(Millis(row.number(4)?)).filter(|_| state == JobState::Available);
            Ok(JobCount { queue: row.text(0)?, name: row.text(1)?, state, jobs: row.number(3)?, oldest })
        };
        let statement = if with_finished { ALL } else { UNFINISHED };
        let mut counts = self.read_for_operator(statement, vec![Value::Number(bot)], read).await?;
        counts.sort_by(|one, other| (&one.queue, &one.name, one.state).cmp(&(&other.queue, &other.name, other.state)));
        Ok(counts)
    }

    pub(in crate::store) async fn jobs(
        &self,
        filter: &JobFilter,
        before: Option<JobId>,
        limit: usize,
    ) -> StoreResult<Vec<JobRow>> {
        // An empty text, or the number 0 for the id, filters nothing.
        const LIST: &str = concat!(
            "SELECT ",
            job_columns!(),
            " FROM opora_jobs
            WHERE bot = $1 AND id < $2 AND ($3 = 0 OR id = $3) AND ($4 = '' OR queue = $4) AND ($5 = '' OR name = $5)
              AND ($6 = '' OR state = $6)
            ORDER BY id DESC LIMIT $7"
        );
        let text = |text: Option<&str>| Value::Text(text.unwrap_or_default().to_owned());
        let values = vec![
            Value::Number(filter.bot),
            Value::Number(before.map_or(i64::MAX, |before| before.0)),
            Value::Number(filter.id.map_or(0, |id| id.0)),
            text(filter.queue.as_deref()),
            text(filter.name.as_deref()),
            text(filter.state.map(JobState::name)),
            Value::Number(count(limit)),
        ];
        self.read_for_operator(LIST, values, read_job).await
    }

    pub(in crate::store) async fn paused_queues(&self, bot: i64) -> StoreResult<Vec<Box<str>>> {
        const PAUSED: &str = "SELECT queue FROM opora_paused_queues WHERE bot = $1 ORDER BY queue";
        self.read(PAUSED, vec![Value::Number(bot)], |row| row.text(0)).await
    }
}
