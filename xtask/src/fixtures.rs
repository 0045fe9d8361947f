//! `cargo xtask fixtures`: writes a fixture of every store for the version of the workspace.
//!
//! The test that compares the current layout with the stored fixture also writes it, so both do the same. The servers
//! are those of a test run. Redis is always a private one, because its file has all of its data. Fixtures of a released
//! version are not written again.

use std::fs;
use std::process::ExitCode;

use anyhow::Result;

use crate::commands::{Commands, command_line};
use crate::environment::Environment;
use crate::interruption::Interruption;
use crate::servers::{Durability, Servers};

const FOLDER: &str = "crates/workforce/tests/fixtures";
const TEST: &str = "fixtures::todays_fixture_has_the_layout_of_the_kept_one";

pub(crate) fn run(environment: Environment) -> Result<ExitCode> {
    let commands = Commands::new(environment, Interruption::watch()?);
    let servers = Servers::start(&commands, Durability::None)?;
    // The features of the whole workspace, as a test run builds them.
    let mut write = commands.cargo(&["test", "--workspace", "--test", "it", "--", "--exact", TEST]);
    write.env("OPORA_WRITE_FIXTURES", "1");
    write.env("TEST_REDIS_URL", &servers.redis_url).env("TEST_DATABASE_URL", &servers.database_url);
    println!("{}", command_line(&write));
    let written = commands.show(&mut write);
    servers.stop()?;
    written?;
    for version in fs::read_dir(commands.environment.root.join(FOLDER))? {
        let version = version?;
        let mut bytes = 0;
        for file in fs::read_dir(version.path())? {
            bytes += file?.metadata()?.len();
        }
        println!("{FOLDER}/{}: {} KB", version.file_name().to_string_lossy(), bytes / 1024);
    }
    Ok(ExitCode::SUCCESS)
}
