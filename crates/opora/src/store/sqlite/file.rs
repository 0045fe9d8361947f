//! The database file: creates, opens and copies it.
//!
//! A new file is readable by its owner only, because it holds what people said. An existing file is opened only through
//! SQLite: closing another handle on it would drop the locks of every connection in this process.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, Row, SqliteConnection};

use super::bulk;
use crate::store::sql::failure::unavailable;
use crate::store::sql::tables::{Limits, STORE_TABLES};
use crate::store::{Database, StoreError, StoreResult, WriteError};

/// The oldest SQLite whose write-ahead log is safe with several connections.
const OLDEST_SQLITE: [u32; 3] = [3, 51, 3];

/// How long a statement waits for another process that writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long truncating the log waits for other connections.
const LOG_TIMEOUT: Duration = Duration::from_millis(100);

/// Page cache of the writer; the system caches the rest.
const WRITER_CACHE_KIB: u32 = 2048;
/// Page cache of a reader.
const READER_CACHE_KIB: u32 = 512;

#[derive(Debug, thiserror::Error)]
#[error("cannot {doing} {path}: {reason}", path = path.display())]
struct FileFailed {
    doing: &'static str,
    path: PathBuf,
    reason: String,
}

#[derive(Clone, Debug)]
pub(super) struct DatabaseFile {
    pub(super) path: PathBuf,
}

impl DatabaseFile {
    /// Creates the file if it is missing, migrates its tables, and returns the write connection.
    pub(super) async fn open(&self) -> StoreResult<SqliteConnection> {
        self.create_if_missing().await?;
        let mut connection = self.connect_to_write().await?;
        check_version(&mut connection).await?;
        let mut transaction =
            connection.begin_with("BEGIN IMMEDIATE").await.map_err(|error| self.failed("open", error))?;
        let migrated = STORE_TABLES.migrate(&mut Database::sqlite_commit(&mut transaction), &Limits::NONE).await;
        migrated.map_err(WriteError::into_store_error)?;
        transaction.commit().await.map_err(|error| self.failed("open", error))?;
        self.prepared(connection).await
    }

    /// The write connection to an existing file with current tables. Changes nothing.
    pub(super) async fn open_existing(&self) -> StoreResult<SqliteConnection> {
        let mut connection = self.connect_to_write().await?;
        check_version(&mut connection).await?;
        STORE_TABLES.check(&mut Database::sqlite_commit(&mut connection), &Limits::NONE).await?;
        self.prepared(connection).await
    }

    /// A new write connection after the old one was lost.
    pub(super) async fn open_again(&self) -> StoreResult<SqliteConnection> {
        let connection = self.connect_to_write().await?;
        self.prepared(connection).await
    }

    async fn prepared(&self, mut connection: SqliteConnection) -> StoreResult<SqliteConnection> {
        bulk::prepare(&mut connection).await.map_err(|error| self.failed("open", error))?;
        Ok(connection)
    }

    pub(super) async fn connect_to_write(&self) -> StoreResult<SqliteConnection> {
        self.options(WRITER_CACHE_KIB).connect().await.map_err(|error| self.failed("open", error))
    }

    pub(super) async fn connect_to_read(&self) -> StoreResult<SqliteConnection> {
        self.reading().connect().await.map_err(|error| self.failed("open", error))
    }

    pub(super) fn reading(&self) -> SqliteConnectOptions {
        self.options(READER_CACHE_KIB).pragma("query_only", "1")
    }

