//! The application's own tables.
//!
//! Pages and handlers read through a pool. Writes commit with their turn, or, without a turn, through the same writer
//! as the turns. Nothing else writes. Only the room itself knows its tables; other rooms call its public functions.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use futures_util::future::BoxFuture;
use opora::jobs::JobContext;
use opora::store::{BoxError, OpenError, PostgresStore, Store, StoreError, WriteError, without_setting};
use parking_lot::Mutex;
use sea_orm::{DatabaseConnection, DbBackend, DbErr, RuntimeErr, SqlxPostgresConnector, SqlxSqliteConnector};
use sqlx::postgres::PgPoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use sqlx::{Connection, Executor, PgConnection};

use crate::private;

pub use self::action_error::{ActionError, NOT_ALLOWED, RefusalReason};
pub use self::address::Address;
pub use self::form_key::{FormKey, delete_old_form_keys};
pub use self::in_ids::in_ids;
pub use self::migrations::DatabaseStatus;
pub use self::transaction::{Transaction, WriteInTurn};

mod action_error;
mod address;
pub mod days;
mod form_key;
mod in_ids;
mod migrations;
mod transaction;
pub mod user_text;

/// Maximum number of read connections.
const MAX_READ_CONNECTIONS: u32 = 8;

/// Time to wait for a read connection. A handler has more time, and is retried.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);

/// Time for a connection to answer a ping.
const PING_TIMEOUT: Duration = Duration::from_millis(1_500);

/// The application's database, and the store that writes it. Clones share both.
#[derive(Clone, Debug)]
pub struct Domain {
    readers: DatabaseConnection,
    store: Arc<dyn Store>,
    /// The bot that runs the jobs of writes; none in a command.
    bot: Option<i64>,
}

/// Why a write outside a turn did not happen.
#[derive(Debug, thiserror::Error)]
pub enum NotWritten {
    /// A rule of the business refused it; the text is for the person who asked.
    #[error("{0}")]
    Refused(String),
    /// The database failed.
    #[error(transparent)]
    Failed(StoreError),
}

impl Domain {
    /// Opens everything for a bot: migrates the tables, and opens the conversations at `state`, which commit with them.
    pub async fn open(state: &str, database: &Address) -> anyhow::Result<Self> {
        Self::migrate(database).await?;
        // The same database may be written in two ways in `state` and `database`.
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
        Self::with_store(database, store).await
    }

    /// Opens the tables for a command, while a bot runs or not.
    pub async fn open_for_command(database: &Address) -> anyhow::Result<Self> {
        Self::migrate(database).await?;
        // A command writes no last-seen record: that belongs to the bot.
        let plain = database.clone().with(|url| PostgresStore::plain_address(&url));
        let store = opora::store::open(&plain.url()).await.with_context(|| format!("cannot open {database}"))?;
        Self::with_store(database, store).await
    }

    /// Like [`Domain::open_for_command`], for commands that would mislead on an empty database: fails if there are no
    /// tables.
    pub async fn open_existing_for_command(database: &Address) -> anyhow::Result<Self> {
        let status = Self::inspect(database).await.with_context(|| format!("cannot open {database}"))?;
        let is_there = status.is_some_and(|status| status.applied > 0);
        anyhow::ensure!(is_there, "there is nothing of Opora's in {database}: check DATABASE_URL and DATA_DIR");
        Self::open_for_command(database).await
    }

    /// Reads from a database whose tables are up to date, and writes through `store`.
    pub async fn with_store(database: &Address, store: Arc<dyn Store>) -> anyhow::Result<Self> {
        let readers = match database {
            Address::Sqlite(path) => SqlxSqliteConnector::from_sqlx_sqlite_pool(sqlite_readers(path).await?),
            Address::Postgres(url) => {
                let pool = postgres_readers(&PostgresStore::plain_address(url))
                    .await
                    .context("cannot connect to PostgreSQL")?;
                SqlxPostgresConnector::from_sqlx_postgres_pool(pool)
            }
        };
        Ok(Self { readers, store, bot: None })
    }

