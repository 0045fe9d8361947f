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
    let beside = path.with_extension("new");
    let mut file = File::create(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

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
