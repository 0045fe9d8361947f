//! Replaces a database by a backup.
//!
//! A killed process leaves a write-ahead log. SQLite would apply it to whatever file is there. So the log is first
//! merged into the old database, which is then kept under another name.
//!
//! A backup is older than the database, but no number may be given twice: a new message would get the id of one that
//! was sent, and an old button would fit a new question. So epochs and versions continue above those of the old
//! database.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use super::file::{create_private, failed, in_words};
use crate::store::sent_log::blocking;
use crate::store::sql::failure::unavailable;
use crate::store::sql::tables::{Limits, STORE_TABLES};
use crate::store::{Database, StoreResult};

/// How long to wait for a process that is closing the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// If the old database cannot be read, this many epochs after the backup's count as given.
const UNKNOWN_EPOCHS: i64 = 1024;

/// The result of a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The new path of the old database; none if there was none.
    pub old_file: Option<PathBuf>,
    /// Whether the old database could be read. Otherwise versions continue from those of the backup.
    pub was_readable: bool,
}

pub(super) async fn restore(backup: &Path, to: &Path) -> StoreResult<Restored> {
    let copy = with_suffix(to, "-restoring");
    // Left over from an interrupted restore.
    let _ = tokio::fs::remove_file(&copy).await;
    let done = async {
        copy_of(backup, &copy).await?;
        // Damaged pages may be noticed only when they are read.
        let was_readable = to.exists() && merge_log(to).await? && raise_counters(&copy, Some(to)).await.is_ok();
        if !was_readable {
            raise_counters(&copy, None).await?;
        }
        let place = to.to_owned();
        let copy = copy.clone();
        let old_file = blocking(move || put_in_place(&copy, &place)).await?;
        Ok(Restored { was_readable: was_readable || old_file.is_none(), old_file })
    };
    let done = done.await;
    if done.is_err() {
        // This call created it.
        let _ = tokio::fs::remove_file(&copy).await;
    }
    done
}

/// Checks that a file is a backup, and copies it. The backup is not changed.
async fn copy_of(backup: &Path, copy: &Path) -> StoreResult<()> {
    let cannot_read = |error: sqlx::Error| failed("read", backup, in_words(&error));
    let options = options(backup).read_only(true);
    let mut connection = options.connect().await.map_err(cannot_read)?;
    let found = sqlx::query_scalar("PRAGMA quick_check(1)").fetch_one(&mut connection).await;
    let found: String = found.map_err(cannot_read)?;
    if found != "ok" {
        return Err(failed("read", backup, found));
    }
    STORE_TABLES.check_not_newer(&mut Database::sqlite_commit(&mut connection), &Limits::NONE).await?;
    let name = copy.to_str().ok_or_else(|| failed("write", copy, "its name is not UTF-8".to_owned()))?;
    create_private(copy).await.map_err(|error| failed("write", copy, error.to_string()))?;
    let copied = sqlx::query("VACUUM INTO ?1").bind(name).execute(&mut connection).await;
    copied.map_err(|error| failed("write", copy, in_words(&error)))?;
    connection.close().await.map_err(unavailable)
}

/// Merges the write-ahead log into a database; false if it cannot be read. Refused while another process has it open.
async fn merge_log(database: &Path) -> StoreResult<bool> {
    let merged = async {
        let mut connection = options(database).connect().await?;
        // SQLite allows this only without other connections.
        let mode: String = sqlx::query_scalar("PRAGMA journal_mode = DELETE").fetch_one(&mut connection).await?;
        connection.close().await?;
        Ok(mode == "delete")
    };
    match merged.await {
        Ok(true) => Ok(true),
        Ok(false) => Err(failed("replace", database, IN_USE.to_owned())),
        Err(error) => match kind_of(&error) {
            Some(BUSY | LOCKED) => Err(failed("replace", database, IN_USE.to_owned())),
            Some(CORRUPT | NOT_A_DATABASE) => Ok(false),
            _ => Err(failed("replace", database, in_words(&error))),
        },
    }
}

/// Raises the counters of the copy above all numbers given, and clears its leases.
async fn raise_counters(copy: &Path, former: Option<&Path>) -> StoreResult<()> {
    let done = async {
        let mut connection = options(copy).connect().await?;
        sqlx::query("UPDATE opora_leases SET holder = NULL").execute(&mut connection).await?;
        let mut epoch: i64 = sqlx::query_scalar(LAST_EPOCH).fetch_one(&mut connection).await?;
        if let Some(former) = former {
            sqlx::query("ATTACH DATABASE ?1 AS former").bind(former.to_str()).execute(&mut connection).await?;
            // The old file may be another database, without tables of this library.
            if has_tables(&mut connection).await? {
                epoch = epoch.max(sqlx::query_scalar(FORMER_EPOCH).fetch_one(&mut connection).await?);
                sqlx::query(RAISE_VERSIONS).execute(&mut connection).await?;
                sqlx::query(RAISE_FLOOR).execute(&mut connection).await?;
                sqlx::raw_sql(RAISE_JOB_IDS).execute(&mut connection).await?;
            }
        } else {
            epoch += UNKNOWN_EPOCHS;
        }
        sqlx::query(RAISE_EPOCH).bind(epoch).execute(&mut connection).await?;
        connection.close().await
    };
    done.await.map_err(|error| failed("write", copy, in_words(&error)))
}

