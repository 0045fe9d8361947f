//! The application's own tables.
//!
//! Pages and handlers read through a pool. Writes commit with the turn that asked for them, or, where there is no turn,
//! through the same writer as the turns; nothing writes beside it. Rooms call each other's front doors, and only a room
//! itself knows its tables.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use futures_util::future::BoxFuture;
use opora::store::{BoxError, OpenError, PostgresStore, Store, StoreError, WriteError, without_setting};
use parking_lot::Mutex;
use sea_orm::{DatabaseConnection, DbBackend, DbErr, RuntimeErr, SqlxPostgresConnector, SqlxSqliteConnector};
use sqlx::postgres::PgPoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use sqlx::{Connection, Executor, PgConnection};

use crate::private;

pub use self::address::Address;
pub use self::among::among;
pub use self::done::{NOT_ALLOWED, NotDone, Rule};
pub use self::migrations::Look;
pub use self::once::{Once, forget_sent};
pub use self::writing::{InTurn, Writing};

mod address;
mod among;
pub mod days;
mod done;
mod migrations;
mod once;
pub mod typed;
mod writing;

/// How many pages and handlers read at once.
const READERS: u32 = 8;

/// How long somebody waits for a connection to read by. A handler has more time, and is tried again.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a connection may take to show that it is there.
const ANSWERS_WITHIN: Duration = Duration::from_millis(1_500);

/// The domain's database, and the store through which it is written. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Domain {
    readers: DatabaseConnection,
    store: Arc<dyn Store>,
}

/// Why a write outside of a turn did not happen.
#[derive(Debug, thiserror::Error)]
pub enum NotWritten {
    /// A rule of the business said no; the words are for whoever asked.
    #[error("{0}")]
    Refused(String),
    /// The database did not take it.
    #[error(transparent)]
    Failed(StoreError),
}

impl Domain {
    /// Opens everything for a bot: the tables, brought up to date, and the conversations at `state`, which commit
    /// together.
    pub async fn open(state: &str, database: &Address) -> anyhow::Result<Self> {
        Self::migrate(database).await?;
        // One database for both may be written in two ways.
        let apart = (Address::parse(state).as_ref() != Some(database)).then(|| database.url());
        let mut store = opora::store::open_with_database(state, apart.as_deref()).await;
        if let Err(OpenError::KeepsConversations(why)) = &store {
            tracing::warn!(why, "people will have to wait while Redis is away");
            store = opora::store::open_with_database(&without_setting(state, "journal"), apart.as_deref()).await;
        }
        let store = store.map_err(|error| match error {
            OpenError::CannotOpen(_) => anyhow::anyhow!("cannot open the store that STATE_URL names: {error}"),
            other => other.into(),
        })?;
        Self::over(database, store).await
    }

    /// Opens the tables for a command, beside a bot that runs or without one.
    pub async fn beside(database: &Address) -> anyhow::Result<Self> {
        Self::migrate(database).await?;
        // A command notes nothing of what it has seen: that is the bot's.
        let plain = database.clone().with(|url| PostgresStore::plain_address(&url));
        let store = opora::store::open(&plain.url()).await.with_context(|| format!("cannot open {database}"))?;
        Self::over(database, store).await
    }

    /// The same for a command to which an empty database would tell a lie: where there are no tables, none are made.
    pub async fn beside_existing(database: &Address) -> anyhow::Result<Self> {
        let found = Self::look(database).await.with_context(|| format!("cannot open {database}"))?;
        let is_there = found.is_some_and(|found| found.steps_taken > 0);
        anyhow::ensure!(is_there, "there is nothing of Opora's in {database}: look at DATABASE_URL and DATA_DIR");
        Self::beside(database).await
    }

    /// Reads from a database whose tables are up to date; what is written goes through `store`.
    pub async fn over(database: &Address, store: Arc<dyn Store>) -> anyhow::Result<Self> {
        let readers = match database {
            Address::Sqlite(path) => SqlxSqliteConnector::from_sqlx_sqlite_pool(sqlite_readers(path).await?),
            Address::Postgres(url) => {
                let pool = postgres_readers(&PostgresStore::plain_address(url))
                    .await
                    .context("cannot connect to PostgreSQL")?;
                SqlxPostgresConnector::from_sqlx_postgres_pool(pool)
            }
        };
        Ok(Self { readers, store })
    }

