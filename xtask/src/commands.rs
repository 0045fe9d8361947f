//! Finds and runs other programs.
//!
//! [`Commands::show`] shows the output of a program while it runs. [`Commands::ask`] returns the output. Both end the
//! program when the run is interrupted.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rustix::process::Signal;

use crate::environment::Environment;
use crate::interruption::Interruption;
use crate::process::{POLL_INTERVAL, Running};

/// A little more than the ten seconds that the test runner gives its tests after an interruption.
const INTERRUPT_TIMEOUT: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub(crate) struct Commands {
    pub environment: Environment,
    pub interruption: Interruption,
}

impl Commands {
    pub(crate) fn new(environment: Environment, interruption: Interruption) -> Self {
        Self { environment, interruption }
    }

    /// A command in the workspace's root, with the extended search path.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let program = program.as_ref();
        let found = self.find(&program.to_string_lossy());
        let mut command = Command::new(found.as_deref().map_or(program, Path::as_os_str));
        command.current_dir(&self.environment.root).env("PATH", &self.environment.search_path);
        for name in &self.environment.cargo_variables {
            command.env_remove(name);
        }
        command
    }

    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = self.command("cargo");
        command.args(arguments);
        command
    }

    /// The path of a program on the search path.
    pub(crate) fn find(&self, program: &str) -> Option<PathBuf> {
        std::env::split_paths(&self.environment.search_path)
            .map(|directory| directory.join(program))
            .find(|path| is_program(path))
    }

    /// Runs a program and shows its output.
    pub(crate) fn show(&self, command: &mut Command) -> Result<()> {
        let name = command_line(command);
        let status = self.finish(command)?;
        ensure!(status.success(), "`{name}` ended with {status}");
        Ok(())
    }

    /// Runs a program and returns its output. If it fails, the error contains the output.
    pub(crate) fn ask(&self, command: &mut Command) -> Result<String> {
        let name = command_line(command);
        let (status, text) = self.output(command)?;
        ensure!(status.success(), "`{name}` ended with {status}\n{}", text.trim_end());
        Ok(text)
    }

    /// Runs a program and returns how it ended, and its output.
    pub(crate) fn output(&self, command: &mut Command) -> Result<(ExitStatus, String)> {
        let mut output = tempfile::tempfile().context("cannot make a temporary file")?;
        command.stdout(Stdio::from(output.try_clone()?)).stderr(Stdio::from(output.try_clone()?));
        let status = self.finish(command)?;
        Ok((status, read_from_start(&mut output)?))
    }

    /// Whether a program runs and reports success.
    pub(crate) fn succeeds(&self, command: &mut Command) -> bool {
        self.ask(command).is_ok()
    }

    fn finish(&self, command: &mut Command) -> Result<ExitStatus> {
        self.interruption.check()?;
        let mut running = Running::start(command)?;
        loop {
            if let Some(status) = running.exit_status()? {
                return Ok(status);
            }
            if self.interruption.is_interrupted() {
                running.stop(Signal::INT, INTERRUPT_TIMEOUT)?;
                bail!("interrupted");
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

/// The command as one would type it.
pub(crate) fn command_line(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

fn read_from_start(file: &mut File) -> Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
