//! A store by its address, as configurations name it.

use std::path::Path;
use std::sync::Arc;

use super::{BoxError, MemoryStore, SqliteStore, Store, StoreError};

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The address names no store that is known.
    #[error("`{0}` names no store: memory: or sqlite:<path> was expected")]
    UnknownAddress(String),
    /// The store is known and cannot be opened.
    #[error("{0}")]
    CannotOpen(#[source] BoxError),
    /// The store is known and says something else.
    #[error(transparent)]
    Store(StoreError),
}

/// Opens the store that an address names: `memory:` or `sqlite:<path>`.
pub async fn open(address: &str) -> Result<Arc<dyn Store>, OpenError> {
    // The address may hold a password one day: only its scheme is repeated in an error.
    let unknown = || OpenError::UnknownAddress(address.split(':').next().unwrap_or_default().to_owned());
    match address.split_once(':') {
        Some(("memory", "")) => Ok(Arc::new(MemoryStore::new())),
        Some(("sqlite", path)) if !path.is_empty() => {
            let path = path.strip_prefix("//").unwrap_or(path);
            match SqliteStore::open(Path::new(path)).await {
                Ok(store) => Ok(Arc::new(store)),
                Err(StoreError::Unavailable(why)) => Err(OpenError::CannotOpen(why)),
                Err(error) => Err(OpenError::Store(error)),
            }
        }
        _ => Err(unknown()),
    }
}
