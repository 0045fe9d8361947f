//! What was seen, in a small file that is replaced whole.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;

use super::WitnessKeeper;

/// A file in an instance's data directory, one for each store.
#[derive(Clone, Debug)]
pub struct FileWitness(PathBuf);

impl FileWitness {
    /// The file of a store; its name is a hash of the address, in which the password has no part.
    pub(in crate::store) fn of(directory: &Path, name: &str) -> Self {
        Self(directory.join(format!("{name}.json")))
    }
}

impl WitnessKeeper for FileWitness {
    fn load(&self) -> BoxFuture<'_, io::Result<Option<String>>> {
        let path = self.0.clone();
        off_the_runtime(move || match fs::read_to_string(path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        })
    }

    fn keep(&self, text: String) -> BoxFuture<'_, io::Result<()>> {
        let path = self.0.clone();
        off_the_runtime(move || replace(&path, &text))
    }
}

fn off_the_runtime<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> BoxFuture<'static, io::Result<T>> {
    Box::pin(async { tokio::task::spawn_blocking(work).await.map_err(io::Error::other)? })
}

/// Whoever reads sees the old text or the new one, also after a crash.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    // Its own name: another instance of this machine may be at it, perhaps with the same pid in another container.
    let beside = path.with_extension(format!("{}-{:016x}.new", std::process::id(), fastrand::u64(..)));
    if let Err(error) = write(&beside, text).and_then(|()| fs::rename(&beside, path)) {
        // Nobody else would remove it.
        let _ = fs::remove_file(&beside);
        return Err(error);
    }
    File::open(directory)?.sync_all()
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
