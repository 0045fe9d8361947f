//! What was sent, noted at once in a file on this machine.
//!
//! Settling a send waits for a disk or for a server, but an end of this process must not make the next one send again. So the
//! numbers go into a plain file first, written and not flushed: a killed process has said them, a machine without power
//! may not have. There is one file for each lease; the next holder on this machine settles what it says and removes it.
//!
//! A file is believed only by the store that it is of: its name says which one, and which life of it.

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::hash::hash_of;
use super::sql::failure::unavailable;
use super::{Epoch, OutboxId, Settled, Settlement, Store, StoreResult};
use crate::clock::Millis;

/// A file with more numbers is written anew with those that still matter.
const LONGEST: usize = 1 << 13;
/// So many of what was left are settled in one step.
const BATCH: usize = 1000;

/// The notes of this process.
#[derive(Debug, Default)]
pub(super) struct SentNotes(Arc<Mutex<HashMap<Epoch, Arc<Mutex<Notes>>>>>);

/// How the files of a store are named.
#[derive(Clone, Debug)]
pub(super) struct Notebook {
    /// All names begin with it.
    stem: PathBuf,
    /// Tells apart what was made anew at the same place, where that may happen unseen.
    life: Option<u64>,
}

/// What others have left.
#[derive(Debug, Default)]
struct LeftNotes {
    ids: Vec<i64>,
    files: Vec<PathBuf>,
}

/// The notes of one lease.
#[derive(Debug)]
struct Notes {
    path: PathBuf,
    /// Made with the first number.
    file: Option<File>,
    written: usize,
    unsettled: HashSet<i64>,
}

impl Notebook {
    /// Beside a database file, for all its bots.
    pub(super) fn beside(database: &Path) -> Self {
        Self { stem: database.to_owned(), life: None }
    }

    /// In a folder, for one bot of a store that is on a server.
    pub(super) fn of_bot(folder: &Path, store: &str, bot: i64, generation: &str) -> Self {
        Self { stem: folder.join(format!("{store}-{bot}")), life: Some(hash_of(generation.as_bytes())) }
    }

    fn path(&self, epoch: Epoch) -> PathBuf {
        let life = self.life.map(|life| format!("{life:016x}-")).unwrap_or_default();
        let mut name = self.stem.clone().into_os_string();
        name.push(format!("-sent-{life}{}", epoch.0));
        name.into()
    }

    /// The epoch of a file, and whether it is of this life; none if it is another's.
    fn epoch_of(&self, path: &Path) -> Option<(i64, bool)> {
        let (own, name) = (self.stem.file_name()?.to_str()?, path.file_name()?.to_str()?);
        let rest = name.strip_prefix(own)?.strip_prefix("-sent-")?;
        let Some(life) = self.life else { return Some((rest.parse().ok()?, true)) };
        let (of, epoch) = rest.split_once('-')?;
        Some((epoch.parse().ok()?, u64::from_str_radix(of, 16).ok()? == life))
    }

    fn folder(&self) -> &Path {
        self.stem.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    /// Reads what was left under leases that are over. Of another life nothing is believed.
    fn left(&self, is_over: impl Fn(i64) -> bool) -> io::Result<LeftNotes> {
        let mut left = LeftNotes::default();
        for entry in std::fs::read_dir(self.folder())? {
            let path = entry?.path();
            let Some((epoch, is_of_this_life)) = self.epoch_of(&path) else { continue };
            if is_of_this_life && !is_over(epoch) {
                continue;
            }
            if is_of_this_life {
                let bytes = std::fs::read(&path)?;
                // A number that was cut off in the middle is not one.
                left.ids.extend(bytes.as_chunks().0.iter().map(|number| i64::from_le_bytes(*number)));
            }
            left.files.push(path);
        }
        Ok(left)
    }
}

impl SentNotes {
    /// Begins the notes of a lease that was just granted, and settles what earlier holders have sent and had no time to
    /// settle. Answers what that was; if it fails, some of it is sent again, and the lease is as good.
    pub(super) async fn take_up(
        &self,
        notebook: Notebook,
        epoch: Epoch,
        is_over: impl Fn(i64) -> bool + Send + 'static,
        store: &dyn Store,
    ) -> Vec<OutboxId> {
        match self.settle_left(notebook, epoch, is_over, store).await {
            Ok(ids) => ids,
            Err(error) => {
                tracing::warn!(%error, "cannot read what was sent before; some messages may be sent again");
                Vec::new()
            }
        }
    }

