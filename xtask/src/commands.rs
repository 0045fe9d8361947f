//! How other programs are found and run.
//!
//! A program either shows its output as it goes ([`Commands::show`]) or keeps it for the case that it fails
//! ([`Commands::ask`]). Both end the program when the run is interrupted.

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
use crate::process::{LOOK_EVERY, Running};

/// The test runner gives its tests ten seconds after an interruption; this is a little more.
const PATIENCE_WITH_INTERRUPTED: Duration = Duration::from_secs(15);

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
        for name in &self.environment.left_by_cargo {
            command.env_remove(name);
        }
        command
    }

    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = self.command("cargo");
        command.args(arguments);
        command
    }

    /// Where a program lies on the search path.
    pub(crate) fn find(&self, program: &str) -> Option<PathBuf> {
        std::env::split_paths(&self.environment.search_path)
            .map(|directory| directory.join(program))
            .find(|path| is_program(path))
    }

    /// Runs a program whose output the reader wants to see while it works.
    pub(crate) fn show(&self, command: &mut Command) -> Result<()> {
        let name = spelled(command);
        let status = self.finish(command)?;
        ensure!(status.success(), "`{name}` ended with {status}");
        Ok(())
    }

    /// Runs a program for what it prints; the output appears in the error if it fails.
    pub(crate) fn ask(&self, command: &mut Command) -> Result<String> {
        let name = spelled(command);
        let mut output = tempfile::tempfile().context("cannot make a temporary file")?;
        command.stdout(Stdio::from(output.try_clone()?)).stderr(Stdio::from(output.try_clone()?));
        let status = self.finish(command)?;
        let text = read_from_start(&mut output)?;
        ensure!(status.success(), "`{name}` ended with {status}\n{}", text.trim_end());
        Ok(text)
    }

    /// Whether a program runs and reports success.
    pub(crate) fn succeeds(&self, command: &mut Command) -> bool {
        self.ask(command).is_ok()
    }

    fn finish(&self, command: &mut Command) -> Result<ExitStatus> {
        self.interruption.check()?;
        let mut running = Running::start(command)?;
        loop {
            if let Some(status) = running.ended()? {
                return Ok(status);
            }
            if self.interruption.came() {
                running.stop(Signal::INT, PATIENCE_WITH_INTERRUPTED)?;
                bail!("interrupted");
            }
            thread::sleep(LOOK_EVERY);
        }
    }
}

/// The command as a reader would type it.
pub(crate) fn spelled(command: &Command) -> String {
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
