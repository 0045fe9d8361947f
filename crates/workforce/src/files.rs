//! Stored files that people sent: a private folder or a bucket, in which each file has a generated name.
//!
//! A stored file is complete and durable. The caller decides who may see it, and the tables say who owns it.

use std::fs;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use opora::clock::Millis;
use ring::digest;
use ring::rand::{SecureRandom, SystemRandom};

use self::bucket::Bucket;
use self::folder::Folder;
pub use self::sniff::{MediaType, sniff};
pub use crate::config::{BucketAddress, FilesAddress};

mod bucket;
mod folder;
pub mod installation;
pub mod pending_files;
mod sniff;

/// Path of the installation mark: apart from the files, so that it is neither listed nor removed.
const MARK: [&str; 2] = [".opora", "installation"];

/// Size of a chunk that is copied or sent.
const CHUNK_BYTES: usize = 64 * 1024;

/// The bytes of a file as a stream. It ends with an error if the file is too short.
pub type ByteStream = BoxStream<'static, io::Result<Bytes>>;

/// The storage of files. Clones share it.
#[derive(Clone, Debug)]
pub struct Files(Backend);

#[derive(Clone, Debug)]
enum Backend {
    Folder(Folder),
    Bucket(Bucket),
}

/// What may be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepts {
    Images,
    Anything,
}

/// A stored file's properties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    pub media_type: MediaType,
    pub size_bytes: u64,
    /// In hexadecimal.
    pub sha256: String,
}

/// Why a file was not stored.
#[derive(Debug, thiserror::Error)]
pub enum StoreFileError {
    #[error("it is not an image")]
    NotAnImage,
    #[error(transparent)]
    Storage(#[from] io::Error),
}

/// A file in the storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    pub name: String,
    pub changed_at: Millis,
}

impl Accepts {
    fn check(self, media_type: MediaType) -> Result<MediaType, StoreFileError> {
        let is_good = self == Self::Anything || media_type.is_image();
        if is_good { Ok(media_type) } else { Err(StoreFileError::NotAnImage) }
    }
}

impl Files {
    /// The storage that `FILES_URL` names. It is not contacted yet.
    pub fn at(address: &FilesAddress) -> Self {
        Self(match address {
            FilesAddress::Folder(folder) => Backend::Folder(Folder::at(folder.clone())),
            FilesAddress::Bucket(address) => Backend::Bucket(Bucket::at(address.clone())),
        })
    }

    /// Stores a copy under this name, in place of one that an earlier attempt left. If the source is gone, an earlier
    /// attempt has stored it.
    pub async fn store(&self, name: String, source: PathBuf, accepts: Accepts) -> Result<StoredFile, StoreFileError> {
        match &self.0 {
            Backend::Folder(folder) => folder.store(name, source, accepts).await,
            Backend::Bucket(bucket) => bucket.store(&name, source, accepts).await,
        }
    }

    /// Stores another copy of a stored image.
    pub async fn copy_image(&self, from: &str, to: String) -> Result<StoredFile, StoreFileError> {
        match &self.0 {
            Backend::Folder(folder) => folder.copy_image(from, to).await,
            Backend::Bucket(bucket) => bucket.copy_image(from, &to).await,
        }
    }

    /// The content of a file; none if it does not exist.
    pub async fn read(&self, name: String) -> io::Result<Option<Vec<u8>>> {
        match &self.0 {
            Backend::Folder(folder) => folder.read(name).await,
            Backend::Bucket(bucket) => bucket.read(&name).await,
        }
    }

    /// A range of a file as a stream; none if it does not exist. Only a small part is in memory at any time.
    pub async fn stream(&self, name: String, range: Range<u64>) -> io::Result<Option<ByteStream>> {
        match &self.0 {
            Backend::Folder(folder) => folder.stream(name, range).await,
            Backend::Bucket(bucket) => bucket.stream(name, range).await,
        }
    }

    /// The hash of a file; none if it does not exist.
    pub async fn hash(&self, name: String) -> io::Result<Option<String>> {
        match &self.0 {
            Backend::Folder(folder) => folder.hash(name).await,
            Backend::Bucket(bucket) => Ok(bucket.read(&name).await?.map(|bytes| hashed(&bytes))),
        }
    }

    /// Removes files; missing ones are ignored.
    pub async fn remove(&self, names: Vec<String>) -> io::Result<()> {
        match &self.0 {
            Backend::Folder(folder) => folder.remove(names).await,
            Backend::Bucket(bucket) => bucket.remove(names).await,
        }
    }