    /// Brings the tables up to date and returns the names of the applied migrations. Fails on a PostgreSQL that came
    /// back empty or is another one.
    pub async fn migrate(database: &Address) -> anyhow::Result<Vec<&'static str>> {
        if let Address::Postgres(url) = database {
            PostgresStore::check(url).await.with_context(|| format!("cannot use {database}"))?;
        }
        if let Some(path) = database.file() {
            create_file(path).await?;
        }
        migrations::run(database).await.with_context(|| format!("cannot bring {database} up to date"))
    }

    /// Reads the database's version and migrations, and changes nothing. None: there is no such file.
    pub async fn inspect(database: &Address) -> anyhow::Result<Option<DatabaseStatus>> {
        migrations::inspect(database).await
    }

    /// The same database, whose writes enqueue jobs of this bot.
    #[must_use]
    pub fn for_bot(self, bot: i64) -> Self {
        Self { bot: Some(bot), ..self }
    }

    /// The store of the conversations.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The pool for queries.
    pub fn read(&self) -> &DatabaseConnection {
        &self.readers
    }

    /// Writes outside a turn, for a page, a job or a command. All or nothing.
    pub async fn write<F>(&self, run: F) -> Result<(), NotWritten>
    where
        F: for<'w> FnOnce(&'w Transaction<'_, '_>) -> BoxFuture<'w, Result<(), WriteError>> + Send + 'static,
    {
        self.store.write(transaction::domain_writes(self.bot, run)).await.map_err(|error| match error {
            StoreError::Refused(refusal) => NotWritten::Refused(refusal.0),
            other => NotWritten::Failed(other),
        })
    }

    /// Like [`Domain::write`], and returns a value.
    pub async fn write_and_get<T, F>(&self, run: F) -> Result<T, NotWritten>
    where
        T: Send + 'static,
        F: for<'w> FnOnce(&'w Transaction<'_, '_>) -> BoxFuture<'w, Result<T, WriteError>> + Send + 'static,
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

    /// Sets writes that commit together with the end of a job, if it succeeds. So they happen exactly once.
    pub fn write_at_end<F>(&self, job: &JobContext, run: F)
    where
        F: for<'w> FnOnce(&'w Transaction<'_, '_>) -> BoxFuture<'w, Result<(), WriteError>> + Send + 'static,
    {
        job.finish_with(transaction::with_transaction(self.bot, run));
    }

    /// Closes files and connections: Redis if conversations are there, then the database.
    pub async fn close(&self) -> anyhow::Result<()> {
        // Readers of a file close first, so that its writer can checkpoint the log.
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

/// Creates a private database file, and its folder. SQLite gives the same mode to its logs.
async fn create_file(path: &Path) -> anyhow::Result<()> {
    let path = path.to_owned();
    let created = tokio::task::spawn_blocking(move || {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            let created = private::create_folder(folder);
            created.with_context(|| format!("cannot make the folder {}", folder.display()))?;
        }
        private::create_file(&path).with_context(|| format!("cannot make {}", path.display()))
    });
    created.await?
}

/// Whether a handler's error means that the database is temporarily away.
pub fn is_transient(error: &BoxError) -> bool {
    match error.downcast_ref::<DbErr>() {
        Some(DbErr::ConnectionAcquire(_)) => true,
        Some(DbErr::Conn(why) | DbErr::Exec(why) | DbErr::Query(why)) => match why {
            RuntimeErr::SqlxError(error) => opora::store::is_transient(&**error),
            RuntimeErr::Internal(_) => false,
        },
        _ => false,
    }
}

/// Half-open connections answer nothing, and the pool's own test has no timeout. So connections are pinged with a
/// timeout when they are taken and when they are returned.
///
/// After five runs PostgreSQL may switch a query to a generic plan. Such a plan does not know how narrow a range of
/// days is, and reads more rows as the history grows.
async fn postgres_readers(url: &str) -> Result<sqlx::PgPool, sqlx::Error> {
    let options = PgPoolOptions::new()
        .max_connections(MAX_READ_CONNECTIONS)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .test_before_acquire(false);
    let options = options.after_connect(|connection, _| {
        Box::pin(async move { connection.execute("SET plan_cache_mode = force_custom_plan").await.map(drop) })
    });
    let pinged = options.before_acquire(|connection, _| Box::pin(ping(connection)));
    pinged.after_release(|connection, _| Box::pin(ping(connection))).connect(url).await
}

async fn ping(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    match tokio::time::timeout(PING_TIMEOUT, connection.ping()).await {
        Ok(answer) => answer.map(|()| true),
        Err(_) => Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())),
    }
}

async fn sqlite_readers(path: &Path) -> Result<sqlx::SqlitePool, sqlx::Error> {
    let options = SqliteConnectOptions::new().filename(path).read_only(true);
    SqlitePoolOptions::new().max_connections(MAX_READ_CONNECTIONS).connect_with(options).await
}
