//! CPU time and memory of processes from `/proc`, and killing a process group.

use std::fs;

/// Clock ticks per second, in which `/proc` counts CPU time.
const TICKS_PER_SECOND: f64 = 100.0;

/// A process as `/proc/<pid>/stat` describes it.
struct Process {
    id: i32,
    parent: i32,
    group: i32,
    /// Its own and that of children that have ended.
    cpu_s: f64,
}

impl Process {
    fn read(id: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name in parentheses may hold spaces. After it: state, parent, group, …, utime, stime, cutime, cstime.
        let fields: Vec<&str> = stat[stat.rfind(')')? + 2..].split(' ').collect();
        let ticks: f64 = fields.get(11..15)?.iter().map(|field| field.parse::<f64>().unwrap_or(0.0)).sum();
        Some(Self {
            id,
            parent: fields[1].parse().ok()?,
            group: fields[2].parse().ok()?,
            cpu_s: ticks / TICKS_PER_SECOND,
        })
    }

    fn all() -> impl Iterator<Item = Self> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries.filter_map(|entry| Self::read(entry.file_name().to_str()?.parse().ok()?))
    }
}

/// CPU time of a server and the processes that it started: PostgreSQL has one for each connection.
pub fn server_cpu_s(id: i32) -> f64 {
    Process::all().filter(|process| process.id == id || process.parent == id).map(|process| process.cpu_s).sum()
}

/// CPU time of a process group; none for group 0, which no bot has.
pub fn group_cpu_s(group: i32) -> f64 {
    in_group(group).map(|process| process.cpu_s).sum()
}

/// The sum of the peak memory of all processes of a group.
pub fn group_peak_rss_kb(group: i32) -> u64 {
    in_group(group).filter_map(|process| peak_rss_kb(process.id)).sum()
}

fn in_group(group: i32) -> impl Iterator<Item = Process> {
    let processes = (group != 0).then(Process::all);
    processes.into_iter().flatten().filter(move |process| process.group == group)
}

fn peak_rss_kb(id: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// CPU time of this process.
pub fn own_cpu_s() -> f64 {
    // SAFETY: `rusage` is plain integers, and the call fills the one it is given.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let seconds = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec;
    let microseconds = usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
    seconds as f64 + microseconds as f64 / 1e6
}

/// CPU time used on the whole machine: all but idle and iowait. Steal counts: it is the work of others.
pub fn machine_busy_s() -> f64 {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let fields = stat.lines().next().unwrap_or_default().split_whitespace().skip(1);
    let ticks: Vec<f64> = fields.filter_map(|field| field.parse().ok()).collect();
    match ticks[..] {
        [user, nice, system, _idle, _iowait, irq, softirq, steal, ..] => {
            (user + nice + system + irq + softirq + steal) / TICKS_PER_SECOND
        }
        _ => 0.0,
    }
}

/// kill -9 of a process.
pub fn kill(id: i32) {
    if id > 1 {
        // SAFETY: a signal touches no memory of this process.
        unsafe {
            libc::kill(id, libc::SIGKILL);
        }
    }
}

/// kill -9 of a whole process group.
pub fn kill_group(group: i32) {
    if group > 1 {
        // SAFETY: a signal touches no memory of this process.
        unsafe {
            libc::kill(-group, libc::SIGKILL);
        }
    }
}
