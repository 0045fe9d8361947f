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
use std::time::Duration;

use parking_lot::Mutex;

use super::hash::hash_of;
use super::sql::failure::unavailable;
use super::{Epoch, OutboxId, Settled, Settlement, Store, StoreError, StoreResult};
use crate::clock::Millis;

/// A file with more numbers is written anew with those that still matter.
const LONGEST: usize = 1 << 13;
/// So many of what was left are settled in one step.
const BATCH: usize = 1000;
/// How often that is tried, and the pause in between: shorter than a lease, longer than a connection that broke takes.
const TRIES: usize = 4;
const PAUSE: Duration = Duration::from_millis(300);
/// Ends the name of a file that is being written anew.
const UNFINISHED: &str = ".new";

/// The notes of this process.
#[derive(Debug, Default)]
pub(super) struct SentNotes(Arc<Terms>);

/// By lease. Nobody waits for a disk while it is locked.
type Terms = Mutex<HashMap<Epoch, Arc<Notes>>>;

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

/// What the name of a file says.
#[derive(Clone, Copy, Debug)]
struct Named {
    epoch: i64,
    is_of_this_life: bool,
    is_whole: bool,
}

/// The notes of one lease.
#[derive(Debug)]
struct Notes {
    path: PathBuf,
    /// Locked while the disk is waited for, so never by the runtime's own threads.
    file: Mutex<NoteFile>,
    unsettled: Mutex<HashSet<i64>>,
}

#[derive(Debug, Default)]
struct NoteFile {
    /// Made with the first number.
    file: Option<File>,
    written: usize,
    /// A write has failed in the middle: what follows would be read as other numbers.
    is_torn: bool,
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

    /// What a file's name says; none if it is another's.
    fn named(&self, path: &Path) -> Option<Named> {
        let (own, name) = (self.stem.file_name()?.to_str()?, path.file_name()?.to_str()?);
        let rest = name.strip_prefix(own)?.strip_prefix("-sent-")?;
        let (rest, is_whole) = rest.strip_suffix(UNFINISHED).map_or((rest, true), |rest| (rest, false));
        let Some(life) = self.life else {
            return Some(Named { epoch: rest.parse().ok()?, is_of_this_life: true, is_whole });
        };
        let (of, epoch) = rest.split_once('-')?;
        let is_of_this_life = u64::from_str_radix(of, 16).ok()? == life;
        Some(Named { epoch: epoch.parse().ok()?, is_of_this_life, is_whole })
    }

    fn folder(&self) -> &Path {
        self.stem.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    /// The leases of which there are files.
    pub(super) fn epochs(&self) -> io::Result<HashSet<i64>> {
        Ok(self.files()?.into_iter().map(|(_, named)| named.epoch).collect())
    }

    fn files(&self) -> io::Result<Vec<(PathBuf, Named)>> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(self.folder())? {
            let path = entry?.path();
            if let Some(named) = self.named(&path) {
                files.push((path, named));
            }
        }
        Ok(files)
    }

    /// Reads what was left under leases that are over. Of another life nothing is believed.
    fn left(&self, is_over: impl Fn(i64) -> bool) -> io::Result<LeftNotes> {
        let mut left = LeftNotes::default();
        for (path, named) in self.files()? {
            if named.is_of_this_life && !is_over(named.epoch) {
                continue;
            }
            if named.is_of_this_life && named.is_whole {
                let bytes = std::fs::read(&path)?;
                // A number that was cut off in the middle is not one.
                left.ids.extend(bytes.as_chunks().0.iter().map(|number| i64::from_le_bytes(*number)));
            }
            left.files.push(path);
        }
        Ok(left)
    }
}

/// Removes the notes of a store's leases from one on, of all its bots: an older copy of its data gives their numbers again.
pub(super) async fn forget_from(folder: &Path, store: &str, generation: &str, epoch: Epoch) -> StoreResult<()> {
    let (folder, prefix) = (folder.to_owned(), format!("{store}-"));
    let life = hash_of(generation.as_bytes());
    blocking(move || {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            let bot = path.file_name().and_then(|name| name.to_str()?.strip_prefix(&prefix)?.split_once("-sent-"));
            let Some((bot, _)) = bot else { continue };
            let notebook = Notebook { stem: folder.join(format!("{prefix}{bot}")), life: Some(life) };
            if notebook.named(&path).is_some_and(|named| named.is_of_this_life && named.epoch >= epoch.0) {
                remove(&path)?;
            }
        }
        Ok(())
    })
    .await
}

impl SentNotes {
    /// Begins the notes of a lease that was just granted, and settles what earlier holders have sent and had no time to
    /// settle. Answers what that was. A folder that cannot be used is told, and the lease is as good; a store that does not
    /// settle is an error, for all of it would be sent again.
    pub(super) async fn take_up(
        &self,
        notebook: Notebook,
        epoch: Epoch,
        is_over: impl Fn(i64) -> bool + Send + 'static,
        store: &dyn Store,
    ) -> StoreResult<Vec<OutboxId>> {
        let (terms, folder) = (Arc::clone(&self.0), notebook.folder().display().to_string());
        let (begun, left) = blocking(move || Ok((begin(&terms, &notebook, epoch), notebook.left(is_over)))).await?;
        if let Err(error) = begun {
            tracing::warn!(folder, %error, "what is sent cannot be noted there; a kill would repeat more of it");
        }
        let LeftNotes { ids, files } = left.unwrap_or_else(|error| {
            tracing::warn!(folder, %error, "cannot read what was sent before; some messages may be sent again");
            LeftNotes::default()
        });
        let ids: Vec<_> = ids.into_iter().map(OutboxId).collect();
        if !ids.is_empty() {
            tracing::info!(sends = ids.len(), "an earlier instance ended and has noted what it had sent");
        }
        for some in ids.chunks(BATCH) {
            settle(store, epoch, some).await?;
        }
        if let Err(error) = self.forget(files).await {
            tracing::warn!(folder, %error, "notes that are settled cannot be removed");
        }
        Ok(ids)
    }