    async fn settle_left(
        &self,
        notebook: Notebook,
        epoch: Epoch,
        is_over: impl Fn(i64) -> bool + Send + 'static,
        store: &dyn Store,
    ) -> StoreResult<Vec<OutboxId>> {
        let terms = Arc::clone(&self.0);
        let LeftNotes { ids, files } = blocking(move || {
            begin(&terms, &notebook, epoch)?;
            notebook.left(is_over)
        })
        .await?;
        let ids: Vec<_> = ids.into_iter().map(OutboxId).collect();
        if !ids.is_empty() {
            tracing::info!(sends = ids.len(), "an earlier instance ended and has noted what it had sent");
        }
        for some in ids.chunks(BATCH) {
            let sent = |id: &OutboxId| Settled { id: *id, outcome: Settlement::Sent { labelled: None } };
            store.settle(epoch, some.iter().map(sent).collect(), Millis::default()).await?;
        }
        let terms = Arc::clone(&self.0);
        blocking(move || {
            // An earlier lease of this process is over, too.
            terms.lock().retain(|_, notes| !files.contains(&notes.lock().path));
            files.iter().try_for_each(|file| remove(file))
        })
        .await?;
        Ok(ids)
    }

    /// Notes that these were sent; nothing where no notes are kept under this lease.
    pub(super) async fn note(&self, epoch: Epoch, ids: Vec<OutboxId>) -> StoreResult<()> {
        let Some(notes) = self.of(epoch) else { return Ok(()) };
        blocking(move || notes.lock().add(&numbers(&ids))).await
    }

    /// Whether all of these were noted: then an end of this process cannot take them back.
    pub(super) fn has(&self, epoch: Epoch, ids: &[OutboxId]) -> bool {
        self.of(epoch).is_some_and(|notes| {
            let notes = notes.lock();
            ids.iter().all(|id| notes.unsettled.contains(&id.0))
        })
    }

    /// The store knows these now.
    pub(super) fn settled(&self, epoch: Epoch, ids: &[OutboxId]) {
        if let Some(notes) = self.of(epoch) {
            let mut notes = notes.lock();
            for id in ids {
                notes.unsettled.remove(&id.0);
            }
        }
    }

    /// Removes the files in which nothing matters any more.
    pub(super) async fn tidy(&self) -> StoreResult<()> {
        let terms = Arc::clone(&self.0);
        blocking(move || {
            terms.lock().retain(|_, notes| {
                let notes = notes.lock();
                let is_needed = !notes.unsettled.is_empty();
                if !is_needed {
                    // If it stays, the next holder of the lease removes it.
                    let _ = std::fs::remove_file(&notes.path);
                }
                is_needed
            });
            Ok(())
        })
        .await
    }

    fn of(&self, epoch: Epoch) -> Option<Arc<Mutex<Notes>>> {
        self.0.lock().get(&epoch).cloned()
    }
}

/// Begins the notes of a lease. A file that is there already is from another store that lay here.
fn begin(terms: &Mutex<HashMap<Epoch, Arc<Mutex<Notes>>>>, notebook: &Notebook, epoch: Epoch) -> io::Result<()> {
    std::fs::create_dir_all(notebook.folder())?;
    let path = notebook.path(epoch);
    remove(&path)?;
    let notes = Notes { path, file: None, written: 0, unsettled: HashSet::new() };
    terms.lock().insert(epoch, Arc::new(Mutex::new(notes)));
    Ok(())
}

impl Notes {
    /// Blocks for as long as the system takes to copy them.
    fn add(&mut self, ids: &[i64]) -> io::Result<()> {
        self.unsettled.extend(ids);
        if self.written + ids.len() > LONGEST {
            return self.write_anew();
        }
        let file = match &mut self.file {
            Some(file) => file,
            file => file.insert(private().append(true).open(&self.path)?),
        };
        file.write_all(&bytes(ids.iter()))?;
        self.written += ids.len();
        Ok(())
    }

    /// Replaces the file by one with what still matters; there is a whole one at any time.
    fn write_anew(&mut self) -> io::Result<()> {
        let mut path = self.path.clone().into_os_string();
        path.push(".new");
        let mut file = private().write(true).truncate(true).open(&path)?;
        file.write_all(&bytes(self.unsettled.iter()))?;
        std::fs::rename(&path, &self.path)?;
        (self.file, self.written) = (Some(file), self.unsettled.len());
        Ok(())
    }
}

/// Removes a file, if nobody else has.
fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn numbers(ids: &[OutboxId]) -> Vec<i64> {
    ids.iter().map(|id| id.0).collect()
}

fn bytes<'a>(ids: impl Iterator<Item = &'a i64>) -> Vec<u8> {
    ids.flat_map(|id| id.to_le_bytes()).collect()
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Works with files where that may block.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> StoreResult<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(unavailable),
        Err(error) => Err(unavailable(error)),
    }
}

#[cfg(test)]
mod tests;
