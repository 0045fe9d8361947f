//! Writes an event log.
//!
//! While the world is locked, changes are collected in a record. `seal` ends the record under that lock and appends it
//! to the waiting records. `write` is called after the lock is released: the first call that gets the file writes all
//! waiting records at once, and the other calls find their records written.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;
use serde::Serialize;

use super::upload_path;
use crate::world::file::{FileData, StoredFile, digest_of};
use crate::world::queue::QueuedUpdate;

/// The event log of one bot.
#[derive(Debug)]
pub struct EventLog {
    pub(super) folder: PathBuf,
    /// The record of the call that holds the world's lock.
    open: Mutex<Group>,
    /// Records that are not written yet.
    sealed: Mutex<Group>,
    /// How many records were sealed; raised under the lock of `sealed`.
    sealed_records: AtomicU64,
    /// How many of them are in the file.
    written_records: AtomicU64,
    output: Mutex<Output>,
}

/// Records, and uploads that they name.
#[derive(Debug, Default)]
struct Group {
    lines: Vec<u8>,
    uploads: Vec<(PathBuf, Bytes)>,
}

#[derive(Debug)]
struct Output {
    file: File,
    /// Whether the file ends with an incomplete record, because a write failed.
    is_torn: bool,
    /// An empty group whose memory is reused.
    spare: Group,
}

impl EventLog {
    pub(super) fn new(folder: &Path, file: File) -> Self {
        Self {
            folder: folder.to_owned(),
            open: Mutex::default(),
            sealed: Mutex::default(),
            sealed_records: AtomicU64::new(0),
            written_records: AtomicU64::new(0),
            output: Mutex::new(Output { file, is_torn: false, spare: Group::default() }),
        }
    }

    pub fn save<T: Serialize>(&self, kind: &'static str, value: &T) {
        change(&mut self.open.lock().lines, kind, value);
    }

    pub fn save_update(&self, update: &QueuedUpdate, next_id: i64) {
        if let Some(kept) = super::stored_update(update, next_id) {
            self.save("update", &kept);
        }
    }

    /// Adds the bytes of an upload to the record. The file name is made from the content.
    pub fn save_upload(&self, file: &StoredFile) {
        if let FileData::Memory(bytes) = &file.data {
            self.open.lock().uploads.push((upload_path(&self.folder, file), bytes.clone()));
        }
    }

    /// Stores the bytes of an upload before the record that names it.
    pub fn store(&self, bytes: &Bytes) {
        let path = super::upload_name(&self.folder, digest_of(bytes), bytes.len() as u64);
        if let Err(error) = write_upload(&path, bytes) {
            tracing::warn!(%error, path = %path.display(), "cannot store an upload yet");
        }
    }

    /// Ends the record of the call that holds the world's lock. Returns whether any record is not written yet.
    pub fn seal(&self) -> bool {
        let mut open = self.open.lock();
        if open.lines.is_empty() && open.uploads.is_empty() {
            return self.waits();
        }
        end(&mut open.lines);
        let mut sealed = self.sealed.lock();
        sealed.lines.append(&mut open.lines);
        sealed.uploads.append(&mut open.uploads);
        self.sealed_records.fetch_add(1, Ordering::Release);
        true
    }

    /// Returns when every record that was sealed before is written.
    pub fn write(&self) {
        if !self.waits() {
            return;
        }
        let mut output = self.output.lock();
        let mut group = std::mem::take(&mut output.spare);
        let sealed_records = {
            let mut sealed = self.sealed.lock();
            std::mem::swap(&mut *sealed, &mut group);
            self.sealed_records.load(Ordering::Acquire)
        };
        if let Err(error) = output.append(&group) {
            tracing::error!(%error, folder = %self.folder.display(), "cannot write the event log");
        }
        self.written_records.store(sealed_records, Ordering::Release);
        group.lines.clear();
        group.uploads.clear();
        output.spare = group;
    }

    /// Removes the bot's folder.
    pub fn erase(&self) {
        super::erase(&self.folder);
    }

    fn waits(&self) -> bool {
        self.written_records.load(Ordering::Acquire) < self.sealed_records.load(Ordering::Acquire)
    }
}

impl Output {
    /// Writes uploads first: a record names only what is there.
    fn append(&mut self, group: &Group) -> io::Result<()> {
        let stored = group.uploads.iter().try_for_each(|(path, bytes)| write_upload(path, bytes));
        if !group.lines.is_empty() {
            if self.is_torn {
                // The next record must not be read as the rest of the incomplete one.
                self.file.write_all(b"\n")?;
            }
            self.is_torn = true;
            self.file.write_all(&group.lines)?;
            self.is_torn = false;
        }
        stored
    }
}

/// Adds a change to a record.
pub(super) fn change<T: Serialize>(record: &mut Vec<u8>, kind: &str, value: &T) {
    let before = record.len();
    record.push(if record.is_empty() { b'[' } else { b',' });
    // Serializing these types into memory cannot fail: keys are strings and numbers are finite.
    if serde_json::to_writer(&mut *record, &(kind, value)).is_err() {
        record.truncate(before);
    }
}

/// Ends a record. A record without changes has no bytes.
pub(super) fn end(record: &mut Vec<u8>) {
    if !record.is_empty() {
        record.extend_from_slice(b"]\n");
    }
}

fn write_upload(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    // Two calls may store the same bytes at once, so each writes its own file and renames it.
    static STORED: AtomicU64 = AtomicU64::new(0);
    let new = path.with_extension(format!("{}.new", STORED.fetch_add(1, Ordering::Relaxed)));
    fs::write(&new, bytes)?;
    fs::rename(new, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_after_a_failed_write_is_readable() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("lines");
        let mut file = File::create(&path)?;
        file.write_all(b"[[\"half")?;
        let mut output = Output { file, is_torn: true, spare: Group::default() };
        for _ in 0..2 {
            output.append(&Group { lines: b"[[\"whole\",1]]\n".to_vec(), uploads: Vec::new() })?;
        }
        let lines = fs::read_to_string(&path)?;
        assert_eq!(lines, "[[\"half\n[[\"whole\",1]]\n[[\"whole\",1]]\n");
        Ok(())
    }
}
