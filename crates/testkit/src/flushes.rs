//! What of a Redis' append-only file is on the disk, without asking Redis: a small library within its process notes how long
//! the file was at every flush that the system has answered. It is compiled by the C compiler that SQLite is built with.

use std::path::PathBuf;
use std::process::Command;

/// The library, and the note that it keeps; both go with it.
#[derive(Debug)]
pub struct Flushes {
    folder: tempfile::TempDir,
}

impl Flushes {
    /// Compiles the library.
    pub fn prepared() -> Self {
        let flushes = Self { folder: tempfile::tempdir().unwrap() };
        let source = flushes.folder.path().join("flushes.c");
        std::fs::write(&source, include_str!("flushes.c")).unwrap();
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(flushes.library()).arg(&source);
        let done = compiler.status().expect("there is a C compiler: SQLite was built with one");
        assert!(done.success(), "cc says {done}");
        flushes
    }

    /// Lets a server that is about to start note its flushes.
    pub fn noted_by(&self, server: &mut Command) {
        server.env("LD_PRELOAD", self.library()).env("OPORA_TEST_FLUSHES", self.note());
    }

    /// How much of the file is on the disk for sure.
    pub fn flushed_bytes(&self) -> u64 {
        let note = std::fs::read(self.note()).expect("redis-server has loaded the library that notes its flushes");
        // Nothing was flushed yet.
        note.try_into().map_or(0, u64::from_ne_bytes)
    }

    fn library(&self) -> PathBuf {
        self.folder.path().join("flushes.so")
    }

    fn note(&self) -> PathBuf {
        self.folder.path().join("flushed")
    }
}
