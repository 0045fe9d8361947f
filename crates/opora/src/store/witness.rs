//! What was seen of a server, in a small file that is replaced whole.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Ends the names of files that are to replace another.
const UNFINISHED: &str = ".new";
/// One that is older than what it was to replace by so much was left by a process that was killed.
const LEFT_AFTER: Duration = Duration::from_secs(60);

/// A file in an instance's data directory, one for each store.
#[derive(Clone, Debug)]
pub(super) struct FileWitness {
    path: PathBuf,
    /// What killed processes have left beside it was looked for.
    is_swept: Arc<AtomicBool>,
}

impl FileWitness {
    /// The file of a store; its name is a hash of the address, in which the password has no part.
    pub(super) fn of(directory: &Path, name: &str) -> Self {
        Self { path: directory.join(format!("{name}.json")), is_swept: Arc::default() }
    }

    /// What was kept last, if anything was.
    pub(super) async fn load(&self) -> io::Result<Option<String>> {
        let path = self.path.clone();
        let is_swept = self.is_swept.swap(true, Ordering::Relaxed);
        off_the_runtime(move || {
            if !is_swept {
                // It is no harm if that cannot be done.
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

    /// Keeps this instead.
    pub(super) async fn keep(&self, text: String) -> io::Result<()> {
        let path = self.path.clone();
        off_the_runtime(move || replace(&path, &text)).await
    }
}

async fn off_the_runtime<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

/// Whoever reads sees the old text or the new one, also after a crash.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let directory = directory_of(path);
    fs::create_dir_all(directory)?;
    // Its own name: another instance of this machine may be at it, perhaps with the same pid in another container.
    let beside = path.with_extension(format!("{}-{:016x}{UNFINISHED}", std::process::id(), fastrand::u64(..)));
    if let Err(error) = write(&beside, text).and_then(|()| fs::rename(&beside, path)) {
        // Nobody else would remove it.
        let _ = fs::remove_file(&beside);
        return Err(error);
    }
    File::open(directory)?.sync_all()
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Removes what processes have left that were killed before they could replace the file. Only times of the same disk are
/// compared: another process may be at a younger one.
fn sweep(path: &Path) -> io::Result<()> {
    let replaced_at = fs::metadata(path)?.modified()?;
    let begins = path.file_stem().and_then(|name| name.to_str()).map(|name| format!("{name}."));
    let is_ours =
        |name: &str| name.ends_with(UNFINISHED) && begins.as_deref().is_some_and(|begins| name.starts_with(begins));
    for entry in fs::read_dir(directory_of(path))? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(is_ours) {
            let older_by = replaced_at.duration_since(entry.metadata()?.modified()?);
            if older_by.is_ok_and(|older_by| older_by > LEFT_AFTER) {
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
    async fn whoever_reads_while_many_write_reads_one_whole_text() {
        let folder = tempfile::tempdir().unwrap();
        let file = FileWitness::of(folder.path(), "redis-2");
        let texts: Vec<_> = (1..=9).map(|digit| digit.to_string().repeat(digit * 1_000)).collect();
        file.keep(texts[0].clone()).await.unwrap();
        let writing = (0..8).flat_map(|_| texts.clone()).map(|text| file.keep(text));
        let reading = async {
            for _ in 0..200 {
                assert!(texts.contains(&file.load().await.unwrap().unwrap()));
            }
        };
        let (written, ()) = tokio::join!(futures_util::future::join_all(writing), reading);
        assert!(written.iter().all(Result::is_ok), "{written:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[tokio::test]
    async fn what_a_killed_process_has_left_beside_it_goes_with_the_next_start() {
        let folder = tempfile::tempdir().unwrap();
        FileWitness::of(folder.path(), "redis-2").keep("text".to_owned()).await.unwrap();
        let kept_at = fs::metadata(folder.path().join("redis-2.json")).unwrap().modified().unwrap();
        let left = |name: &str, age: Duration| {
            let file = File::create_new(folder.path().join(name)).unwrap();
            file.set_modified(kept_at - age).unwrap();
        };
        left("redis-2.41-00000000000000aa.new", LEFT_AFTER * 2);
        left("redis-2.42-00000000000000bb.new", Duration::from_secs(1));
        left("redis-22.43-00000000000000cc.new", LEFT_AFTER * 2);
        let next = FileWitness::of(folder.path(), "redis-2");
        assert_eq!(next.load().await.unwrap().as_deref(), Some("text"));
        let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
        names.sort();
        let others = "redis-22.43-00000000000000cc.new";
        assert_eq!(
            names,
            ["redis-2.42-00000000000000bb.new", "redis-2.json", others],
            "somebody may be at the young one"
        );
    }

    #[tokio::test]
    async fn a_file_reads_back_and_one_that_is_missing_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let file = FileWitness::of(&folder.path().join("data"), "redis-2");
        assert_eq!(file.load().await.unwrap(), None);
        for text in ["one", "another"] {
            file.keep(text.to_owned()).await.unwrap();
            assert_eq!(file.load().await.unwrap().as_deref(), Some(text));
        }
        let other = FileWitness::of(&folder.path().join("data"), "redis-3");
        assert_eq!(other.load().await.unwrap(), None);
    }
}
