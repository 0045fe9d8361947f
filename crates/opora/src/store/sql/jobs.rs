//! Background jobs in the tables of an SQL database.
//!
//! All of it runs on the connection of a commit, like the application's writes: so a turn, the application and the
//! leader add and change jobs in their own transactions, on SQLite and on PostgreSQL.

use super::columns::{Columns, Value};
use super::rows::Rows;
use crate::clock::Millis;
use crate::store::writes::Connection;
use crate::store::{Database, DomainWrites, Epoch, JobId, JobRow, JobState, WriteError};

pub(in crate::store) use self::attempts::{start, update, updated};
pub(in crate::store) use self::enqueue::enqueue;
pub(crate) use self::finish::{BatchFailed, Finish, finish};
pub(in crate::store) use self::requests::{prune, request, tick};

mod attempts;
mod enqueue;
mod finish;
mod reads;
mod requests;

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
