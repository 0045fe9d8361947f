//! Redis for tests: a prefix in a shared server, or a server of the test's own.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::flushes::FlushLog;
use crate::server_process::random_number;
use crate::{environment, server_process};

const NAME: &str = "redis-server";
const STARTS_WITHIN: Duration = Duration::from_secs(20);
/// The file in which a server saves its data.
const DUMP: &str = "dump.rdb";
const LOG: &str = "redis.log";

/// A Redis server for one test. It ends when this value is dropped.
#[derive(Debug)]
pub struct RedisServer {
    program: PathBuf,
    child: Child,
    port: u16,
    folder: tempfile::TempDir,
    settings: Vec<String>,
    /// Present if the test asks what is on the server's disk.
    flushes: Option<FlushLog>,
}

/// A key prefix for one test, in a Redis that other tests may share. Dropping it removes the keys.
#[derive(Debug)]
pub struct RedisNamespace {
    /// The address, with the prefix.
    pub url: String,
    prefix: String,
    server: Option<RedisServer>,
}

impl RedisServer {
    /// Starts a server. `settings` are arguments of `redis-server`.
    pub fn start(settings: &[&str]) -> Self {
        Self::start_program(PathBuf::from("redis-server"), settings)
    }

    /// Starts a server whose flushes are recorded, for [`Self::lose_unflushed`].
    pub fn start_with_flush_log(settings: &[&str]) -> Self {
        Self::with(PathBuf::from("redis-server"), settings, Some(FlushLog::compile()))
    }

    /// Starts this `redis-server` program, for other versions.
    pub fn start_program(program: PathBuf, settings: &[&str]) -> Self {
        Self::with(program, settings, None)
    }

    pub fn start_from_dump(dump: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::copy(dump, folder.path().join(DUMP)).unwrap();
        Self::within(folder, PathBuf::from("redis-server"), &[], None)
    }

    /// Writes an RDB file that does not change with time or code: keys lose their expiry, because a server drops
    /// expired keys when it loads a file, and functions are left out, because they are loaded again when needed.
    pub fn dump(&self, to: &Path) {
        let mut connection = redis::Client::open(self.url()).unwrap().get_connection().unwrap();
        let keys: Vec<Vec<u8>> = redis::cmd("KEYS").arg("*").query(&mut connection).unwrap();
        for key in keys {
            redis::cmd("PERSIST").arg(key).exec(&mut connection).unwrap();
        }
        self.command(&["FUNCTION", "FLUSH"]);
        self.command(&["SAVE"]);
        std::fs::copy(self.folder.path().join(DUMP), to).unwrap();
    }

    fn with(program: PathBuf, settings: &[&str], flushes: Option<FlushLog>) -> Self {
        Self::within(tempfile::tempdir().unwrap(), program, settings, flushes)
    }

