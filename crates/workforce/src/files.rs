//! Where documents are kept: a private folder, in which each file has a generated name.
//!
//! A file is there whole or not at all: it is written under a temporary name, synced and renamed, and its folder is
//! synced too. Who may see one is decided by whoever asks; what belongs to whom is in the tables.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context;
use opora::clock::Millis;
use ring::digest;
use ring::rand::{SecureRandom, SystemRandom};

pub use self::sniff::{MediaType, sniff};

mod sniff;

/// The folder of files that are not whole yet.
const INCOMING: &str = ".incoming";
/// How much is copied at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// The front door. Clones are the same folder.
#[derive(Clone, Debug)]
pub struct Files {
    folder: PathBuf,
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
    Disk(#[from] io::Error),
}

/// A file as the folder has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub name: String,
    pub path: PathBuf,
    pub changed_at: Millis,
}

impl Files {
    /// The place that `FILES_URL` names.
    pub fn at(url: &str) -> anyhow::Result<Self> {
        let folder = url.strip_prefix("file:").context("FILES_URL is not file:<folder>")?;
        Ok(Self { folder: folder.trim_start_matches("//").into() })
    }

    /// Keeps a copy of an image under this name, in place of one that an earlier try left. One that is there already
    /// and whose source is gone was kept by an earlier try.
    pub async fn keep_image(&self, name: String, source: PathBuf) -> Result<Kept, NotKept> {
        let files = self.clone();
        blocking(move || files.keep_now(&name, &source)).await?
    }

    /// What is kept under this name; none if there is nothing.
    pub async fn read(&self, name: String) -> io::Result<Option<Vec<u8>>> {
        let Some(path) = self.path(&name) else { return Ok(None) };
        blocking(move || found(fs::read(path))).await?
    }

    /// The hash of what is kept under this name; none if there is nothing.
    pub async fn hash(&self, name: String) -> io::Result<Option<String>> {
        let Some(path) = self.path(&name) else { return Ok(None) };
        blocking(move || found(File::open(path).and_then(|mut file| copy_and_hash(&mut file, &mut io::sink()))))
            .await?
            .map(|hashed| hashed.map(|(_, sha256)| sha256))
    }

    /// Removes files; those that are gone already do no harm.
    pub async fn remove(&self, names: Vec<String>) -> io::Result<()> {
        let paths: Vec<_> = names.iter().filter_map(|name| self.path(name)).collect();
        blocking(move || paths.into_iter().try_for_each(|path| found(fs::remove_file(path)).map(drop))).await?
    }

    /// Everything that is kept, whoever it belongs to.
    pub async fn all(&self) -> io::Result<Vec<Found>> {
        list(self.folder.clone()).await
    }

    /// What is not whole yet, or never became so.
    pub async fn incoming(&self) -> io::Result<Vec<Found>> {
        list(self.folder.join(INCOMING)).await
    }

    /// Where a file lies. A name that could lead elsewhere has no place.
    fn path(&self, name: &str) -> Option<PathBuf> {
        let is_plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0']);
        is_plain.then(|| self.folder.join(name))
    }

    fn keep_now(&self, name: &str, source: &Path) -> Result<Kept, NotKept> {
        let path = self.path(name).ok_or(io::ErrorKind::InvalidInput).map_err(io::Error::from)?;
        let mut file = match found(File::open(source))? {
            Some(file) => file,
            None => return describe(&path),
        };
        let media_type = sniff_file(source)?;
        let incoming = self.folder.join(INCOMING);
        DirBuilder::new().recursive(true).mode(0o700).create(&incoming)?;
        let temporary = incoming.join(name);
        let written = write_synced(&mut file, &temporary).and_then(|hashed| {
            fs::rename(&temporary, &path)?;
            // A rename is durable once its folder is.
            File::open(&self.folder)?.sync_all()?;
            Ok(hashed)
        });
        let (size_bytes, sha256) = written.inspect_err(|_| {
            // If it cannot be removed, the cleanup finds it.
            let _ = fs::remove_file(&temporary);
        })?;
        Ok(Kept { media_type, size_bytes, sha256 })
    }
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
            files.push(Found {
                name: entry.file_name().to_string_lossy().into_owned(),
                path: entry.path(),
                changed_at,
            });
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

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)
}

fn describe(path: &Path) -> Result<Kept, NotKept> {
    let media_type = sniff_file(path)?;
    let (size_bytes, sha256) = copy_and_hash(&mut File::open(path)?, &mut io::sink())?;
    Ok(Kept { media_type, size_bytes, sha256 })
}

fn sniff_file(path: &Path) -> Result<MediaType, NotKept> {
    let mut head = Vec::with_capacity(sniff::HEAD_BYTES);
    File::open(path)?.take(sniff::HEAD_BYTES as u64).read_to_end(&mut head)?;
    sniff(&head).ok_or(NotKept::NotAnImage)
}

fn write_synced(source: &mut File, path: &Path) -> io::Result<(u64, String)> {
    let mut target = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(path)?;
    let hashed = copy_and_hash(source, &mut target)?;
    target.sync_all()?;
    Ok(hashed)
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
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and more";

    #[tokio::test]
    async fn a_kept_file_is_private_and_comes_back_as_it_was() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("files");
        let files = Files::at(&format!("file:{}", folder.display())).unwrap();
        let source = place.path().join("source");
        fs::write(&source, PNG).unwrap();
        let kept = files.keep_image("ab".into(), source.clone()).await.unwrap();
        assert_eq!((kept.media_type, kept.size_bytes), (MediaType::Png, PNG.len() as u64));
        assert_eq!(files.hash("ab".into()).await.unwrap(), Some(kept.sha256.clone()));
        assert_eq!(files.read("ab".into()).await.unwrap().as_deref(), Some(PNG));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&folder.join("ab"))), (0o700, 0o600));
        fs::remove_file(&source).unwrap();
        assert_eq!(files.keep_image("ab".into(), source.clone()).await.unwrap(), kept, "an earlier try kept it");
        assert!(matches!(files.keep_image("cd".into(), source).await, Err(NotKept::Disk(_))));
        assert!(files.incoming().await.unwrap().is_empty());
        files.remove(vec!["ab".into(), "gone".into()]).await.unwrap();
        assert_eq!(files.read("ab".into()).await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_name_leads_nowhere_else() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("secret"), "x").unwrap();
        let files = Files::at(&format!("file:{}/files", place.path().display())).unwrap();
        for name in ["../secret", "..", "", ".incoming", "a/b", "/etc/passwd"] {
            assert_eq!(files.read(name.into()).await.unwrap(), None, "{name}");
        }
    }

    #[test]
    fn generated_names_differ_and_are_plain() {
        let names = [generated_name().unwrap(), generated_name().unwrap()];
        assert!(names[0] != names[1] && names[0].len() == 32 && names[0].bytes().all(|byte| byte.is_ascii_hexdigit()));
    }
}
