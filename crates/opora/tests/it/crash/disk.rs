//! A full disk: nothing is acknowledged that is not stored, and nothing is lost once there is space again.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::audit::Audit;
use super::people::{Behaviour, Crowd, Scenario};
use super::process::Process;
use super::stage::{Stage, TIMEOUT, until};

const BEHAVIOUR: Behaviour =
    Behaviour { scenario: Scenario::Registration, timeout: TIMEOUT, think_time: Duration::ZERO };

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_beyond_its_file_limit_waits() {
    let stage = Stage::new().await;
    // With the signal ignored, writes beyond the limit fail as on a full disk.
    let process = Process::registration_started_by(&stage, &["sh", "-c", "trap '' XFSZ; exec \"$0\""]);
    process.wait_until_leading().await;
    without_space(&stage, process, |process| process.limit_files(Some(8192)), |process| process.limit_files(None))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_on_a_full_disk_waits_for_space() {
    let Some(disk) = Disk::mounted() else {
        println!("skipped: no small disk can be mounted here");
        return;
    };
    let stage = Stage::within(&disk.0).await;
    let process = Process::registration(&stage, "");
    process.wait_until_leading().await;
    let ballast = disk.0.join("ballast");
    without_space(&stage, process, |_| fill(&ballast), |_| std::fs::remove_file(&ballast).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_on_a_read_only_disk_fails_and_takes_no_updates() {
    let Some(disk) = Disk::mounted() else {
        println!("skipped: no small disk can be mounted here");
        return;
    };
    let stage = Stage::within(&disk.0).await;
    disk.remount("ro");
    let person = stage.person("Anna").await;
    stage.says(person, "/start").await;
    let mut process = Process::registration(&stage, "");
    assert!(!process.wait_for_exit().await.success());
    assert!(process.has_logged("state.db") && process.has_logged("ead-only"), "{:?}", process.log_lines());
    assert_eq!((stage.unacknowledged(), stage.polls()), (1, 0));
    disk.remount("rw");
    let process = Process::registration(&stage, "");
    stage.receives(person, "Choose your language").await;
    process.stop(&stage).await;
}

/// Takes the space away while the bot works, and gives it back.
async fn without_space(
    stage: &std::sync::Arc<Stage>,
    process: Process,
    take: impl Fn(&Process),
    give_back: impl Fn(&Process),
) {
    let crowd = Crowd::begin(stage, 20, BEHAVIOUR).await;
    assert!(stage.sees_messages(60, TIMEOUT).await);
    take(&process);
    process.wait_for_log("they stay with Telegram").await;
    until("nothing is acknowledged", || stage.unacknowledged() > 0).await;
    give_back(&process);
    let diaries = crowd.finish().await;
    let log = process.stop(stage).await;
    let alarms = log.iter().filter(|line| line.contains("ERROR")).count();
    assert!(alarms > 0 && alarms < 200, "{alarms} alarms");
    Audit::of(stage, Scenario::Registration, &diaries, 0).await.assert_clean();
}

fn fill(ballast: &Path) {
    use std::io::Write;
    let mut file = std::fs::File::create(ballast).unwrap();
    // Large pieces first. The loop ends when the disk is full.
    for piece in [1 << 20, 4096, 1] {
        while file.write_all(&vec![0; piece]).is_ok() {}
    }
}

/// A small disk in memory. The write-ahead log alone may take 32 MiB of it.
struct Disk(PathBuf);

impl Disk {
    /// Mounts a disk. None if that is not permitted.
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
        // Lazily, because a process may be about to end. The folder is empty if nothing was mounted.
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
        let _ = std::fs::remove_dir(&self.0);
    }
}
