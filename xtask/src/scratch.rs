//! A folder in memory for what tests write.
//!
//! Tests create thousands of short-lived databases, and each commit would wait for the disk. A folder in memory
//! survives killed processes. Tests of power loss simulate the loss themselves.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{StatVfsMountFlags, statvfs};
use tempfile::TempDir;

const MEMORY: &str = "/dev/shm";
/// Ten times what parallel tests use.
const NEEDED_BYTES: u64 = 4 << 30;

/// Creates a folder in memory. None if there is too little memory, or if programs cannot be run from it.
pub(crate) fn in_memory() -> Option<TempDir> {
    let found = statvfs(MEMORY).ok()?;
    let is_large =
        found.f_bavail.saturating_mul(found.f_frsize) >= NEEDED_BYTES && free_memory_bytes()? >= NEEDED_BYTES;
    let may_run_programs = !found.f_flag.contains(StatVfsMountFlags::NOEXEC);
    // Open to all users, like any temporary folder: servers of tests may run as other users.
    let permissions = fs::Permissions::from_mode(0o1777);
    let folder = || tempfile::Builder::new().prefix("opora-test-").permissions(permissions).tempdir_in(MEMORY).ok();
    if is_large && may_run_programs { folder() } else { None }
}

/// Available memory.
fn free_memory_bytes() -> Option<u64> {
    let text = fs::read_to_string(Path::new("/proc/meminfo")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()?.checked_mul(1024)
}
