//! Redis addresses: plain, with a journal, in aiogram's layout, or with an SQL database.

use std::sync::Arc;

use super::{OpenError, OpenMode, StoreKind, opened, with_data_folder};
#[cfg(feature = "aiogram")]
use crate::store::AiogramStore;
#[cfg(feature = "postgres")]
use crate::store::PostgresStore;
use crate::store::redis::{Address, JournalLocation};
use crate::store::settings::setting;
use crate::store::sql::tables::FOREIGN;
use crate::store::{DecisionStore, Journal, RedisStore, SqlDatabase, SqliteStore, Store, StoreError};

pub(super) async fn open(address: &str, opening: OpenMode) -> Result<Arc<dyn Store>, OpenError> {
    if journal_of(address).is_some() && matches!(opening, OpenMode::Create) {
        return opened(Journal::open(address).await);
    }
    if names_layout(address) {
        return open_layout(address, opening).await;
    }
    opened(match opening {
        OpenMode::Create => RedisStore::open(address).await,
        OpenMode::Existing => RedisStore::open_existing(address).await,
    })
}

/// Opens Redis together with the application's database.
pub(super) async fn open_beside(state: &str, database: &str) -> Result<Arc<dyn Store>, OpenError> {
    let journal = journal_of(state);
    if let Some(JournalLocation::File(_)) = journal {
        return Err(OpenError::JournalAndDatabase);
    }
    if names_layout(state) {
        return Err(OpenError::LayoutAndDatabase);
    }
    // A journal sends messages too, so it needs a folder for its sent log.
    let folder = setting(state, "data").filter(|_| journal.is_some());
    let with_folder = folder.map_or_else(|| database.to_owned(), |folder| with_data_folder(database, &folder));
    let database = open_database(&with_folder, OpenMode::Create).await?;
    if journal.is_some() {
        return opened(Journal::open_in_database(state, database).await);
    }
    Journal::check_fully_replayed(&database).await?;
    opened(DecisionStore::open(RedisStore::open(state).await?, database).await)
}

/// Opens the application's database without changing it; none if it has no tables of this library.
pub(in crate::store) async fn existing_database(address: &str) -> Result<Option<SqlDatabase>, OpenError> {
    match open_database(address, OpenMode::Existing).await {
        Err(OpenError::Store(StoreError::Unsupported(FOREIGN))) => Ok(None),
        opened => opened.map(Some),
    }
}

async fn open_database(address: &str, opening: OpenMode) -> Result<SqlDatabase, OpenError> {
    match StoreKind::parse(address)? {
        StoreKind::Sqlite(path) => Ok(match opening {
            OpenMode::Create => SqliteStore::open(path).await?.into(),
            OpenMode::Existing => SqliteStore::open_existing(path).await?.into(),
        }),
        #[cfg(feature = "postgres")]
        StoreKind::Postgres => Ok(match opening {
            OpenMode::Create => PostgresStore::open(address).await?.into(),
            OpenMode::Existing => PostgresStore::open_existing(address).await?.into(),
        }),
        StoreKind::Memory | StoreKind::Redis => Err(OpenError::SeparateDatabase),
    }
}

/// The journal that a Redis address names, if any.
fn journal_of(address: &str) -> Option<JournalLocation> {
    Address::parse(address).ok()?.journal
}

#[cfg(feature = "aiogram")]
fn names_layout(address: &str) -> bool {
    AiogramStore::is_at(address)
}

#[cfg(feature = "aiogram")]
async fn open_layout(address: &str, opening: OpenMode) -> Result<Arc<dyn Store>, OpenError> {
    opened(match opening {
        OpenMode::Create => AiogramStore::open_raw(address).await,
        OpenMode::Existing => AiogramStore::open_existing(address).await,
    })
}

#[cfg(not(feature = "aiogram"))]
fn names_layout(address: &str) -> bool {
    setting(address, "layout").is_some()
}

#[cfg(not(feature = "aiogram"))]
async fn open_layout(_: &str, _: OpenMode) -> Result<Arc<dyn Store>, OpenError> {
    Err(OpenError::NotCompiledIn { store: "layout of aiogram", feature: "aiogram" })
}
