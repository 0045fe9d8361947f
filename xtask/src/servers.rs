//! A private Redis and a private PostgreSQL for the length of a test run or of a measurement.
//!
//! They listen on free loopback ports, keep their files in a temporary directory, and are stopped by process id. For
//! tests, a server that the environment names is used instead, and is never stopped. For tests nothing is durable, and
//! the files are in memory if there is room: tests of durability start their own servers. For measurements everything
//! is durable, as in production.

mod postgres;
mod redis;

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::commands::Commands;
use crate::process::{POLL_INTERVAL, Running};
use crate::scratch;

const START_TIMEOUT: Duration = Duration::from_secs(30);
const STOP_TIMEOUT: Duration = Duration::from_secs(20);
/// Another program may take the port between its choice and its use.
const ATTEMPTS: usize = 3;

#[derive(Debug)]
pub(crate) struct Servers {
    pub redis_url: String,
    pub database_url: String,
    // Dropped in this order: the servers end before their files are removed.
    started: Vec<Server>,
    directory: Option<TempDir>,
}

/// Whether a server writes durably.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Nothing is synced to disk.
    None,
    /// As in production.
    Production,
}

/// A server that was started here.
#[derive(Debug)]
struct Server {
    name: &'static str,
    port: u16,
    running: Running,
    /// The signal at which this server closes all connections and ends.
    stop_signal: Signal,
}

impl Servers {
    /// Starts the servers that the environment does not name, and checks that both answer.
    pub(crate) fn start(commands: &Commands, durability: Durability) -> Result<Self> {
        let in_memory = if durability == Durability::None { scratch::in_memory() } else { None };
        let directory = in_memory.map_or_else(on_disk, Ok).context("cannot make a temporary directory")?;
        let mut started = Vec::new();
        let given = |url: &Option<String>| url.clone().filter(|_| durability == Durability::None);
        let redis_url = match given(&commands.environment.given_redis_url) {
            Some(url) => url,
            None => redis::start(commands, directory.path(), durability, &mut started)?,
        };
        let database_url = match given(&commands.environment.given_database_url) {
            Some(url) => url,
            None => postgres::start(commands, directory.path(), durability, &mut started)?,
        };
        redis::check(&redis_url)?;
        postgres::check(commands, &database_url)?;
        Ok(Self { redis_url, database_url, started, directory: Some(directory) })
    }

    /// The process id of the server at an address, if it was started here.
    pub(crate) fn process_at(&self, url: &str) -> Option<u32> {
        let listens = |server: &&Server| url.contains(&format!(":{}/", server.port));
        self.started.iter().find(listens).map(|server| server.running.id())
    }

    /// Stops every server that was started here, and checks that no process or file is left.
    pub(crate) fn stop(mut self) -> Result<String> {
        let mut stopped = Vec::new();
        // All are asked to end before the first failure is reported.
        let outcomes: Vec<_> = self.started.iter_mut().map(Server::stop).collect();
        for outcome in outcomes {
            stopped.push(outcome?);
        }
        if let Some(directory) = self.directory.take() {
            let path = directory.path().to_path_buf();
            directory.close().with_context(|| format!("cannot remove {}", path.display()))?;
            ensure!(!path.exists(), "{} is still there", path.display());
        }
        Ok(if stopped.is_empty() {
            "none were started here".to_owned()
        } else {
            format!("stopped {}", stopped.join(" and "))
        })
    }
}

/// Creates a folder for the servers' files. PostgreSQL may run as another user, who must be able to enter it.
fn on_disk() -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("opora-test-").permissions(fs::Permissions::from_mode(0o711)).tempdir()
}

impl Server {
    fn stop(&mut self) -> Result<String> {
        let ended_before = self.running.exit_status()?;
        self.running.stop(self.stop_signal, STOP_TIMEOUT).with_context(|| format!("cannot stop {}", self.name))?;
        let answers = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok();
        ensure!(!answers, "{} was stopped, and yet port {} answers", self.name, self.port);
        match ended_before {
            // Something is wrong, even if the tests passed.
            Some(status) => bail!("{} had ended by itself, with {status}", self.name),
            None => Ok(self.name.to_owned()),
        }
    }
}

/// How to start one kind of server.
struct ServerStart<'a> {
    name: &'static str,
    stop_signal: Signal,
    log: &'a Path,
    command: &'a dyn Fn(u16) -> Command,
    answers: &'a dyn Fn(u16) -> Result<()>,
}

impl ServerStart<'_> {
    /// Starts the server on a free port and waits until it answers.
    fn perform(&self, commands: &Commands) -> Result<Server> {
        for _ in 0..ATTEMPTS {
            if let Some(server) = self.attempt(commands)? {
                return Ok(server);
            }
        }
        let log = fs::read_to_string(self.log).unwrap_or_default();
        bail!("{} ended {ATTEMPTS} times at its start\n{}", self.name, log.trim_end())
    }

    /// Starts the server once. None if it ended by itself.
    fn attempt(&self, commands: &Commands) -> Result<Option<Server>> {
        let port = free_port()?;
        let log = fs::File::create(self.log)?;
        let mut command = (self.command)(port);
        let running = Running::start(command.stdout(log.try_clone()?).stderr(log))?;
        let mut server = Server { name: self.name, port, running, stop_signal: self.stop_signal };
        let deadline = Instant::now() + START_TIMEOUT;
        loop {
            commands.interruption.check()?;
            if server.running.exit_status()?.is_some() {
                return Ok(None);
            }
            match (self.answers)(port) {
                Ok(()) => return Ok(Some(server)),
                Err(error) if Instant::now() >= deadline => {
                    return Err(error).with_context(|| format!("{} does not answer on port {port}", self.name));
                }
                Err(_) => thread::sleep(POLL_INTERVAL),
            }
        }
    }
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port on loopback")?;
    Ok(listener.local_addr()?.port())
}

/// A command whose process also ends when this program is killed.
fn ending_with_us(commands: &Commands, stop_signal: &str) -> Command {
    let mut command = commands.command("setpriv");
    command.args(["--pdeathsig", stop_signal]);
    command
}
