//! Where what people sent is kept: a private folder or a bucket, in which each file has a generated name.
//!
//! A file is there whole or not at all, and once it is kept it is durable. Who may see one is decided by whoever asks;
//! what belongs to whom is in the tables.

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
mod sniff;
pub mod under_way;

/// Where the mark of the installation lies: apart from the files, where nobody lists or removes it.
const MARK: [&str; 2] = [".opora", "installation"];

/// How much is copied or sent at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// The bytes of a file, piece by piece. It ends with an error where the file ends too early.
pub type Pieces = BoxStream<'static, io::Result<Bytes>>;

/// The front door. Clones are the same place.
#[derive(Clone, Debug)]
pub struct Files(Place);

#[derive(Clone, Debug)]
enum Place {
    Folder(Folder),
    Bucket(Bucket),
}

/// What may be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepts {
    Images,
    Anything,
}

/// A file that has been kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub media_type: MediaType,
    pub size_bytes: u64,
    /// In hexadecimal.
    pub sha256: String,
}

/// Why a file was not kept.
#[derive(Debug, thiserror::Error)]
pub enum NotKept {
    #[error("it is not an image")]
    NotAnImage,
    #[error(transparent)]
    Storage(#[from] io::Error),
}

/// A file that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub name: String,
    pub changed_at: Millis,
}

impl Accepts {
    fn check(self, media_type: MediaType) -> Result<MediaType, NotKept> {
        let is_good = self == Self::Anything || media_type.is_image();
        if is_good { Ok(media_type) } else { Err(NotKept::NotAnImage) }
    }
}

impl Files {
    /// The place that `FILES_URL` names. Nothing is asked of it yet.
    pub fn at(address: &FilesAddress) -> Self {
        Self(match address {
            FilesAddress::Folder(folder) => Place::Folder(Folder::at(folder.clone())),
            FilesAddress::Bucket(address) => Place::Bucket(Bucket::at(address.clone())),
        })
    }

    /// Keeps a copy under this name, in place of one that an earlier try left. One that is there already and whose source
    /// is gone was kept by an earlier try.
    pub async fn keep(&self, name: String, source: PathBuf, accepts: Accepts) -> Result<Kept, NotKept> {
        match &self.0 {
            Place::Folder(folder) => folder.keep(name, source, accepts).await,
            Place::Bucket(bucket) => bucket.keep(&name, source, accepts).await,
        }
    }

    /// Keeps another copy of an image that is here already.
    pub async fn copy_image(&self, from: &str, to: String) -> Result<Kept, NotKept> {
        match &self.0 {
            Place::Folder(folder) => folder.copy_image(from, to).await,
            Place::Bucket(bucket) => bucket.copy_image(from, &to).await,
        }
    }

    /// What is kept under this name; none if there is nothing.
    pub async fn read(&self, name: String) -> io::Result<Option<Vec<u8>>> {
        match &self.0 {
            Place::Folder(folder) => folder.read(name).await,
            Place::Bucket(bucket) => bucket.read(&name).await,
        }
    }

    /// These bytes of what is kept under this name, without reading the others; none if there is nothing. At any time only
    /// a small piece of them is in memory.
    pub async fn pieces(&self, name: String, range: Range<u64>) -> io::Result<Option<Pieces>> {
        match &self.0 {
            Place::Folder(folder) => folder.pieces(name, range).await,
            Place::Bucket(bucket) => bucket.pieces(name, range).await,
        }
    }

    /// The hash of what is kept under this name; none if there is nothing.
    pub async fn hash(&self, name: String) -> io::Result<Option<String>> {
        match &self.0 {
            Place::Folder(folder) => folder.hash(name).await,
            Place::Bucket(bucket) => Ok(bucket.read(&name).await?.map(|bytes| hashed(&bytes))),
        }
    }

    /// Removes files; those that are gone already do no harm.
    pub async fn remove(&self, names: Vec<String>) -> io::Result<()> {
        match &self.0 {
            Place::Folder(folder) => folder.remove(names).await,
            Place::Bucket(bucket) => bucket.remove(names).await,
        }
    }

    /// Everything that is kept, whoever it belongs to.
    pub async fn all(&self) -> io::Result<Vec<Found>> {
        match &self.0 {
            Place::Folder(folder) => folder.all().await,
            Place::Bucket(bucket) => bucket.all().await,
        }
    }

    /// Whose files these are, by the mark that was left with them; see [`installation`].
    async fn mark(&self) -> io::Result<Option<String>> {
        let mark = match &self.0 {
            Place::Folder(folder) => folder.mark().await?,
            Place::Bucket(bucket) => bucket.mark().await?,
        };
        let mark = mark.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
        Ok(mark.filter(|mark| !mark.is_empty()))
    }

    async fn set_mark(&self, mark: String) -> io::Result<()> {
        match &self.0 {
            Place::Folder(folder) => folder.set_mark(mark).await,
            Place::Bucket(bucket) => bucket.set_mark(mark).await,
        }
    }

    /// The folder of what is not whole yet, or never became so; a bucket has no such files.
    pub fn incoming(&self) -> Option<PathBuf> {
        match &self.0 {
            Place::Folder(folder) => Some(folder.incoming()),
            Place::Bucket(_) => None,
        }
    }

    /// Stores something small and takes it away again, to see whether that can be done. A folder is made by the first
    /// document; a bucket has to be there.
    pub async fn try_out(&self) -> io::Result<()> {
        match &self.0 {
            Place::Folder(folder) => folder.try_out().await,
            Place::Bucket(bucket) => bucket.try_out().await,
        }
    }
}

/// Why the bytes of a file cannot all be given.
fn too_short(missing_bytes: u64) -> io::Error {
    let why = format!("the file is {missing_bytes} bytes shorter than expected");
    io::Error::new(io::ErrorKind::UnexpectedEof, why)
}

/// A name that nobody guesses.
pub fn generated_name() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    SystemRandom::new().fill(&mut bytes).map_err(|_| io::Error::other("the system gives no random numbers"))?;
    Ok(hexadecimal(&bytes))
}

/// The plain files of a folder; a folder that is not there has none. Nothing is followed.
pub async fn list(folder: PathBuf) -> io::Result<Vec<Found>> {
    blocking(move || {
        let Some(entries) = found(fs::read_dir(folder))? else { return Ok(Vec::new()) };
        let mut files = Vec::new();
        for entry in entries {
            let entry = entry?;
            // Gone since it was listed: somebody else has removed it.
            let Some(metadata) = found(entry.metadata())?.filter(fs::Metadata::is_file) else { continue };
            let changed_at = millis(metadata.modified()?);
            files.push(Found { name: entry.file_name().to_string_lossy().into_owned(), changed_at });
        }
        files.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(files)
    })
    .await?
}

/// Removes a file wherever it lies; one that is gone already does no harm.
pub async fn remove(path: &Path) -> io::Result<()> {
    found(tokio::fs::remove_file(path).await).map(drop)
}

/// Whether a name stays within its place.
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

/// None where there is no such file.
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
    fn a_hash_is_the_same_by_pieces_and_at_once() {
        let text = b"a picture".repeat(20_000);
        let (size, by_pieces) = copy_and_hash(&mut text.as_slice(), &mut io::sink()).unwrap();
        assert_eq!((size, by_pieces), (text.len() as u64, hashed(&text)));
    }
}
