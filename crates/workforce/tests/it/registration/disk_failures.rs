//! Disks that refuse writes and downloads that fail: only the draft remains, the person is told, and can complete it
//! later.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::json;
use tokio::process::Command;

use super::in_process::file_count;
use super::newcomer::{Action, DONE, HILL, NOT_SAVED, Newcomer, SAVING, TOWER};
use super::process::Deployment;
use crate::kit::app_process::AppProcess;
use crate::kit::demo::{ANNA, program, until};
use crate::kit::firm::{StorageKind, embedded_and_on_servers};

embedded_and_on_servers! {
    a_read_only_folder_leaves_the_draft,
    a_full_disk_leaves_the_draft,
    a_download_that_keeps_failing_leaves_the_draft,
}

/// A user without rights.
const UNPRIVILEGED_USER: u32 = 65_534;
/// The block size of the small disk.
const PAGE_BYTES: usize = 4096;
const DISK_BYTES: usize = 256 * 1024;
/// Mounts a small tmpfs in a private mount namespace and executes the program.
const ON_SMALL_DISK: &str = r#"mount -t tmpfs -o "size=$SMALL_DISK_BYTES" tmpfs "$SMALL_DISK" && exec "$0" "$@""#;

async fn a_read_only_folder_leaves_the_draft(kind: StorageKind) {
    let deployment = Deployment::new(kind).await;
    let (root, files) = (deployment.storage.folder.path(), deployment.storage.folder.path().join("files"));
    fs::create_dir(&files).unwrap();
    let mut command = Command::new(program());
    if rustix::process::geteuid().is_root() {
        // Root may write everywhere, so another user runs the program.
        chown(root, Some(UNPRIVILEGED_USER), Some(UNPRIVILEGED_USER)).unwrap();
        chown(&files, Some(UNPRIVILEGED_USER), Some(UNPRIVILEGED_USER)).unwrap();
        command.uid(UNPRIVILEGED_USER).gid(UNPRIVILEGED_USER);
    }
    fs::set_permissions(&files, fs::Permissions::from_mode(0o500)).unwrap();
    let process = AppProcess::start_command(command, &deployment.storage, &deployment.emulator, &[]);
    let mut anna = deployment.newcomer(ANNA);
    fails_to_save(&mut anna).await;
    process.wait_for_log("not saved; the draft is kept").await;
    until("nothing remains", async || (deployment.file_counts() == (0, 0)).then_some(())).await;
    fs::set_permissions(&files, fs::Permissions::from_mode(0o700)).unwrap();
    anna.does(Action::Says("/start")).await;
    anna.receives(SAVING).await;
    anna.receives(DONE).await;
    process.stop().await;
    deployment.assert_registered(1).await;
    deployment.emulator.stop().await;
}

/// The disk has room for the document, but not for the selfie.
async fn a_full_disk_leaves_the_draft(kind: StorageKind) {
    let deployment = Deployment::new(kind).await;
    let disk = deployment.storage.folder.path().join("files-disk");
    fs::create_dir(&disk).unwrap();
    let Some(command) = on_small_disk(&disk).await else {
        eprintln!(
            "NOT TRIED: no private mounts here, so there is no small disk to fill; needs root, or user namespaces"
        );
        return deployment.emulator.stop().await;
    };
    let files = format!("file:{}", disk.display());
    let process =
        AppProcess::start_command(command, &deployment.storage, &deployment.emulator, &[("FILES_URL", &files)]);
    process.wait_for_log("opora starts").await;
    // The disk as that process sees it.
    let seen: PathBuf = format!("/proc/{}/root{}", process.pid(), disk.display()).into();
    let filler = seen.join("filler.jpg");
    fs::create_dir(seen.join(".incoming")).unwrap();
    let room = TOWER.len().div_ceil(PAGE_BYTES) * PAGE_BYTES;
    fill(&filler, room);
    assert!(fs::write(seen.join("probe"), vec![1; room]).is_ok() && fs::write(seen.join("more"), HILL).is_err());
    for name in ["probe", "more"] {
        fs::remove_file(seen.join(name)).unwrap();
    }
    let mut anna = deployment.newcomer(ANNA);
    fails_to_save(&mut anna).await;
    process.wait_for_log("No space left on device").await;
    until("only what filled the disk remains", async || (file_counts(&seen) == (1, 0)).then_some(())).await;
    until("no download remains", async || (deployment.file_counts().1 == 0).then_some(())).await;
    fs::remove_file(&filler).unwrap();
    anna.does(Action::Presses("Try again")).await;
    anna.receives(DONE).await;
    assert_eq!(file_counts(&seen), (2, 0));
    process.stop().await;
    deployment.emulator.stop().await;
}

async fn a_download_that_keeps_failing_leaves_the_draft(kind: StorageKind) {
    let deployment = Deployment::new(kind).await;
    let process = deployment.start();
    // A download resumes where it was cut, so it is cut before more data arrives.
    let broken = json!({"method": "file", "status": 502, "times": 100});
    let cut = json!({"method": "file", "cut": "after"});
    deployment.emulator.post("/faults", cut).await;
    deployment.emulator.post("/faults", broken).await;
    let mut anna = deployment.newcomer(ANNA);
    fails_to_save(&mut anna).await;
    until("nothing remains, not even half a file", async || (deployment.file_counts() == (0, 0)).then_some(())).await;
    deployment.assert_registered(0).await;
    let faults = deployment.emulator.get("/faults").await;
    for defect in faults.as_array().unwrap() {
        let url = format!("{}/client/{}/faults/{}", deployment.emulator.base, deployment.emulator.token, defect["id"]);
        deployment.emulator.http.delete(url).send().await.unwrap();
    }
    anna.does(Action::Presses("Try again")).await;
    anna.receives(DONE).await;
    process.stop().await;
    deployment.assert_registered(1).await;
    deployment.emulator.stop().await;
}

/// Completes the registration and reads that it could not be saved.
async fn fails_to_save(newcomer: &mut Newcomer<'_>) {
    newcomer.completes_registration().await;
    newcomer.receives(NOT_SAVED).await;
}

/// A command that sees a small disk at this path; `None` where mounts are not permitted.
async fn on_small_disk(disk: &Path) -> Option<Command> {
    let command = || {
        let mut command = Command::new("unshare");
        if !rustix::process::geteuid().is_root() {
            command.arg("--map-root-user");
        }
        command.args(["--mount", "sh", "-c", ON_SMALL_DISK]);
        command.env("SMALL_DISK", disk).env("SMALL_DISK_BYTES", DISK_BYTES.to_string());
        command
    };
    let tried = command().arg("true").stderr(Stdio::null()).status().await;
    tried.is_ok_and(|status| status.success()).then(|| {
        let mut command = command();
        command.arg(program());
        command
    })
}

/// Fills the disk with one file and leaves this much room.
fn fill(path: &Path, room: usize) {
    let mut size = DISK_BYTES;
    while fs::write(path, vec![1; size]).is_err() {
        size -= PAGE_BYTES;
    }
    fs::write(path, vec![1; size - room]).unwrap();
}

fn file_counts(files: &Path) -> (usize, usize) {
    (file_count(files), file_count(&files.join(".incoming")))
}