    /// Truncates the write-ahead log, which still holds deleted data. Skipped if other connections are reading or
    /// writing now.
    pub(super) async fn empty_log(&self) {
        let emptied = async {
            let mut connection = self.reading().busy_timeout(LOG_TIMEOUT).connect().await?;
            sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut connection).await?;
            connection.close().await
        };
        if let Err(error) = emptied.await {
            tracing::debug!(%error, "cannot truncate the write-ahead log now");
        }
    }

    /// Copies a snapshot into a new file.
    pub(super) async fn copy_to(&self, to: &Path) -> StoreResult<()> {
        create_private(to).await.map_err(|error| failed("write", to, error.to_string()))?;
        let copied = self.fill(to).await;
        if copied.is_err() {
            // This call created the file; an incomplete copy must not be mistaken for a backup.
            let _ = tokio::fs::remove_file(to).await;
        }
        copied
    }

    async fn fill(&self, to: &Path) -> StoreResult<()> {
        let Some(name) = to.to_str() else {
            return Err(failed("write", to, "its name is not UTF-8".to_owned()));
        };
        // VACUUM INTO accepts an empty file and keeps its permissions.
        let mut connection =
            self.options(READER_CACHE_KIB).connect().await.map_err(|error| self.failed("open", error))?;
        sqlx::query("VACUUM INTO ?1").bind(name).execute(&mut connection).await.map_err(unavailable)?;
        connection.close().await.map_err(unavailable)?;
        let synced = async {
            tokio::fs::File::open(to).await?.sync_all().await?;
            match to.parent() {
                Some(folder) if !folder.as_os_str().is_empty() => tokio::fs::File::open(folder).await?.sync_all().await,
                _ => tokio::fs::File::open(".").await?.sync_all().await,
            }
        };
        synced.await.map_err(|error| failed("write", to, error.to_string()))
    }

    async fn create_if_missing(&self) -> StoreResult<()> {
        if let Some(folder) = self.path.parent() {
            let created = tokio::fs::create_dir_all(folder).await;
            created.map_err(|error| failed("create", folder, error.to_string()))?;
        }
        match create_private(&self.path).await {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                Err(failed("open", &self.path, error.to_string()))
            }
            _ => Ok(()),
        }
    }

    fn options(&self, cache_kib: u32) -> SqliteConnectOptions {
        SqliteConnectOptions::new()
            .filename(&self.path)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(BUSY_TIMEOUT)
            .foreign_keys(true)
            .pragma("journal_size_limit", "67108864")
            .pragma("wal_autocheckpoint", "8000")
            .pragma("cache_size", format!("-{cache_kib}"))
            .pragma("temp_store", "MEMORY")
            // Deleted data is overwritten: a PIN or a forgotten person's words must not stay in free pages.
            .pragma("secure_delete", "ON")
            .row_buffer_size(1024)
            .disable_statement_logging()
    }

    fn failed(&self, doing: &'static str, error: sqlx::Error) -> StoreError {
        failed(doing, &self.path, self.plainer(in_words(&error)))
    }

    /// For a directory and for missing permissions SQLite only says that it cannot open the file.
    fn plainer(&self, reason: String) -> String {
        match std::fs::metadata(&self.path) {
            Ok(found) if found.is_dir() => "it is a directory".to_owned(),
            Err(error) => error.to_string(),
            Ok(_) if reason.contains("unable to open") => format!("permission denied ({reason})"),
            Ok(_) => reason,
        }
    }
}

pub(super) async fn create_private(path: &Path) -> std::io::Result<()> {
    let mut options = tokio::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    options.mode(0o600);
    options.open(path).await.map(drop)
}

async fn check_version(connection: &mut SqliteConnection) -> StoreResult<()> {
    let row = sqlx::query("SELECT sqlite_version()").fetch_one(connection).await.map_err(unavailable)?;
    if is_new_enough(row.get(0)) {
        return Ok(());
    }
    Err(StoreError::Unsupported("SQLite 3.51.3 or later is needed: build with the bundled one"))
}

fn is_new_enough(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let found = [parts.next(), parts.next(), parts.next()].map(Option::unwrap_or_default);
    found >= OLDEST_SQLITE
}

pub(super) fn in_words(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(database_error) => database_error.message().to_owned(),
        other => other.to_string(),
    }
}

pub(super) fn failed(doing: &'static str, path: &Path, reason: String) -> StoreError {
    StoreError::Unavailable(Box::new(FileFailed { doing, path: path.to_owned(), reason }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_sqlite_is_told_from_a_new_one() {
        for (version, enough) in
            [("3.51.2", false), ("3.51.3", true), ("3.9.100", false), ("4.0.0", true), ("x", false)]
        {
            assert_eq!(is_new_enough(version), enough, "{version}");
        }
    }
}
