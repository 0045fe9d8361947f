//! The sent log, a layer around a store.
//!
//! Settling a send waits for a disk or a server. If the process is killed before that, the next one must not send the
//! message again. So a send is first written to a local file, without a flush: the file survives a killed process, but
//! perhaps not a power cut. Each lease has its own file. The next leader on this machine settles what the file lists,
//! then removes it.
//!
//! SQLite has the files beside the database. PostgreSQL and Redis have them in the `data=` folder, and no log without
//! it. The log is never on the server, because it covers the time until the server answers. A leader on another machine
//! cannot see it, and sends unsettled messages again.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use parking_lot::Mutex;

use self::file::LogFile;
use self::files::{EarlierLogs, Record};
use self::recovery::settle_waiting;
use super::sql::failure::unavailable;
use super::{Answer, Epoch, Holder, Lease, LeaseAnswer, OutboxId, Settled, Store, StoreLayer, StoreResult};
use crate::clock::Millis;

mod file;
mod files;
mod recovery;
#[cfg(test)]
mod tests;

pub(super) use self::files::LogFiles;

/// A store with a sent log.
pub(super) trait Logged: Store {
    /// The log files; none if there is no folder for them.
    fn log_files(&self) -> Option<LogFiles>;

    /// Settles rows that are all in the log. They cannot be lost, so they may wait for other writes.
    fn settle_logged(&self, epoch: Epoch, settled: Vec<Settled>, at: Millis) -> Answer<'_, ()> {
        self.settle(epoch, settled, at)
    }
}

/// The layer that keeps the sent log of a store.
#[derive(Debug)]
pub(super) struct SentLog<S> {
    store: S,
    /// By lease. Never locked during disk access.
    files: Mutex<HashMap<Epoch, Arc<LogFile>>>,
}

impl<S: Logged> SentLog<S> {
    pub(super) fn around(store: S) -> Self {
        Self { store, files: Mutex::default() }
    }

    /// Begins the log of a lease that was just granted, and settles what earlier leaders on this machine have sent and
    /// not settled. Returns the ids that they logged.
    ///
    /// If the folder cannot be used, a warning is logged and the lease stays valid. If the store cannot settle, that is
    /// an error, because everything would be sent again.
    pub(super) async fn begin(&self, bot: i64, epoch: Epoch) -> StoreResult<Vec<OutboxId>> {
        let Some(files) = self.store.log_files() else { return Ok(Vec::new()) };
        let folder = files.folder().display().to_string();
        let (begun, left) = blocking(move || Ok((files.begin(bot, epoch), files.earlier_logs(bot, epoch)))).await?;
        match begun {
            Ok(file) => drop(self.files.lock().insert(epoch, Arc::new(file))),
            Err(error) => tracing::warn!(folder, %error, "cannot log sent messages; a kill would repeat more of them"),
        }
        let EarlierLogs { records, paths } = left.unwrap_or_else(|error| {
            tracing::warn!(folder, %error, "cannot read the log of sent messages; some may be sent again");
            EarlierLogs::default()
        });
        if !records.is_empty() {
            tracing::info!(sends = records.len(), "settling the sent log of an earlier instance");
        }
        let ids = records.iter().map(|record| record.id).collect();
        settle_waiting(&self.store, bot, epoch, records).await?;
        // Earlier leases of this process are over, too.
        self.files.lock().retain(|_, file| !paths.contains(&file.path));
        if let Err(error) = blocking(move || paths.iter().try_for_each(|path| files::remove_if_exists(path))).await {
            tracing::warn!(folder, %error, "cannot remove a log of sent messages that is settled");
        }
        Ok(ids)
    }

    /// Removes the logs of all bots from an epoch on: an older copy of the store gives their numbers again.
    pub(super) async fn forget_from(&self, epoch: Epoch) -> StoreResult<()> {
        let Some(files) = self.store.log_files() else { return Ok(()) };
        blocking(move || files.forget_from(epoch)).await
    }

    fn file(&self, epoch: Epoch) -> Option<Arc<LogFile>> {
        self.files.lock().get(&epoch).cloned()
    }
}

/// Methods of the store that are not in [`Store`].
impl<S> Deref for SentLog<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.store
    }
}

impl<S: Logged> StoreLayer for SentLog<S> {
    fn inner(&self) -> &dyn Store {
        &self.store
    }

    fn claim<'a>(&'a self, bot: i64, holder: &'a Holder, seen: Option<&'a Lease>) -> Answer<'a, LeaseAnswer> {
        Box::pin(async move {
            let answer = self.store.claim(bot, holder, seen).await?;
            if let LeaseAnswer::Granted(epoch) = answer
                && let Err(error) = self.begin(bot, epoch).await
            {
                // If this fails too, the lease expires.
                let _ = self.store.release(bot, epoch).await;
                return Err(error);
            }
            Ok(answer)
        })
    }

    fn log_sent<'a>(&'a self, epoch: Epoch, settled: &'a [Settled]) -> Answer<'a, ()> {
        Box::pin(async move {
            let Some(file) = self.file(epoch) else { return Ok(()) };
            let records: Vec<_> = settled.iter().filter_map(Record::from_settled).collect();
            if records.is_empty() {
                return Ok(());
            }
            blocking(move || file.append(&records)).await
        })
    }

    fn settle(&self, epoch: Epoch, settled: Vec<Settled>, at: Millis) -> Answer<'_, ()> {
        let Some(file) = self.file(epoch) else { return self.store.settle(epoch, settled, at) };
        Box::pin(async move {
            let ids: Vec<_> = settled.iter().map(|settled| settled.id).collect();
            if file.has(&ids) {
                self.store.settle_logged(epoch, settled, at).await?;
            } else {
                self.store.settle(epoch, settled, at).await?;
            }
            file.settled(&ids);
            Ok(())
        })
    }

    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async {
            self.store.close().await?;
            let done: Vec<_> = self.files.lock().extract_if(|_, file| file.is_settled()).collect();
            // A file that cannot be removed now is removed by the next leader.
            blocking(move || {
                for (_, file) in &done {
                    let _ = files::remove_if_exists(&file.path);
                }
                Ok(())
            })
            .await
        })
    }
}

/// Runs file operations on a blocking thread.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> StoreResult<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(unavailable),
        Err(error) => Err(unavailable(error)),
    }
}
