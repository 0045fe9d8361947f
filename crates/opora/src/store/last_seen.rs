//! The file of a last-seen record. It is small and replaced as a whole.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Suffix of temporary files.
const TEMPORARY: &str = ".new";
/// A temporary file that is older than the file itself by this was left by a killed process.
const ABANDONED_AFTER: Duration = Duration::from_secs(60);

/// A file in an instance's data directory, one for each store.
#[derive(Clone, Debug)]
pub(super) struct LastSeenFile {
    path: PathBuf,
    /// Whether abandoned temporary files were removed.
    is_swept: Arc<AtomicBool>,
}

impl LastSeenFile {
    /// The file of a store. `name` is a hash of the address without its password.
    pub(super) fn new(directory: &Path, name: &str) -> Self {
        Self { path: directory.join(format!("{name}.json")), is_swept: Arc::default() }
    }

    /// The saved text, if there is any.
    pub(super) async fn load(&self) -> io::Result<Option<String>> {
        let path = self.path.clone();
        let is_swept = self.is_swept.swap(true, Ordering::Relaxed);
        blocking(move || {
            if !is_swept {
                // A failure does no harm.
                let _ = sweep(&path);
            }
            match fs::read_to_string(path) {
                Ok(text) => Ok(Some(text)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            }
        })
        .await
    }

    pub(super) async fn save(&self, text: String) -> io::Result<()> {
        let path = self.path.clone();
        blocking(move || replace(&path, &text)).await
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

/// Replaces the file: readers see the old text or the new one, also after a crash.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let directory = directory_of(path);
    fs::create_dir_all(directory)?;
    // A unique name: another instance on this machine may write too, perhaps with the same pid in another container.
    let temporary = path.with_extension(format!("{}-{:016x}{TEMPORARY}", std::process::id(), fastrand::u64(..)));
    if let Err(error) = write(&temporary, text).and_then(|()| fs::rename(&temporary, path)) {
        let _ = fs::remove_file(&temporary);
        return Err(error);
    }
    File::open(directory)?.sync_all()
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Removes temporary files of killed processes. Younger ones may be in use. Only times of the same disk are compared.
fn sweep(path: &Path) -> io::Result<()> {
    let replaced_at = fs::metadata(path)?.modified()?;
    let begins = path.file_stem().and_then(|name| name.to_str()).map(|name| format!("{name}."));
    let is_ours =
        |name: &str| name.ends_with(TEMPORARY) && begins.as_deref().is_some_and(|begins| name.starts_with(begins));
    for entry in fs::read_dir(directory_of(path))? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(is_ours) {
            let older_by = replaced_at.duration_since(entry.metadata()?.modified()?);
            if older_by.is_ok_and(|older_by| older_by > ABANDONED_AFTER) {
                fs::remove_file(entry.path())?;
            }
        }
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_reader_sees_one_whole_text_while_many_write() {
        let folder = tempfile::tempdir().unwrap();
        let file = LastSeenFile::new(folder.path(), "redis-2");
        let texts: Vec<_> = (1..=9).map(|digit| digit.to_string().repeat(digit * 1_000)).collect();
        file.save(texts[0].clone()).await.unwrap();
        let writing = (0..8).flat_map(|_| texts.clone()).map(|text| file.save(text));
        let reading = async {
            for _ in 0..200 {
                assert!(texts.contains(&file.load().await.unwrap().unwrap()));
            }
        };
        let (written, ()) = tokio::join!(futures_util::future::join_all(writing), reading);
        assert!(written.iter().all(Result::is_ok), "{written:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
    }

    #[tokio::test]
    async fn abandoned_temporary_files_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        LastSeenFile::new(folder.path(), "redis-2").save("text".to_owned()).await.unwrap();
        let kept_at = fs::metadata(folder.path().join("redis-2.json")).unwrap().modified().unwrap();
        let stale_file = |name: &str, age: Duration| {
            let file = File::create_new(folder.path().join(name)).unwrap();
            file.set_modified(kept_at - age).unwrap();
        };
        stale_file("redis-2.41-00000000000000aa.new", ABANDONED_AFTER * 2);
        stale_file("redis-2.42-00000000000000bb.new", Duration::from_secs(1));
        stale_file("redis-22.43-00000000000000cc.new", ABANDONED_AFTER * 2);
        let next = LastSeenFile::new(folder.path(), "redis-2");
        assert_eq!(next.load().await.unwrap().as_deref(), Some("text"));
        let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
        names.sort();
        let others = "redis-22.43-00000000000000cc.new";
        assert_eq!(names, ["redis-2.42-00000000000000bb.new", "redis-2.json", others], "the young one may be in use");
    }

    #[tokio::test]
    async fn a_file_reads_back_and_a_missing_one_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let file = LastSeenFile::new(&folder.path().join("data"), "redis-2");
        assert_eq!(file.load().await.unwrap(), None);
        for text in ["one", "another"] {
            file.save(text.to_owned()).await.unwrap();
            assert_eq!(file.load().await.unwrap().as_deref(), Some(text));
        }
        let other = LastSeenFile::new(&folder.path().join("data"), "redis-3");
        assert_eq!(other.load().await.unwrap(), None);
    }
}
