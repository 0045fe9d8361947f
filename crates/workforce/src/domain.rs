//! The application's own tables.
//!
//! Pages and handlers read through a pool. Writes commit with the turn that asked for them, or, where there is no turn,
//! through the same writer as the turns; nothing writes beside it. Rooms call each other's front doors, and only a room
//! itself knows its tables.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use futures_util::future::BoxFuture;
use opora::store::{DomainWrites, Store, StoreError, WriteError};
use sea_orm::{DatabaseConnection, SqlxPostgresConnector, SqlxSqliteConnector};
use sqlx::postgres::PgPoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};

pub use self::address::Address;
pub use self::writing::{InTurn, Writing};

mod address;
mod migrations;
mod writing;

/// How many pages and handlers read at once.
const READERS: u32 = 8;

/// The domain's database. Clones are the same one.
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
    /// Brings the tables up to date. Nothing may write yet.
    pub async fn migrate(address: &Address) -> anyhow::Result<()> {
        migrations::run(address).await.with_context(|| format!("cannot bring {address} up to date"))
    }

    /// Opens the database for reading; what is written goes through `store`.
    pub async fn open(address: &Address, store: Arc<dyn Store>) -> anyhow::Result<Self> {
        let readers = match address {
            Address::Sqlite(path) => SqlxSqliteConnector::from_sqlx_sqlite_pool(sqlite_readers(path).await?),
            Address::Postgres(url) => {
                let pool = PgPoolOptions::new().max_connections(READERS).connect(url).await;
                SqlxPostgresConnector::from_sqlx_postgres_pool(pool.context("cannot connect to PostgreSQL")?)
            }
        };
        Ok(Self { readers, store })
    }

    /// Opens the database for a command, beside a bot that runs or without one.
    pub async fn beside(address: &Address) -> anyhow::Result<Self> {
        let store = opora::store::open(&address.url()).await.with_context(|| format!("cannot open {address}"))?;
        Self::open(address, store).await
    }

    /// Lets go of files and connections.
    pub async fn close(self) -> anyhow::Result<()> {
        self.readers.close().await?;
        Ok(self.store.close().await?)
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
        let writes = DomainWrites::new(move |database| {
            Box::pin(async move {
                let writing = Writing::new(database);
                run(&writing).await
            })
        });
        self.store.write(writes).await.map_err(|error| match error {
            StoreError::Refused(refusal) => NotWritten::Refused(refusal.0),
            other => NotWritten::Failed(other),
        })
    }
}

async fn sqlite_readers(path: &Path) -> Result<sqlx::SqlitePool, sqlx::Error> {
    let options = SqliteConnectOptions::new().filename(path).read_only(true);
    SqlitePoolOptions::new().max_connections(READERS).connect_with(options).await
}
