//! The application's own writes, inside a turn's commit.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use super::sql::failure::unavailable;
use super::{Enqueued, JobId, NewJob, StoreError, StoreResult, enqueued_jobs, sql};
use crate::clock::Millis;

/// The database connection of a commit. Writes through it commit with the turn.
#[derive(Debug)]
pub struct Database<'c> {
    connection: Connection<'c>,
    /// The kinds of the jobs that were added.
    added: Vec<JobKind>,
}

/// The queue and the name of a job.
type JobKind = (Box<str>, Box<str>);

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
        Self { connection: Connection::Sqlite(sqlite), added: Vec::new() }
    }

    /// Wraps the connection of a commit under way; for stores.
    #[cfg(feature = "postgres")]
    pub fn postgres_commit(postgres: &'c mut sqlx::PgConnection) -> Self {
        Self { connection: Connection::Postgres(postgres), added: Vec::new() }
    }

    /// Whether the tables are in PostgreSQL, for applications that run on both databases.
    #[must_use]
    pub fn is_postgres(&self) -> bool {
        !matches!(self.connection, Connection::Sqlite(_))
    }

    /// The connection, for queries of [`sqlx`]. Begin no transaction on it and end none: the commit does.
    ///
    /// # Panics
    /// If the tables are not in SQLite. Then the turn fails, and the store continues.
    pub fn sqlite(&mut self) -> &mut sqlx::SqliteConnection {
        match &mut self.connection {
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
        match &mut self.connection {
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
        let kinds: Vec<JobKind> = jobs.iter().map(|job| (job.queue.clone(), job.name.clone())).collect();
        let enqueued = sql::jobs::enqueue(self, bot, jobs, now).await?;
        let added = kinds.into_iter().zip(&enqueued).filter(|(_, enqueued)| matches!(enqueued, Enqueued::New(_)));
        self.added.extend(added.map(|(kind, _)| kind));
        Ok(enqueued)
    }

    /// How many jobs were added so far.
    pub(super) fn added_jobs(&self) -> usize {
        self.added.len()
    }

    /// Forgets the jobs after the first ones: they were rolled back.
    pub(super) fn forget_added_jobs(&mut self, after: usize) {
        self.added.truncate(after);
    }

    /// The connection to either database.
    pub(super) fn connection(&mut self) -> &mut Connection<'c> {
        &mut self.connection
    }
}

/// The jobs that writes have added. They are counted when the commit has succeeded.
#[derive(Clone, Debug, Default)]
pub(super) struct AddedJobs(Arc<Mutex<Vec<JobKind>>>);

impl AddedJobs {
    /// Counts the jobs if the commit of their writes has succeeded.
    pub(super) fn count_if_ok<T>(&self, answer: StoreResult<T>) -> StoreResult<T> {
        if answer.is_ok() {
            enqueued_jobs::count(self.0.lock().drain(..));
        }
        answer
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
pub struct DomainWrites {
    run: Run,
    added: AddedJobs,
}

impl DomainWrites {
    /// Wraps a closure.
    pub fn new<F>(run: F) -> Self
    where
        F: for<'c> FnOnce(&'c mut Database<'_>) -> BoxFuture<'c, Result<(), WriteError>> + Send + 'static,
    {
        Self { run: Box::new(run), added: AddedJobs::default() }
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
        (self.run)(database).await?;
        self.added.0.lock().clone_from(&database.added);
        Ok(())
    }

    /// The jobs that these writes add.
    pub(super) fn added(&self) -> AddedJobs {
        self.added.clone()
    }
}

impl fmt::Debug for DomainWrites {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DomainWrites")
    }
}
