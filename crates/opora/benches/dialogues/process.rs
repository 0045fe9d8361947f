//! Processor time and memory of processes, as the kernel counts them.

use std::fs;

/// The kernel counts in hundredths of a second.
const TICK_US: f64 = 10_000.0;

/// This process, and servers with all their child processes.
pub(crate) struct Processes {
    servers: Vec<u32>,
}

/// Processor time, in microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CpuUs {
    /// Of this process.
    pub(crate) own: f64,
    /// Of the servers.
    pub(crate) server: f64,
}

impl Processes {
    pub(crate) fn with_servers(servers: &[u32]) -> Self {
        Self { servers: servers.to_vec() }
    }

    /// The processor time used so far.
    pub(crate) fn cpu_us(&self) -> CpuUs {
        let own = stat("self").map_or(0.0, |stat| stat.cpu_us);
        if self.servers.is_empty() {
            return CpuUs { own, server: 0.0 };
        }
        let all = fs::read_dir("/proc").unwrap().flatten();
        let stats = all.filter_map(|entry| {
            let process: u32 = entry.file_name().to_str()?.parse().ok()?;
            Some((process, stat(&process.to_string())?))
        });
        let of_server =
            stats.filter(|(process, stat)| [*process, stat.parent].iter().any(|one| self.servers.contains(one)));
        CpuUs { own, server: of_server.map(|(_, stat)| stat.cpu_us).sum() }
    }
}

impl CpuUs {
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self { own: self.own - earlier.own, server: self.server - earlier.server }
    }
}

/// The memory that this process has in use, in bytes.
pub(crate) fn resident_bytes() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() * 1024.0
}

struct Stat {
    parent: u32,
    cpu_us: f64,
}

/// None if the process is gone. The time of its children counts once they have ended.
fn stat(process: &str) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in brackets may contain anything. After it come state and parent, and later the times.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11..15)?.iter().map(|ticks| ticks.parse::<f64>().unwrap_or(0.0)).sum::<f64>();
    Some(Stat { parent: fields.get(1)?.parse().ok()?, cpu_us: ticks * TICK_US })
}
