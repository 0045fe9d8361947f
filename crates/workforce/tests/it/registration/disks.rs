//! Disks that refuse and downloads that break off: nothing remains but the draft, the person is told, and completes it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::json;
use tokio::process::Command;

use super::live::count;
use super::newcomer::{DONE, Deed, HILL, NOT_SAVED, Newcomer, SAVING, TOWER};
use super::process::Office;
use crate::kit::demo::{ANNA, program, until};
use crate::kit::firm::{Kind, embedded_and_on_servers};
use crate::kit::product::Run;

embedded_and_on_servers! {
    a_folder_that_refuses_leaves_the_draft_and_a_start_later_completes_it,
    a_full_disk_leaves_the_draft_and_room_lets_it_be_completed,
    a_download_that_breaks_off_again_and_again_leaves_the_draft,
}

/// Whoever may do nothing.
const NOBODY: u32 = 65_534;
/// The smallest piece of such a disk.
const PAGE_BYTES: usize = 4096;
const DISK_BYTES: usize = 256 * 1024;
/// Mounts a small disk where only this process sees it, and goes on as the program.
const ON_SMALL_DISK: &str = r#"mount -t tmpfs -o "size=$SMALL_DISK_BYTES" tmpfs "$SMALL_DISK" && exec "$0" "$@""#;

async fn a_folder_that_refuses_leaves_the_draft_and_a_start_later_completes_it(kind: Kind) {
    let office = Office::new(kind).await;
    let (root, files) = (office.ground.folder.path(), office.ground.folder.path().join("files"));
    fs::create_dir(&files).unwrap();
    let mut command = Command::new(program());
    if rustix::process::geteuid().is_root() {
        // Root is refused nothing: somebody else runs it.
        chown(root, Some(NOBODY), Some(NOBODY)).unwrap();
        chown(&files, Some(NOBODY), Some(NOBODY)).unwrap();
        command.uid(NOBODY).gid(NOBODY);
    }
    fs::set_permissions(&files, fs::Permissions::from_mode(0o500)).unwrap();
    let run = Run::start_as(command, &office.ground, &office.emulator, &[]);
    let mut anna = office.newcomer(ANNA);
    is_told(&mut anna).await;
    run.logs("it was not saved; the draft is kept").await;
    until("nothing remains", async || (office.files() == (0, 0)).then_some(())).await;
    fs::set_permissions(&files, fs::Permissions::from_mode(0o700)).unwrap();
    anna.does(Deed::Says("/start")).await;
    anna.hears(SAVING).await;
    anna.hears(DONE).await;
    run.stops().await;
    office.has_registered(1).await;
    office.emulator.stop().await;
}

/// There is room for the document and none for the selfie.
async fn a_full_disk_leaves_the_draft_and_room_lets_it_be_completed(kind: Kind) {
    let office = Office::new(kind).await;
    let disk = office.ground.folder.path().join("files-disk");
    fs::create_dir(&disk).unwrap();
    let Some(command) = on_small_disk(&disk).await else {
        eprintln!(
            "NOT TRIED: no private mounts here, so there is no small disk to fill; needs root, or user namespaces"
        );
        return office.emulator.stop().await;
    };
    let files = format!("file:{}", disk.display());
    let run = Run::start_as(command, &office.ground, &office.emulator, &[("FILES_URL", &files)]);
    run.logs("opora starts").await;
    // What only that process sees.
    let seen: PathBuf = format!("/proc/{}/root{}", run.id(), disk.display()).into();
    let filler = seen.join("filler.jpg");
    fs::create_dir(seen.join(".incoming")).unwrap();
    let room = TOWER.len().div_ceil(PAGE_BYTES) * PAGE_BYTES;
    fill(&filler, room);
    assert!(fs::write(seen.join("probe"), vec![1; room]).is_ok() && fs::write(seen.join("more"), HILL).is_err());
    for name in ["probe", "more"] {
        fs::remove_file(seen.join(name)).unwrap();
    }
    let mut anna = office.newcomer(ANNA);
    is_told(&mut anna).await;
    run.logs("No space left on device").await;
    until("only what filled the disk remains", async || (left(&seen) == (1, 0)).then_some(())).await;
    until("no download remains", async || (office.files().1 == 0).then_some(())).await;
    fs::remove_file(&filler).unwrap();
    anna.does(Deed::Presses("Try again")).await;
    anna.hears(DONE).await;
    assert_eq!(left(&seen), (2, 0));
    run.stops().await;
    office.emulator.stop().await;
}

async fn a_download_that_breaks_off_again_and_again_leaves_the_draft(kind: Kind) {
    let office = Office::new(kind).await;
    let run = office.run();
    // It goes on where it was cut, so the connection is cut before anything more comes.
    let broken = json!({"method": "file", "status": 502, "times": 100});
    let cut = json!({"method": "file", "cut": "after"});
    office.emulator.post("/faults", cut).await;
    office.emulator.post("/faults", broken).await;
    let mut anna = office.newcomer(ANNA);
    is_told(&mut anna).await;
    until("nothing remains, not even half a file", async || (office.files() == (0, 0)).then_some(())).await;
    office.has_registered(0).await;
    let faults = office.emulator.get("/faults").await;
    for fault in faults.as_array().unwrap() {
        let url = format!("{}/client/{}/faults/{}", office.emulator.base, office.emulator.token, fault["id"]);
        office.emulator.http.delete(url).send().await.unwrap();
    }
    anna.does(Deed::Presses("Try again")).await;
    anna.hears(DONE).await;
    run.stops().await;
    office.has_registered(1).await;
    office.emulator.stop().await;
}

/// Gives everything, and hears in words that it could not be saved.
async fn is_told(newcomer: &mut Newcomer<'_>) {
    newcomer.gives_all().await;
    newcomer.hears(NOT_SAVED).await;
}

/// A command that sees a small disk in this place; none where nobody may mount one.
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

/// Fills a disk with one file, but for so much room.
fn fill(path: &Path, room: usize) {
    let mut size = DISK_BYTES;
    while fs::write(path, vec![1; size]).is_err() {
        size -= PAGE_BYTES;
    }
    fs::write(path, vec![1; size - room]).unwrap();
}

fn left(files: &Path) -> (usize, usize) {
    (count(files), count(&files.join(".incoming")))
}
