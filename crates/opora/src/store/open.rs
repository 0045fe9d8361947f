//! Opens a store by its address, as in configurations.

use std::path::Path;
use std::sync::Arc;

#[cfg(feature = "postgres")]
use super::PostgresStore;
#[cfg(feature = "redis")]
use super::journal::KEEPS_CONVERSATIONS;
use super::settings::{setting, with_setting};
use super::{BoxError, MemoryStore, SqliteStore, Store, StoreError, StoreResult};
use crate::tls_provider;

#[cfg(feature = "redis")]
mod redis;

#[cfg(feature = "redis")]
pub(super) use self::redis::existing_database;

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The address names no known store.
    #[error("`{0}` names no store: memory:, sqlite:<path>, redis://host or postgres://host/database was expected")]
    UnknownAddress(String),
    /// The address names a store that was not compiled in.
    #[error("this build of opora has no {store}: enable the feature `{feature}`")]
    NotCompiledIn {
        /// The name of the store, for people.
        store: &'static str,
        /// The Cargo feature of the crate `opora` that brings it.
        feature: &'static str,
    },
    /// The application's tables are in another database than the conversations, so they cannot commit together.
    #[error(
        "the application's tables must be in the database of the conversations, unless the conversations are in Redis"
    )]
    SeparateDatabase,
    /// With the application's tables, a journal must be in their database.
    #[error("with the application's tables, the journal must be in their database: use `journal=database`, not a file")]
    JournalAndDatabase,
    /// The database of the application's tables holds conversations itself.
    #[error("{0}")]
    KeepsConversations(&'static str),
    /// Turns on aiogram's keys cannot commit with SQL tables.
    #[error("a Redis with `layout=aiogram` cannot be combined with the application's tables")]
    LayoutAndDatabase,
    /// The store cannot be opened.
    #[error("{0}")]
    CannotOpen(#[source] BoxError),
    /// Another error of the store.
    #[error(transparent)]
    Store(StoreError),
}

/// Opens a store for a bot: creates what is missing and migrates older tables. An address is `memory:`,
/// `sqlite:<path>`, or, each with its Cargo feature, an address of [`RedisStore::open`](super::RedisStore::open),
/// [`Journal::open`](super::Journal::open) or [`PostgresStore::open`](super::PostgresStore::open). An address of
/// [`AiogramStore::open`](super::AiogramStore::open) opens a store for tools only: a bot needs a mapping.
pub async fn open(address: &str) -> Result<Arc<dyn Store>, OpenError> {
    open_by(address, OpenMode::Create).await
}

/// Opens the store of a bot whose application has its own tables: conversations at `state`, tables at `database`.
///
/// If `database` is missing or the same as `state`, this is [`open`]. Conversations in Redis can have their tables in
/// `sqlite:<path>` or `postgres://…`, see [`DecisionStore`](super::DecisionStore), or
/// [`Journal::open_in_database`](super::Journal::open_in_database) if the address says `journal=database`.
/// Without that setting, a database whose journal is not replayed yet is refused. A journal in PostgreSQL keeps its
/// files in the `data=` folder of the Redis address, unless the database address names another.
pub async fn open_with_database(state: &str, database: Option<&str>) -> Result<Arc<dyn Store>, OpenError> {
    tls_provider::install();
    let Some(database) = database.filter(|database| *database != state) else { return open(state).await };
    match StoreKind::parse(state)? {
        #[cfg(feature = "redis")]
        StoreKind::Redis => redis::open_beside(state, database).await,
        _ => StoreKind::parse(database).and(Err(OpenError::SeparateDatabase)),
    }
}

/// Opens a store for a tool beside a bot: creates and changes nothing, and refuses older tables.
pub async fn open_existing(address: &str) -> Result<Arc<dyn Store>, OpenError> {
    open_by(address, OpenMode::Existing).await
}

/// The address of a store on a server with a data folder (`data=`) for the last-seen record and the sent log. Unchanged
/// if the address has a data folder or a journal file, or names another kind of store.
#[must_use]
pub fn with_data_folder(address: &str, folder: &str) -> String {
    let is_server = ["redis", "rediss", "postgres", "postgresql"].contains(&scheme(address));
    let has_file = setting(address, "journal").is_some_and(|place| place != "database");
    if !is_server || has_file || setting(address, "data").is_some() || setting(address, "layout").is_some() {
        return address.to_owned();
    }
    with_setting(address, "data", folder)
}

#[derive(Clone, Copy)]
enum OpenMode {
    Create,
    Existing,
}

async fn open_by(address: &str, opening: OpenMode) -> Result<Arc<dyn Store>, OpenError> {
    tls_provider::install();
    match StoreKind::parse(address)? {
        StoreKind::Memory => Ok(Arc::new(MemoryStore::new())),
        StoreKind::Sqlite(path) => opened(match opening {
            OpenMode::Create => SqliteStore::open(path).await,
            OpenMode::Existing => SqliteStore::open_existing(path).await,
        }),
        #[cfg(feature = "redis")]
        StoreKind::Redis => redis::open(address, opening).await,
        #[cfg(feature = "postgres")]
        StoreKind::Postgres => opened(match opening {
            OpenMode::Create => PostgresStore::open(address).await,
            OpenMode::Existing => PostgresStore::open_existing(address).await,
        }),
    }
}

enum StoreKind<'a> {
    Memory,
    Sqlite(&'a Path),
    #[cfg(feature = "redis")]
    Redis,
    #[cfg(feature = "postgres")]
    Postgres,
}

impl<'a> StoreKind<'a> {
    fn parse(address: &'a str) -> Result<Self, OpenError> {
        match address.split_once(':') {
            Some(("memory", "")) => Ok(Self::Memory),
            Some(("sqlite", path)) if !path.is_empty() => {
                Ok(Self::Sqlite(Path::new(path.strip_prefix("//").unwrap_or(path))))
            }
            #[cfg(feature = "redis")]
            Some(("redis" | "rediss", _)) => Ok(Self::Redis),
            #[cfg(feature = "postgres")]
            Some(("postgres" | "postgresql", _)) => Ok(Self::Postgres),
            _ => Err(unknown(address)),
        }
    }
}

fn scheme(address: &str) -> &str {
    address.split(':').next().unwrap_or_default()
}

/// The error for an address whose store is unknown or not compiled in.
fn unknown(address: &str) -> OpenError {
    match scheme(address) {
        "redis" | "rediss" if !cfg!(feature = "redis") => NO_REDIS,
        "postgres" | "postgresql" if !cfg!(feature = "postgres") => NO_POSTGRES,
        // The address may hold a password: the error shows only its scheme.
        scheme => OpenError::UnknownAddress(scheme.to_owned()),
    }
}

const NO_REDIS: OpenError = OpenError::NotCompiledIn { store: "Redis", feature: "redis" };
const NO_POSTGRES: OpenError = OpenError::NotCompiledIn { store: "PostgreSQL", feature: "postgres" };

/// Explains what is wrong with an address that would show a part of its password: an unescaped `/` ends the part that
/// is hidden.
pub(super) fn exposes_password(address: &str) -> Option<&'static str> {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let rest = rest.split('?').next().unwrap_or_default();
    let (server, path) = rest.split_at(rest.find(['/', '#']).unwrap_or(rest.len()));
    (path.contains('@') && !server.contains('@')).then_some(ESCAPES)
}

