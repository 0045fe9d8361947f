//! Files of the product are closed to other users of the machine, whatever the umask of its shell was.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::kit::demo::program;
use crate::kit::firm::{Ground, Kind};
use crate::kit::product::{Run, silent_emulator};
use crate::operator::doctor::{asked, tells};

/// Everything below a folder, and the folder.
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
async fn what_a_start_creates_is_private() {
    let (ground, emulator) = (Ground::new(Kind::Sqlite).await, silent_emulator().await);
    let data = ground.folder.path().join("data");
    let (folder, address) = (data.to_str().unwrap().to_owned(), format!("sqlite:{}/opora.db", data.display()));
    let places = [("DATA_DIR", folder.as_str()), ("STATE_URL", &address), ("DATABASE_URL", &address)];
    // The shell of an ordinary user: others may read what is made.
    let mut shell = tokio::process::Command::new("sh");
    shell.args(["-c", "umask 022; exec \"$0\" \"$@\""]).arg(program());
    let product = Run::start_as(shell, &ground, &emulator, &places);
    product.web().await;
    let names: Vec<_> = entries(&data).iter().map(|path| path.file_name().unwrap().to_owned()).collect();
    for name in ["opora.db", "opora.db-wal", "opora.db-shm"] {
        assert!(names.iter().any(|found| found == name), "no {name} in {names:?}");
    }
    assert_eq!(open_to_others(&data), Vec::<PathBuf>::new());
    product.stops().await;
}

#[tokio::test]
async fn the_doctor_names_open_files_and_a_start_closes_them() {
    let (ground, emulator) = (Ground::new(Kind::Sqlite).await, silent_emulator().await);
    Run::start(&ground, &emulator, &[]).stops().await;
    let folder = ground.folder.path();
    let told = asked(&ground, &emulator, &[]).await.well().stdout;
    assert!(tells(&told, ["ok", "privacy"], &[]), "{told}");

    for path in entries(folder) {
        let bits = if path.is_dir() { 0o755 } else { 0o644 };
        fs::set_permissions(path, Permissions::from_mode(bits)).unwrap();
    }
    let told = asked(&ground, &emulator, &[]).await.stdout;
    assert!(tells(&told, ["TROUBLE", "privacy"], &["other users"]), "{told}");
    assert!(told.contains("chmod -R go-rwx"), "{told}");

    let product = Run::start(&ground, &emulator, &[]);
    product.logs("they are private now").await;
    product.web().await;
    assert_eq!(open_to_others(folder), Vec::<PathBuf>::new());
    product.stops().await;
}
