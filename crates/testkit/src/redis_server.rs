//! A Redis for a test: the one that the caller gave, under a prefix of the test's own, or one that the test starts.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::flushes::Flushes;
use crate::server_process::random_number;
use crate::{environment, server_process};

const NAME: &str = "redis-server";
const STARTS_WITHIN: Duration = Duration::from_secs(20);
/// The name under which a server saves and loads its data.
const DUMP: &str = "dump.rdb";

/// A Redis of one test. It ends with the test.
#[derive(Debug)]
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
#[derive(Debug)]
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

    /// Starts one that loads this RDB file.
    pub fn of_dump(dump: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::copy(dump, folder.path().join(DUMP)).unwrap();
        Self::within(folder, PathBuf::from("redis-server"), &[], None)
    }

    /// Writes an RDB file of its data. It leaves out what would change the file with time or with an edit of the code: keys
    /// have no expiry, because a server drops expired keys when it loads a file; functions are loaded again when needed.
    pub fn dump(&self, to: &Path) {
        let mut connection = redis::Client::open(self.url()).unwrap().get_connection().unwrap();
        let keys: Vec<Vec<u8>> = redis::cmd("KEYS").arg("*").query(&mut connection).unwrap();
        for key in keys {
            redis::cmd("PERSIST").arg(key).exec(&mut connection).unwrap();
        }
        self.say(&["FUNCTION", "FLUSH"]);
        self.say(&["SAVE"]);
        std::fs::copy(self.folder.path().join(DUMP), to).unwrap();
    }

    fn with(program: PathBuf, settings: &[&str], flushes: Option<Flushes>) -> Self {
        Self::within(tempfile::tempdir().unwrap(), program, settings, flushes)
    }

    fn within(folder: tempfile::TempDir, program: PathBuf, settings: &[&str], flushes: Option<Flushes>) -> Self {
        let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let start_at = |port| run(&program, port, folder.path(), &settings, flushes.as_ref());
        let (port, child) = server_process::start(NAME, start_at);
        Self { program, child, port, folder, settings, flushes }
    }

    /// Its address, database 0.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// Says something to it, outside of any store.
    pub fn say(&self, words: &[&str]) -> redis::Value {
        self.try_say(words).unwrap()
    }

    /// The same where the server may be away or refuse.
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

    /// The port that it listens on, also after it was killed.
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
        let start = || run(&self.program, self.port, self.folder.path(), &self.settings, self.flushes.as_ref());
        self.child = server_process::start_again(NAME, STARTS_WITHIN, start);
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        // It may have been killed by the test.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[allow(clippy::new_without_default, reason = "it may start a server, which a default value should not")]
impl RedisSpace {
    /// A prefix of its own in the Redis that tests share, else a server of its own.
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
    let child = command.spawn().expect("redis-server is installed");
    server_process::ready(NAME, child, STARTS_WITHIN, || answers(port))
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
