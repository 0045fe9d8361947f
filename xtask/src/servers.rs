//! A private Redis and a private PostgreSQL for the length of a test run or of a measurement.
//!
//! They listen on free loopback ports, keep their files in a temporary directory, and are stopped by their own process
//! number. A server given by the caller is used instead for tests, and is never stopped. For tests nothing is durable:
//! a test of durability starts servers of its own. For measurements everything is, as in production.

mod postgres;
mod redis;

use std::fs;
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
use crate::process::{LOOK_EVERY, Running};

const STARTS_WITHIN: Duration = Duration::from_secs(30);
const STOPS_WITHIN: Duration = Duration::from_secs(20);
/// Another program may take the port between its choice and its use.
const ATTEMPTS: usize = 3;

#[derive(Debug)]
pub(crate) struct Servers {
    pub redis_url: String,
    pub database_url: String,
    // Dropped in this order: first the servers end, then their files go.
    started: Vec<Server>,
    directory: Option<TempDir>,
}

/// What a server does for durability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Nothing.
    None,
    /// What it does in production.
    AsUsual,
}

/// A server process of ours.
#[derive(Debug)]
struct Server {
    name: &'static str,
    port: u16,
    running: Running,
    /// The signal that this server takes as "close all connections and end".
    farewell: Signal,
}

impl Servers {
    /// Starts what the caller has not given, and checks that both answer.
    pub(crate) fn start(commands: &Commands, durability: Durability) -> Result<Self> {
        let directory = tempfile::Builder::new()
            .prefix("opora-test-")
            // PostgreSQL may run as another user, who has to get through to its own directory.
            .permissions(fs::Permissions::from_mode(0o711))
            .tempdir()
            .context("cannot make a temporary directory")?;
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

    /// The process of the server that listens where an address says, if it is ours.
    pub(crate) fn process_at(&self, url: &str) -> Option<u32> {
        let listens = |server: &&Server| url.contains(&format!(":{}/", server.port));
        self.started.iter().find(listens).map(|server| server.running.process())
    }

    /// Stops every server that was started here, and makes sure that nothing of them is left.
    pub(crate) fn stop(mut self) -> Result<String> {
        let mut said = Vec::new();
        // All are asked to end before the first failure is reported.
        let outcomes: Vec<_> = self.started.iter_mut().map(Server::stop).collect();
        for outcome in outcomes {
            said.push(outcome?);
        }
        if let Some(directory) = self.directory.take() {
            let path = directory.path().to_path_buf();
            directory.close().with_context(|| format!("cannot remove {}", path.display()))?;
            ensure!(!path.exists(), "{} is still there", path.display());
        }
        Ok(if said.is_empty() { "none were ours".to_owned() } else { format!("{} gone", said.join(" and ")) })
    }
}

impl Server {
    fn stop(&mut self) -> Result<String> {
        let ended_before = self.running.ended()?;
        self.running.stop(self.farewell, STOPS_WITHIN).with_context(|| format!("cannot stop {}", self.name))?;
        let answers = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok();
        ensure!(!answers, "{} was stopped, and yet port {} answers", self.name, self.port);
        match ended_before {
            // Whatever the tests said of it, something is wrong.
            Some(status) => bail!("{} had ended by itself, with {status}", self.name),
            None => Ok(self.name.to_owned()),
        }
    }
}

/// What it takes to start one kind of server.
struct Start<'a> {
    name: &'static str,
    farewell: Signal,
    log: &'a Path,
    command: &'a dyn Fn(u16) -> Command,
    answers: &'a dyn Fn(u16) -> Result<()>,
}

impl Start<'_> {
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

    /// Nothing, if the server ended by itself.
    fn attempt(&self, commands: &Commands) -> Result<Option<Server>> {
        let port = free_port()?;
        let log = fs::File::create(self.log)?;
        let mut command = (self.command)(port);
        let running = Running::start(command.stdout(log.try_clone()?).stderr(log))?;
        let mut server = Server { name: self.name, port, running, farewell: self.farewell };
        let deadline = Instant::now() + STARTS_WITHIN;
        loop {
            commands.interruption.check()?;
            if server.running.ended()?.is_some() {
                return Ok(None);
            }
            match (self.answers)(port) {
                Ok(()) => return Ok(Some(server)),
                Err(error) if Instant::now() >= deadline => {
                    return Err(error).with_context(|| format!("{} does not answer on port {port}", self.name));
                }
                Err(_) => thread::sleep(LOOK_EVERY),
            }
        }
    }
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port on loopback")?;
    Ok(listener.local_addr()?.port())
}

/// A command that also ends when this program is killed without a chance to stop it.
fn bound_to_us(commands: &Commands, farewell: &str) -> Command {
    let mut command = commands.command("setpriv");
    command.args(["--pdeathsig", farewell]);
    command
}
