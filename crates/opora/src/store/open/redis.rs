//! Addresses of a Redis: alone, behind a journal, in aiogram's layout, or with a database beside it.

use std::sync::Arc;

use super::{Kind, OpenError, Opening, opened, with_data};
#[cfg(feature = "aiogram")]
use crate::store::AiogramStore;
#[cfg(feature = "postgres")]
use crate::store::PostgresStore;
use crate::store::redis::{Address, JournalPlace};
use crate::store::settings::setting;
use crate::store::sql::versions::FOREIGN;
use crate::store::{DecidedStore, Journal, RedisStore, SqlDatabase, SqliteStore, Store, StoreError};

/// Opens the store at an address of a Redis.
pub(super) async fn open(address: &str, opening: Opening) -> Result<Arc<dyn Store>, OpenError> {
    if journal_of(address).is_some() && matches!(opening, Opening::Make) {
        return opened(Journal::open(address).await);
    }
    if names_layout(address) {
        return open_layout(address, opening).await;
    }
    opened(match opening {
        Opening::Make => RedisStore::open(address).await,
        Opening::AsItIs => RedisStore::open_existing(address).await,
    })
}

/// Opens a Redis with the application's database beside it.
pub(super) async fn open_beside(state: &str, database: &str) -> Result<Arc<dyn Store>, OpenError> {
    let journal = journal_of(state);
    if let Some(JournalPlace::File(_)) = journal {
        return Err(OpenError::JournalAndDatabase);
    }
    if names_layout(state) {
        return Err(OpenError::LayoutAndDatabase);
    }
    // A journal sends too, and has to note that somewhere.
    let folder = setting(state, "data").filter(|_| journal.is_some());
    let noting = folder.map_or_else(|| database.to_owned(), |folder| with_data(database, &folder));
    let database = open_database(&noting, Opening::Make).await?;
    if journal.is_some() {
        return opened(Journal::open_beside(state, database).await);
    }
    Journal::nothing_is_left(&database).await?;
    opened(DecidedStore::open(RedisStore::open(state).await?, database).await)
}

/// Opens the database of an application as it is; none if no bot ever kept anything there.
pub(in crate::store) async fn existing_database(address: &str) -> Result<Option<SqlDatabase>, OpenError> {
    match open_database(address, Opening::AsItIs).await {
        Err(OpenError::Store(StoreError::Unsupported(FOREIGN))) => Ok(None),
        opened => opened.map(Some),
    }
}

async fn open_database(address: &str, opening: Opening) -> Result<SqlDatabase, OpenError> {
    match Kind::of(address)? {
        Kind::Sqlite(path) => Ok(match opening {
            Opening::Make => SqliteStore::open(path).await?.into(),
            Opening::AsItIs => SqliteStore::open_existing(path).await?.into(),
        }),
        #[cfg(feature = "postgres")]
        Kind::Postgres => Ok(match opening {
            Opening::Make => PostgresStore::open(address).await?.into(),
            Opening::AsItIs => PostgresStore::open_existing(address).await?.into(),
        }),
        Kind::Memory | Kind::Redis => Err(OpenError::Apart),
    }
}

/// The journal before a Redis, if an address names one.
fn journal_of(address: &str) -> Option<JournalPlace> {
    Address::parse(address).ok()?.journal
}

#[cfg(feature = "aiogram")]
fn names_layout(address: &str) -> bool {
    AiogramStore::is_at(address)
}

#[cfg(feature = "aiogram")]
async fn open_layout(address: &str, opening: Opening) -> Result<Arc<dyn Store>, OpenError> {
    opened(match opening {
        Opening::Make => AiogramStore::open_raw(address).await,
        Opening::AsItIs => AiogramStore::open_existing(address).await,
    })
}

#[cfg(not(feature = "aiogram"))]
fn names_layout(address: &str) -> bool {
    setting(address, "layout").is_some()
}

#[cfg(not(feature = "aiogram"))]
async fn open_layout(_: &str, _: Opening) -> Result<Arc<dyn Store>, OpenError> {
    Err(OpenError::NotCompiledIn { store: "layout of aiogram", feature: "aiogram" })
}
