//! Files in a private folder.
//!
//! A file is written under a temporary name, synced and renamed, and then the folder is synced.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use tokio::sync::Semaphore;

use super::{Accepts, ByteStream, CHUNK_BYTES, FileEntry, MARK, MediaType, StoreFileError, StoredFile};
use super::{blocking, copy_and_hash, found, is_plain, list, sniff, too_short};
use crate::private;

/// The folder of incomplete files.
const INCOMING: &str = ".incoming";

/// Concurrent reads. Every read blocks a thread: hundreds of them would starve the bot's threads.
const MAX_CONCURRENT_READS: usize = 2;

#[derive(Clone, Debug)]
pub(super) struct Folder {
    path: PathBuf,
    reads: Arc<Semaphore>,
}

impl Folder {
    pub(super) fn at(path: PathBuf) -> Self {
        Self { path, reads: Arc::new(Semaphore::new(MAX_CONCURRENT_READS)) }
    }

    pub(super) async fn store(
        &self,
        name: String,
        source: PathBuf,
        accepts: Accepts,
    ) -> Result<StoredFile, StoreFileError> {
        let folder = self.clone();
        blocking(move || folder.store_now(&name, &source, accepts)).await?
    }

    pub(super) async fn copy_image(&self, from: &str, to: String) -> Result<StoredFile, StoreFileError> {
        let source = self.path(from).ok_or(io::ErrorKind::NotFound).map_err(io::Error::from)?;
        self.store(to, source, Accepts::Images).await
    }

    pub(super) async fn read(&self, name: String) -> io::Result<Option<Vec<u8>>> {
        let Some(path) = self.path(&name) else { return Ok(None) };
        blocking(move || found(fs::read(path))).await?
    }

    pub(super) async fn stream(&self, name: String, range: Range<u64>) -> io::Result<Option<ByteStream>> {
        let Some(path) = self.path(&name) else { return Ok(None) };
        let remaining = range.end.saturating_sub(range.start);
        let open = move || {
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(range.start))?;
            Ok(file)
        };
        let Some(file) = blocking(move || found(open())).await?? else { return Ok(None) };
        let reads = Arc::clone(&self.reads);
        let pieces = stream::try_unfold((file, remaining, reads), async |(file, remaining, reads)| match remaining {
            0 => Ok(None),
            remaining => {
                let permit = Arc::clone(&reads).acquire_owned().await.map_err(io::Error::other)?;
                // The thread frees the permit, because it reads on if the client is gone.
                let read = blocking(move || {
                    let read = read_piece(file, remaining);
                    drop(permit);
                    read
                });
                let (file, piece) = read.await??;
                let remaining = remaining - piece.len() as u64;
                Ok(Some((piece, (file, remaining, reads))))
            }
        });
        Ok(Some(pieces.boxed()))
    }

    pub(super) async fn hash(&self, name: String) -> io::Result<Option<String>> {
        let Some(path) = self.path(&name) else { return Ok(None) };
        blocking(move || found(File::open(path).and_then(|mut file| copy_and_hash(&mut file, &mut io::sink()))))
            .await?
            .map(|hashed| hashed.map(|(_, sha256)| sha256))
    }

    pub(super) async fn remove(&self, names: Vec<String>) -> io::Result<()> {
        let paths: Vec<_> = names.iter().filter_map(|name| self.path(name)).collect();
        blocking(move || paths.into_iter().try_for_each(|path| found(fs::remove_file(path)).map(drop))).await?
    }

    pub(super) async fn all(&self) -> io::Result<Vec<FileEntry>> {
        list(self.path.clone()).await
    }

    pub(super) async fn mark(&self) -> io::Result<Option<Vec<u8>>> {
        let [folder, name] = MARK;
        let path = self.path.join(folder).join(name);
        blocking(move || found(fs::read(path))).await?
    }

    pub(super) async fn set_mark(&self, mark: String) -> io::Result<()> {
        let [folder, name] = MARK;
        let folder = self.path.join(folder);
        blocking(move || {
            private::create_folder(&folder)?;
            // Complete or absent, also if another process does the same now.
            let temporary = folder.join(std::process::id().to_string());
            write_synced(&mut mark.as_bytes(), &temporary)?;
            fs::rename(&temporary, folder.join(name))?;
            File::open(&folder)?.sync_all()
        })
        .await?
    }

    pub(super) fn incoming(&self) -> PathBuf {
        self.path.join(INCOMING)
    }

    /// Tests the folder itself, or its nearest existing parent.
    pub(super) async fn check_writable(&self) -> io::Result<()> {
        let folder = self.path.clone();
        blocking(move || {
            let is_there = |above: &&Path| !above.as_os_str().is_empty() && above.exists();
            let nearest = folder.ancestors().find(is_there).unwrap_or(Path::new("."));
            let path = nearest.join(format!(".opora-doctor-{}", std::process::id()));
            let written = write_synced(&mut b"may be removed\n".as_slice(), &path);
            found(fs::remove_file(&path))?;
            written.map(drop).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", nearest.display())))
        })
        .await?
    }

    /// The path of a file; none for a name that could lead elsewhere.
    fn path(&self, name: &str) -> Option<PathBuf> {
        is_plain(name).then(|| self.path.join(name))
    }

    fn store_now(&self, name: &str, source: &Path, accepts: Accepts) -> Result<StoredFile, StoreFileError> {
        let path = self.path(name).ok_or(io::ErrorKind::InvalidInput).map_err(io::Error::from)?;
        let mut file = match found(File::open(source))? {
            Some(file) => file,
            None => return describe(&path, accepts),
        };
        let media_type = accepts.check(sniff_file(source)?)?;
        let incoming = self.incoming();
        private::create_folder(&incoming)?;
        let temporary = incoming.join(name);
        let written = write_synced(&mut file, &temporary).and_then(|hashed| {
            fs::rename(&temporary, &path)?;
            // A rename is durable once its folder is synced.
            File::open(&self.path)?.sync_all()?;
            Ok(hashed)
        });
        let (size_bytes, sha256) = written.inspect_err(|_| {
            // If it cannot be removed, the cleanup finds it.
            let _ = fs::remove_file(&temporary);
        })?;
        Ok(StoredFile { media_type, size_bytes, sha256 })
    }
}

