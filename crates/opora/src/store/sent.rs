//! What was sent, noted at once in a file on this machine.
//!
//! Settling a send waits for a disk or for a server, but an end of this process must not make the next one send again. So the
//! numbers go into a plain file first, written and not flushed: a killed process has said them, a machine without power
//! may not have. There is one file for each lease; the next holder on this machine settles what it says and removes it. What
//! was sent under a label is noted in a second one, with the message that it became: edits ask for that by the label.
//!
//! A file is believed only by the store that it is of: its name says which one, and which life of it.

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use self::left::{sent, settle, settle_labelled};
use super::hash::hash_of;
use super::sql::failure::unavailable;
use super::{Epoch, OutboxId, Store, StoreResult};
use crate::clock::Millis;

mod left;
#[cfg(test)]
mod tests;

/// A file with more numbers is written anew with those that still matter.
const LONGEST: usize = 1 << 13;
/// So many of what was left are settled in one step.
const BATCH: usize = 1000;
/// Ends the name of a file that is being written anew.
const UNFINISHED: &str = ".new";
/// Stands in the name of a file about labelled messages, before the bot whose they are.
const LABELLED: &str = ".labelled-";

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
    plain: Vec<Plain>,
    labelled: Vec<Labelled>,
    files: Vec<PathBuf>,
}

/// What a note says: numbers, of which the first is the row's.
type Note<const N: usize> = [i64; N];
/// The row.
type Plain = Note<1>;
/// The row and the message.
type Labelled = Note<2>;

/// What the name of a file says.
#[derive(Clone, Copy, Debug)]
struct Named {
    epoch: i64,
    is_of_this_life: bool,
    is_whole: bool,
    /// The bot, if it is about labelled messages.
    labelled_of: Option<i64>,
}

/// The notes of one lease.
#[derive(Debug)]
struct Notes {
    plain: Page<1>,
    labelled: Page<2>,
}

/// Notes of one form.
#[derive(Debug)]
struct Page<const N: usize> {
    path: PathBuf,
    /// Locked while the disk is waited for, so never by the runtime's own threads.
    file: Mutex<NoteFile>,
    unsettled: Mutex<HashMap<i64, Note<N>>>,
}

#[derive(Debug, Default)]
struct NoteFile {
    /// Made with the first note.
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

    /// Labels are a bot's own, so the name says whose they are.
    fn labelled_path(&self, bot: i64, epoch: Epoch) -> PathBuf {
        let mut name = self.path(epoch).into_os_string();
        name.push(format!("{LABELLED}{bot}"));
        name.into()
    }

