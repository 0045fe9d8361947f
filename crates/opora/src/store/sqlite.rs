//! Conversations in an SQLite file: the store for one machine.
//!
//! What was answered is on the disk (write-ahead log, `synchronous=FULL`), and the application's own tables can lie in
//! the same file and commit with its turns. One connection writes and groups what waits; reads wait for nobody.
//!
//! It does not serve several machines: a file on a network drive is not safe.

use std::io;
use std::path::Path;
use std::sync::Arc;

use sqlx::{SqliteConnection, SqlitePool};

use self::checkpoint::Checkpoints;
use self::file::DatabaseFile;
use self::opens::Finder;
use self::sent::{LeftNotes, SentNotes};
use self::writer::Writer;
use super::sql::failure::unavailable;
use super::sql::queue;
use super::sql::reads::Reads;
use super::sql::store::SqlStore;
use super::sql::writers::Writers;
use super::{
    Answer, DomainWrites, Epoch, Holder, Lease, LeaseAnswer, OutboxId, Outgoing, Parked, SetAside, Settled, Settlement,
    Store, StoreLayer, StoreResult, Taken,
};
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
mod sent;
#[cfg(test)]
mod tests;
mod writer;

pub(super) use self::reads::bound;
pub use self::restore::Restored;

/// Keeps everything in one SQLite file.
#[derive(Debug)]
pub struct SqliteStore {
    file: DatabaseFile,
    sql: SqlStore<SqlitePool>,
    sent: Arc<SentNotes>,
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
        Self {
            sql: SqlStore::start(about, Writers::one(writer), Finder::of(file.clone()), reads),
            sent: Arc::new(SentNotes::beside(&file.path)),
            file,
        }
    }

    /// Parks, and writes something more in the same step.
    pub(super) async fn park_with(
        &self,
        epoch: Epoch,
        taken: Vec<Taken>,
        parked: Parked,
        outgoing: Vec<Outgoing>,
        writes: DomainWrites,
    ) -> StoreResult<SetAside> {
        self.sql.park_with(epoch, taken, parked, outgoing, Some(writes)).await
    }

    /// The connections that read.
    pub(super) fn reads(&self) -> &Reads<SqlitePool> {
        &self.sql.reads
    }

    /// Settles what earlier holders have sent and had no time to settle.
    async fn settle_left(&self, epoch: Epoch) -> StoreResult<()> {
        let (held, notes) = (self.sql.reads.held_epochs().await?, Arc::clone(&self.sent));
        let left = move || {
            notes.begin(epoch)?;
            notes.left(&held)
        };
        let LeftNotes { ids, files } = blocking(left).await?;
        if !ids.is_empty() {
            tracing::info!(sends = ids.len(), "an earlier instance ended before it could settle what it had sent");
            let outcome = Settlement::Sent { labelled: None };
            let settled = ids.into_iter().map(|id| Settled { id: OutboxId(id), outcome: outcome.clone() }).collect();
            self.sql.settle(epoch, settled, Millis::default()).await?;
        }
        blocking(move || files.iter().try_for_each(std::fs::remove_file)).await
    }
}

impl StoreLayer for SqliteStore {
    fn inner(&self) -> &dyn Store {
        &self.sql
    }

    fn claim<'a>(&'a self, bot: i64, holder: &'a Holder, seen: Option<&'a Lease>) -> Answer<'a, LeaseAnswer> {
        Box::pin(async move {
            let answer = self.sql.claim(bot, holder, seen).await?;
            if let LeaseAnswer::Granted(epoch) = answer
                && let Err(error) = self.settle_left(epoch).await
            {
                tracing::warn!(%error, "cannot read what was sent before; some messages may be sent again");
            }
            Ok(answer)
        })
    }

    fn note_sent(&self, epoch: Epoch, ids: Vec<OutboxId>) -> Answer<'_, ()> {
        let notes = Arc::clone(&self.sent);
        let ids: Vec<_> = ids.into_iter().map(|id| id.0).collect();
        Box::pin(blocking(move || notes.note(epoch, &ids)))
    }

    fn settle(&self, epoch: Epoch, settled: Vec<Settled>, at: Millis) -> Answer<'_, ()> {
        let ids: Vec<_> = settled.iter().map(|settled| settled.id.0).collect();
        Box::pin(async move {
            let is_noted = self.sent.has(epoch, ids.iter().copied());
            self.sql.settle_noted(epoch, settled, at, is_noted).await?;
            self.sent.settled(epoch, &ids);
            Ok(())
        })
    }

    fn backup<'a>(&'a self, to: &'a Path) -> Answer<'a, ()> {
        Box::pin(self.file.copy_to(to))
    }

    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async {
            self.sql.close().await?;
            let notes = Arc::clone(&self.sent);
            blocking(move || {
                notes.tidy();
                Ok(())
            })
            .await
        })
    }
}

/// Works with files where that may block.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> StoreResult<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(unavailable),
        Err(error) => Err(unavailable(error)),
    }
}
