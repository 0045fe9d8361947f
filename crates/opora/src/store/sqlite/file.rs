//! The database file: how it is made, opened and copied.
//!
//! A new file is readable by its owner alone, for it holds what people said. An existing file is never opened except
//! through SQLite: closing another handle on it would drop the locks of every connection in this process.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, Row, SqliteConnection};

use super::{bulk, schema};
use crate::store::sql::failure::unavailable;
use crate::store::{StoreError, StoreResult};

/// The oldest SQLite whose write-ahead log is known to be sound with several connections.
const OLDEST_SQLITE: [u32; 3] = [3, 51, 3];

/// How long a statement waits for another process that writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the emptying of the log waits for others, who wait with it.
const LOG_TIMEOUT: Duration = Duration::from_millis(100);

/// Pages that the writer holds; the rest is in the system's own cache.
const WRITER_CACHE_KIB: u32 = 2048;
/// Pages that a reader holds.
const READER_CACHE_KIB: u32 = 512;

/// Why a file could not be used, with its name.
#[derive(Debug, thiserror::Error)]
#[error("cannot {doing} {path}: {reason}", path = path.display())]
struct FileFailed {
    doing: &'static str,
    path: PathBuf,
    reason: String,
}

/// Where the database lies.
#[derive(Clone, Debug)]
pub(super) struct DatabaseFile {
    pub(super) path: PathBuf,
}

impl DatabaseFile {
    /// Makes the file if it is missing, brings its tables up to date, and answers the connection that writes.
    pub(super) async fn open(&self) -> StoreResult<SqliteConnection> {
        self.create_if_missing().await?;
        let mut connection = self.connect_to_write().await?;
        check_version(&mut connection).await?;
        let mut transaction =
            connection.begin_with("BEGIN IMMEDIATE").await.map_err(|error| self.failed("open", error))?;
        schema::migrate(&mut transaction).await?;
        transaction.commit().await.map_err(|error| self.failed("open", error))?;
        self.prepared(connection).await
    }

    /// The connection that writes to a file which is there and up to date; nothing of it is changed.
    pub(super) async fn open_existing(&self) -> StoreResult<SqliteConnection> {
        let mut connection = self.connect_to_write().await?;
        check_version(&mut connection).await?;
        schema::check(&mut connection).await?;
        self.prepared(connection).await
    }

    /// The connection that writes, once more.
    pub(super) async fn open_again(&self) -> StoreResult<SqliteConnection> {
        let connection = self.connect_to_write().await?;
        self.prepared(connection).await
    }

    async fn prepared(&self, mut connection: SqliteConnection) -> StoreResult<SqliteConnection> {
        bulk::prepare(&mut connection).await.map_err(|error| self.failed("open", error))?;
        Ok(connection)
    }

    /// The connection that writes.
    pub(super) async fn connect_to_write(&self) -> StoreResult<SqliteConnection> {
        self.options(WRITER_CACHE_KIB).connect().await.map_err(|error| self.failed("open", error))
    }

    /// A connection that reads, and cannot write.
    pub(super) async fn connect_to_read(&self) -> StoreResult<SqliteConnection> {
        self.reading().connect().await.map_err(|error| self.failed("open", error))
    }

    /// How connections that read are opened.
    pub(super) fn reading(&self) -> SqliteConnectOptions {
        self.options(READER_CACHE_KIB).pragma("query_only", "1")
    }

    /// Empties the log, which still holds what was deleted since it was emptied last. Where others read or write just now, it
    /// is left for the next time.
    pub(super) async fn empty_log(&self) {
        let emptied = async {
            let mut connection = self.reading().busy_timeout(LOG_TIMEOUT).connect().await?;
            sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut connection).await?;
            connection.close().await
        };
        if let Err(error) = emptied.await {
            tracing::debug!(%error, "the log could not be emptied now");
        }
    }

    /// Copies everything, as of one moment, into a new file.
    pub(super) async fn copy_to(&self, to: &Path) -> StoreResult<()> {
        create_private(to).await.map_err(|error| failed("write", to, error.to_string()))?;
        let copied = self.fill(to).await;
        if copied.is_err() {
            // The file is ours, made above; half a copy must not be taken for one.
            let _ = tokio::fs::remove_file(to).await;
        }
        copied
    }

    async fn fill(&self, to: &Path) -> StoreResult<()> {
        let Some(name) = to.to_str() else {
            return Err(failed("write", to, "its name is not UTF-8".to_owned()));
        };
        // An empty file counts as new to VACUUM INTO, so it keeps the permissions that it was made with.
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
            let made = tokio::fs::create_dir_all(folder).await;
            made.map_err(|error| failed("create", folder, error.to_string()))?;
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
            // What is deleted is overwritten: a PIN or a forgotten person's words must not stay in free pages.
            .pragma("secure_delete", "ON")
            .row_buffer_size(1024)
            .disable_statement_logging()
    }

    fn failed(&self, doing: &'static str, error: sqlx::Error) -> StoreError {
        let reason = match &error {
            sqlx::Error::Database(said) => said.message().to_owned(),
            other => other.to_string(),
        };
        failed(doing, &self.path, self.plainer(reason))
    }

    /// SQLite says of a folder and of a forbidden file only that it cannot open them.
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