    /// What a file's name says; none if it is another's.
    fn named(&self, path: &Path) -> Option<Named> {
        let (own, name) = (self.stem.file_name()?.to_str()?, path.file_name()?.to_str()?);
        let rest = name.strip_prefix(own)?.strip_prefix("-sent-")?;
        let (rest, is_whole) = rest.strip_suffix(UNFINISHED).map_or((rest, true), |rest| (rest, false));
        let (rest, labelled_of) = match rest.split_once(LABELLED) {
            Some((rest, bot)) => (rest, Some(bot.parse().ok()?)),
            None => (rest, None),
        };
        let Some(life) = self.life else {
            return Some(Named { epoch: rest.parse().ok()?, is_of_this_life: true, is_whole, labelled_of });
        };
        let (of, epoch) = rest.split_once('-')?;
        let is_of_this_life = u64::from_str_radix(of, 16).ok()? == life;
        Some(Named { epoch: epoch.parse().ok()?, is_of_this_life, is_whole, labelled_of })
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

    /// Reads what was left under leases that are over. Of another life nothing is believed, and labelled messages of another
    /// bot are left to that one.
    fn left(&self, bot: i64, is_over: impl Fn(i64) -> bool) -> io::Result<LeftNotes> {
        let mut left = LeftNotes::default();
        for (path, named) in self.files()? {
            let is_anothers = named.labelled_of.is_some_and(|of| of != bot);
            if named.is_of_this_life && (is_anothers || !is_over(named.epoch)) {
                continue;
            }
            if named.is_of_this_life && named.is_whole {
                match named.labelled_of {
                    None => left.plain.extend(read(&path)?),
                    Some(_) => left.labelled.extend(read(&path)?),
                }
            }
            left.files.push(path);
        }
        Ok(left)
    }
}

/// The notes in a file. One that was cut off in the middle is none.
fn read<const N: usize>(path: &Path) -> io::Result<Vec<Note<N>>> {
    let bytes = std::fs::read(path)?;
    let numbers: Vec<i64> = bytes.as_chunks().0.iter().map(|number| i64::from_le_bytes(*number)).collect();
    Ok(numbers.as_chunks().0.to_vec())
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
        bot: i64,
        epoch: Epoch,
        is_over: impl Fn(i64) -> bool + Send + 'static,
        store: &dyn Store,
    ) -> StoreResult<Vec<OutboxId>> {
        let (terms, folder) = (Arc::clone(&self.0), notebook.folder().display().to_string());
        let begin = move || Ok((begin(&terms, &notebook, bot, epoch), notebook.left(bot, is_over)));
        let (begun, left) = blocking(begin).await?;
        if let Err(error) = begun {
            tracing::warn!(folder, %error, "what is sent cannot be noted there; a kill would repeat more of it");
        }
        let LeftNotes { plain, labelled, files } = left.unwrap_or_else(|error| {
            tracing::warn!(folder, %error, "cannot read what was sent before; some messages may be sent again");
            LeftNotes::default()
        });
        let ids: Vec<_> =
            plain.iter().map(|[id]| *id).chain(labelled.iter().map(|[id, _]| *id)).map(OutboxId).collect();
        if !ids.is_empty() {
            tracing::info!(sends = ids.len(), "an earlier instance ended and has noted what it had sent");
        }
        for some in plain.chunks(BATCH) {
            let settled = some.iter().map(|[id]| sent(OutboxId(*id), None)).collect();
            settle(store, epoch, settled, Millis::default()).await?;
        }
        settle_labelled(store, bot, epoch, &labelled).await?;
        if let Err(error) = self.forget(files).await {
            tracing::warn!(folder, %error, "notes that are settled cannot be removed");
        }
        Ok(ids)
    }

    /// Removes files that have served. Earlier leases of this process are over, too.
    async fn forget(&self, files: Vec<PathBuf>) -> StoreResult<()> {
        self.0.lock().retain(|_, notes| !files.iter().any(|file| notes.paths().contains(&file.as_path())));
        blocking(move || files.iter().try_for_each(|file| remove(file))).await
    }

    /// Notes that these were sent; nothing where no notes are kept under this lease.
    pub(super) async fn note(&self, epoch: Epoch, ids: Vec<OutboxId>) -> StoreResult<()> {
        let Some(notes) = self.of(epoch) else { return Ok(()) };
        let noted: Vec<Plain> = ids.iter().map(|id| [id.0]).collect();
        blocking(move || notes.plain.add(&noted)).await
    }

    /// The same of rows with a label, each with the message that it became.
    pub(super) async fn note_labelled(&self, epoch: Epoch, sent: Vec<(OutboxId, i64)>) -> StoreResult<()> {
        let Some(notes) = self.of(epoch) else { return Ok(()) };
        let noted: Vec<Labelled> = sent.iter().map(|(id, message)| [id.0, *message]).collect();
        blocking(move || notes.labelled.add(&noted)).await
    }

    /// Whether all of these were noted: then an end of this process cannot take them back.
    pub(super) fn has(&self, epoch: Epoch, ids: &[OutboxId]) -> bool {
        self.of(epoch).is_some_and(|notes| {
            let (plain, labelled) = (notes.plain.unsettled.lock(), notes.labelled.unsettled.lock());
            ids.iter().all(|id| plain.contains_key(&id.0) || labelled.contains_key(&id.0))
        })
    }

