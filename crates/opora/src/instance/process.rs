//! This process as a lease names it, and whether another one still lives.
//!
//! Another process is known to be gone only on the same boot of the same machine, in the same pid namespace, when no
//! process has its pid and start time. In every other case the lease must run out.

use std::fs;
use std::sync::OnceLock;
use std::time::Duration;

use crate::clock::Millis;
use crate::store::Holder;

/// What says which machine, boot and namespace this is; it does not change while the process runs.
struct Machine {
    host: String,
    boot_id: String,
    pid_namespace: String,
    process_start: u64,
}

/// What can be seen of a lease's holder from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sighting {
    /// Its process runs on this machine.
    Running,
    /// It ran on this machine, and its process is gone.
    Gone,
    /// It runs, or ran, where this process cannot look.
    OutOfSight,
}

/// This process as the holder of a lease.
pub(super) fn this(since: Millis, ttl: Duration) -> Holder {
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

/// Whether the holder's process is known to be gone.
pub(super) fn is_gone(holder: &Holder) -> bool {
    look_for(holder) == Sighting::Gone
}

/// Looks for the holder's process.
#[must_use]
pub fn look_for(holder: &Holder) -> Sighting {
    let machine = machine();
    let is_here = !machine.boot_id.is_empty()
        && holder.boot_id == machine.boot_id
        && !machine.pid_namespace.is_empty()
        && holder.pid_namespace == machine.pid_namespace;
    if !is_here {
        return Sighting::OutOfSight;
    }
    if running_since(holder.pid) == Some(holder.process_start) { Sighting::Running } else { Sighting::Gone }
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
            process_start: running_since(std::process::id()).unwrap_or(0),
        }
    })
}

/// When a process started, in the kernel's own unit; none if there is no such process, or only its remains.
fn running_since(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is a name in brackets that may hold anything, brackets too.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    let start = fields.nth(18)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_one_with_another_start_does_not() {
        let me = this(Millis(0), Duration::from_secs(30));
        assert!(me.process_start > 0 && !me.boot_id.is_empty());
        assert!(!is_gone(&me));
        assert!(is_gone(&Holder { process_start: me.process_start + 1, ..me.clone() }));
        assert!(!is_gone(&Holder { boot_id: "another machine".into(), process_start: 1, ..me.clone() }));
        assert!(!is_gone(&Holder { pid_namespace: "pid:[1]".into(), process_start: 1, ..me }));
    }

    #[test]
    fn a_killed_process_is_gone_even_before_its_parent_has_noticed() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let start = running_since(child.id()).unwrap();
        let holder = Holder { pid: child.id(), process_start: start, ..this(Millis(0), Duration::ZERO) };
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