    fn within(folder: tempfile::TempDir, program: PathBuf, settings: &[&str], flushes: Option<FlushLog>) -> Self {
        let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let start_at = |port| run(&program, port, folder.path(), &settings, flushes.as_ref());
        let (port, child) = server_process::start(NAME, start_at);
        Self { program, child, port, folder, settings, flushes }
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// Runs a command on its own connection.
    pub fn command(&self, words: &[&str]) -> redis::Value {
        self.try_command(words).unwrap()
    }

    /// Like [`Self::command`], for a server that may be away or refuse.
    pub fn try_command(&self, words: &[&str]) -> redis::RedisResult<redis::Value> {
        let mut connection = redis::Client::open(self.url())?.get_connection_with_timeout(Duration::from_secs(2))?;
        let mut command = redis::Cmd::new();
        words.iter().for_each(|word| {
            command.arg(*word);
        });
        command.query(&mut connection)
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// The present length of the append-only file.
    pub fn aof_bytes(&self) -> u64 {
        std::fs::metadata(self.aof_path()).unwrap().len()
    }

    /// Kills the server as a power loss does: the append-only file is cut to this length.
    pub fn lose_power(&mut self, aof_bytes: u64) {
        self.kill();
        self.cut(aof_bytes);
    }

    /// Like [`Self::lose_power`], cut after the last flushed byte. Returns how many bytes were lost.
    pub fn lose_unflushed(&mut self) -> u64 {
        self.kill();
        let aof_bytes = self.aof_bytes();
        let flushes = self.flushes.as_ref().expect("its flushes are recorded");
        // The server itself cuts off what it cannot read at a start.
        let flushed_bytes = flushes.flushed_bytes().min(aof_bytes);
        self.cut(flushed_bytes);
        aof_bytes - flushed_bytes
    }

    /// A copy of the server's files. Only while the server does not run.
    pub fn copy(&self) -> tempfile::TempDir {
        let copy = tempfile::tempdir().unwrap();
        copy_all(self.folder.path(), copy.path());
        copy
    }

    /// Replaces the server's files with a copy, or removes them. Only while the server does not run.
    pub fn restore(&self, copy: Option<&tempfile::TempDir>) {
        for entry in std::fs::read_dir(self.folder.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { std::fs::remove_dir_all(path).unwrap() } else { std::fs::remove_file(path).unwrap() }
        }
        if let Some(copy) = copy {
            copy_all(copy.path(), self.folder.path());
        }
    }

    /// The port, also after a kill.
    pub fn port(&self) -> u16 {
        self.port
    }

    fn aof_path(&self) -> PathBuf {
        self.folder.path().join("appendonlydir/appendonly.aof.1.incr.aof")
    }

    fn cut(&self, aof_bytes: u64) {
        std::fs::File::options().write(true).open(self.aof_path()).unwrap().set_len(aof_bytes).unwrap();
    }

    /// Starts the server again on the same files and port.
    pub fn start_again(&mut self) {
        let start = || run(&self.program, self.port, self.folder.path(), &self.settings, self.flushes.as_ref());
        self.child = server_process::start_again(NAME, STARTS_WITHIN, start);
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        // The test may have killed it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[allow(clippy::new_without_default, reason = "it may start a server, which a default value should not")]
impl RedisNamespace {
    /// A prefix in the shared Redis, or in a new server if there is none.
    pub fn new() -> Self {
        let (server, url) = match environment::redis_url() {
            Some(url) => (None, url),
            None => {
                let server = RedisServer::start(&[]);
                let url = server.url();
                (Some(server), url)
            }
        };
        let prefix = format!("opora-test-{}-{:016x}", std::process::id(), random_number());
        let plain = url.split('?').next().unwrap();
        Self { url: format!("{plain}?prefix={prefix}"), prefix, server }
    }

    fn remove_keys(&self) -> redis::RedisResult<()> {
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

impl Drop for RedisNamespace {
    fn drop(&mut self) {
        // A server of the test's own ends with its keys.
        if self.server.is_none() {
            let _ = self.remove_keys();
        }
    }
}

/// Starts the server. None if it ended by itself.
fn run(program: &Path, port: u16, folder: &Path, settings: &[String], flushes: Option<&FlushLog>) -> Option<Child> {
    let mut command = Command::new(program);
    if let Some(flushes) = flushes {
        flushes.attach_to(&mut command);
    }
    command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--daemonize", "no", "--dir"]).arg(folder);
    if !settings.iter().any(|setting| setting == "--save") {
        command.args(["--save", ""]);
    }
    let log = folder.join(LOG);
    command.args(settings).stdout(std::fs::File::create(&log).unwrap()).stderr(Stdio::null());
    let child = command.spawn().expect("redis-server is installed");
    // Its own log, because the Redis of another test may have taken the port and would answer a ping.
    let is_ready = || std::fs::read_to_string(&log).unwrap().contains("eady to accept connections");
    server_process::ready(NAME, child, STARTS_WITHIN, is_ready)
}

fn copy_all(from: &Path, to: &Path) {
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
