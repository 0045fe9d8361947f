//! Identifies this process in a lease, and checks whether another holder's process is gone.
//!
//! A process is known to be gone only on the same boot of the same machine and in the same pid namespace, when no
//! process has its pid and start time. In every other case the lease must expire.

use std::fs;
use std::sync::OnceLock;
use std::time::Duration;

use super::Holder;
use crate::clock::{Millis, utc};

/// The machine, boot and pid namespace of this process. They do not change while it runs.
struct Machine {
    host: String,
    boot_id: String,
    pid_namespace: String,
    process_start: u64,
}

/// The state of a lease holder's process, as far as it can be seen from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessStatus {
    /// It runs on this machine.
    Running,
    /// It ran on this machine and is gone.
    Gone,
    /// It is on another machine, in another pid namespace, or from before a reboot.
    Unknown,
}

/// This process as the holder of a lease.
pub(crate) fn this_holder(since: Millis, ttl: Duration) -> Holder {
    let machine = machine();
    Holder {
        host: machine.host.clone(),
        pid: std::process::id(),
        process_start: machine.process_start,
        boot_id: machine.boot_id.clone(),
        pid_namespace: machine.pid_namespace.clone(),
        since,
        token: format!("{:016x}", fastrand::u64(..)),
        ttl_ms: i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX),
    }
}

/// Whether the holder's process is certainly gone.
pub(crate) fn is_gone(holder: &Holder) -> bool {
    process_status(holder) == ProcessStatus::Gone
}

/// The state of the holder's process.
#[must_use]
pub fn process_status(holder: &Holder) -> ProcessStatus {
    let machine = machine();
    let is_here = !machine.boot_id.is_empty()
        && holder.boot_id == machine.boot_id
        && !machine.pid_namespace.is_empty()
        && holder.pid_namespace == machine.pid_namespace;
    if !is_here {
        return ProcessStatus::Unknown;
    }
    if start_time(holder.pid) == Some(holder.process_start) { ProcessStatus::Running } else { ProcessStatus::Gone }
}

/// The holder of a lease, as text.
#[must_use]
pub fn describe_holder(holder: &Holder) -> String {
    let suffix = if is_gone(holder) { ", which is gone" } else { "" };
    format!("process {} on {}{suffix}, since {}", holder.pid, holder.host, utc(holder.since))
}

fn machine() -> &'static Machine {
    static MACHINE: OnceLock<Machine> = OnceLock::new();
    MACHINE.get_or_init(|| {
        let read = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
        let namespace = fs::read_link("/proc/self/ns/pid");
        Machine {
            host: read("/proc/sys/kernel/hostname"),
            boot_id: read("/proc/sys/kernel/random/boot_id"),
            pid_namespace: namespace.map(|link| link.to_string_lossy().into_owned()).unwrap_or_default(),
            process_start: start_time(std::process::id()).unwrap_or(0),
        }
    })
}

/// The start time of a process, in clock ticks since boot. None if it does not exist or is a zombie.
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the name in parentheses, and may contain parentheses itself.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    let start = fields.nth(18)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_another_start_time_is_gone() {
        let me = this_holder(Millis(0), Duration::from_secs(30));
        assert!(me.process_start > 0 && !me.boot_id.is_empty());
        assert!(!is_gone(&me));
        assert!(is_gone(&Holder { process_start: me.process_start + 1, ..me.clone() }));
        assert!(!is_gone(&Holder { boot_id: "another machine".into(), process_start: 1, ..me.clone() }));
        assert!(!is_gone(&Holder { pid_namespace: "pid:[1]".into(), process_start: 1, ..me }));
    }

    #[test]
    fn a_killed_process_is_gone_before_its_parent_notices() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let start = start_time(child.id()).unwrap();
        let holder = Holder { pid: child.id(), process_start: start, ..this_holder(Millis(0), Duration::ZERO) };
        assert!(!is_gone(&holder));
        child.kill().unwrap();
        let deadline = crate::clock::Stopwatch::start();
        while !is_gone(&holder) {
            assert!(deadline.elapsed() < Duration::from_secs(10));
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(is_gone(&holder));
    }
}