    /// All stored files.
    pub async fn all(&self) -> io::Result<Vec<FileEntry>> {
        match &self.0 {
            Backend::Folder(folder) => folder.all().await,
            Backend::Bucket(bucket) => bucket.all().await,
        }
    }

    /// The installation mark that was stored with the files; see [`installation`].
    async fn mark(&self) -> io::Result<Option<String>> {
        let mark = match &self.0 {
            Backend::Folder(folder) => folder.mark().await?,
            Backend::Bucket(bucket) => bucket.mark().await?,
        };
        let mark = mark.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
        Ok(mark.filter(|mark| !mark.is_empty()))
    }

    async fn set_mark(&self, mark: String) -> io::Result<()> {
        match &self.0 {
            Backend::Folder(folder) => folder.set_mark(mark).await,
            Backend::Bucket(bucket) => bucket.set_mark(mark).await,
        }
    }

    /// The folder of incomplete files; a bucket has none.
    pub fn incoming(&self) -> Option<PathBuf> {
        match &self.0 {
            Backend::Folder(folder) => Some(folder.incoming()),
            Backend::Bucket(_) => None,
        }
    }

    /// Stores and removes a small file, to check that it works. A folder is created by the first document; a bucket has
    /// to exist.
    pub async fn check_writable(&self) -> io::Result<()> {
        match &self.0 {
            Backend::Folder(folder) => folder.check_writable().await,
            Backend::Bucket(bucket) => bucket.check_writable().await,
        }
    }
}

/// The error for a file that is too short.
fn too_short(missing_bytes: u64) -> io::Error {
    let message = format!("the file is {missing_bytes} bytes shorter than expected");
    io::Error::new(io::ErrorKind::UnexpectedEof, message)
}

/// A random name that cannot be guessed.
pub fn generated_name() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    SystemRandom::new().fill(&mut bytes).map_err(|_| io::Error::other("the system gives no random numbers"))?;
    Ok(hexadecimal(&bytes))
}

/// The plain files of a folder; empty if the folder does not exist. Links are not followed.
pub async fn list(folder: PathBuf) -> io::Result<Vec<FileEntry>> {
    blocking(move || {
        let Some(entries) = found(fs::read_dir(folder))? else { return Ok(Vec::new()) };
        let mut files = Vec::new();
        for entry in entries {
            let entry = entry?;
            // Removed since it was listed.
            let Some(metadata) = found(entry.metadata())?.filter(fs::Metadata::is_file) else { continue };
            let changed_at = millis(metadata.modified()?);
            files.push(FileEntry { name: entry.file_name().to_string_lossy().into_owned(), changed_at });
        }
        files.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(files)
    })
    .await?
}

/// Removes a file at any path; a missing one is ignored.
pub async fn remove(path: &Path) -> io::Result<()> {
    found(tokio::fs::remove_file(path).await).map(drop)
}

/// Whether a name cannot lead out of the storage.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0'])
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)
}

fn copy_and_hash(source: &mut impl Read, target: &mut impl Write) -> io::Result<(u64, String)> {
    let (mut hash, mut chunk, mut size) = (digest::Context::new(&digest::SHA256), vec![0; CHUNK_BYTES], 0);
    loop {
        let count = source.read(&mut chunk)?;
        if count == 0 {
            return Ok((size, hexadecimal(hash.finish().as_ref())));
        }
        hash.update(&chunk[..count]);
        target.write_all(&chunk[..count])?;
        size += count as u64;
    }
}

fn hashed(bytes: &[u8]) -> String {
    hexadecimal(digest::digest(&digest::SHA256, bytes).as_ref())
}

/// None if there is no such file.
fn found<T>(answer: io::Result<T>) -> io::Result<Option<T>> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn millis(time: SystemTime) -> Millis {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_names_differ_and_are_plain() {
        let names = [generated_name().unwrap(), generated_name().unwrap()];
        assert!(names[0] != names[1] && names[0].len() == 32 && names[0].bytes().all(|byte| byte.is_ascii_hexdigit()));
    }

    #[test]
    fn a_hash_is_the_same_in_chunks_and_at_once() {
        let text = b"a picture".repeat(20_000);
        let (size, by_pieces) = copy_and_hash(&mut text.as_slice(), &mut io::sink()).unwrap();
        assert_eq!((size, by_pieces), (text.len() as u64, hashed(&text)));
    }
}
