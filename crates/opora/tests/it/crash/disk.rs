//! A disk without room: nothing is acknowledged that is not stored, and nothing is lost once there is room again.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::account::Account;
use super::people::{Crowd, Manner, Story};
use super::process::Process;
use super::stage::{PATIENCE, Stage, until};

const MANNER: Manner = Manner { story: Story::Registration, patience: PATIENCE, thought: Duration::ZERO };

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_that_may_not_write_waits_until_it_may() {
    let stage = Stage::new().await;
    // Writes beyond the limit fail as on a full disk, if the signal that comes with them is ignored.
    let process = Process::registration_by(&stage, &["sh", "-c", "trap '' XFSZ; exec \"$0\""]);
    process.leads().await;
    without_room(&stage, process, |process| process.limit_files(Some(8192)), |process| process.limit_files(None)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_on_a_full_disk_waits_until_there_is_room() {
    let Some(disk) = Disk::mounted() else {
        println!("skipped: no small disk can be mounted here");
        return;
    };
    let stage = Stage::within(&disk.0).await;
    let process = Process::registration(&stage, "");
    process.leads().await;
    let ballast = disk.0.join("ballast");
    without_room(&stage, process, |_| fill(&ballast), |_| std::fs::remove_file(&ballast).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_on_a_read_only_disk_says_so_and_takes_no_updates() {
    let Some(disk) = Disk::mounted() else {
        println!("skipped: no small disk can be mounted here");
        return;
    };
    let stage = Stage::within(&disk.0).await;
    disk.remount("ro");
    let person = stage.person("Anna").await;
    stage.says(person, "/start").await;
    let mut process = Process::registration(&stage, "");
    assert!(!process.ended().await.success());
    assert!(process.has_told("state.db") && process.has_told("ead-only"), "{:?}", process.told());
    assert_eq!((stage.unacknowledged(), stage.polls()), (1, 0));
    disk.remount("rw");
    let process = Process::registration(&stage, "");
    stage.hears(person, "Choose your language").await;
    process.stop(&stage).await;
}

/// Takes the room away in the middle of everything, and gives it back.
async fn without_room(
    stage: &std::sync::Arc<Stage>,
    process: Process,
    take: impl Fn(&Process),
    give_back: impl Fn(&Process),
) {
    let crowd = Crowd::begin(stage, 20, MANNER).await;
    assert!(stage.goes_on(60, PATIENCE).await);
    take(&process);
    process.tells("they stay with Telegram").await;
    until("nothing is acknowledged", || stage.unacknowledged() > 0).await;
    give_back(&process);
    let diaries = crowd.finish().await;
    let told = process.stop(stage).await;
    let alarms = told.iter().filter(|line| line.contains("ERROR")).count();
    assert!(alarms > 0 && alarms < 200, "{alarms} alarms");
    Account::of(stage, Story::Registration, &diaries, 0).await.is_clean();
}

fn fill(ballast: &Path) {
    use std::io::Write;
    let mut file = std::fs::File::create(ballast).unwrap();
    // Large pieces first; the last error is the full disk.
    for piece in [1 << 20, 4096, 1] {
        while file.write_all(&vec![0; piece]).is_ok() {}
    }
}

/// A small disk in memory; the write-ahead log alone may take 32 MiB of it.
struct Disk(PathBuf);

impl Disk {
    /// None where mounting is not permitted.
    fn mounted() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap().keep();
        let disk = Self(folder);
        disk.mount(&["-t", "tmpfs", "-o", "size=96m", "opora-test"]).then_some(disk)
    }

    fn remount(&self, how: &str) {
        assert!(self.mount(&["-o", &format!("remount,{how}")]));
    }

    fn mount(&self, arguments: &[&str]) -> bool {
        let mounted = Command::new("mount").args(arguments).arg(&self.0).output();
        mounted.is_ok_and(|output| output.status.success())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily, for a process may be about to end; the folder is empty if nothing was mounted.
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
        let _ = std::fs::remove_dir(&self.0);
    }
}
