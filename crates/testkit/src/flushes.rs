//! Records how much of a Redis append-only file is on the disk, without asking Redis. A small library in the Redis
//! process stores the file's length at every completed flush. The C compiler that builds SQLite compiles the library.

use std::path::PathBuf;
use std::process::Command;

/// The library and the file with the flushed length. Both are removed when this value is dropped.
#[derive(Debug)]
pub struct FlushLog {
    folder: tempfile::TempDir,
}

impl FlushLog {
    pub fn compile() -> Self {
        let flushes = Self { folder: tempfile::tempdir().unwrap() };
        let source = flushes.folder.path().join("flushes.c");
        std::fs::write(&source, include_str!("flushes.c")).unwrap();
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(flushes.library()).arg(&source);
        let done = compiler.status().expect("there is a C compiler: SQLite was built with one");
        assert!(done.success(), "cc says {done}");
        flushes
    }

    /// Makes a server load the library at its start.
    pub fn attach_to(&self, server: &mut Command) {
        server.env("LD_PRELOAD", self.library()).env("OPORA_TEST_FLUSHES", self.length_file());
    }

    /// How many bytes of the append-only file are on the disk for certain.
    pub fn flushed_bytes(&self) -> u64 {
        let length = std::fs::read(self.length_file()).expect("redis-server has loaded the library");
        // The file is empty before the first flush.
        length.try_into().map_or(0, u64::from_ne_bytes)
    }

    fn library(&self) -> PathBuf {
        self.folder.path().join("flushes.so")
    }

    fn length_file(&self) -> PathBuf {
        self.folder.path().join("flushed")
    }
}
