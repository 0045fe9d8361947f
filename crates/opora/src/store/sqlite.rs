//! Conversations in an SQLite file: the store for one machine.
//!
//! A committed turn is on disk (write-ahead log, `synchronous=FULL`). The application's tables can be in the same file
//! and commit with its turns. One connection writes, in groups; reads wait for no writer.
//!
//! It does not support several machines: a file on a network drive is not safe.

use std::path::Path;

use sqlx::{SqliteConnection, SqlitePool};

use self::checkpoint::Checkpoints;
use self::file::DatabaseFile;
use self::opens::LookupConnection;
use self::writer::Writer;
use super::sent_log::{LogFiles, Logged, SentLog};
use super::sql::queue;
use super::sql::store::SqlStore;
use super::sql::writers::Writers;
use super::{Answer, Cleaned, CleaningLimits, Epoch, Settled, Store, StoreLayer, StoreResult};
use crate::clock::Millis;

mod bulk;
mod checkpoint;
mod exclusive;
mod facts;
mod file;
mod opens;
mod reads;
mod restore;
#[cfg(test)]
mod tests;
mod writer;

pub(super) use self::reads::bound;
pub use self::restore::Restored;

/// Stores everything in one SQLite file.
#[derive(Debug)]
pub struct SqliteStore {
    file: DatabaseFile,
    pub(super) sql: SentLog<SqlStore<SqlitePool>>,
}

impl SqliteStore {
    /// Opens a database, and creates it if it is missing: with its folder, and readable by its owner only.
    ///
    /// Tables of an older version are migrated. Tables of a newer version are refused.
    pub async fn open(path: &Path) -> StoreResult<Self> {
        let file = DatabaseFile { path: path.to_owned() };
        let connection = file.open().await?;
        Ok(Self::start(file, connection))
    }

    /// Opens a database for tools beside a bot. Creates and changes nothing.
    ///
    /// Refuses a missing database, and tables of another version: the bot migrates them when it starts, and a tool must
    /// not do that while an older bot runs.
    pub async fn open_existing(path: &Path) -> StoreResult<Self> {
        let file = DatabaseFile { path: path.to_owned() };
        let connection = file.open_existing().await?;
        Ok(Self::start(file, connection))
    }

    /// Replaces a database by a backup. No process may have the database open. The old files are kept under another
    /// name, and the backup is not changed.
    ///
    /// Afterwards no lease is held. Epochs and versions continue above those of the replaced database, if it can be
    /// read.
    pub async fn restore(backup: &Path, to: &Path) -> StoreResult<Restored> {
        restore::restore(backup, to).await
    }

    fn start(file: DatabaseFile, connection: SqliteConnection) -> Self {
        let reads = reads::for_file(&file);
        let checkpoints = Checkpoints::start(reads.0.clone());
        let writer = queue::start(Writer::new(file.clone(), connection, checkpoints));
        let about = format!("in the SQLite file {}: a restart loses nothing", file.path.display());
        let log = Some(LogFiles::beside(&file.path));
        let sql = SqlStore::start(about, Writers::one(writer), LookupConnection::new(file.clone()), reads, log);
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

    fn clean(&self, epoch: Epoch, limits: CleaningLimits) -> Answer<'_, Cleaned> {
        Box::pin(async move {
            let cleaned = self.inner().clean(epoch, limits).await?;
            if cleaned.is_empty() {
                self.file.empty_log().await;
            }
            Ok(cleaned)
        })
    }

    fn forget(&self, bot: i64, user: i64, now: Millis) -> Answer<'_, u64> {
        Box::pin(async move {
            let removed = self.inner().forget(bot, user, now).await?;
            self.file.empty_log().await;
            Ok(removed)
        })
    }

    fn backup<'a>(&'a self, to: &'a Path) -> Answer<'a, ()> {
        Box::pin(self.file.copy_to(to))
    }
}
