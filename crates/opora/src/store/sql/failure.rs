//! Converts database errors into store errors.
//!
//! A full disk, a failed read, a lost connection and a lock timeout mean the same to a caller: wait and retry. The log
//! shows the database's own message.

use std::sync::Arc;

use sqlx::error::DatabaseError;
use sqlx::sqlite::SqliteError;

use crate::store::{BoxError, StoreError, StoreResult, tls};

/// Why a group was rolled back. Every operation of the group gets it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{reason}")]
pub(crate) struct GroupError {
    reason: Arc<BoxError>,
    /// The application's writes of one operation ended the transaction. That operation must not be retried; the others
    /// may be.
    by_writes: bool,
    is_transient: bool,
    /// The server did not answer in time.
    timed_out: bool,
}

impl GroupError {
    pub(crate) fn because(error: impl Into<BoxError>) -> Self {
        Self { reason: Arc::new(error.into()), by_writes: false, is_transient: false, timed_out: false }
    }

    /// The server did not answer in time.
    pub(crate) fn timeout(error: impl Into<BoxError>) -> Self {
        Self { timed_out: true, ..Self::because(error) }
    }

    /// The application's writes ended the transaction, directly or by a conflict that rolls back.
    pub(crate) fn by_writes(error: sqlx::Error) -> Self {
        Self { by_writes: true, ..error.into() }
    }

    /// Blames the application's writes for an error, unless it is a timeout.
    pub(crate) fn blaming_writes(self) -> Self {
        Self { by_writes: !self.timed_out, ..self }
    }

    /// Whether a retry may succeed: a lost connection, a deadlock.
    pub(crate) fn is_transient(&self) -> bool {
        self.is_transient
    }

    /// The error for the operation that failed the group.
    pub(crate) fn for_culprit(&self) -> StoreError {
        if !self.by_writes {
            return self.clone().into();
        }
        StoreError::WritesFailed(format!("they ended the transaction of the store: {self}").into())
    }
}

/// Why an operation is not done.
pub(crate) enum NotDone {
    /// It is refused. The other operations of its group go on.
    Refused(StoreError),
    /// Its whole group fails.
    Failed(GroupError),
}

/// The result of an operation, unless it fails its group.
pub(crate) fn refusable<T>(done: Result<T, NotDone>) -> Result<StoreResult<T>, GroupError> {
    match done {
        Ok(done) => Ok(Ok(done)),
        Err(NotDone::Refused(refused)) => Ok(Err(refused)),
        Err(NotDone::Failed(failed)) => Err(failed),
    }
}

impl From<StoreError> for NotDone {
    fn from(refused: StoreError) -> Self {
        Self::Refused(refused)
    }
}

impl From<GroupError> for NotDone {
    fn from(failed: GroupError) -> Self {
        Self::Failed(failed)
    }
}