fn describe(path: &Path, accepts: Accepts) -> Result<StoredFile, StoreFileError> {
    let media_type = accepts.check(sniff_file(path)?)?;
    let (size_bytes, sha256) = copy_and_hash(&mut File::open(path)?, &mut io::sink())?;
    Ok(StoredFile { media_type, size_bytes, sha256 })
}

/// The next bytes of a file with `left` bytes to read.
fn read_piece(mut file: File, left: u64) -> io::Result<(File, Bytes)> {
    let most = usize::try_from(left).unwrap_or(usize::MAX).min(CHUNK_BYTES);
    let mut bytes = vec![0; most];
    let count = file.read(&mut bytes)?;
    if count == 0 {
        return Err(too_short(left));
    }
    bytes.truncate(count);
    Ok((file, bytes.into()))
}

fn sniff_file(path: &Path) -> io::Result<MediaType> {
    let mut head = Vec::with_capacity(sniff::HEAD_BYTES);
    File::open(path)?.take(sniff::HEAD_BYTES as u64).read_to_end(&mut head)?;
    Ok(sniff(&head))
}

fn write_synced(source: &mut impl Read, path: &Path) -> io::Result<(u64, String)> {
    let mut target = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(path)?;
    let hashed = copy_and_hash(source, &mut target)?;
    target.sync_all()?;
    Ok(hashed)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use futures_util::{FutureExt, TryStreamExt};

    use super::super::{Files, FilesAddress};
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and more";

    #[tokio::test]
    async fn a_stored_file_is_private_and_unchanged() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("files");
        let files = Files::at(&FilesAddress::Folder(folder.clone()));
        let source = place.path().join("source");
        fs::write(&source, PNG).unwrap();
        let stored = files.store("ab".into(), source.clone(), Accepts::Images).await.unwrap();
        assert_eq!((stored.media_type, stored.size_bytes), (MediaType::Png, PNG.len() as u64));
        assert_eq!(files.hash("ab".into()).await.unwrap(), Some(stored.sha256.clone()));
        assert_eq!(files.read("ab".into()).await.unwrap().as_deref(), Some(PNG));
        for (part, meant) in [(1..4, &PNG[1..4]), (0..PNG.len() as u64, PNG), (3..3, &[])] {
            assert_eq!(files.stream("ab".into(), part).await.unwrap().map(joined).unwrap().await.unwrap(), meant);
        }
        assert!(files.stream("gone".into(), 0..1).await.unwrap().is_none());
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&folder.join("ab"))), (0o700, 0o600));
        fs::remove_file(&source).unwrap();
        assert_eq!(
            files.store("ab".into(), source.clone(), Accepts::Images).await.unwrap(),
            stored,
            "an earlier attempt stored it"
        );
        assert!(matches!(files.store("cd".into(), source, Accepts::Images).await, Err(StoreFileError::Storage(_))));
        assert_eq!(files.copy_image("ab", "ef".into()).await.unwrap(), stored);
        assert!(list(files.incoming().unwrap()).await.unwrap().is_empty());
        files.remove(vec!["ab".into(), "gone".into()]).await.unwrap();
        assert_eq!(files.read("ab".into()).await.unwrap(), None);
        let page = place.path().join("page");
        fs::write(&page, "<html>").unwrap();
        let refused = files.store("gh".into(), page.clone(), Accepts::Images).await;
        assert!(matches!(refused, Err(StoreFileError::NotAnImage)), "{refused:?}");
        let stored = files.store("gh".into(), page, Accepts::Anything).await.unwrap();
        assert_eq!(stored.media_type, MediaType::Other);
        files.remove(vec!["gh".into()]).await.unwrap();
        files.check_writable().await.unwrap();
        assert_eq!(files.all().await.unwrap().into_iter().map(|file| file.name).collect::<Vec<_>>(), ["ef"]);
    }

    async fn joined(pieces: ByteStream) -> io::Result<Vec<u8>> {
        let pieces: Vec<Bytes> = pieces.try_collect().await?;
        Ok(pieces.concat())
    }

    #[tokio::test]
    async fn a_long_file_is_read_in_chunks() {
        let place = tempfile::tempdir().unwrap();
        let files = Files::at(&FilesAddress::Folder(place.path().to_owned()));
        let bytes: Vec<u8> = (0..300_000_u32).map(|number| (number % 251) as u8).collect();
        fs::write(place.path().join("long"), &bytes).unwrap();
        let pieces: Vec<_> = files.stream("long".into(), 1..299_999).await.unwrap().unwrap().collect().await;
        let pieces: Vec<Bytes> = pieces.into_iter().map(io::Result::unwrap).collect();
        assert!(pieces.len() > 4 && pieces.iter().all(|piece| piece.len() <= CHUNK_BYTES));
        assert_eq!(pieces.concat(), &bytes[1..299_999]);
    }

    #[tokio::test]
    async fn concurrent_reads_are_limited() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::at(place.path().to_owned());
        fs::write(place.path().join("picture"), PNG).unwrap();
        let mut pieces = folder.stream("picture".into(), 0..1).await.unwrap().unwrap();
        let others = folder.reads.acquire_many(MAX_CONCURRENT_READS as u32).await.unwrap();
        assert!(pieces.next().now_or_never().is_none(), "it waits for the other reads");
        drop(others);
        assert_eq!(pieces.next().await.unwrap().unwrap(), PNG[..1]);
    }

    #[tokio::test]
    async fn a_file_that_ends_too_early_is_an_error() {
        let place = tempfile::tempdir().unwrap();
        let files = Files::at(&FilesAddress::Folder(place.path().to_owned()));
        fs::write(place.path().join("short"), PNG).unwrap();
        for range in [0..100, 99..100] {
            let error = joined(files.stream("short".into(), range).await.unwrap().unwrap()).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
    }

    #[tokio::test]
    async fn a_name_cannot_leave_the_folder() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("secret"), "x").unwrap();
        let files = Files::at(&FilesAddress::Folder(place.path().join("files")));
        for name in ["../secret", "..", "", ".incoming", "a/b", "/etc/passwd"] {
            assert_eq!(files.read(name.into()).await.unwrap(), None, "{name}");
        }
    }
}
