//! A store by its address, as configurations name it.

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
    /// The address names no store that is known.
    #[error("`{0}` names no store: memory:, sqlite:<path>, redis://host or postgres://host/database was expected")]
    UnknownAddress(String),
    /// The address names a store that was not compiled in.
    #[error("this build of opora has no {store}: enable the feature `{feature}`")]
    NotCompiledIn {
        /// What is missing, in words.
        store: &'static str,
        /// The Cargo feature of the crate `opora` that brings it.
        feature: &'static str,
    },
    /// The application's tables cannot commit with these conversations.
    #[error("the tables must lie in the database that keeps the conversations, or the conversations in a Redis")]
    Apart,
    /// What turns write must be in one place with what is written down of them.
    #[error("beside the application's tables a journal lies in their database and not in a file: `journal=database`")]
    JournalAndDatabase,
    /// The database of the application's tables has kept conversations itself.
    #[error("{0}")]
    KeepsConversations(&'static str),
    /// Turns on aiogram's keys commit with nothing else.
    #[error("a Redis with `layout=aiogram` cannot have the application's tables beside it: choose one of the two")]
    LayoutAndDatabase,
    /// The store is known and cannot be opened.
    #[error("{0}")]
    CannotOpen(#[source] BoxError),
    /// The store is known and says something else.
    #[error(transparent)]
    Store(StoreError),
}

/// Opens the store that an address names, as a bot does: what is missing is made, and what an older version made is brought
/// up to date. An address is `memory:`, `sqlite:<path>`, or, each with its Cargo feature, what
/// [`RedisStore::open`](super::RedisStore::open), [`Journal::open`](super::Journal::open) or
/// [`PostgresStore::open`](super::PostgresStore::open) take. One of [`AiogramStore::open`](super::AiogramStore::open) opens
/// a store for tools: a bot needs a mapping.
pub async fn open(address: &str) -> Result<Arc<dyn Store>, OpenError> {
    open_by(address, Opening::Make).await
}

/// Opens the store of a bot whose application has tables of its own: conversations at `state`, the tables at `database`.
///
/// The two may be one database, or `database` be left out: then this is [`open`]. If the conversations are in a Redis, the
/// tables may be in `sqlite:<path>` or `postgres://…`, see [`DecidedStore`](super::DecidedStore), or
/// [`Journal::open_beside`](super::Journal::open_beside) where the address says `journal=database`. A journal there that
/// is not in Redis yet is not left behind: without that word it is refused. A journal in PostgreSQL keeps its files in the
/// folder that the address of the Redis names by `data=`, unless that of the database names another.
pub async fn open_with_database(state: &str, database: Option<&str>) -> Result<Arc<dyn Store>, OpenError> {
    tls_provider::install();
    let Some(database) = database.filter(|database| *database != state) else { return open(state).await };
    match Kind::of(state)? {
        #[cfg(feature = "redis")]
        Kind::Redis => redis::open_beside(state, database).await,
        _ => Kind::of(database).and(Err(OpenError::Apart)),
    }
}

/// Opens a store as a tool beside a bot does: nothing is made or changed, and what an older version made is refused.
pub async fn open_existing(address: &str) -> Result<Arc<dyn Store>, OpenError> {
    open_by(address, Opening::AsItIs).await
}

/// The address of a store on a server, with the folder in which a bot keeps what it has seen of it and notes what it has sent
/// (`data=`). One that names its folder, or a journal's file, stays as it is, and so does that of any other store.
#[must_use]
pub fn with_data(address: &str, folder: &str) -> String {
    let is_server = ["redis", "rediss", "postgres", "postgresql"].contains(&scheme(address));
    let has_file = setting(address, "journal").is_some_and(|place| place != "database");
    if !is_server || has_file || setting(address, "data").is_some() || setting(address, "layout").is_some() {
        return address.to_owned();
    }
    with_setting(address, "data", folder)
}

/// Who opens it.
#[derive(Clone, Copy)]
enum Opening {
    Make,
    AsItIs,
}

async fn open_by(address: &str, opening: Opening) -> Result<Arc<dyn Store>, OpenError> {
    tls_provider::install();
    match Kind::of(address)? {
        Kind::Memory => Ok(Arc::new(MemoryStore::new())),
        Kind::Sqlite(path) => opened(match opening {
            Opening::Make => SqliteStore::open(path).await,
            Opening::AsItIs => SqliteStore::open_existing(path).await,
        }),
        #[cfg(feature = "redis")]
        Kind::Redis => redis::open(address, opening).await,
        #[cfg(feature = "postgres")]
        Kind::Postgres => opened(match opening {
            Opening::Make => PostgresStore::open(address).await,
            Opening::AsItIs => PostgresStore::open_existing(address).await,
        }),
    }
}

/// What an address names.
enum Kind<'a> {
    Memory,
    Sqlite(&'a Path),
    #[cfg(feature = "redis")]
    Redis,
    #[cfg(feature = "postgres")]
    Postgres,
}

impl<'a> Kind<'a> {
    fn of(address: &'a str) -> Result<Self, OpenError> {
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

/// What an address begins with.
fn scheme(address: &str) -> &str {
    address.split(':').next().unwrap_or_default()
}

/// Why an address cannot be opened: what it names is unknown, or not compiled in.
fn unknown(address: &str) -> OpenError {
    match scheme(address) {
        "redis" | "rediss" if !cfg!(feature = "redis") => NO_REDIS,
        "postgres" | "postgresql" if !cfg!(feature = "postgres") => NO_POSTGRES,
        // The address may hold a password: only its scheme is repeated in an error.
        scheme => OpenError::UnknownAddress(scheme.to_owned()),
    }
}

const NO_REDIS: OpenError = OpenError::NotCompiledIn { store: "Redis", feature: "redis" };
const NO_POSTGRES: OpenError = OpenError::NotCompiledIn { store: "PostgreSQL", feature: "postgres" };

/// What is wrong with an address in which a part of a password may stand where everybody sees it: a `/` within it ends
/// what is kept secret.
pub(super) fn shows_a_secret(address: &str) -> Option<&'static str> {
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
            assert_eq!(matches!(Kind::of(address), Err(OpenError::NotCompiledIn { .. })), !is_compiled_in, "{address}");
        }
    }

    #[test]
    fn servers_get_a_folder_unless_they_name_one() {
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
            assert_eq!(with_data(address, "/srv/bot"), expected);
        }
    }
}
