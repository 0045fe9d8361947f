//! The sent log of one lease.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use super::files::{REWRITE_SUFFIX, Record};
use crate::store::OutboxId;

/// A file with more records is rewritten with only the unsettled ones.
pub(super) const MAX_RECORDS: usize = 1 << 13;

#[derive(Debug)]
pub(super) struct LogFile {
    pub(super) path: PathBuf,
    /// Locked during disk access, so never on the runtime's own threads.
    pub(super) written: Mutex<Written>,
    unsettled: Mutex<HashMap<OutboxId, Record>>,
}

#[derive(Debug, Default)]
pub(super) struct Written {
    /// Created with the first record.
    file: Option<File>,
    records: usize,
    /// A write failed in the middle of a record, so later records would be misread.
    pub(super) is_torn: bool,
}

impl LogFile {
    pub(super) fn at(path: PathBuf) -> Self {
        Self { path, written: Mutex::default(), unsettled: Mutex::default() }
    }

    /// Writes records without a flush. Blocks until the system has copied them.
    pub(super) fn append(&self, records: &[Record]) -> io::Result<()> {
        let by_id = || records.iter().map(|record| (record.id, *record));
        let mut written = self.written.lock();
        if written.is_torn || written.records + records.len() > MAX_RECORDS {
            let mut all = self.unsettled.lock().clone();
            all.extend(by_id());
            written.rewrite(&self.path, all.into_values().collect())?;
        } else {
            written.append(&self.path, records)?;
        }
        self.unsettled.lock().extend(by_id());
        Ok(())
    }

    /// Whether all of these rows are logged.
    pub(super) fn has(&self, ids: &[OutboxId]) -> bool {
        let unsettled = self.unsettled.lock();
        ids.iter().all(|id| unsettled.contains_key(id))
    }

    /// The store has settled these rows.
    pub(super) fn settled(&self, ids: &[OutboxId]) {
        let mut unsettled = self.unsettled.lock();
        for id in ids {
            unsettled.remove(id);
        }
    }

    /// Whether the file is no longer needed.
    pub(super) fn is_settled(&self) -> bool {
        self.unsettled.lock().is_empty()
    }
}

impl Written {
    fn append(&mut self, path: &Path, records: &[Record]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            file => file.insert(private().append(true).open(path)?),
        };
        self.is_torn = true;
        file.write_all(&bytes(records))?;
        self.is_torn = false;
        self.records += records.len();
        Ok(())
    }

    /// Replaces the file. A complete file exists at any time.
    fn rewrite(&mut self, path: &Path, records: Vec<Record>) -> io::Result<()> {
        let mut new = path.to_owned().into_os_string();
        new.push(REWRITE_SUFFIX);
        let mut file = private().write(true).truncate(true).open(&new)?;
        file.write_all(&bytes(&records))?;
        std::fs::rename(&new, path)?;
        *self = Self { file: Some(file), records: records.len(), is_torn: false };
        Ok(())
    }
}

fn bytes(records: &[Record]) -> Vec<u8> {
    records.iter().flat_map(|record| record.bytes()).collect()
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
