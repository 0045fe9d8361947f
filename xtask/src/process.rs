//! A program that was started here, and how it is stopped.
//!
//! Each program runs in its own process group, so that its children end with it and Ctrl-C does not reach it directly.
//! Dropping a [`Running`] ends it. Processes that were not started here are never touched.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// Poll interval of all waits.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How long the kernel may take after SIGKILL.
const GRACE_AFTER_KILL: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Running {
    name: String,
    child: Child,
    group: Pid,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        let child =
            command.stdin(Stdio::null()).process_group(0).spawn().with_context(|| format!("cannot start {name}"))?;
        let group = Pid::from_child(&child);
        Ok(Self { name, child, group })
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn exit_status(&mut self) -> Result<Option<ExitStatus>> {
        self.child.try_wait().with_context(|| format!("cannot ask after {}", self.name))
    }

    /// Signals the process group, kills it after `timeout`, and returns only when all its processes are gone.
    pub(crate) fn stop(&mut self, request: Signal, timeout: Duration) -> Result<()> {
        self.signal(request)?;
        if !self.is_gone_within(timeout)? {
            self.signal(Signal::KILL)?;
            let gone = self.is_gone_within(GRACE_AFTER_KILL)?;
            ensure!(gone, "{} (process group {}) is still there after a kill", self.name, self.group);
        }
        Ok(())
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        match kill_process_group(self.group, signal) {
            // All processes of the group have ended already.
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(error).with_context(|| format!("cannot signal {}", self.name)),
        }
    }

    fn is_gone_within(&mut self, timeout: Duration) -> Result<bool> {
        let deadline = Instant::now() + timeout;
        loop {
            if self.exit_status()?.is_some() && !is_alive(self.group) {
                return Ok(true);
            }
            if Instant::now() >= deadline {
                return Ok(false);
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

/// Whether any process of the group still runs. Zombies do not count: in a container without an init they may never be
/// collected.
fn is_alive(group: Pid) -> bool {
    test_kill_process_group(group).is_ok() && processes().any(|(of_group, state)| of_group == group && state != "Z")
}

/// The group and the state of every process.
fn processes() -> impl Iterator<Item = (Pid, String)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        // The name, in brackets, may contain anything; after it come state, parent and group.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let state = fields.next()?.to_owned();
        Some((Pid::from_raw(fields.nth(1)?.parse().ok()?)?, state))
    })
}

impl Drop for Running {
    fn drop(&mut self) {
        // Once the child has been waited for, its process id may belong to another process.
        if matches!(self.child.try_wait(), Ok(None))
            && let Err(error) = self.stop(Signal::TERM, Duration::from_secs(5))
        {
            eprintln!("{error:#}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Running {
        let mut command = Command::new("sh");
        Running::start(command.args(["-c", script]).stdout(Stdio::null())).unwrap()
    }

    #[test]
    fn a_stopped_program_is_gone_with_what_it_started() {
        let mut running = shell("sleep 600 & sleep 600");
        assert!(is_alive(running.group));
        running.stop(Signal::TERM, Duration::from_secs(5)).unwrap();
        assert!(!is_alive(running.group));
    }

    #[test]
    fn a_program_that_ignores_the_request_is_killed() {
        let mut running = shell("trap '' TERM INT; while :; do sleep 0.1; done");
        running.stop(Signal::TERM, Duration::from_millis(200)).unwrap();
        assert!(!is_alive(running.group));
    }

    #[test]
    fn a_dropped_program_is_gone() {
        let running = shell("sleep 600");
        let group = running.group;
        drop(running);
        assert!(!is_alive(group));
    }

    #[test]
    fn stopping_a_program_that_has_ended_is_no_error() {
        let mut running = shell("exit 3");
        running.child.wait().unwrap();
        running.stop(Signal::TERM, Duration::from_secs(5)).unwrap();
        assert_eq!(running.exit_status().unwrap().and_then(|status| status.code()), Some(3));
    }
}
