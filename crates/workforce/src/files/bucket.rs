//! Files in an S3 bucket.
//!
//! A file is uploaded under its final name in one request, so it is complete or absent. Incomplete files are only on
//! the local disk, with the downloads. Retries take seconds, not minutes, because a person waits.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, ObjectStoreExt, RetryConfig};
use opora::clock::Millis;

use super::{Accepts, BucketAddress, ByteStream, FileEntry, MARK, StoreFileError, StoredFile};
use super::{blocking, found, hashed, is_plain, sniff, too_short};

/// Timeouts of a connection, and of a request.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
const RETRIES: usize = 2;
const RETRY_TIMEOUT: Duration = Duration::from_secs(15);

/// Bytes per request. Each part is a request of its own: a client that reads slowly would otherwise keep the server's
/// connection open beyond [`REQUEST_TIMEOUT`].
const PART_BYTES: u64 = 256 * 1024;

#[derive(Clone)]
pub(super) struct Bucket {
    address: BucketAddress,
    /// Created at its first use; or the error.
    client: Arc<OnceLock<Result<AmazonS3, String>>>,
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(f)
    }
}

impl Bucket {
    pub(super) fn at(address: BucketAddress) -> Self {
        Self { address, client: Arc::default() }
    }

    pub(super) async fn store(
        &self,
        name: &str,
        source: PathBuf,
        accepts: Accepts,
    ) -> Result<StoredFile, StoreFileError> {
        match found(tokio::fs::read(source).await)? {
            Some(bytes) => self.put(name, bytes, accepts).await,
            None => {
                let bytes = self.read(name).await?.ok_or(io::ErrorKind::NotFound).map_err(io::Error::from)?;
                blocking(move || describe(&bytes, accepts)).await?
            }
        }
    }

    pub(super) async fn copy_image(&self, from: &str, to: &str) -> Result<StoredFile, StoreFileError> {
        let bytes = self.read(from).await?.ok_or(io::ErrorKind::NotFound).map_err(io::Error::from)?;
        self.put(to, bytes, Accepts::Images).await
    }

    pub(super) async fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        if !is_plain(name) {
            return Ok(None);
        }
        self.get(&self.path(name)).await
    }

    pub(super) async fn stream(&self, name: String, range: Range<u64>) -> io::Result<Option<ByteStream>> {
        if !is_plain(&name) {
            return Ok(None);
        }
        let path = self.path(&name);
        // The first part tells whether the file exists.
        let first = match range.is_empty() {
            true => found(self.client()?.head(&path).await.map_err(io_error))?.map(|_| (Bytes::new(), range)),
            false => found(self.piece(&path, range).await)?,
        };
        let Some((first, rest)) = first else { return Ok(None) };
        let bucket = self.clone();
        let others = stream::try_unfold(rest, move |rest| {
            let (bucket, path) = (bucket.clone(), path.clone());
            async move { if rest.is_empty() { Ok(None) } else { bucket.piece(&path, rest).await.map(Some) } }
        });
        Ok(Some(stream::once(async { Ok(first) }).chain(others).boxed()))
    }

    /// The first bytes of a range, and the rest of the range.
    async fn piece(&self, path: &Path, range: Range<u64>) -> io::Result<(Bytes, Range<u64>)> {
        let end = range.end.min(range.start + PART_BYTES);
        let bytes = self.client()?.get_range(path, range.start..end).await.map_err(io_error)?;
        let wanted = end - range.start;
        match wanted.checked_sub(bytes.len() as u64) {
            Some(0) => Ok((bytes, end..range.end)),
            missing => Err(too_short(missing.unwrap_or_default())),
        }
    }

    pub(super) async fn mark(&self) -> io::Result<Option<Vec<u8>>> {
        self.get(&self.mark_path()).await
    }

    pub(super) async fn set_mark(&self, mark: String) -> io::Result<()> {
        self.client()?.put(&self.mark_path(), mark.into_bytes().into()).await.map(drop).map_err(io_error)
    }

    pub(super) async fn remove(&self, names: Vec<String>) -> io::Result<()> {
        let paths: Vec<_> = names.iter().filter(|name| is_plain(name)).map(|name| Ok(self.path(name))).collect();
        let removed = self.client()?.delete_stream(stream::iter(paths).boxed());
        removed.try_for_each(|_| async { Ok(()) }).await.map_err(io_error)
    }

    pub(super) async fn all(&self) -> io::Result<Vec<FileEntry>> {
        let prefix = self.prefix();
        let listed = self.client()?.list(Some(&prefix));
        let metas: Vec<_> = listed.try_collect().await.map_err(io_error)?;
        let entries = metas.iter().filter_map(|meta| {
            let mut parts = meta.location.prefix_match(&prefix)?;
            let name = parts.next()?.as_ref().to_owned();
            // Deeper objects are not ours.
            let changed_at = Millis(meta.last_modified.timestamp_millis());
            parts.next().is_none().then_some(FileEntry { name, changed_at })
        });
        let mut files: Vec<_> = entries.collect();
        files.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(files)
    }

    pub(super) async fn check_writable(&self) -> io::Result<()> {
        let (client, path) = (self.client()?, self.path(&format!("opora-doctor-{}", std::process::id())));
        client.put(&path, "may be removed\n".into()).await.map_err(io_error)?;
        client.delete(&path).await.map_err(io_error)
    }

    async fn put(&self, name: &str, bytes: Vec<u8>, accepts: Accepts) -> Result<StoredFile, StoreFileError> {
        if !is_plain(name) {
            return Err(io::Error::from(io::ErrorKind::InvalidInput).into());
        }
        // Hashing megabytes takes a while.
        let (described, bytes) = blocking(move || (describe(&bytes, accepts), bytes)).await?;
        let stored = described?;
        self.client()?.put(&self.path(name), bytes.into()).await.map_err(io_error)?;
        Ok(stored)
    }

    async fn get(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        let get = async {
            let answer = self.client()?.get(path).await.map_err(io_error)?;
            answer.bytes().await.map_err(io_error)
        };
        Ok(found(get.await)?.map(Vec::from))
    }

    fn mark_path(&self) -> Path {
        MARK.iter().fold(self.prefix(), |path, part| path.join(*part))
    }

    fn prefix(&self) -> Path {
        Path::from(self.address.prefix.as_str())
    }

    fn path(&self, name: &str) -> Path {
        self.prefix().join(name)
    }

    fn client(&self) -> io::Result<&AmazonS3> {
        let client = self.client.get_or_init(|| make(&self.address).map_err(|error| error.to_string()));
        client.as_ref().map_err(|error| io::Error::other(error.clone()))
    }
}

