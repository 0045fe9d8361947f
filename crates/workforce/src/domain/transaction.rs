//! Runs the ORM on the connection of a commit.
//!
//! A turn's writes borrow one connection mutably for the time of the commit, but the ORM wants a shared reference: a
//! mutex connects the two. It begins and ends no transaction; the commit does.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use opora::clock::Millis;
use opora::jobs::NewJob;
use opora::store::{Database, DomainWrites, WriteError};
use opora::turn::Turn;
use sea_orm::{ConnectionTrait, DbBackend, DbErr, ExecResult, QueryResult, RuntimeErr, Statement};
use sea_query_sqlx::SqlxValues;
use sqlx::AssertSqlSafe;
use tokio::sync::Mutex;

/// The failure if a command, which has no bot, enqueues a job.
const NO_BOT: &str = "a job needs a bot that runs it, and this database was opened without one";

/// The open transaction of a commit, for entities and queries.
#[derive(Debug)]
pub struct Transaction<'a, 'c> {
    is_postgres: bool,
    /// The bot that runs jobs; none in a command.
    bot: Option<i64>,
    database: Mutex<&'a mut Database<'c>>,
}

/// Writes of a turn to the application's tables.
pub trait WriteInTurn {
    /// Writes within the turn's commit: short, and SQL only. Commits or fails together with the turn.
    fn write<F>(&mut self, run: F)
    where
        F: for<'w> FnOnce(&'w Transaction<'_, '_>) -> BoxFuture<'w, Result<(), WriteError>> + Send + 'static;
}

impl WriteInTurn for Turn {
    fn write<F>(&mut self, run: F)
    where
        F: for<'w> FnOnce(&'w Transaction<'_, '_>) -> BoxFuture<'w, Result<(), WriteError>> + Send + 'static,
    {
        let bot = self.key().bot;
        self.transact(with_transaction(Some(bot), run));
    }
}

/// Writes with a commit of their own.
pub(super) fn domain_writes<F>(bot: Option<i64>, run: F) -> DomainWrites
where
    F: for<'w> FnOnce(&'w Transaction<'_, '_>) -> BoxFuture<'w, Result<(), WriteError>> + Send + 'static,
{
    DomainWrites::new(with_transaction(bot, run))
}

pub(super) fn with_transaction<F>(
    bot: Option<i64>,
    run: F,
) -> impl for<'c> FnOnce(&'c mut Database<'_>) -> BoxFuture<'c, Result<(), WriteError>> + Send + 'static
where
    F: for<'w> FnOnce(&'w Transaction<'_, '_>) -> BoxFuture<'w, Result<(), WriteError>> + Send + 'static,
{
    move |database| {
        Box::pin(async move {
            let db = Transaction::new(database, bot);
            run(&db).await.map_err(unwrap_orm_error)
        })
    }
}

/// Takes the database's error out of the ORM's error, so that the store can tell whether the database is away.
fn unwrap_orm_error(error: WriteError) -> WriteError {
    let WriteError::Failed(error) = error else { return error };
    match error.downcast::<DbErr>().map(|error| *error) {
        Ok(DbErr::Conn(why) | DbErr::Exec(why) | DbErr::Query(why)) => match why {
            RuntimeErr::SqlxError(error) => match Arc::try_unwrap(error) {
                Ok(error) => WriteError::Failed(Box::new(error)),
                Err(error) => WriteError::Failed(error.to_string().into()),
            },
            RuntimeErr::Internal(words) => WriteError::Failed(words.into()),
        },
        Ok(other) => WriteError::Failed(Box::new(other)),
        Err(other) => WriteError::Failed(other),
    }
}

impl<'a, 'c> Transaction<'a, 'c> {
    fn new(database: &'a mut Database<'c>, bot: Option<i64>) -> Self {
        Self { is_postgres: database.is_postgres(), bot, database: Mutex::new(database) }
    }

    /// Enqueues jobs. They commit with the writes around them, and start afterwards: within a second, or at once if
    /// the caller wakes them after the commit ([`Handle::wake_jobs`](opora::bot::Handle::wake_jobs)).
    pub async fn enqueue<J: Into<NewJob>>(
        &self,
        jobs: impl IntoIterator<Item = J>,
        at: Millis,
    ) -> Result<(), WriteError> {
        let jobs: Vec<NewJob> = jobs.into_iter().map(Into::into).collect();
        let Some(bot) = self.bot else { return Err(WriteError::Failed(NO_BOT.into())) };
        self.database.lock().await.enqueue_all(bot, jobs, at).await.map(drop)
    }
}

/// Runs a statement on the connection, PostgreSQL or SQLite.
macro_rules! run_statement {
    ($transaction:expr, $statement:expr, $method:ident, $failed:path) => {{
        let statement = $statement;
        let values = SqlxValues(statement.values.unwrap_or(sea_orm::Values(Vec::new())));
        let query = AssertSqlSafe(statement.sql);
        let mut database = $transaction.database.lock().await;
        if $transaction.is_postgres {
            sqlx::query_with(query, values).$method(database.postgres()).await.map(convert).map_err($failed)
        } else {
            sqlx::query_with(query, values).$method(database.sqlite()).await.map(convert).map_err($failed)
        }
    }};
}

#[async_trait::async_trait]
impl ConnectionTrait for Transaction<'_, '_> {
    fn get_database_backend(&self) -> DbBackend {
        if self.is_postgres { DbBackend::Postgres } else { DbBackend::Sqlite }
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        fn convert(done: impl Into<ExecResult>) -> ExecResult {
            done.into()
        }
        run_statement!(self, statement, execute, exec_error)
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        self.execute_raw(Statement::from_string(self.get_database_backend(), sql)).await
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        fn convert<R: Into<QueryResult>>(row: Option<R>) -> Option<QueryResult> {
            row.map(Into::into)
        }
        run_statement!(self, statement, fetch_optional, query_error)
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        fn convert<R: Into<QueryResult>>(rows: Vec<R>) -> Vec<QueryResult> {
            rows.into_iter().map(Into::into).collect()
        }
        run_statement!(self, statement, fetch_all, query_error)
    }
}

fn exec_error(error: sqlx::Error) -> DbErr {
    DbErr::Exec(RuntimeErr::SqlxError(error.into()))
}

fn query_error(error: sqlx::Error) -> DbErr {
    DbErr::Query(RuntimeErr::SqlxError(error.into()))
}
