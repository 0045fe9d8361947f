//! Conversations in an SQLite file: the store for one machine.
//!
//! What was answered is on the disk (write-ahead log, `synchronous=FULL`), and the application's own tables can lie in
//! the same file and commit with its turns. One connection writes and groups what waits; reads wait for nobody.
//!
//! It does not serve several machines: a file on a network drive is not safe.

use std::path::Path;

use sqlx::{SqliteConnection, SqlitePool};

use self::checkpoint::Checkpoints;
use self::file::DatabaseFile;
use self::opens::Finder;
use self::writer::Writer;
use super::sent_log::{LogFiles, Logged, SentLog};
use super::sql::queue;
use super::sql::store::SqlStore;
use super::sql::writers::Writers;
use super::{Answer, Bounds, Cleaned, Epoch, Settled, Store, StoreLayer, StoreResult};
use crate::clock::Millis;

mod alone;
mod bulk;
mod checkpoint;
mod facts;
mod file;
mod opens;
mod reads;
mod restore;
mod schema;
#[cfg(test)]
mod tests;
mod writer;

#[cfg(feature = "redis")]
pub(super) use self::reads::bound;
pub use self::restore::Restored;

/// Keeps everything in one SQLite file.
#[derive(Debug)]
pub struct SqliteStore {
    file: DatabaseFile,
    pub(super) sql: SentLog<SqlStore<SqlitePool>>,
}

impl SqliteStore {
    /// Opens a database, and makes it if it is missing: readable by its owner alone, with its folder.
    ///
    /// Tables of an older version are brought up to date; those of a newer one are refused.
    pub async fn open(path: &Path) -> StoreResult<Self> {
        let file = DatabaseFile { path: path.to_owned() };
        let connection = file.open().await?;
        Ok(Self::start(file, connection))
    }

    /// Opens a database as it is, for tools beside a bot: nothing is made, and no tables are changed.
    ///
    /// One that is missing, or whose tables are of another version, is refused: the bot's own start brings them up to
    /// date, and a tool must not do it beneath an older bot that still runs.
    pub async fn open_existing(path: &Path) -> StoreResult<Self> {
        let file = DatabaseFile { path: path.to_owned() };
        let connection = file.open_existing().await?;
        Ok(Self::start(file, connection))
    }

    /// Puts a backup in the place of a database, which nobody may have open. What was there, with all that a killed process
    /// has left beside it, is kept under another name; the backup stays as it is.
    ///
    /// Leases are nobody's then. Epochs and versions go on above those of what was there, where it can be read.
    pub async fn restore(backup: &Path, to: &Path) -> StoreResult<Restored> {
        restore::restore(backup, to).await
    }

    fn start(file: DatabaseFile, connection: SqliteConnection) -> Self {
        let reads = reads::of(&file);
        let checkpoints = Checkpoints::start(reads.0.clone());
        let writer = queue::start(Writer::new(file.clone(), connection, checkpoints));
        let about = format!("in the SQLite file {}: a restart loses nothing", file.path.display());
        let log = Some(LogFiles::beside(&file.path));
        let sql = SqlStore::start(about, Writers::one(writer), Finder::of(file.clone()), reads, log);
        Self { sql: SentLog::around(sql), file }
    }
}

impl Logged for SqlStore<SqlitePool> {
    fn log_files(&self) -> Option<LogFiles> {
        self.log.clone()
    }

    fn settle_logged(&self, epoch: Epoch, settled: Vec<Settled>, at: Millis) -> Answer<'_, ()> {
        Box::pin(self.settle_or_wait(epoch, settled, at, true))
    }
}

impl StoreLayer for SqliteStore {
    fn inner(&self) -> &dyn Store {
        &self.sql
    }

    fn clean(&self, epoch: Epoch, bounds: Bounds) -> Answer<'_, Cleaned> {
        Box::pin(async move {
            let cleaned = self.inner().clean(epoch, bounds).await?;
            if cleaned.nothing() {
                self.file.empty_log().await;
            }
            Ok(cleaned)
        })
    }

    fn forget(&self, bot: i64, user: i64, now: Millis) -> Answer<'_, u64> {
        Box::pin(async move {
            let gone = self.inner().forget(bot, user, now).await?;
            self.file.empty_log().await;
            Ok(gone)
        })
    }

    fn backup<'a>(&'a self, to: &'a Path) -> Answer<'a, ()> {
        Box::pin(self.file.copy_to(to))
    }
}
