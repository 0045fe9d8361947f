//! Puts a backup in the place of a database.
//!
//! What a killed process leaves beside its database belongs to that one alone: SQLite would apply the log to whatever file
//! lies there. So the log is brought home first, and what was there is kept whole under another name.
//!
//! A backup is older than what it replaces, but no number may be given twice: a new message would have that of one which was
//! sent, and an old button would fit a new question. So epochs and versions go on above those of what was there.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use super::file::{create_private, failed};
use super::schema;
use crate::store::StoreResult;
use crate::store::sent_log::blocking;
use crate::store::sql::failure::unavailable;

/// How long is waited for whoever is about to let go of the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// Where what was there cannot be read, so many epochs more than the backup knew are taken for given.
const EPOCHS: i64 = 1024;

/// What a restored database has replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// Where what was there lies now; none if there was nothing.
    pub kept: Option<PathBuf>,
    /// Whether it could be read: else versions go back to what the backup knew.
    pub was_readable: bool,
}

pub(super) async fn restore(backup: &Path, to: &Path) -> StoreResult<Restored> {
    let copy = with_suffix(to, "-restoring");
    // Remains of an attempt that was cut off.
    let _ = tokio::fs::remove_file(&copy).await;
    let done = async {
        copy_of(backup, &copy).await?;
        // A database whose pages are damaged may be found out only when it is read.
        let was_readable = to.exists() && fold(to).await? && go_on(&copy, Some(to)).await.is_ok();
        if !was_readable {
            go_on(&copy, None).await?;
        }
        let place = to.to_owned();
        let copy = copy.clone();
        let kept = blocking(move || put_in_place(&copy, &place)).await?;
        Ok(Restored { was_readable: was_readable || kept.is_none(), kept })
    };
    let done = done.await;
    if done.is_err() {
        // It is ours, made above.
        let _ = tokio::fs::remove_file(&copy).await;
    }
    done
}

/// Copies a backup, if it is one; the backup itself is not touched.
async fn copy_of(backup: &Path, copy: &Path) -> StoreResult<()> {
    let cannot_read = |error: sqlx::Error| failed("read", backup, in_words(&error));
    let options = options(backup).read_only(true);
    let mut connection = options.connect().await.map_err(cannot_read)?;
    let found = sqlx::query_scalar("PRAGMA quick_check(1)").fetch_one(&mut connection).await;
    let found: String = found.map_err(cannot_read)?;
    if found != "ok" {
        return Err(failed("read", backup, found));
    }
    schema::check_not_newer(&mut connection).await?;
    let name = copy.to_str().ok_or_else(|| failed("write", copy, "its name is not UTF-8".to_owned()))?;
    create_private(copy).await.map_err(|error| failed("write", copy, error.to_string()))?;
    let copied = sqlx::query("VACUUM INTO ?1").bind(name).execute(&mut connection).await;
    copied.map_err(|error| failed("write", copy, in_words(&error)))?;
    connection.close().await.map_err(unavailable)
}

/// Brings the log of a database home, so that it is one file; false if it cannot be read. Refused while anybody has it
/// open.
async fn fold(database: &Path) -> StoreResult<bool> {
    let folded = async {
        let mut connection = options(database).connect().await?;
        // Only who is alone with a database may end its log.
        let mode: String = sqlx::query_scalar("PRAGMA journal_mode = DELETE").fetch_one(&mut connection).await?;
        connection.close().await?;
        Ok(mode == "delete")
    };
    match folded.await {
        Ok(true) => Ok(true),
        Ok(false) => Err(failed("replace", database, IN_USE.to_owned())),
        Err(error) => match kind_of(&error) {
            Some(BUSY | LOCKED) => Err(failed("replace", database, IN_USE.to_owned())),
            Some(CORRUPT | NOT_A_DATABASE) => Ok(false),
            _ => Err(failed("replace", database, in_words(&error))),
        },
    }
}

/// Lets the copy go on above all numbers that were given, and lets nobody hold its leases.
async fn go_on(copy: &Path, former: Option<&Path>) -> StoreResult<()> {
    let done = async {
        let mut connection = options(copy).connect().await?;
        sqlx::query("UPDATE opora_leases SET holder = NULL").execute(&mut connection).await?;
        let mut epoch: i64 = sqlx::query_scalar(LAST_EPOCH).fetch_one(&mut connection).await?;
        if let Some(former) = former {
            sqlx::query("ATTACH DATABASE ?1 AS former").bind(former.to_str()).execute(&mut connection).await?;
            // Another database may have lain there, which knows nothing of conversations.
            if has_tables(&mut connection).await? {
                epoch = epoch.max(sqlx::query_scalar(FORMER_EPOCH).fetch_one(&mut connection).await?);
                sqlx::query(RAISE_VERSIONS).execute(&mut connection).await?;
                sqlx::query(RAISE_FLOOR).execute(&mut connection).await?;
            }
        } else {
            epoch += EPOCHS;
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

/// Conversations that the backup does not know begin above every version that there was.
const RAISE_FLOOR: &str = "
UPDATE opora_version_floor SET floor = max(
    floor, (SELECT max(floor) FROM former.opora_version_floor),
    (SELECT coalesce(max(version), 0) FROM former.opora_conversations))";

/// Moves what was there away, with all that belongs to it, and the copy into its place.
fn put_in_place(copy: &Path, to: &Path) -> io::Result<Option<PathBuf>> {
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::File::open(copy)?.sync_all()?;
    let kept = free_name(to);
    let beside = companions(folder, to)?;
    let was_there = to.exists();
    for (file, suffix) in &beside {
        std::fs::rename(file, with_suffix(&kept, suffix))?;
    }
    // A second name first: so there is a whole database in its place at any time. Not every drive has such names.
    if was_there && std::fs::hard_link(to, &kept).is_err() {
        std::fs::rename(to, &kept)?;
    }
    std::fs::rename(copy, to)?;
    std::fs::File::open(folder)?.sync_all()?;
    Ok((was_there || !beside.is_empty()).then_some(kept))
}

/// The files that belong to a database, and how their names go on behind its own.
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

/// A name that nothing has: `opora.db.before-restore`, `opora.db.before-restore-2`, and so on.
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

/// As it is, without the settings of a store: nothing of the file is changed by opening it.
fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new().filename(path).busy_timeout(BUSY_TIMEOUT).disable_statement_logging()
}

const BUSY: i32 = 5;
const LOCKED: i32 = 6;
const CORRUPT: i32 = 11;
const NOT_A_DATABASE: i32 = 26;

/// SQLite's own number of an error, without what is more exactly about it.
fn kind_of(error: &sqlx::Error) -> Option<i32> {
    let sqlx::Error::Database(said) = error else { return None };
    said.code()?.parse::<i32>().ok().map(|code| code & 0xff)
}

fn in_words(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(said) => said.message().to_owned(),
        other => other.to_string(),
    }
}

const IN_USE: &str = "another process has it open: stop the bot and all that stand by for it first";
