//! The ORM on the connection of a commit.
//!
//! A turn's writes get one connection, lent for the time of the commit. Entities want something that can be asked from
//! a shared reference: this puts the one behind the other. It begins and ends no transaction; the commit does.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use opora::store::{Database, DomainWrites, WriteError};
use opora::turn::Turn;
use sea_orm::{ConnectionTrait, DbBackend, DbErr, ExecResult, QueryResult, RuntimeErr, Statement};
use sea_query_sqlx::SqlxValues;
use sqlx::AssertSqlSafe;
use tokio::sync::Mutex;

/// A commit under way, for entities and queries.
#[derive(Debug)]
pub struct Writing<'a, 'c> {
    is_postgres: bool,
    database: Mutex<&'a mut Database<'c>>,
}

/// Turns that write to the domain's tables.
pub trait InTurn {
    /// Writes within the turn's commit: short, and SQL only. All of it or nothing, with everything else of the turn.
    fn write<F>(&mut self, run: F)
    where
        F: for<'w> FnOnce(&'w Writing<'_, '_>) -> BoxFuture<'w, Result<(), WriteError>> + Send + 'static;
}

impl InTurn for Turn {
    fn write<F>(&mut self, run: F)
    where
        F: for<'w> FnOnce(&'w Writing<'_, '_>) -> BoxFuture<'w, Result<(), WriteError>> + Send + 'static,
    {
        self.transact(on_its_connection(run));
    }
}

/// The same for a commit of its own.
pub(super) fn within<F>(run: F) -> DomainWrites
where
    F: for<'w> FnOnce(&'w Writing<'_, '_>) -> BoxFuture<'w, Result<(), WriteError>> + Send + 'static,
{
    DomainWrites::new(on_its_connection(run))
}

fn on_its_connection<F>(
    run: F,
) -> impl for<'c> FnOnce(&'c mut Database<'_>) -> BoxFuture<'c, Result<(), WriteError>> + Send + 'static
where
    F: for<'w> FnOnce(&'w Writing<'_, '_>) -> BoxFuture<'w, Result<(), WriteError>> + Send + 'static,
{
    move |database| {
        Box::pin(async move {
            let writing = Writing::new(database);
            run(&writing).await.map_err(told_plainly)
        })
    }
}

/// A failure as the store knows them: it waits for a database that is away, and the ORM's words would hide that.
fn told_plainly(error: WriteError) -> WriteError {
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

impl<'a, 'c> Writing<'a, 'c> {
    fn new(database: &'a mut Database<'c>) -> Self {
        Self { is_postgres: database.is_postgres(), database: Mutex::new(database) }
    }
}

/// Carries a statement out on whichever connection it is.
macro_rules! carry_out {
    ($writing:expr, $statement:expr, $method:ident, $failed:path) => {{
        let statement = $statement;
        let values = SqlxValues(statement.values.unwrap_or(sea_orm::Values(Vec::new())));
        let query = AssertSqlSafe(statement.sql);
        let mut database = $writing.database.lock().await;
        if $writing.is_postgres {
            sqlx::query_with(query, values).$method(database.postgres()).await.map(convert).map_err($failed)
        } else {
            sqlx::query_with(query, values).$method(database.sqlite()).await.map(convert).map_err($failed)
        }
    }};
}

#[async_trait::async_trait]
impl ConnectionTrait for Writing<'_, '_> {
    fn get_database_backend(&self) -> DbBackend {
        if self.is_postgres { DbBackend::Postgres } else { DbBackend::Sqlite }
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        fn convert(done: impl Into<ExecResult>) -> ExecResult {
            done.into()
        }
        carry_out!(self, statement, execute, not_carried_out)
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        self.execute_raw(Statement::from_string(self.get_database_backend(), sql)).await
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        fn convert<R: Into<QueryResult>>(row: Option<R>) -> Option<QueryResult> {
            row.map(Into::into)
        }
        carry_out!(self, statement, fetch_optional, not_answered)
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        fn convert<R: Into<QueryResult>>(rows: Vec<R>) -> Vec<QueryResult> {
            rows.into_iter().map(Into::into).collect()
        }
        carry_out!(self, statement, fetch_all, not_answered)
    }
}

fn not_carried_out(error: sqlx::Error) -> DbErr {
    DbErr::Exec(RuntimeErr::SqlxError(error.into()))
}

fn not_answered(error: sqlx::Error) -> DbErr {
    DbErr::Query(RuntimeErr::SqlxError(error.into()))
}
