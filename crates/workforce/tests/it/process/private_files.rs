//! The product's files are closed to other users of the machine, whatever the umask.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::kit::app_process::{AppProcess, start_emulator};
use crate::kit::demo::program;
use crate::kit::firm::{StorageKind, TestStorage};
use crate::operator::doctor::{has_line, run_doctor};

/// A folder and everything below it.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(entries(&path)) } else { found.push(path) }
    }
    found
}

fn open_to_others(folder: &Path) -> Vec<PathBuf> {
    entries(folder).into_iter().filter(|path| fs::symlink_metadata(path).unwrap().mode() & 0o077 != 0).collect()
}

#[tokio::test]
async fn new_files_are_private() {
    let (storage, emulator) = (TestStorage::new(StorageKind::Sqlite).await, start_emulator().await);
    let data = storage.folder.path().join("data");
    let (folder, address) = (data.to_str().unwrap().to_owned(), format!("sqlite:{}/opora.db", data.display()));
    let places = [("DATA_DIR", folder.as_str()), ("STATE_URL", &address), ("DATABASE_URL", &address)];
    // With the usual umask new files are readable by other users.
    let mut shell = tokio::process::Command::new("sh");
    shell.args(["-c", "umask 022; exec \"$0\" \"$@\""]).arg(program());
    let product = AppProcess::start_command(shell, &storage, &emulator, &places);
    product.web_address().await;
    let names: Vec<_> = entries(&data).iter().map(|path| path.file_name().unwrap().to_owned()).collect();
    for name in ["opora.db", "opora.db-wal", "opora.db-shm"] {
        assert!(names.iter().any(|found| found == name), "no {name} in {names:?}");
    }
    assert_eq!(open_to_others(&data), Vec::<PathBuf>::new());
    product.stop().await;
}

#[tokio::test]
async fn open_files_are_reported_and_closed_by_a_start() {
    let (storage, emulator) = (TestStorage::new(StorageKind::Sqlite).await, start_emulator().await);
    AppProcess::start(&storage, &emulator, &[]).stop().await;
    let folder = storage.folder.path();
    let report = run_doctor(&storage, &emulator, &[]).await.success().stdout;
    assert!(has_line(&report, ["ok", "privacy"], &[]), "{report}");

    for path in entries(folder) {
        let bits = if path.is_dir() { 0o755 } else { 0o644 };
        fs::set_permissions(path, Permissions::from_mode(bits)).unwrap();
    }
    let report = run_doctor(&storage, &emulator, &[]).await.stdout;
    assert!(has_line(&report, ["TROUBLE", "privacy"], &["other users"]), "{report}");
    assert!(report.contains("chmod -R go-rwx"), "{report}");

    let product = AppProcess::start(&storage, &emulator, &[]);
    product.wait_for_log("they are private now").await;
    product.web_address().await;
    assert_eq!(open_to_others(folder), Vec::<PathBuf>::new());
    product.stop().await;
}