    /// The store knows these now.
    pub(super) fn settled(&self, epoch: Epoch, ids: &[OutboxId]) {
        if let Some(notes) = self.of(epoch) {
            let (mut plain, mut labelled) = (notes.plain.unsettled.lock(), notes.labelled.unsettled.lock());
            for id in ids {
                if plain.remove(&id.0).is_none() {
                    labelled.remove(&id.0);
                }
            }
        }
    }

    /// Removes the files in which nothing matters any more.
    pub(super) async fn tidy(&self) -> StoreResult<()> {
        let mut done = Vec::new();
        self.0.lock().retain(|_, notes| {
            let is_needed = !(notes.plain.unsettled.lock().is_empty() && notes.labelled.unsettled.lock().is_empty());
            if !is_needed {
                done.extend(notes.paths().map(Path::to_owned));
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
fn begin(terms: &Terms, notebook: &Notebook, bot: i64, epoch: Epoch) -> io::Result<()> {
    std::fs::create_dir_all(notebook.folder())?;
    let notes = Notes { plain: Page::at(notebook.path(epoch)), labelled: Page::at(notebook.labelled_path(bot, epoch)) };
    notes.paths().into_iter().try_for_each(remove)?;
    terms.lock().insert(epoch, Arc::new(notes));
    Ok(())
}

/// What a lease begins with. If that fails the lease is given back, and if that fails too, it runs out.
pub(super) async fn or_release<T>(store: &dyn Store, bot: i64, epoch: Epoch, begun: StoreResult<T>) -> StoreResult<T> {
    if begun.is_err() {
        let _ = store.release(bot, epoch).await;
    }
    begun
}

impl Notes {
    fn paths(&self) -> [&Path; 2] {
        [&self.plain.path, &self.labelled.path]
    }
}

impl<const N: usize> Page<N> {
    fn at(path: PathBuf) -> Self {
        Self { path, file: Mutex::default(), unsettled: Mutex::default() }
    }

    /// Blocks for as long as the system takes to copy them.
    fn add(&self, notes: &[Note<N>]) -> io::Result<()> {
        let by_id = || notes.iter().map(|note| (note[0], *note));
        let mut file = self.file.lock();
        if file.is_torn || file.written + notes.len() > LONGEST {
            let mut all = self.unsettled.lock().clone();
            all.extend(by_id());
            file.write_anew(&self.path, all.values())?;
        } else {
            file.append(&self.path, notes)?;
        }
        self.unsettled.lock().extend(by_id());
        Ok(())
    }
}

impl NoteFile {
    fn append<const N: usize>(&mut self, path: &Path, notes: &[Note<N>]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            file => file.insert(private().append(true).open(path)?),
        };
        self.is_torn = true;
        file.write_all(&bytes(notes.iter()))?;
        (self.is_torn, self.written) = (false, self.written + notes.len());
        Ok(())
    }

    /// Replaces the file by one with what still matters; there is a whole one at any time.
    fn write_anew<'a, const N: usize>(
        &mut self,
        path: &Path,
        notes: impl ExactSizeIterator<Item = &'a Note<N>>,
    ) -> io::Result<()> {
        let written = notes.len();
        let mut new = path.to_owned().into_os_string();
        new.push(UNFINISHED);
        let mut file = private().write(true).truncate(true).open(&new)?;
        file.write_all(&bytes(notes))?;
        std::fs::rename(&new, path)?;
        *self = Self { file: Some(file), written, is_torn: false };
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

fn bytes<'a, const N: usize>(notes: impl Iterator<Item = &'a Note<N>>) -> Vec<u8> {
    notes.flatten().flat_map(|number| number.to_le_bytes()).collect()
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
