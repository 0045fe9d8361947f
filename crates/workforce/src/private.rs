//! Keeps the program's files private to the user that runs it.
//!
//! The database, its write-ahead log, documents and downloads hold passports, phone numbers and sign-in codes. New
//! files are private from their first byte by the umask. A start removes other users' access to older files, and `opora
//! doctor` lists files that are still open. Access control lists and network mounts are not checked.

use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use rustix::fs::Mode;

/// Access of the group and of other users.
const OTHERS: u32 = 0o077;
const STICKY: u32 = 0o1000;
/// Names, or prefixes of names, of Opora's files in a data directory.
const OWN_NAMES: [&str; 7] = ["opora", ".opora", "downloads", "files", "emulator", "demo", "questionnaire"];

/// Sets the umask of the process, so that new files and folders are private.
pub fn restrict_new_files() {
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
}

/// Creates a private folder, and missing parents.
pub fn create_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Creates an empty private file, unless it exists.
pub fn create_file(path: &Path) -> io::Result<()> {
    match fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Creates the data directory if it is missing, and removes other users' access to it, to everything in it, and to a
/// database file elsewhere. Returns the paths that were changed.
///
/// A directory shared with other programs is refused, because they would lose their access.
pub fn tighten(data_dir: &Path, database: Option<&Path>) -> anyhow::Result<Vec<PathBuf>> {
    create_folder(data_dir).with_context(|| format!("cannot make the data directory {}", data_dir.display()))?;
    refuse_shared(data_dir)?;
    let exposed = exposed(data_dir, database)?;
    for path in &exposed {
        let closed = without_others(path);
        closed.with_context(|| format!("cannot make {} private: it belongs to another user", path.display()))?;
    }
    Ok(exposed)
}

/// Paths that other users of this machine can reach: in the data directory, and of a database file elsewhere.
pub fn exposed(data_dir: &Path, database: Option<&Path>) -> io::Result<Vec<PathBuf>> {
    let mut open = Vec::new();
    let outside = database.filter(|path| !path.starts_with(data_dir));
    let logs = outside.into_iter().flat_map(|path| ["", "-wal", "-shm"].map(|end| with_ending(path, end)));
    let mut paths: Vec<PathBuf> = logs.chain([data_dir.to_owned()]).collect();
    while let Some(path) = paths.pop() {
        let Some(found) = found(&path)? else { continue };
        if found.is_symlink() {
            continue;
        }
        if found.mode() & OTHERS != 0 {
            open.push(path.clone());
        }
        if found.is_dir() {
            for entry in fs::read_dir(&path)? {
                paths.push(entry?.path());
            }
        }
    }
    Ok(open)
}

fn without_others(path: &Path) -> io::Result<()> {
    // Temporary files may be gone already.
    let Some(found) = found(path)? else { return Ok(()) };
    fs::set_permissions(path, Permissions::from_mode(found.mode() & 0o700))
}

/// Metadata of the entry itself, without following links; none if it is gone.
fn found(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn refuse_shared(data_dir: &Path) -> anyhow::Result<()> {
    let found = fs::metadata(data_dir)?;
    let is_root = data_dir.canonicalize()?.parent().is_none();
    let is_open = found.mode() & OTHERS != 0;
    if is_root || found.mode() & STICKY != 0 || (is_open && holds_only_foreign_files(data_dir)?) {
        bail!(
            "DATA_DIR names {}, which other programs use: name a folder of its own, or make it private (chmod 700)",
            data_dir.display()
        );
    }
    Ok(())
}

fn holds_only_foreign_files(data_dir: &Path) -> io::Result<bool> {
    let mut is_empty = true;
    for entry in fs::read_dir(data_dir)? {
        let name = entry?.file_name();
        if OWN_NAMES.iter().any(|own| name.to_string_lossy().starts_with(own)) {
            return Ok(false);
        }
        is_empty = false;
    }
    Ok(!is_empty)
}

fn with_ending(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    fn open_to_all(path: &Path) {
        let bits = if path.is_dir() { 0o755 } else { 0o644 };
        fs::set_permissions(path, Permissions::from_mode(bits)).unwrap();
    }

    #[test]
    fn looser_modes_are_tightened() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let (database, downloads) = (data.join("opora.db"), data.join("downloads"));
        create_folder(&downloads).unwrap();
        let file = downloads.join("passport");
        let elsewhere = folder.path().join("else.db");
        for path in [&database, &file, &elsewhere] {
            fs::write(path, "x").unwrap();
        }
        for path in [&data, &downloads, &database, &file, &elsewhere] {
            open_to_all(path);
        }
        assert_eq!(exposed(&data, Some(&elsewhere)).unwrap().len(), 5);
        assert_eq!(tighten(&data, Some(&elsewhere)).unwrap().len(), 5);
        assert_eq!([mode(&data), mode(&downloads)], [0o700; 2]);
        assert_eq!([mode(&database), mode(&file), mode(&elsewhere)], [0o600; 3]);
        assert!(tighten(&data, Some(&elsewhere)).unwrap().is_empty());
    }

    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (data, outside) = (folder.path().join("data"), folder.path().join("outside"));
        create_folder(&data).unwrap();
        fs::write(&outside, "x").unwrap();
        open_to_all(&outside);
        std::os::unix::fs::symlink(&outside, data.join("link")).unwrap();
        assert!(tighten(&data, None).unwrap().is_empty());
        assert_eq!(mode(&outside), 0o644);
    }

    #[test]
    fn a_shared_folder_is_refused_and_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("notes.txt"), "another program's").unwrap();
        open_to_all(folder.path());
        let refused = tighten(folder.path(), None).unwrap_err().to_string();
        assert!(refused.contains("chmod 700"), "{refused}");
        assert_eq!(mode(folder.path()), 0o755);

        fs::write(folder.path().join("opora.db"), "").unwrap();
        tighten(folder.path(), None).unwrap();
        assert_eq!(mode(folder.path()), 0o700);
    }

    #[test]
    fn the_root_directory_is_refused() {
        assert!(tighten(Path::new("/"), None).is_err());
    }
}
