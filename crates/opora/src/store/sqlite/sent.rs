//! What was sent, noted beside the database at once.
//!
//! Settling a send can wait for a group that goes to the disk anyway, but an end of this process must not make the next
//! one send again. So the numbers go into a plain file first, written and not flushed: a killed process has said them, a
//! machine without power may not have. There is one file for each lease; the next holder reads it and removes it.

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::store::Epoch;

/// A file with more numbers is written anew with those that still matter.
const LONGEST: usize = 1 << 16;

/// The files of this process.
#[derive(Debug)]
pub(super) struct SentNotes {
    database: PathBuf,
    files: Mutex<HashMap<Epoch, Arc<Mutex<Notes>>>>,
}

/// What others have left.
#[derive(Debug, Default)]
pub(super) struct LeftNotes {
    pub(super) ids: Vec<i64>,
    pub(super) files: Vec<PathBuf>,
}

#[derive(Debug)]
struct Notes {
    path: PathBuf,
    file: File,
    written: usize,
    unsettled: HashSet<i64>,
}

impl SentNotes {
    pub(super) fn beside(database: &Path) -> Self {
        Self { database: database.to_owned(), files: Mutex::default() }
    }

    /// Notes that these were sent. Blocks for as long as the system takes to copy them.
    pub(super) fn note(&self, epoch: Epoch, ids: &[i64]) -> io::Result<()> {
        let notes = {
            let mut files = self.files.lock();
            match files.get(&epoch) {
                Some(notes) => Arc::clone(notes),
                None => {
                    let path = self.path(epoch);
                    let file = private().append(true).open(&path)?;
                    let notes = Notes { path, file, written: 0, unsettled: HashSet::new() };
                    Arc::clone(files.entry(epoch).or_insert(Arc::new(Mutex::new(notes))))
                }
            }
        };
        notes.lock().add(ids)
    }

    /// Whether all of these were noted: then an end of this process cannot take them back.
    pub(super) fn has(&self, epoch: Epoch, mut ids: impl Iterator<Item = i64>) -> bool {
        let notes = self.files.lock().get(&epoch).cloned();
        notes.is_some_and(|notes| {
            let notes = notes.lock();
            ids.all(|id| notes.unsettled.contains(&id))
        })
    }

    /// The database knows these now.
    pub(super) fn settled(&self, epoch: Epoch, ids: &[i64]) {
        let notes = self.files.lock().get(&epoch).cloned();
        if let Some(notes) = notes {
            let mut notes = notes.lock();
            for id in ids {
                notes.unsettled.remove(id);
            }
        }
    }

    /// Reads what was left under other leases than these, which are held.
    pub(super) fn left(&self, held: &[i64]) -> io::Result<LeftNotes> {
        let mut left = LeftNotes::default();
        let Some(folder) = self.database.parent() else { return Ok(left) };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            match self.epoch_of(&path) {
                Some(epoch) if !held.contains(&epoch) => {
                    let bytes = std::fs::read(&path)?;
                    // A number that was cut off in the middle is not one.
                    left.ids.extend(bytes.as_chunks().0.iter().map(|number| i64::from_le_bytes(*number)));
                    left.files.push(path);
                }
                _ => {}
            }
        }
        Ok(left)
    }

    /// Removes a file of this epoch, which was just granted: it is from another database that lay here.
    pub(super) fn begin(&self, epoch: Epoch) -> io::Result<()> {
        self.files.lock().remove(&epoch);
        match std::fs::remove_file(self.path(epoch)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Removes the files in which nothing matters any more.
    pub(super) fn tidy(&self) {
        self.files.lock().retain(|_, notes| {
            let notes = notes.lock();
            let is_needed = !notes.unsettled.is_empty();
            if !is_needed {
                // If it stays, the next holder of the lease removes it.
                let _ = std::fs::remove_file(&notes.path);
            }
            is_needed
        });
    }

    fn path(&self, epoch: Epoch) -> PathBuf {
        let mut name = self.database.clone().into_os_string();
        name.push(format!("-sent-{}", epoch.0));
        name.into()
    }

    fn epoch_of(&self, path: &Path) -> Option<i64> {
        let (own, name) = (self.database.file_name()?.to_str()?, path.file_name()?.to_str()?);
        name.strip_prefix(own)?.strip_prefix("-sent-")?.parse().ok()
    }
}

impl Notes {
    fn add(&mut self, ids: &[i64]) -> io::Result<()> {
        self.unsettled.extend(ids);
        if self.written + ids.len() > LONGEST {
            return self.write_anew();
        }
        self.file.write_all(&bytes(ids.iter()))?;
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
        (self.file, self.written) = (file, self.unsettled.len());
        Ok(())
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(folder: &tempfile::TempDir) -> SentNotes {
        SentNotes::beside(&folder.path().join("opora.db"))
    }

    #[test]
    fn another_process_reads_what_this_one_noted() {
        let folder = tempfile::tempdir().unwrap();
        notes(&folder).note(Epoch(3), &[31, 32]).unwrap();
        notes(&folder).note(Epoch(4), &[41]).unwrap();
        let left = notes(&folder).left(&[4]).unwrap();
        assert_eq!(left.ids, [31, 32], "a lease that is held is somebody else's");
        assert_eq!(left.files, [folder.path().join("opora.db-sent-3")]);
    }

    #[test]
    fn a_number_that_was_cut_off_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        notes(&folder).note(Epoch(3), &[31, 32]).unwrap();
        let path = folder.path().join("opora.db-sent-3");
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..11]).unwrap();
        assert_eq!(notes(&folder).left(&[]).unwrap().ids, [31]);
    }

    #[test]
    fn a_long_file_is_written_anew_with_what_still_matters() {
        let folder = tempfile::tempdir().unwrap();
        let (notes, many) = (notes(&folder), i64::try_from(LONGEST).unwrap());
        notes.note(Epoch(1), &(0..many).collect::<Vec<_>>()).unwrap();
        notes.settled(Epoch(1), &(0..many - 1).collect::<Vec<_>>());
        notes.note(Epoch(1), &[many]).unwrap();
        notes.note(Epoch(1), &[many + 1]).unwrap();
        let mut ids = notes.left(&[]).unwrap().ids;
        ids.sort_unstable();
        assert_eq!(ids, [many - 1, many, many + 1]);
    }

    #[test]
    fn what_another_database_left_under_the_same_epoch_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        notes(&folder).note(Epoch(1), &[11]).unwrap();
        let notes = notes(&folder);
        notes.begin(Epoch(1)).unwrap();
        notes.begin(Epoch(1)).unwrap();
        notes.note(Epoch(1), &[12]).unwrap();
        assert_eq!(notes.left(&[]).unwrap().ids, [12]);
    }

    #[test]
    fn a_file_in_which_all_is_settled_goes() {
        let folder = tempfile::tempdir().unwrap();
        let notes = notes(&folder);
        notes.note(Epoch(1), &[11, 12]).unwrap();
        notes.settled(Epoch(1), &[11]);
        notes.tidy();
        assert_eq!(notes.left(&[]).unwrap().ids, [11, 12]);
        notes.settled(Epoch(1), &[12]);
        notes.tidy();
        assert!(notes.left(&[]).unwrap().files.is_empty());
    }
}
