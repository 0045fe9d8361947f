//! A Redis for a test: the one that the caller gave, under a prefix of the test's own, or one that the test starts.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use self::flushes::Flushes;
use crate::environment;

// Named by its path, since the application's tests take this file from its place, too.
#[path = "flushes.rs"]
mod flushes;

const STARTS_WITHIN: Duration = Duration::from_secs(20);
/// Another program may take the port between its choice and its use.
const ATTEMPTS: usize = 5;

/// A Redis of one test. It ends with the test.
pub struct RedisServer {
    program: PathBuf,
    child: Child,
    port: u16,
    folder: tempfile::TempDir,
    settings: Vec<String>,
    /// Where a test asks what is on its disk.
    flushes: Option<Flushes>,
}

/// Keys of one test in a Redis that it may share with others. They go with the test.
pub struct RedisSpace {
    /// The address with the prefix.
    pub url: String,
    prefix: String,
    server: Option<RedisServer>,
}

impl RedisServer {
    /// Starts one; `settings` are those of the configuration file.
    pub fn start(settings: &[&str]) -> Self {
        Self::of(PathBuf::from("redis-server"), settings)
    }

    /// The same, and its flushes are noted: see [`Self::lose_what_is_not_flushed`].
    pub fn start_with_flushes_noted(settings: &[&str]) -> Self {
        Self::with(PathBuf::from("redis-server"), settings, Some(Flushes::prepared()))
    }

    /// The same of another version.
    pub fn of(program: PathBuf, settings: &[&str]) -> Self {
        Self::with(program, settings, None)
    }

