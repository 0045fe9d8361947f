//! The application's own writes, inside a turn's commit.

use std::fmt;

use futures_util::future::BoxFuture;

use super::sql::failure::unavailable;
use super::{Enqueued, JobId, NewJob, StoreError, sql};
use crate::clock::Millis;

/// The database connection of a commit. Writes through it commit with the turn.
#[derive(Debug)]
pub struct Database<'c>(Connection<'c>);

/// A connection to either database.
#[derive(Debug)]
pub(super) enum Connection<'c> {
    Sqlite(&'c mut sqlx::SqliteConnection),
    #[cfg(feature = "postgres")]
    Postgres(&'c mut sqlx::PgConnection),
}

impl<'c> Database<'c> {
    /// Wraps the connection of a commit under way; for stores.
    pub fn sqlite_commit(sqlite: &'c mut sqlx::SqliteConnection) -> Self {
        Self(Connection::Sqlite(sqlite))
    }

    /// Wraps the connection of a commit under way; for stores.
    #[cfg(feature = "postgres")]
    pub fn postgres_commit(postgres: &'c mut sqlx::PgConnection) -> Self {
        Self(Connection::Postgres(postgres))
    }

    /// Whether the tables are in PostgreSQL, for applications that run on both databases.
    #[must_use]
    pub fn is_postgres(&self) -> bool {
        !matches!(self.0, Connection::Sqlite(_))
    }

    /// The connection, for queries of [`sqlx`]. Begin no transaction on it and end none: the commit does.
    ///
    /// # Panics
    /// If the tables are not in SQLite. Then the turn fails, and the store continues.
    pub fn sqlite(&mut self) -> &mut sqlx::SqliteConnection {
        match &mut self.0 {
            Connection::Sqlite(sqlite) => sqlite,
            #[cfg(feature = "postgres")]
            Connection::Postgres(_) => panic!("the tables are in a PostgreSQL database, not in an SQLite file"),
        }
    }

    /// The connection, for queries of [`sqlx`]. Begin no transaction on it and end none: the commit does.
    ///
    /// # Panics
    /// If the tables are not in PostgreSQL. Then the turn fails, and the store continues.
    #[cfg(feature = "postgres")]
    pub fn postgres(&mut self) -> &mut sqlx::PgConnection {
        match &mut self.0 {
            Connection::Postgres(postgres) => postgres,
            Connection::Sqlite(_) => panic!("the tables are in an SQLite file, not in a PostgreSQL database"),
        }
    }

    /// Adds a job of a bot. It commits with the writes around it, and starts afterwards.
    pub async fn enqueue(&mut self, bot: i64, job: impl Into<NewJob>, now: Millis) -> Result<JobId, WriteError> {
        Ok(self
            .enqueue_all(bot, vec![job.into()], now)
            .await?
            .first()
            .map(|enqueued| enqueued.id())
            .unwrap_or_default())
    }

    /// Adds jobs of a bot, like [`Database::enqueue`].
    pub async fn enqueue_all(&mut self, bot: i64, jobs: Vec<NewJob>, now: Millis) -> Result<Vec<Enqueued>, WriteError> {
        NewJob::check_all(&jobs).map_err(|mistake| WriteError::Failed(mistake.into()))?;
        sql::jobs::enqueue(self, bot, jobs, now).await
    }

    /// The connection to either database.
    pub(super) fn connection(&mut self) -> &mut Connection<'c> {
        &mut self.0
    }
}

/// A refusal by the application's writes, such as a full slot. Nothing of the turn is stored, and its handler runs
/// again with this reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub String);

impl Refusal {
    /// Refuses for this reason.
    pub fn because(reason: impl Into<String>) -> WriteError {
        WriteError::Refused(Self(reason.into()))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why the application's writes did not commit.
#[derive(Debug)]
pub enum WriteError {
    /// The application refused.
    Refused(Refusal),
    /// A statement failed: the turn fails and is retried a few times. It waits instead while the disk is full, the
    /// database is locked or its server is away.
    Failed(super::BoxError),
}

impl WriteError {
    /// The error of a store's own statements.
    pub(super) fn into_store_error(self) -> StoreError {
        match self {
            Self::Refused(refusal) => StoreError::Refused(refusal),
            Self::Failed(error) => error.downcast::<StoreError>().map_or_else(unavailable, |error| *error),
        }
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for WriteError {
    fn from(error: E) -> Self {
        Self::Failed(Box::new(error))
    }
}

type Run = Box<dyn for<'c> FnOnce(&'c mut Database<'_>) -> BoxFuture<'c, Result<(), WriteError>> + Send>;

/// The application's writes in a turn. SQL only, and short, because all writers wait for it.
pub struct DomainWrites(Run);

impl DomainWrites {
    /// Wraps a closure.
    pub fn new<F>(run: F) -> Self
    where
        F: for<'c> FnOnce(&'c mut Database<'_>) -> BoxFuture<'c, Result<(), WriteError>> + Send + 'static,
    {
        Self(Box::new(run))
    }

    /// These writes, and then others.
    #[must_use]
    pub fn then(self, next: Self) -> Self {
        Self::new(move |database| {
            Box::pin(async move {
                self.run(database).await?;
                next.run(database).await
            })
        })
    }

    /// Runs the writes; for stores, within a savepoint.
    pub async fn run(self, database: &mut Database<'_>) -> Result<(), WriteError> {
        (self.0)(database).await
    }
}

impl fmt::Debug for DomainWrites {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DomainWrites")
    }
}