    /// Brings the tables up to date; answers the names of the steps that were taken. None are made in a database that came
    /// back empty, or that is another one.
    pub async fn migrate(database: &Address) -> anyhow::Result<Vec<&'static str>> {
        if let Address::Postgres(url) = database {
            PostgresStore::check(url).await.with_context(|| format!("cannot use {database}"))?;
        }
        if let Some(path) = database.file() {
            create_file(path).await?;
        }
        migrations::run(database).await.with_context(|| format!("cannot bring {database} up to date"))
    }

    /// Looks at the tables and changes nothing. None: there is no such file.
    pub async fn look(database: &Address) -> anyhow::Result<Option<Look>> {
        migrations::look(database).await
    }

    /// Where the conversations are kept, for the bot.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// For queries.
    pub fn read(&self) -> &DatabaseConnection {
        &self.readers
    }

    /// Writes outside of a turn: a page, a job, a command. All of it or nothing.
    pub async fn write<F>(&self, run: F) -> Result<(), NotWritten>
    where
        F: for<'w> FnOnce(&'w Writing<'_, '_>) -> BoxFuture<'w, Result<(), WriteError>> + Send + 'static,
    {
        self.store.write(writing::within(run)).await.map_err(|error| match error {
            StoreError::Refused(refusal) => NotWritten::Refused(refusal.0),
            other => NotWritten::Failed(other),
        })
    }

    /// The same for a write that answers something.
    pub async fn write_and_get<T, F>(&self, run: F) -> Result<T, NotWritten>
    where
        T: Send + 'static,
        F: for<'w> FnOnce(&'w Writing<'_, '_>) -> BoxFuture<'w, Result<T, WriteError>> + Send + 'static,
    {
        let given = Arc::new(Mutex::new(None));
        let answer = Arc::clone(&given);
        let write = self.write(move |db| {
            Box::pin(async move {
                let got = run(db).await?;
                *answer.lock() = Some(got);
                Ok(())
            })
        });
        write.await?;
        let got = given.lock().take();
        got.ok_or_else(|| NotWritten::Refused("the write was not carried out".to_owned()))
    }

    /// Lets go of files and connections: of Redis if conversations are there, then of the database.
    pub async fn close(&self) -> anyhow::Result<()> {
        // Who reads a file goes first, so that its writer can fold the log into it.
        let is_file = self.readers.get_database_backend() == DbBackend::Sqlite;
        if is_file {
            self.readers.clone().close().await?;
        }
        let closed = self.store.close().await;
        tracing::info!("the store is closed");
        if !is_file {
            self.readers.clone().close().await?;
        }
        closed.map_err(|error| anyhow::anyhow!("the store did not close cleanly: {error}"))
    }
}

/// Makes a database file that only its owner can read, and its folder. SQLite gives the same mode to its logs.
async fn create_file(path: &Path) -> anyhow::Result<()> {
    let path = path.to_owned();
    let created = tokio::task::spawn_blocking(move || {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            let made = private::create_folder(folder);
            made.with_context(|| format!("cannot make the folder {}", folder.display()))?;
        }
        private::create_file(&path).with_context(|| format!("cannot make {}", path.display()))
    });
    created.await?
}

/// Whether an error of a handler's says that the database is away for now.
pub fn is_passing(error: &BoxError) -> bool {
    match error.downcast_ref::<DbErr>() {
        Some(DbErr::ConnectionAcquire(_)) => true,
        Some(DbErr::Conn(why) | DbErr::Exec(why) | DbErr::Query(why)) => match why {
            RuntimeErr::SqlxError(error) => opora::store::is_passing(&**error),
            RuntimeErr::Internal(_) => false,
        },
        _ => false,
    }
}

/// A connection that was lost without a word answers nothing and ends nothing, and the pool itself would ask it without a
/// limit: whoever comes for one would wait in vain, and one that somebody left in the midst would keep its place.
///
/// After five runs of a query PostgreSQL may plan it once for all values. Such a plan does not know how narrow a range of
/// days is, and reads the more rows the longer the history is.
async fn postgres_readers(url: &str) -> Result<sqlx::PgPool, sqlx::Error> {
    let options = PgPoolOptions::new().max_connections(READERS).acquire_timeout(PATIENCE).test_before_acquire(false);
    let options = options.after_connect(|connection, _| {
        Box::pin(async move { connection.execute("SET plan_cache_mode = force_custom_plan").await.map(drop) })
    });
    let asked = options.before_acquire(|connection, _| Box::pin(is_there(connection)));
    asked.after_release(|connection, _| Box::pin(is_there(connection))).connect(url).await
}

async fn is_there(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    match tokio::time::timeout(ANSWERS_WITHIN, connection.ping()).await {
        Ok(answer) => answer.map(|()| true),
        Err(_) => Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())),
    }
}

async fn sqlite_readers(path: &Path) -> Result<sqlx::SqlitePool, sqlx::Error> {
    let options = SqliteConnectOptions::new().filename(path).read_only(true);
    SqlitePoolOptions::new().max_connections(READERS).connect_with(options).await
}
