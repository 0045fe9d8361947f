//! Reads of background jobs, on connections of their own.

use super::{job_columns, read_job, state};
use crate::clock::Millis;
use crate::store::sql::columns::{Columns, ReadConnections, Value, count};
use crate::store::sql::reads::Reads;
use crate::store::{JobCount, JobFilter, JobId, JobPoll, JobRow, JobState, StoreResult};

impl<P: ReadConnections> Reads<P> {
    pub(in crate::store) async fn running_jobs(
        &self,
        bot: i64,
        after: JobId,
        limit: usize,
    ) -> StoreResult<Vec<JobRow>> {
        const RUNNING: &str = concat!(
            "SELECT ",
            job_columns!(),
            " FROM opora_jobs WHERE bot = $1 AND state = 'running' AND id > $2 ORDER BY id LIMIT $3"
        );
        let values = [bot, after.0, count(limit)].map(Value::Number).into();
        self.read(RUNNING, values, read_job).await
    }

    pub(in crate::store) async fn poll_jobs(&self, bot: i64) -> StoreResult<JobPoll> {
        // Either the time of the next scheduled job, a queue with available jobs, or the id of a running job that is to
        // be cancelled. The queues are found one by one: each may have many jobs.
        const POLL: &str = "
            WITH RECURSIVE ready (queue) AS (
                SELECT min(queue) FROM opora_jobs WHERE bot = $1 AND state = 'available'
                UNION ALL
                SELECT (SELECT min(queue) FROM opora_jobs
                        WHERE bot = $1 AND state = 'available' AND queue > ready.queue)
                FROM ready WHERE ready.queue IS NOT NULL)
            SELECT (SELECT min(run_at) FROM opora_jobs WHERE bot = $1 AND state = 'scheduled'), CAST(NULL AS bigint),
                   CAST(NULL AS text)
            UNION ALL
            SELECT CAST(NULL AS bigint), CAST(NULL AS bigint), queue
            FROM ready WHERE queue NOT IN (SELECT queue FROM opora_paused_queues WHERE bot = $1)
            UNION ALL
            SELECT CAST(NULL AS bigint), id, CAST(NULL AS text) FROM opora_jobs
            WHERE bot = $1 AND state = 'running' AND cancel_requested <> 0";
        let read = |row: &P::Row| Ok((row.maybe_number(0)?, row.maybe_number(1)?, row.maybe_text(2)?));
        let mut poll = JobPoll::default();
        for (due, id, queue) in self.read(POLL, vec![Value::Number(bot)], read).await? {
            poll.next_scheduled = poll.next_scheduled.or(due.map(Millis));
            poll.to_cancel.extend(id.map(JobId));
            poll.available.extend::<Option<Box<str>>>(queue);
        }
        Ok(poll)
    }

    pub(in crate::store) async fn job_ticks(&self, bot: i64) -> StoreResult<Vec<(Box<str>, Millis)>> {
        const TICKS: &str = "SELECT schedule, at FROM opora_job_ticks WHERE bot = $1 ORDER BY schedule";
        self.read(TICKS, vec![Value::Number(bot)], |row| Ok((row.text(0)?, Millis(row.number(1)?)))).await
    }

    pub(in crate::store) async fn job_counts(
        &self,
        bot: i64,
        finished_since: Option<Millis>,
    ) -> StoreResult<Vec<JobCount>> {
        // Every unfinished state has an index of its own, and so has the end of a job.
        macro_rules! counted {
            ($finished:literal) => {
                concat!(
                    "SELECT queue, name, state, count(*), min(run_at), count(finished_at), CAST($2 AS bigint) FROM (
                SELECT queue, name, state, run_at, CAST(NULL AS bigint) AS finished_at
                FROM opora_jobs WHERE bot = $1 AND state = 'scheduled'
                UNION ALL SELECT queue, name, state, run_at, CAST(NULL AS bigint)
                FROM opora_jobs WHERE bot = $1 AND state = 'available'
                UNION ALL SELECT queue, name, state, run_at, CAST(NULL AS bigint)
                FROM opora_jobs WHERE bot = $1 AND state = 'running'",
                    $finished,
                    ") AS counted GROUP BY queue, name, state"
                )
            };
        }
        const UNFINISHED: &str = counted!("");
        const WITH_FINISHED: &str = counted!(
            " UNION ALL SELECT queue, name, state, run_at, finished_at
            FROM opora_jobs WHERE bot = $1 AND finished_at >= $2"
        );
        let read = |row: &P::Row| {
            let state = state(&row.str(2)?)?;
            let oldest = Some(Millis(row.number(4)?)).filter(|_| state == JobState::Available);
            Ok(JobCount {
                queue: row.text(0)?,
                name: row.text(1)?,
                state,
                jobs: row.number(3)?,
                oldest,
                recent: row.number(5)?,
            })
        };
        let statement = if finished_since.is_some() { WITH_FINISHED } else { UNFINISHED };
        let values = [bot, finished_since.unwrap_or_default().0].map(Value::Number).into();
        let mut counts = self.read_for_operator(statement, values, read).await?;
        counts.sort_by(|one, other| (&one.queue, &one.name, one.state).cmp(&(&other.queue, &other.name, other.state)));
        Ok(counts)
    }

    pub(in crate::store) async fn jobs(
        &self,
        filter: &JobFilter,
        before: Option<JobId>,
        limit: usize,
    ) -> StoreResult<Vec<JobRow>> {
        const BY_ID: &str = concat!("SELECT ", job_columns!(), " FROM opora_jobs WHERE bot = $1 AND id = $2");
        if let Some(id) = filter.id {
            let values = [filter.bot, id.0].map(Value::Number).into();
            let mut found = self.read_for_operator(BY_ID, values, read_job).await?;
            found.retain(|row| filter.matches(row) && before.is_none_or(|before| row.id < before));
            return Ok(found);
        }
        // An empty text filters nothing.
        const LIST: &str = concat!(
            "SELECT ",
            job_columns!(),
            " FROM opora_jobs
            WHERE bot = $1 AND id < $2 AND ($3 = '' OR queue = $3) AND ($4 = '' OR name = $4)
              AND ($5 = '' OR state = $5)
            ORDER BY id DESC LIMIT $6"
        );
        let text = |text: Option<&str>| Value::Text(text.unwrap_or_default().to_owned());
        let values = vec![
            Value::Number(filter.bot),
            Value::Number(before.map_or(i64::MAX, |before| before.0)),
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
