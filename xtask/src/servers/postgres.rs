//! The private PostgreSQL, and a check whether a PostgreSQL answers.
//!
//! PostgreSQL refuses to run as root. Under root it runs as the user `postgres`, or `nobody` if that user does not
//! exist.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;

use super::{Durability, Server, ServerStart, ending_with_us};
use crate::commands::Commands;
use crate::packages::postgres_programs;

/// "Fast shutdown", which closes open connections. SIGTERM would wait for them.
const STOP_SIGNAL: Signal = Signal::INT;
const STOP_SIGNAL_NAME: &str = "INT";

/// The recommended settings.
const RECOMMENDED: &str = "deploy/postgresql.conf";

/// Starts a PostgreSQL with an empty database; returns its address.
pub(super) fn start(
    commands: &Commands,
    directory: &Path,
    durability: Durability,
    started: &mut Vec<Server>,
) -> Result<String> {
    let programs = postgres_programs(commands).context("PostgreSQL's programs are missing")?;
    let user = if rustix::process::geteuid().is_root() { Some(User::unprivileged(commands)?) } else { None };
    let data = data_directory(directory, user.as_ref())?;
    let mut initdb = as_user(commands, user.as_ref(), &programs.join("initdb"));
    initdb.args(["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--pgdata"]);
    commands.ask(initdb.arg(&data).current_dir(directory))?;
    if durability == Durability::Production {
        // Measurements use the recommended settings.
        let recommended = fs::read_to_string(commands.environment.root.join(RECOMMENDED))?;
        let settings = data.join("postgresql.conf");
        let own = fs::read_to_string(&settings)?;
        fs::write(&settings, own + "\n" + &recommended)?;
    }

    let log = directory.join("postgres.log");
    let start = ServerStart {
        name: "postgres",
        stop_signal: STOP_SIGNAL,
        log: &log,
        command: &|port| {
            let mut command = as_user(commands, user.as_ref(), &programs.join("postgres"));
            command.arg("-D").arg(&data).args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1"]);
            // No socket file: its usual directory belongs to the system's own server.
            command.args(["-c", "unix_socket_directories=", "-c", "max_connections=200"]).current_dir(directory);
            if durability == Durability::None {
                command.args(["-c", "fsync=off", "-c", "full_page_writes=off", "-c", "synchronous_commit=off"]);
            }
            command
        },
        answers: &|port| check(commands, &address(port)),
    };
    let server = start.perform(commands)?;
    let url = address(server.port);
    started.push(server);
    Ok(url)
}

/// Runs `SELECT 1`.
pub(super) fn check(commands: &Commands, url: &str) -> Result<()> {
    let psql = postgres_programs(commands).map(|programs| programs.join("psql")).filter(|psql| psql.is_file());
    let psql = psql.or_else(|| commands.find("psql")).context("psql is missing")?;
    let mut question = commands.command(psql);
    question.args([
        "--no-psqlrc",
        "--quiet",
        "--tuples-only",
        "--no-align",
        "--no-password",
        "--command=SELECT 1",
        url,
    ]);
    let answer = commands.ask(question.env("PGCONNECT_TIMEOUT", "2"))?;
    ensure!(answer.trim() == "1", "PostgreSQL says {:?} to SELECT 1", answer.trim());
    Ok(())
}

/// A user other than root.
#[derive(Debug)]
struct User {
    uid: u32,
    gid: u32,
}

impl User {
    fn unprivileged(commands: &Commands) -> Result<Self> {
        let id = |flag, name| -> Result<u32> {
            Ok(commands.ask(commands.command("id").args([flag, name]))?.trim().parse()?)
        };
        let known = |name| Ok(Self { uid: id("-u", name)?, gid: id("-g", name)? });
        known("postgres").or_else(|_: anyhow::Error| known("nobody")).context("no user to run PostgreSQL as")
    }
}

fn data_directory(directory: &Path, user: Option<&User>) -> Result<PathBuf> {
    let data = directory.join("postgres");
    fs::create_dir(&data)?;
    fs::set_permissions(&data, fs::Permissions::from_mode(0o700))?;
    if let Some(user) = user {
        chown(&data, Some(user.uid), Some(user.gid)).context("cannot give PostgreSQL its directory")?;
    }
    Ok(data)
}

fn as_user(commands: &Commands, user: Option<&User>, program: &Path) -> Command {
    let mut command = ending_with_us(commands, STOP_SIGNAL_NAME);
    if let Some(User { uid, gid }) = user {
        command.arg(format!("--reuid={uid}")).arg(format!("--regid={gid}")).arg("--clear-groups");
    }
    command.arg(program);
    command
}

fn address(port: u16) -> String {
    format!("postgres://postgres@127.0.0.1:{port}/postgres")
}
