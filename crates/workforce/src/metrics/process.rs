//! What the process uses of the machine, from `/proc`.

use std::fs;

use rustix::process::{Resource, getrlimit};

use super::exposition::Number;

/// Clock ticks per second in `/proc`. Linux fixes it for programs, whatever its own clock does.
const TICKS: f64 = 100.0;
const KILOBYTE: f64 = 1024.0;

/// The numbers of the process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    start_time_seconds: f64,
    cpu_seconds: f64,
    resident_bytes: f64,
    virtual_bytes: f64,
    threads: f64,
    open_files: f64,
    max_files: f64,
}

impl Usage {
    /// Reads the numbers; blocks for less than a millisecond. None where there is no `/proc`.
    pub(super) fn read() -> Option<Self> {
        let stat = fs::read_to_string("/proc/self/stat").ok()?;
        // The name of the program is in parentheses, and may hold spaces.
        let fields: Vec<_> = stat.rsplit_once(") ")?.1.split(' ').collect();
        // The first of them is the third field of the file.
        let ticks = |field: usize| Some(fields.get(field - 3)?.parse::<f64>().ok()? / TICKS);
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let system = fs::read_to_string("/proc/stat").ok()?;
        Some(Self {
            start_time_seconds: number_after(&system, "btime ")? + ticks(22)?,
            cpu_seconds: ticks(14)? + ticks(15)?,
            resident_bytes: number_after(&status, "VmRSS:")? * KILOBYTE,
            virtual_bytes: number_after(&status, "VmSize:")? * KILOBYTE,
            threads: number_after(&status, "Threads:")?,
            open_files: fs::read_dir("/proc/self/fd").ok()?.count() as f64,
            max_files: getrlimit(Resource::Nofile).current.map_or(f64::INFINITY, |limit| limit as f64),
        })
    }

    pub(super) fn numbers(&self) -> [(&'static str, Number); 7] {
        [
            ("process_start_time_seconds", Number(self.start_time_seconds)),
            ("process_cpu_seconds_total", Number(self.cpu_seconds)),
            ("process_resident_memory_bytes", Number(self.resident_bytes)),
            ("process_virtual_memory_bytes", Number(self.virtual_bytes)),
            ("process_threads", Number(self.threads)),
            ("process_open_fds", Number(self.open_files)),
            ("process_max_fds", Number(self.max_files)),
        ]
    }
}

/// The number after the beginning of a line.
fn number_after(text: &str, start: &str) -> Option<f64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(start))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use opora::clock::Clock;

    use super::*;
    use crate::metrics::list;

    #[test]
    fn the_numbers_of_this_process_are_plausible() {
        let before = Usage::read().unwrap();
        let files: Vec<_> = (0..20).map(|_| File::open("/dev/null").unwrap()).collect();
        let usage = Usage::read().unwrap();
        assert!(usage.open_files >= before.open_files + 20.0, "{usage:?}");
        drop(files);
        assert!((1e6..usage.virtual_bytes).contains(&usage.resident_bytes), "{usage:?}");
        assert!(usage.threads >= 1.0 && usage.max_files > usage.open_files, "{usage:?}");
        let age = Clock::machine().now().0 as f64 / 1000.0 - usage.start_time_seconds;
        assert!((-2.0..600.0).contains(&age) && (0.0..600.0).contains(&usage.cpu_seconds), "{age}: {usage:?}");
    }

    #[test]
    fn all_listed_numbers_are_read() {
        let names: Vec<_> = Usage::read().unwrap().numbers().map(|(name, _)| name).into();
        assert_eq!(names, list::PROCESS.iter().map(|metric| metric.name).collect::<Vec<_>>());
    }
}