impl From<serde_json::Error> for NotDone {
    fn from(error: serde_json::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl From<sqlx::Error> for GroupError {
    fn from(error: sqlx::Error) -> Self {
        let is_transient = is_transient_sql(&error);
        Self { is_transient, ..Self::because(in_words(error)) }
    }
}

impl From<serde_json::Error> for GroupError {
    fn from(error: serde_json::Error) -> Self {
        Self::because(error)
    }
}

impl From<GroupError> for StoreError {
    fn from(failed: GroupError) -> Self {
        Self::Unavailable(Box::new(failed))
    }
}

/// An error of the database, or of a row that was read from it.
pub(crate) fn unavailable(error: impl Into<BoxError>) -> StoreError {
    let error = error.into();
    StoreError::Unavailable(match error.downcast::<sqlx::Error>() {
        Ok(sqlx) => in_words(*sqlx),
        Err(other) => other,
    })
}

/// Whether an error, or one of its causes, is a transient error of a database: a lock, a full or failing disk, a lost
/// server, an exhausted pool. Knows errors of [`sqlx`] and of stores ([`StoreError::is_transient`]).
///
/// A write on a read-only connection is not transient: it is a mistake of the handler.
#[must_use]
pub fn is_transient(error: &(dyn std::error::Error + 'static)) -> bool {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.into_iter().any(|cause| {
        let is_store_away = cause.downcast_ref().is_some_and(StoreError::is_transient);
        is_store_away
            || cause
                .downcast_ref::<sqlx::Error>()
                .is_some_and(|error| is_transient_sql(error) && !is_read_only_connection(error))
    })
}

fn is_read_only_connection(error: &sqlx::Error) -> bool {
    // SQLite's code 8 without extension. A disk that became read-only has an extended code, or is an I/O error.
    matches!(error, sqlx::Error::Database(error) if !is_postgres(&**error) && error.code().as_deref() == Some("8"))
}

fn is_transient_sql(error: &sqlx::Error) -> bool {
    let database_error = match error {
        sqlx::Error::Database(database_error) => database_error,
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::WorkerCrashed => return true,
        _ => return false,
    };
    let code = database_error.code().unwrap_or_default();
    if is_postgres(&**database_error) { is_transient_in_postgres(&code) } else { is_transient_in_sqlite(&code) }
}

fn is_transient_in_sqlite(code: &str) -> bool {
    // SQLite's primary codes: busy, locked, out of memory, read-only, I/O, full, cannot open.
    const TRANSIENT: [u32; 7] = [5, 6, 7, 8, 10, 13, 14];
    code.parse::<u32>().is_ok_and(|code| TRANSIENT.contains(&(code & 0xFF)))
}

/// Connection errors, serialization failures and deadlocks, exhausted resources, server shutdown, disk errors, lock
/// timeouts.
fn is_transient_in_postgres(code: &str) -> bool {
    ["08", "40", "53", "57P", "58"].iter().any(|class| code.starts_with(class)) || ["55P03", "25006"].contains(&code)
}

pub(crate) fn closed() -> StoreError {
    StoreError::Unavailable("the store is closed".into())
}

/// The database's own message, without the driver's prefix.
fn in_words(error: sqlx::Error) -> BoxError {
    match error {
        sqlx::Error::Database(database_error) => {
            let database = if is_postgres(&*database_error) { "PostgreSQL" } else { "SQLite" };
            format!("{} ({database} {})", database_error.message(), database_error.code().unwrap_or_default()).into()
        }
        other => match tls::describe_error(&other, TLS_SETTINGS) {
            Some(words) => words.into(),
            None => Box::new(other),
        },
    }
}

/// How addresses name TLS files, for errors.
const TLS_SETTINGS: tls::TlsSettingNames =
    tls::TlsSettingNames { authority: "sslrootcert", own: "`sslcert=<file>` and `sslkey=<file>`" };

/// An error that is not SQLite's is PostgreSQL's.
fn is_postgres(database_error: &dyn DatabaseError) -> bool {
    database_error.try_downcast_ref::<SqliteError>().is_none()
}

#[cfg(test)]
mod tests {
    use sqlx::ConnectOptions;
    use sqlx::sqlite::SqliteConnectOptions;

    use super::is_transient;

    #[tokio::test]
    async fn a_lock_is_transient_and_a_read_only_write_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let options = SqliteConnectOptions::new().filename(folder.path().join("file.db")).create_if_missing(true);
        let options = options.busy_timeout(std::time::Duration::ZERO);
        let mut writer = options.connect().await.unwrap();
        sqlx::raw_sql("CREATE TABLE t (a)").execute(&mut writer).await.unwrap();
        let mut reader = options.clone().read_only(true).connect().await.unwrap();
        let refused = sqlx::raw_sql("INSERT INTO t VALUES (1)").execute(&mut reader).await.unwrap_err();
        assert!(!is_transient(&refused), "{refused}");
        sqlx::raw_sql("BEGIN EXCLUSIVE").execute(&mut writer).await.unwrap();
        let mut other = options.connect().await.unwrap();
        let locked = sqlx::raw_sql("INSERT INTO t VALUES (1)").execute(&mut other).await.unwrap_err();
        assert!(is_transient(&locked), "{locked}");
    }
}
