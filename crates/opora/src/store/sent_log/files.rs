//! The files of the log: how they are named, and what is in them.
//!
//! A name is `<store>-sent-<bot>.<generation>.<epoch>`. The generation tells a store from another one that was made at the
//! same place; a file of another generation is removed and not read. A file is a sequence of records of 16 bytes.

use std::io;
use std::path::{Path, PathBuf};

use super::file::LogFile;
use crate::store::hash::hash_of;
use crate::store::{Epoch, OutboxId, Settled, Settlement};

/// Ends the name of a file that is being rewritten.
pub(super) const UNFINISHED: &str = ".new";

/// Where a store has its log.
#[derive(Clone, Debug)]
pub(in crate::store) struct LogFiles {
    /// All names begin with it.
    stem: PathBuf,
    generation: u64,
}

/// What earlier holders of a lease have left.
#[derive(Debug, Default)]
pub(super) struct LeftBehind {
    pub(super) records: Vec<Record>,
    pub(super) paths: Vec<PathBuf>,
}

/// A message that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// The row in the outbox.
    pub(super) id: OutboxId,
    /// The message that it became, if the row has a label: edits ask for it by the label. Telegram counts from 1; 0 is none.
    pub(super) message: i64,
}

impl Record {
    /// The record of a row; none unless it was sent.
    pub(super) fn of(settled: &Settled) -> Option<Self> {
        let Settlement::Sent { labelled } = &settled.outcome else { return None };
        Some(Self { id: settled.id, message: labelled.as_ref().map_or(0, |(_, _, message)| *message) })
    }

    pub(super) fn bytes(self) -> impl Iterator<Item = u8> {
        [self.id.0, self.message].into_iter().flat_map(i64::to_le_bytes)
    }

    /// The records of a file. One that was cut off in the middle is left out.
    fn read(bytes: &[u8]) -> impl Iterator<Item = Self> {
        let (numbers, _) = bytes.as_chunks();
        let (records, _) = numbers.as_chunks();
        records
            .iter()
            .map(|[id, message]| Self { id: OutboxId(i64::from_le_bytes(*id)), message: i64::from_le_bytes(*message) })
    }
}

/// What the name of a file says.
struct Named {
    path: PathBuf,
    bot: i64,
    generation: u64,
    epoch: Epoch,
    /// It was not being rewritten when its process ended.
    is_whole: bool,
}

impl LogFiles {
    /// Beside a database file. A database that is made anew there begins its epochs anew, and each lease removes the file of
    /// its own epoch.
    pub(in crate::store) fn beside(database: &Path) -> Self {
        Self { stem: database.to_owned(), generation: 0 }
    }

    /// In a folder, for a store that is on a server.
    pub(in crate::store) fn in_folder(folder: &Path, store: &str, generation: &str) -> Self {
        Self { stem: folder.join(store), generation: hash_of(generation.as_bytes()) }
    }

    pub(super) fn folder(&self) -> &Path {
        self.stem.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    fn path(&self, bot: i64, epoch: Epoch) -> PathBuf {
        let mut name = self.stem.clone().into_os_string();
        name.push(format!("-sent-{bot}.{:x}.{}", self.generation, epoch.0));
        name.into()
    }

    /// Begins the file of a lease. One that is there already is of another store that was here.
    pub(super) fn begin(&self, bot: i64, epoch: Epoch) -> io::Result<LogFile> {
        std::fs::create_dir_all(self.folder())?;
        let path = self.path(bot, epoch);
        remove(&path)?;
        Ok(LogFile::at(path))
    }

    /// Reads what a bot's earlier leases have left. A later lease may have been given already; its file is left alone.
    pub(super) fn left(&self, bot: i64, epoch: Epoch) -> io::Result<LeftBehind> {
        let mut left = LeftBehind::default();
        for file in self.all()?.into_iter().filter(|file| file.bot == bot) {
            let is_known = file.generation == self.generation;
            if is_known && file.epoch >= epoch {
                continue;
            }
            if is_known && file.is_whole {
                match std::fs::read(&file.path) {
                    Ok(bytes) => left.records.extend(Record::read(&bytes)),
                    // An instance that stops removes its file after it has settled everything.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => return Err(error),
                }
            }
            left.paths.push(file.path);
        }
        Ok(left)
    }

    /// Removes the files of all bots from an epoch on.
    pub(super) fn forget_from(&self, epoch: Epoch) -> io::Result<()> {
        let is_later = |file: &Named| file.generation == self.generation && file.epoch >= epoch;
        self.all()?.iter().filter(|file| is_later(file)).try_for_each(|file| remove(&file.path))
    }

    /// The files of all bots and generations.
    fn all(&self) -> io::Result<Vec<Named>> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(self.folder())? {
            files.extend(self.named(entry?.path()));
        }
        Ok(files)
    }

    /// What a file's name says; none if it is not of this log.
    fn named(&self, path: PathBuf) -> Option<Named> {
        let name = path.file_name()?.to_str()?;
        let rest = name.strip_prefix(self.stem.file_name()?.to_str()?)?.strip_prefix("-sent-")?;
        let (rest, is_whole) = rest.strip_suffix(UNFINISHED).map_or((rest, true), |rest| (rest, false));
        let (bot, rest) = rest.split_once('.')?;
        let (generation, epoch) = rest.split_once('.')?;
        let bot = bot.parse().ok()?;
        let generation = u64::from_str_radix(generation, 16).ok()?;
        let epoch = Epoch(epoch.parse().ok()?);
        Some(Named { path, bot, generation, epoch, is_whole })
    }
}

/// Removes a file, if it is there.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
