//! A store by its address, as configurations name it.

use std::path::Path;
use std::sync::Arc;

use super::{BoxError, MemoryStore, PostgresStore, RedisStore, SqliteStore, Store, StoreError, StoreResult};

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The address names no store that is known.
    #[error("`{0}` names no store: memory:, sqlite:<path>, redis://host or postgres://host/database was expected")]
    UnknownAddress(String),
    /// The store is known and cannot be opened.
    #[error("{0}")]
    CannotOpen(#[source] BoxError),
    /// The store is known and says something else.
    #[error(transparent)]
    Store(StoreError),
}

/// Opens the store that an address names, as a bot does: what is missing is made, and what an older version made is brought
/// up to date. An address is `memory:`, `sqlite:<path>`, or what [`RedisStore::open`] or
/// [`PostgresStore::open`] take.
pub async fn open(address: &str) -> Result<Arc<dyn Store>, OpenError> {
    open_by(address, Opening::Make).await
}

/// Opens a store as a tool beside a bot does: nothing is made or changed, and what an older version made is refused.
pub async fn open_existing(address: &str) -> Result<Arc<dyn Store>, OpenError> {
    open_by(address, Opening::AsItIs).await
}

/// Who opens it.
#[derive(Clone, Copy)]
enum Opening {
    Make,
    AsItIs,
}

async fn open_by(address: &str, opening: Opening) -> Result<Arc<dyn Store>, OpenError> {
    // The address may hold a password: only its scheme is repeated in an error.
    let unknown = || OpenError::UnknownAddress(address.split(':').next().unwrap_or_default().to_owned());
    match address.split_once(':') {
        Some(("memory", "")) => Ok(Arc::new(MemoryStore::new())),
        Some(("sqlite", path)) if !path.is_empty() => {
            let path = Path::new(path.strip_prefix("//").unwrap_or(path));
            opened(match opening {
                Opening::Make => SqliteStore::open(path).await,
                Opening::AsItIs => SqliteStore::open_existing(path).await,
            })
        }
        Some(("redis" | "rediss", _)) => opened(match opening {
            Opening::Make => RedisStore::open(address).await,
            Opening::AsItIs => RedisStore::open_existing(address).await,
        }),
        Some(("postgres" | "postgresql", _)) => opened(match opening {
            Opening::Make => PostgresStore::open(address).await,
            Opening::AsItIs => PostgresStore::open_existing(address).await,
        }),
        _ => Err(unknown()),
    }
}

fn opened<S: Store>(answer: StoreResult<S>) -> Result<Arc<dyn Store>, OpenError> {
    match answer {
        Ok(store) => Ok(Arc::new(store)),
        Err(StoreError::Unavailable(why)) => Err(OpenError::CannotOpen(why)),
        Err(error) => Err(OpenError::Store(error)),
    }
}