const ESCAPES: &str = "in a user's name or password `/` is written as %2F, `?` as %3F, `#` as %23 and `@` as %40";

fn opened<S: Store>(answer: StoreResult<S>) -> Result<Arc<dyn Store>, OpenError> {
    Ok(Arc::new(answer?))
}

impl From<StoreError> for OpenError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(why) => Self::CannotOpen(why),
            #[cfg(feature = "redis")]
            StoreError::Unsupported(KEEPS_CONVERSATIONS) => Self::KeepsConversations(KEEPS_CONVERSATIONS),
            other => Self::Store(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_is_not_compiled_in_names_its_feature() {
        assert_eq!(NO_REDIS.to_string(), "this build of opora has no Redis: enable the feature `redis`");
        assert_eq!(NO_POSTGRES.to_string(), "this build of opora has no PostgreSQL: enable the feature `postgres`");
        for (address, is_compiled_in) in [
            ("redis://:s3cret@host", cfg!(feature = "redis")),
            ("postgres://:s3cret@host/db", cfg!(feature = "postgres")),
        ] {
            assert_eq!(
                matches!(StoreKind::parse(address), Err(OpenError::NotCompiledIn { .. })),
                !is_compiled_in,
                "{address}"
            );
        }
    }

    #[test]
    fn servers_get_a_data_folder_unless_they_name_one() {
        for (address, expected) in [
            ("redis://host/1", "redis://host/1?data=/srv/bot"),
            ("postgres://host/db?sslmode=require", "postgres://host/db?sslmode=require&data=/srv/bot"),
            ("redis://host?journal=database", "redis://host?journal=database&data=/srv/bot"),
            ("postgres://host/db?application_name=data=", "postgres://host/db?application_name=data=&data=/srv/bot"),
            ("redis://host?data=/x", "redis://host?data=/x"),
            ("redis://host?journal=/x/journal.db", "redis://host?journal=/x/journal.db"),
            ("redis://host?layout=aiogram", "redis://host?layout=aiogram"),
            ("sqlite:bot.db", "sqlite:bot.db"),
            ("memory:", "memory:"),
        ] {
            assert_eq!(with_data_folder(address, "/srv/bot"), expected);
        }
    }
}
