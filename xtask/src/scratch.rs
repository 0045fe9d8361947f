//! A folder in memory for what tests write.
//!
//! Tests make thousands of databases that live for a second, and each commit of them waits for the disk. Kills lose nothing
//! of a folder in memory; what a loss of power takes, tests find out by themselves.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{StatVfsMountFlags, statvfs};
use tempfile::TempDir;

const MEMORY: &str = "/dev/shm";
/// Tests that run at once take a tenth of it.
const NEEDED_BYTES: u64 = 4 << 30;

/// Makes a folder in memory. None where there is too little memory, or where no program may be run from it.
pub(crate) fn in_memory() -> Option<TempDir> {
    let found = statvfs(MEMORY).ok()?;
    let is_large =
        found.f_bavail.saturating_mul(found.f_frsize) >= NEEDED_BYTES && free_memory_bytes()? >= NEEDED_BYTES;
    let may_run_programs = !found.f_flag.contains(StatVfsMountFlags::NOEXEC);
    // Servers of tests may run as other users, as in any temporary folder.
    let permissions = fs::Permissions::from_mode(0o1777);
    let folder = || tempfile::Builder::new().prefix("opora-test-").permissions(permissions).tempdir_in(MEMORY).ok();
    if is_large && may_run_programs { folder() } else { None }
}

/// Memory that programs can still have.
fn free_memory_bytes() -> Option<u64> {
    let told = fs::read_to_string(Path::new("/proc/meminfo")).ok()?;
    let line = told.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()?.checked_mul(1024)
}