    /// Removes files that have served. Earlier leases of this process are over, too.
    async fn forget(&self, files: Vec<PathBuf>) -> StoreResult<()> {
        self.0.lock().retain(|_, notes| !files.contains(&notes.path));
        blocking(move || files.iter().try_for_each(|file| remove(file))).await
    }

    /// Notes that these were sent; nothing where no notes are kept under this lease.
    pub(super) async fn note(&self, epoch: Epoch, ids: Vec<OutboxId>) -> StoreResult<()> {
        let Some(notes) = self.of(epoch) else { return Ok(()) };
        blocking(move || notes.add(&numbers(&ids))).await
    }

    /// Whether all of these were noted: then an end of this process cannot take them back.
    pub(super) fn has(&self, epoch: Epoch, ids: &[OutboxId]) -> bool {
        self.of(epoch).is_some_and(|notes| {
            let unsettled = notes.unsettled.lock();
            ids.iter().all(|id| unsettled.contains(&id.0))
        })
    }

    /// The store knows these now.
    pub(super) fn settled(&self, epoch: Epoch, ids: &[OutboxId]) {
        if let Some(notes) = self.of(epoch) {
            let mut unsettled = notes.unsettled.lock();
            for id in ids {
                unsettled.remove(&id.0);
            }
        }
    }

    /// Removes the files in which nothing matters any more.
    pub(super) async fn tidy(&self) -> StoreResult<()> {
        let mut done = Vec::new();
        self.0.lock().retain(|_, notes| {
            let is_needed = !notes.unsettled.lock().is_empty();
            if !is_needed {
                done.push(notes.path.clone());
            }
            is_needed
        });
        // What stays, the next holder of the lease removes.
        blocking(move || {
            for file in &done {
                let _ = remove(file);
            }
            Ok(())
        })
        .await
    }

    fn of(&self, epoch: Epoch) -> Option<Arc<Notes>> {
        self.0.lock().get(&epoch).cloned()
    }
}

/// Begins the notes of a lease. A file that is there already is from another store that lay here.
fn begin(terms: &Terms, notebook: &Notebook, epoch: Epoch) -> io::Result<()> {
    std::fs::create_dir_all(notebook.folder())?;
    let path = notebook.path(epoch);
    remove(&path)?;
    let notes = Notes { path, file: Mutex::default(), unsettled: Mutex::default() };
    terms.lock().insert(epoch, Arc::new(notes));
    Ok(())
}

/// Settles what was sent before. A connection that breaks just now must not make all of it come again.
async fn settle(store: &dyn Store, epoch: Epoch, ids: &[OutboxId]) -> StoreResult<()> {
    let sent = |id: &OutboxId| Settled { id: *id, outcome: Settlement::Sent { labelled: None } };
    for _ in 1..TRIES {
        match store.settle(epoch, ids.iter().map(sent).collect(), Millis::default()).await {
            Err(StoreError::Unavailable(_)) => tokio::time::sleep(PAUSE).await,
            answer => return answer,
        }
    }
    store.settle(epoch, ids.iter().map(sent).collect(), Millis::default()).await
}

/// What a lease begins with. If that fails the lease is given back, and if that fails too, it runs out.
pub(super) async fn or_release<T>(store: &dyn Store, bot: i64, epoch: Epoch, begun: StoreResult<T>) -> StoreResult<T> {
    if begun.is_err() {
        let _ = store.release(bot, epoch).await;
    }
    begun
}

impl Notes {
    /// Blocks for as long as the system takes to copy them.
    fn add(&self, ids: &[i64]) -> io::Result<()> {
        let mut file = self.file.lock();
        if file.is_torn || file.written + ids.len() > LONGEST {
            let mut all = self.unsettled.lock().clone();
            all.extend(ids);
            file.write_anew(&self.path, &all)?;
        } else {
            file.append(&self.path, ids)?;
        }
        self.unsettled.lock().extend(ids);
        Ok(())
    }
}

impl NoteFile {
    fn append(&mut self, path: &Path, ids: &[i64]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            file => file.insert(private().append(true).open(path)?),
        };
        self.is_torn = true;
        file.write_all(&bytes(ids.iter()))?;
        (self.is_torn, self.written) = (false, self.written + ids.len());
        Ok(())
    }

    /// Replaces the file by one with what still matters; there is a whole one at any time.
    fn write_anew(&mut self, path: &Path, ids: &HashSet<i64>) -> io::Result<()> {
        let mut new = path.to_owned().into_os_string();
        new.push(UNFINISHED);
        let mut file = private().write(true).truncate(true).open(&new)?;
        file.write_all(&bytes(ids.iter()))?;
        std::fs::rename(&new, path)?;
        *self = Self { file: Some(file), written: ids.len(), is_torn: false };
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
