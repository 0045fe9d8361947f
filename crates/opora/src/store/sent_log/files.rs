//! The names and the format of the log files.
//!
//! A name is `<store>-sent-<bot>.<generation>.<epoch>`. The generation tells a store from a later one at the same
//! place. A file of another generation is removed unread. A file is a sequence of 16-byte records.

use std::io;
use std::path::{Path, PathBuf};

use super::file::LogFile;
use crate::store::hash::hash_of;
use crate::store::{Epoch, OutboxId, Settled, Settlement};

/// The suffix of a file that is being rewritten.
pub(super) const REWRITE_SUFFIX: &str = ".new";

#[derive(Clone, Debug)]
pub(crate) struct LogFiles {
    /// The common prefix of their paths.
    stem: PathBuf,
    generation: u64,
}

/// The log files of earlier leases.
#[derive(Debug, Default)]
pub(super) struct EarlierLogs {
    pub(super) records: Vec<Record>,
    pub(super) paths: Vec<PathBuf>,
}

/// A message that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) id: OutboxId,
    /// The id of the sent message if the row has a label, for later edits; otherwise 0.
    pub(super) message: i64,
}

impl Record {
    /// The record of a row that was sent; none for other results.
    pub(super) fn from_settled(settled: &Settled) -> Option<Self> {
        let Settlement::Sent { labelled } = &settled.outcome else { return None };
        Some(Self { id: settled.id, message: labelled.as_ref().map_or(0, |(_, _, message)| *message) })
    }

    pub(super) fn bytes(self) -> impl Iterator<Item = u8> {
        [self.id.0, self.message].into_iter().flat_map(i64::to_le_bytes)
    }

    /// The records of a file. An incomplete last record is ignored.
    fn read(bytes: &[u8]) -> impl Iterator<Item = Self> {
        let (numbers, _) = bytes.as_chunks();
        let (records, _) = numbers.as_chunks();
        records
            .iter()
            .map(|[id, message]| Self { id: OutboxId(i64::from_le_bytes(*id)), message: i64::from_le_bytes(*message) })
    }
}

struct ParsedName {
    path: PathBuf,
    bot: i64,
    generation: u64,
    epoch: Epoch,
    /// Whether it is complete, not an unfinished rewrite.
    is_whole: bool,
}

impl LogFiles {
    /// Log files beside a database file. A new database at the same path starts its epochs again, and each lease
    /// removes the file of its own epoch.
    pub(crate) fn beside(database: &Path) -> Self {
        Self { stem: database.to_owned(), generation: 0 }
    }

    /// Log files in a folder, for a store on a server.
    pub(crate) fn in_folder(folder: &Path, store: &str, generation: &str) -> Self {
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

    /// Begins the file of a lease. An existing file belongs to an earlier store at this place and is removed.
    pub(super) fn begin(&self, bot: i64, epoch: Epoch) -> io::Result<LogFile> {
        std::fs::create_dir_all(self.folder())?;
        let path = self.path(bot, epoch);
        remove_if_exists(&path)?;
        Ok(LogFile::at(path))
    }

    /// Reads the logs of a bot's earlier leases. The file of a later lease is left alone.
    pub(super) fn earlier_logs(&self, bot: i64, epoch: Epoch) -> io::Result<EarlierLogs> {
        let mut earlier = EarlierLogs::default();
        for file in self.all()?.into_iter().filter(|file| file.bot == bot) {
            let is_known = file.generation == self.generation;
            if is_known && file.epoch >= epoch {
                continue;
            }
            if is_known && file.is_whole {
                match std::fs::read(&file.path) {
                    Ok(bytes) => earlier.records.extend(Record::read(&bytes)),
                    // A stopping instance removes its file after it has settled everything.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => return Err(error),
                }
            }
            earlier.paths.push(file.path);
        }
        Ok(earlier)
    }

    /// Removes the files of all bots with this epoch or a later one.
    pub(super) fn forget_from(&self, epoch: Epoch) -> io::Result<()> {
        let is_later = |file: &ParsedName| file.generation == self.generation && file.epoch >= epoch;
        self.all()?.iter().filter(|file| is_later(file)).try_for_each(|file| remove_if_exists(&file.path))
    }

    /// The files of all bots and generations.
    fn all(&self) -> io::Result<Vec<ParsedName>> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(self.folder())? {
            files.extend(self.parse_name(entry?.path()));
        }
        Ok(files)
    }

    /// Parses a file name; none if it is not a file of this log.
    fn parse_name(&self, path: PathBuf) -> Option<ParsedName> {
        let name = path.file_name()?.to_str()?;
        let rest = name.strip_prefix(self.stem.file_name()?.to_str()?)?.strip_prefix("-sent-")?;
        let (rest, is_whole) = rest.strip_suffix(REWRITE_SUFFIX).map_or((rest, true), |rest| (rest, false));
        let (bot, rest) = rest.split_once('.')?;
        let (generation, epoch) = rest.split_once('.')?;
        let bot = bot.parse().ok()?;
        let generation = u64::from_str_radix(generation, 16).ok()?;
        let epoch = Epoch(epoch.parse().ok()?);
        Some(ParsedName { path, bot, generation, epoch, is_whole })
    }
}

pub(super) fn remove_if_exists(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