fn make(address: &BucketAddress) -> object_store::Result<AmazonS3> {
    // Another client may have installed a provider already; either one works.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let backoff = BackoffConfig { init_backoff: Duration::from_millis(200), ..BackoffConfig::default() };
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(&address.bucket)
        .with_region(&address.region)
        .with_access_key_id(&address.access_key)
        .with_secret_access_key(&address.secret_key.0)
        .with_client_options(ClientOptions::new().with_timeout(REQUEST_TIMEOUT).with_connect_timeout(CONNECT_TIMEOUT))
        .with_retry(RetryConfig { backoff, max_retries: RETRIES, retry_timeout: RETRY_TIMEOUT });
    if let Some(endpoint) = &address.endpoint {
        builder = builder.with_endpoint(endpoint).with_allow_http(endpoint.starts_with("http://"));
    }
    builder.build()
}

fn describe(bytes: &[u8], accepts: Accepts) -> Result<StoredFile, StoreFileError> {
    let media_type = accepts.check(sniff(bytes))?;
    Ok(StoredFile { media_type, size_bytes: bytes.len() as u64, sha256: hashed(bytes) })
}

/// An error for an operator, with the server's own code if it gave one.
fn io_error(error: object_store::Error) -> io::Error {
    use object_store::Error;
    let message = error.to_string();
    let code = message.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>")).map(|(code, _)| code);
    match (&error, code) {
        // Files come and go; a missing bucket is another matter.
        (_, Some("NoSuchBucket")) => io::Error::other("there is no such bucket (NoSuchBucket)"),
        (Error::NotFound { .. }, _) => io::ErrorKind::NotFound.into(),
        (Error::PermissionDenied { .. } | Error::Unauthenticated { .. }, code) => {
            let code = code.unwrap_or("without a reason");
            io::Error::new(io::ErrorKind::PermissionDenied, format!("the storage refuses these keys ({code})"))
        }
        (_, Some(code)) => io::Error::other(format!("the storage refuses ({code})")),
        _ => io::Error::other(format!("the storage does not answer: {message}")),
    }
}
