//! How a database's errors are told to the callers.
//!
//! A full disk, a failed read, a lost connection and a lock that nobody lets go are all the same to a caller: wait and
//! try again. What it reads in the log is the database's own sentence.

use std::sync::Arc;

use sqlx::error::DatabaseError;
use sqlx::sqlite::SqliteError;

use crate::store::{BoxError, StoreError, tls};

/// Why a group of operations left nothing; every one of them gets it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{reason}")]
pub(in crate::store) struct GroupFailed {
    reason: Arc<BoxError>,
    /// The writes of the application that was being served ended the transaction: the others may go again, they may not.
    by_writes: bool,
    passes: bool,
    /// The server said nothing at all.
    is_unanswered: bool,
}

impl GroupFailed {
    pub(in crate::store) fn because(error: impl Into<BoxError>) -> Self {
        Self { reason: Arc::new(error.into()), by_writes: false, passes: false, is_unanswered: false }
    }

    /// The server said nothing in time.
    pub(in crate::store) fn unanswered(error: impl Into<BoxError>) -> Self {
        Self { is_unanswered: true, ..Self::because(error) }
    }

    /// The application's writes ended the transaction that they ran in, themselves or by a conflict that rolls back.
    pub(in crate::store) fn by_writes(error: sqlx::Error) -> Self {
        Self { by_writes: true, ..error.into() }
    }

    /// The same of a failure that is known already. A server that says nothing is nobody's fault.
    pub(in crate::store) fn blaming_writes(self) -> Self {
        Self { by_writes: !self.is_unanswered, ..self }
    }

    /// Whether it may go well the next time, as nothing was decided yet: a lost connection, a deadlock.
    pub(in crate::store) fn is_passing(&self) -> bool {
        self.passes
    }

    /// What the one is told whose operation failed the group.
    pub(in crate::store) fn for_its_cause(&self) -> StoreError {
        if !self.by_writes {
            return self.clone().into();
        }
        StoreError::WritesFailed(format!("they ended the transaction that is not theirs: {self}").into())
    }
}

impl From<sqlx::Error> for GroupFailed {
    fn from(error: sqlx::Error) -> Self {
        let passes = passes(&error);
        Self { passes, ..Self::because(in_words(error)) }
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

/// A failure of the database's, or of what was read from it.
pub(in crate::store) fn unavailable(error: impl Into<BoxError>) -> StoreError {
    let error = error.into();
    StoreError::Unavailable(match error.downcast::<sqlx::Error>() {
        Ok(sqlx) => in_words(*sqlx),
        Err(other) => other,
    })
}

/// Whether an error, or what caused it, is a database's and will pass by itself: a lock, a full or failing disk, a server
/// that went away, no connection to be had. Errors of [`sqlx`] and of stores ([`StoreError::is_passing`]) are known.
///
/// A write on a connection that is for reading alone does not pass: it is a mistake of the handler that made it.
#[must_use]
pub fn is_passing(error: &(dyn std::error::Error + 'static)) -> bool {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.into_iter().any(|cause| {
        let is_store_away = cause.downcast_ref().is_some_and(StoreError::is_passing);
        is_store_away
            || cause.downcast_ref::<sqlx::Error>().is_some_and(|error| passes(error) && !is_meant_for_reading(error))
    })
}

fn is_meant_for_reading(error: &sqlx::Error) -> bool {
    // SQLite's code for it has no extension; a disk that turned read-only is told by one that has, or as failed I/O.
    matches!(error, sqlx::Error::Database(said) if !is_postgres(&**said) && said.code().as_deref() == Some("8"))
}

fn passes(error: &sqlx::Error) -> bool {
    let said = match error {
        sqlx::Error::Database(said) => said,
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::WorkerCrashed => return true,
        _ => return false,
    };
    let code = said.code().unwrap_or_default();
    if is_postgres(&**said) { is_passing_in_postgres(&code) } else { is_passing_in_sqlite(&code) }
}

fn is_passing_in_sqlite(code: &str) -> bool {
    // SQLite's primary codes: busy, locked, out of memory, read-only, I/O, full, cannot open.
    const PASSING: [u32; 7] = [5, 6, 7, 8, 10, 13, 14];
    code.parse::<u32>().is_ok_and(|code| PASSING.contains(&(code & 0xFF)))
}

/// Connections, serialization and deadlocks, resources, the server's own state, its disk, and locks not to be had.
fn is_passing_in_postgres(code: &str) -> bool {
    ["08", "40", "53", "57P", "58"].iter().any(|class| code.starts_with(class)) || ["55P03", "25006"].contains(&code)
}

/// The answer of a store that was closed.
pub(in crate::store) fn closed() -> StoreError {
    StoreError::Unavailable("the store is closed".into())
}

/// The database's own sentence, without the driver's words around it.
fn in_words(error: sqlx::Error) -> BoxError {
    match error {
        sqlx::Error::Database(said) => {
            let database = if is_postgres(&*said) { "PostgreSQL" } else { "SQLite" };
            format!("{} ({database} {})", said.message(), said.code().unwrap_or_default()).into()
        }
        other => match tls::in_words(&other, TLS_SETTINGS) {
            Some(words) => words.into(),
            None => Box::new(other),
        },
    }
}

/// How an address names the files of TLS, for errors.
const TLS_SETTINGS: tls::Settings =
    tls::Settings { authority: "sslrootcert", own: "`sslcert=<file>` and `sslkey=<file>`" };

/// There are two: an error that is not of SQLite is of PostgreSQL.
fn is_postgres(said: &dyn DatabaseError) -> bool {
    said.try_downcast_ref::<SqliteError>().is_none()
}

#[cfg(test)]
mod tests {
    use sqlx::ConnectOptions;
    use sqlx::sqlite::SqliteConnectOptions;

    use super::is_passing;

    #[tokio::test]
    async fn a_write_on_a_connection_for_reading_is_a_mistake_and_a_lock_passes() {
        let folder = tempfile::tempdir().unwrap();
        let options = SqliteConnectOptions::new().filename(folder.path().join("file.db")).create_if_missing(true);
        let options = options.busy_timeout(std::time::Duration::ZERO);
        let mut writer = options.connect().await.unwrap();
        sqlx::raw_sql("CREATE TABLE t (a)").execute(&mut writer).await.unwrap();
        let mut reader = options.clone().read_only(true).connect().await.unwrap();
        let refused = sqlx::raw_sql("INSERT INTO t VALUES (1)").execute(&mut reader).await.unwrap_err();
        assert!(!is_passing(&refused), "{refused}");
        sqlx::raw_sql("BEGIN EXCLUSIVE").execute(&mut writer).await.unwrap();
        let mut other = options.connect().await.unwrap();
        let locked = sqlx::raw_sql("INSERT INTO t VALUES (1)").execute(&mut other).await.unwrap_err();
        assert!(is_passing(&locked), "{locked}");
    }
}