    fn with(program: PathBuf, settings: &[&str], flushes: Option<Flushes>) -> Self {
        let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let folder = tempfile::tempdir().unwrap();
        for _ in 0..ATTEMPTS {
            let port = free_port();
            if let Some(child) = run(&program, port, folder.path(), &settings, flushes.as_ref()) {
                return Self { program, child, port, folder, settings, flushes };
            }
        }
        panic!("redis-server ended {ATTEMPTS} times at its start");
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// Says something to it, outside of any store.
    pub fn say(&self, words: &[&str]) -> redis::Value {
        self.try_say(words).unwrap()
    }

    pub fn try_say(&self, words: &[&str]) -> redis::RedisResult<redis::Value> {
        let mut connection = redis::Client::open(self.url())?.get_connection_with_timeout(Duration::from_secs(2))?;
        let mut command = redis::Cmd::new();
        words.iter().for_each(|word| {
            command.arg(*word);
        });
        command.query(&mut connection)
    }

    /// Ends it without a word.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// How long its append-only file is by now.
    pub fn kept_bytes(&self) -> u64 {
        std::fs::metadata(self.kept()).unwrap().len()
    }

    /// Ends it as a loss of power does: what has come to its file beyond a length is gone with it.
    pub fn lose_power(&mut self, kept_bytes: u64) {
        self.kill();
        self.cut(kept_bytes);
    }

    /// The same at the last byte that was flushed. Gives how many were not.
    pub fn lose_what_is_not_flushed(&mut self) -> u64 {
        self.kill();
        let (kept_bytes, flushes) = (self.kept_bytes(), self.flushes.as_ref().expect("its flushes are noted"));
        // What it could not read at a start, it has cut off itself.
        let flushed_bytes = flushes.flushed_bytes().min(kept_bytes);
        self.cut(flushed_bytes);
        kept_bytes - flushed_bytes
    }

    /// A copy of everything that it has on its disk, made while it does not run.
    pub fn copy(&self) -> tempfile::TempDir {
        let copy = tempfile::tempdir().unwrap();
        copy_all(self.folder.path(), copy.path());
        copy
    }

    /// Puts a copy back, or nothing at all, while it does not run.
    pub fn restore(&self, copy: Option<&tempfile::TempDir>) {
        for entry in std::fs::read_dir(self.folder.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { std::fs::remove_dir_all(path).unwrap() } else { std::fs::remove_file(path).unwrap() }
        }
        if let Some(copy) = copy {
            copy_all(copy.path(), self.folder.path());
        }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    fn kept(&self) -> PathBuf {
        self.folder.path().join("appendonlydir/appendonly.aof.1.incr.aof")
    }

    fn cut(&self, kept_bytes: u64) {
        std::fs::File::options().write(true).open(self.kept()).unwrap().set_len(kept_bytes).unwrap();
    }

    /// Starts it again on its files and its port, after it was killed.
    pub fn start_again(&mut self) {
        // Its port is one that the system gives to anybody who connects somewhere, and may have for a moment.
        let began = Instant::now();
        self.child = loop {
            match run(&self.program, self.port, self.folder.path(), &self.settings, self.flushes.as_ref()) {
                Some(child) => break child,
                None => assert!(began.elapsed() < STARTS_WITHIN, "redis-server does not start again"),
            }
            std::thread::sleep(Duration::from_millis(50));
        };
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        // It may have been killed by the test.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl RedisSpace {
    pub fn new() -> Self {
        let (server, url) = match environment::redis_url() {
            Some(url) => (None, url),
            None => {
                let server = RedisServer::start(&[]);
                let url = server.url();
                (Some(server), url)
            }
        };
        let prefix = format!("opora-test-{}-{:016x}", std::process::id(), fastrand_u64());
        let plain = url.split('?').next().unwrap();
        Self { url: format!("{plain}?prefix={prefix}"), prefix, server }
    }

    fn sweep(&self) -> redis::RedisResult<()> {
        let plain = self.url.split('?').next().unwrap();
        let mut connection = redis::Client::open(plain)?.get_connection_with_timeout(Duration::from_secs(2))?;
        let mut cursor = 0_u64;
        loop {
            let mut scan = redis::cmd("SCAN");
            scan.arg(cursor).arg("MATCH").arg(format!("{{{}*", self.prefix)).arg("COUNT").arg(1_000);
            let (next, keys): (u64, Vec<Vec<u8>>) = scan.query(&mut connection)?;
            if !keys.is_empty() {
                redis::cmd("UNLINK").arg(keys).exec(&mut connection)?;
            }
            cursor = next;
            if cursor == 0 {
                return Ok(());
            }
        }
    }
}

impl Drop for RedisSpace {
    fn drop(&mut self) {
        // A server of our own takes its keys along.
        if self.server.is_none() {
            let _ = self.sweep();
        }
    }
}

/// None if it ended by itself.
fn run(program: &Path, port: u16, folder: &Path, settings: &[String], flushes: Option<&Flushes>) -> Option<Child> {
    let mut command = Command::new(program);
    if let Some(flushes) = flushes {
        flushes.noted_by(&mut command);
    }
    command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--daemonize", "no", "--dir"]).arg(folder);
    if !settings.iter().any(|setting| setting == "--save") {
        command.args(["--save", ""]);
    }
    command.args(settings).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("redis-server is installed");
    let began = Instant::now();
    while began.elapsed() < STARTS_WITHIN {
        if child.try_wait().unwrap().is_some() {
            return None;
        }
        if answers(port) {
            return Some(child);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    panic!("redis-server does not answer on port {port}");
}

/// Whether a Redis answers there, be it only to want a password.
fn answers(port: u16) -> bool {
    let ping = || {
        let client = redis::Client::open(format!("redis://127.0.0.1:{port}/")).unwrap();
        let mut connection = client.get_connection_with_timeout(Duration::from_secs(2))?;
        redis::cmd("PING").query::<String>(&mut connection)
    };
    match ping() {
        Ok(_) => true,
        Err(error) => error.code().is_some_and(|code| code == "NOAUTH" || code == "WRONGPASS"),
    }
}

fn copy_all(from: &std::path::Path, to: &std::path::Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let beside = to.join(path.file_name().unwrap());
        if path.is_dir() {
            std::fs::create_dir_all(&beside).unwrap();
            copy_all(&path, &beside);
        } else {
            std::fs::copy(&path, &beside).unwrap();
        }
    }
}

fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

/// A number that no other test has.
fn fastrand_u64() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}
