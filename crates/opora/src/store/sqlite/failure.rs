//! How SQLite's errors are told to the callers.
//!
//! A full disk, a failed read and a lock that nobody lets go are all the same to a caller: wait and try again. What it
//! reads in the log is SQLite's own sentence.

use std::path::PathBuf;
use std::sync::Arc;

use crate::store::{BoxError, StoreError};

/// Why a file could not be used, with its name.
#[derive(Debug, thiserror::Error)]
#[error("cannot {doing} {path}: {reason}", path = path.display())]
pub(super) struct FileFailed {
    pub(super) doing: &'static str,
    pub(super) path: PathBuf,
    pub(super) reason: String,
}

/// Why a group of operations left nothing; every one of them gets it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{reason}")]
pub(super) struct GroupFailed {
    reason: Arc<BoxError>,
    /// The writes of the application that was being served ended the transaction: the others may go again, they may not.
    by_writes: bool,
}

impl GroupFailed {
    pub(super) fn because(error: impl Into<BoxError>) -> Self {
        Self { reason: Arc::new(error.into()), by_writes: false }
    }

    /// The application's writes ended the transaction that they ran in, themselves or by a conflict that rolls back.
    pub(super) fn by_writes(error: sqlx::Error) -> Self {
        Self { by_writes: true, ..error.into() }
    }

    /// What the one is told whose operation failed the group.
    pub(super) fn for_its_cause(&self) -> StoreError {
        if !self.by_writes {
            return self.clone().into();
        }
        StoreError::WritesFailed(format!("they ended the transaction that is not theirs: {self}").into())
    }
}

impl From<sqlx::Error> for GroupFailed {
    fn from(error: sqlx::Error) -> Self {
        Self::because(in_words(error))
    }
}

impl From<serde_json::Error> for GroupFailed {
    fn from(error: serde_json::Error) -> Self {
        Self::because(error)
    }
}

impl From<GroupFailed> for StoreError {
    fn from(failed: GroupFailed) -> Self {
        Self::Unavailable(Box::new(failed))
    }
}

/// A failure of SQLite's, or of what was read from it.
pub(super) fn unavailable(error: impl Into<BoxError>) -> StoreError {
    let error = error.into();
    StoreError::Unavailable(match error.downcast::<sqlx::Error>() {
        Ok(sqlx) => in_words(*sqlx),
        Err(other) => other,
    })
}

/// Whether a failure of the application's writes is the database's, and will pass: a lock, a full or failing disk.
pub(super) fn is_passing(error: &BoxError) -> bool {
    // SQLite's primary codes: busy, locked, out of memory, read-only, I/O, full, cannot open.
    const PASSING: [u32; 7] = [5, 6, 7, 8, 10, 13, 14];
    let Some(sqlx::Error::Database(said)) = error.downcast_ref::<sqlx::Error>() else { return false };
    let code = said.code().and_then(|code| code.parse::<u32>().ok());
    code.is_some_and(|code| PASSING.contains(&(code & 0xFF)))
}

/// The answer of a store that was closed.
pub(super) fn closed() -> StoreError {
    StoreError::Unavailable("the store is closed".into())
}

/// SQLite's own sentence, without the driver's words around it.
fn in_words(error: sqlx::Error) -> BoxError {
    match error {
        sqlx::Error::Database(said) => {
            format!("{} (SQLite {})", said.message(), said.code().unwrap_or_default()).into()
        }
        other => Box::new(other),
    }
}
