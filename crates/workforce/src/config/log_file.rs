//! A log file that is opened after logging has begun.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::OnceLock;

/// Drops everything until it has a file.
#[derive(Debug, Default)]
pub struct LogFile(OnceLock<File>);

impl LogFile {
    /// Begins a new log at a path.
    pub fn begin(&self, path: &Path) -> io::Result<()> {
        let file = File::create(path)?;
        // A second call keeps the first file.
        let _ = self.0.set(file);
        Ok(())
    }
}

impl Write for &LogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.get() {
            Some(mut file) => file.write(bytes),
            None => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.get().map_or(Ok(()), |mut file| file.flush())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_before_the_file_is_named_are_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let (log, path) = (LogFile::default(), folder.path().join("opora.log"));
        (&log).write_all(b"early\n").unwrap();
        log.begin(&path).unwrap();
        (&log).write_all(b"late\n").unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), "late\n");
    }
}