async fn has_tables(connection: &mut SqliteConnection) -> sqlx::Result<bool> {
    let found = sqlx::query("SELECT 1 FROM former.sqlite_schema WHERE type = 'table' AND name = 'opora_schema'");
    Ok(found.fetch_optional(connection).await?.is_some())
}

const LAST_EPOCH: &str = "SELECT coalesce(max(epoch), 0) FROM opora_leases";
const FORMER_EPOCH: &str = "SELECT coalesce(max(epoch), 0) FROM former.opora_leases";

/// The next epoch is one above the highest.
const RAISE_EPOCH: &str = "
UPDATE opora_leases SET epoch = ?1 WHERE epoch = (SELECT max(epoch) FROM opora_leases) AND epoch < ?1";

const RAISE_VERSIONS: &str = "
UPDATE opora_conversations SET version = was.version
FROM former.opora_conversations AS was
WHERE was.key = opora_conversations.key AND was.version > opora_conversations.version";

/// Conversations missing in the backup start above every version of the old database.
const RAISE_FLOOR: &str = "
UPDATE opora_version_floor SET floor = max(
    floor, (SELECT max(floor) FROM former.opora_version_floor),
    (SELECT coalesce(max(version), 0) FROM former.opora_conversations))";

/// Jobs get ids above every id of the old database.
const RAISE_JOB_IDS: &str = "
INSERT INTO sqlite_sequence (name, seq)
SELECT 'opora_jobs', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'opora_jobs');
UPDATE sqlite_sequence
SET seq = max(seq, (SELECT coalesce(max(seq), 0) FROM former.sqlite_sequence WHERE name = 'opora_jobs'))
WHERE name = 'opora_jobs'";

/// Renames the old database and its companion files, and moves the copy into place.
fn put_in_place(copy: &Path, to: &Path) -> io::Result<Option<PathBuf>> {
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::File::open(copy)?.sync_all()?;
    let old_file = free_name(to);
    let beside = companions(folder, to)?;
    let was_there = to.exists();
    for (file, suffix) in &beside {
        std::fs::rename(file, with_suffix(&old_file, suffix))?;
    }
    // A hard link first, so that a complete database exists at any time. Not every file system has hard links.
    if was_there && std::fs::hard_link(to, &old_file).is_err() {
        std::fs::rename(to, &old_file)?;
    }
    std::fs::rename(copy, to)?;
    std::fs::File::open(folder)?.sync_all()?;
    Ok((was_there || !beside.is_empty()).then_some(old_file))
}

/// The companion files of a database, with their suffixes.
fn companions(folder: &Path, database: &Path) -> io::Result<Vec<(PathBuf, String)>> {
    let own = database.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let suffix = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix(own));
        let belongs = |suffix: &&str| matches!(*suffix, "-wal" | "-shm" | "-journal") || suffix.starts_with("-sent-");
        if let Some(suffix) = suffix.filter(belongs).map(str::to_owned) {
            found.push((path, suffix));
        }
    }
    Ok(found)
}

/// An unused name: `opora.db.before-restore`, `opora.db.before-restore-2`, and so on.
fn free_name(database: &Path) -> PathBuf {
    let first = with_suffix(database, ".before-restore");
    let others = (2..).map(|number: u32| with_suffix(&first, &format!("-{number}")));
    std::iter::once(first.clone()).chain(others).find(|name| !name.exists()).unwrap_or(first)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// Without the settings of a store, so that opening changes nothing.
fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new().filename(path).busy_timeout(BUSY_TIMEOUT).disable_statement_logging()
}

const BUSY: i32 = 5;
const LOCKED: i32 = 6;
const CORRUPT: i32 = 11;
const NOT_A_DATABASE: i32 = 26;

fn kind_of(error: &sqlx::Error) -> Option<i32> {
    let sqlx::Error::Database(database_error) = error else { return None };
    database_error.code()?.parse::<i32>().ok().map(|code| code & 0xff)
}

const IN_USE: &str = "another process has it open: stop the bot and its standbys first";
