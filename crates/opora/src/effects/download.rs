//! Downloads of files from Telegram, as an effect.
//!
//! A file is written to a temporary file, synced and then renamed. The name comes from the effect's key, so an attempt
//! after a crash replaces the earlier file. A download continues after a broken connection, and an expired link is
//! requested again. The name of the temporary file contains the epoch, because a former leader may still be writing its
//! own. Temporary files of other epochs are removed before the first download of an epoch.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::fs;
use tokio::io::AsyncWriteExt;
use tokio::sync::OnceCell;

use super::{EffectError, EffectRequest};
use crate::store::Epoch;
use crate::telegram::{Api, ApiError};

/// The kind of this effect.
pub(crate) const DOWNLOAD: &str = "download";

/// Settings of downloads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DownloadSettings {
    /// The directory for files. It is created if it is missing.
    pub directory: PathBuf,
    /// The largest file, even if a turn asks for more. Telegram gives bots at most 20 MB.
    pub largest_bytes: u64,
}

impl Default for DownloadSettings {
    fn default() -> Self {
        Self { directory: PathBuf::from("files"), largest_bytes: 20_000_000 }
    }
}

/// The request of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DownloadRequest {
    pub(crate) file_id: String,
    pub(crate) max_bytes: u64,
}

/// A downloaded file; the outcome of a download.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Downloaded {
    /// Its path.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// The requested file id.
    pub file_id: String,
}

/// Downloads files.
#[derive(Clone, Debug)]
pub(crate) struct Downloads {
    pub(crate) api: Arc<dyn Api>,
    pub(crate) settings: DownloadSettings,
    pub(crate) epoch: Epoch,
    /// Set after the temporary files of other epochs are removed. Clones share it.
    pub(crate) is_swept: Arc<OnceCell<()>>,
}

/// Removes a temporary file on drop, if the last attempt is aborted.
struct Unfinished<'a>(Option<&'a Path>);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(path) = self.0 {
            // If this fails, the next epoch removes it.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Downloads {
    /// Downloads one file.
    pub(crate) async fn run(self, effect: EffectRequest) -> Result<Value, EffectError> {
        let request: DownloadRequest = effect.read()?;
        let limit = request.max_bytes.min(self.settings.largest_bytes);
        let directory = &self.settings.directory;
        create_private(directory).await?;
        self.is_swept.get_or_try_init(|| self.remove_other_epochs(effect.conversation.bot)).await?;
        let path = directory.join(&effect.key);
        let temporary = directory.join(format!("{}{}", effect.key, self.suffix()));
        let mut unfinished = Unfinished(effect.is_last.then_some(&*temporary));
        let fetched = self.fetch(&request.file_id, limit, &temporary).await;
        // The next attempt continues with the file.
        unfinished.0 = None;
        let bytes = match fetched {
            Ok(bytes) => bytes,
            Err(error) => {
                if effect.is_last || matches!(error, EffectError::Final(_)) {
                    // The file will never be complete. If it cannot be removed, the next epoch does.
                    let _ = fs::remove_file(&temporary).await;
                }
                return Err(error);
            }
        };
        fs::rename(&temporary, &path).await?;
        sync_directory(directory).await?;
        let done = Downloaded { path, bytes, file_id: request.file_id };
        serde_json::to_value(done).map_err(|error| EffectError::Final(error.to_string()))
    }

    /// The suffix of temporary files of this epoch.
    fn suffix(&self) -> String {
        format!(".{}.part", self.epoch.0)
    }

    /// Removes temporary files of all other epochs. Those may be higher, because a journal's epochs are higher than
    /// those of the Redis that follows.
    async fn remove_other_epochs(&self, bot: i64) -> std::io::Result<()> {
        let prefix = format!("{bot}-");
        let suffix = self.suffix();
        let mut files = fs::read_dir(&self.settings.directory).await?;
        while let Some(file) = files.next_entry().await? {
            let name = file.file_name();
            let name = name.to_string_lossy();
            let is_temporary = name.starts_with(&prefix) && name.ends_with(".part");
            if is_temporary && !name.ends_with(&suffix) {
                // A former leader may have removed it.
                let _ = fs::remove_file(file.path()).await;
            }
        }
        Ok(())
    }

    /// Downloads to the temporary file, and continues where an earlier attempt ended.
    async fn fetch(&self, file_id: &str, limit: u64, temporary: &Path) -> Result<u64, EffectError> {
        #[derive(Deserialize)]
        struct File {
            file_path: Option<String>,
            file_size: Option<u64>,
        }
        let body = json!({"file_id": file_id}).to_string();
        let answer = self.api.call("getFile", &body, &[]).await.map_err(final_if_refused)?;
        let file: File = serde_json::from_str(answer.get())?;
        if let Some(size) = file.file_size.filter(|size| *size > limit) {
            return Err(too_large(size, limit));
        }
        let file_path =
            file.file_path.ok_or_else(|| EffectError::Final("Telegram gives no link to this file".to_owned()))?;
        let found = fs::metadata(temporary).await.map_or(0, |metadata| metadata.len());
        // Without an announced size it is unknown whether anything is missing. Then the download starts from the
        // beginning.
        let have = if file.file_size.is_some_and(|size| found <= size) { found } else { 0 };
        if file.file_size == Some(have) && have > 0 {
            // An earlier attempt got everything but died before the rename.
            fs::File::open(temporary).await?.sync_all().await?;
            return Ok(have);
        }
        // A refusal means that the link has expired. The next attempt requests another.
        let mut download = self.api.download(&file_path, have).await?;
        let mut options = fs::OpenOptions::new();
        // A continued file must exist: a new leader may have removed it, and the rest alone is not a file.
        options.create(download.from_byte == 0).write(true);
        // A person's file is private, like the database.
        #[cfg(unix)]
        options.mode(0o600);
        let mut target =
            options.truncate(download.from_byte == 0).append(download.from_byte > 0).open(temporary).await?;
        let mut bytes = download.from_byte;
        while let Some(chunk) = download.bytes.next().await {
            let chunk = chunk?;
            bytes += chunk.len() as u64;
            if bytes > limit {
                return Err(too_large(bytes, limit));
            }
            target.write_all(&chunk).await?;
        }
        target.flush().await?;
        target.sync_all().await?;
        if let Some(size) = file.file_size.filter(|size| *size != bytes) {
            fs::remove_file(temporary).await?;
            return Err(EffectError::Retry(format!("{bytes} bytes arrived, but {size} were announced").into()));
        }
        Ok(bytes)
    }
}

/// Creates a directory that only its owner can enter, because files of people are private.
async fn create_private(directory: &Path) -> std::io::Result<()> {
    let mut folder = fs::DirBuilder::new();
    #[cfg(unix)]
    folder.mode(0o700);
    folder.recursive(true).create(directory).await
}

/// Makes a rename in the directory durable.
async fn sync_directory(directory: &Path) -> std::io::Result<()> {
    fs::File::open(directory).await?.sync_all().await
}

fn too_large(size: u64, limit: u64) -> EffectError {
    EffectError::Final(format!("the file has {size} bytes; {limit} are allowed"))
}

/// A file id that Telegram refuses will not be accepted later.
fn final_if_refused(error: ApiError) -> EffectError {
    match error {
        ApiError::Refused { .. } => EffectError::Final(error.to_string()),
        error => EffectError::Retry(Box::new(error)),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::future::BoxFuture;
    use futures_util::stream;
    use serde_json::value::RawValue;
    use tokio::sync::{Notify, Semaphore};

    use super::*;
    use crate::key::ConversationKey;
    use crate::store::Upload;
    use crate::telegram::{ApiAnswer, Download};

    const WHOLE: &[u8] = b"whole";

    /// A server that announces no size, and refuses ranges beyond the end of a file.
    #[derive(Debug)]
    struct Sizeless;

    impl Api for Sizeless {
        fn call<'a>(&'a self, _: &'a str, _: &'a str, _: &'a [Upload]) -> ApiAnswer<'a> {
            Box::pin(async { Ok(RawValue::from_string(r#"{"file_path":"documents/1"}"#.to_owned()).unwrap()) })
        }

        fn long_call<'a>(&'a self, method: &'a str, body: &'a str, _: Duration) -> ApiAnswer<'a> {
            self.call(method, body, &[])
        }

        fn download<'a>(&'a self, _: &'a str, from_byte: u64) -> BoxFuture<'a, Result<Download, ApiError>> {
            Box::pin(async move {
                if from_byte >= WHOLE.len() as u64 {
                    return Err(crate::telegram::classify(416, "Requested Range Not Satisfiable", Default::default()));
                }
                let bytes = stream::once(async { Ok(WHOLE.into()) }).boxed();
                Ok(Download { from_byte: 0, length: None, bytes })
            })
        }
    }

    /// A server that breaks off within a file, and sends the rest when the test allows it.
    #[derive(Debug)]
    struct Halting {
        may_continue: Semaphore,
        rest_requested: Notify,
    }

    impl Default for Halting {
        fn default() -> Self {
            Self { may_continue: Semaphore::new(0), rest_requested: Notify::new() }
        }
    }

    impl Api for Halting {
        fn call<'a>(&'a self, _: &'a str, _: &'a str, _: &'a [Upload]) -> ApiAnswer<'a> {
            let file = json!({"file_path": "documents/1", "file_size": WHOLE.len()}).to_string();
            Box::pin(async { Ok(RawValue::from_string(file).unwrap()) })
        }

        fn long_call<'a>(&'a self, method: &'a str, body: &'a str, _: Duration) -> ApiAnswer<'a> {
            self.call(method, body, &[])
        }

        fn download<'a>(&'a self, _: &'a str, from_byte: u64) -> BoxFuture<'a, Result<Download, ApiError>> {
            Box::pin(async move {
                let rest = &WHOLE[from_byte as usize..];
                if from_byte == 0 {
                    let cut = Err(ApiError::NotSent("cut".into()));
                    let bytes = stream::iter([Ok((&rest[..2]).into()), cut]).boxed();
                    return Ok(Download { from_byte, length: None, bytes });
                }
                self.rest_requested.notify_one();
                self.may_continue.acquire().await.unwrap().forget();
                Ok(Download { from_byte, length: None, bytes: stream::once(async { Ok(rest.into()) }).boxed() })
            })
        }
    }

    fn request() -> EffectRequest {
        let body = json!({"file_id": "x", "max_bytes": 100}).to_string().into();
        EffectRequest {
            key: "1-2".to_owned(),
            conversation: ConversationKey::private(1, 2),
            body,
            attempt: 1,
            is_last: false,
        }
    }

    fn downloads(folder: &Path, api: Arc<dyn Api>, epoch: i64) -> Downloads {
        let settings = DownloadSettings { directory: folder.to_owned(), ..DownloadSettings::default() };
        Downloads { api, settings, epoch: Epoch(epoch), is_swept: Arc::default() }
    }

    fn files_in(folder: &Path) -> Vec<(String, Vec<u8>)> {
        let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        files.map(|path| (path.file_name().unwrap().to_string_lossy().into(), std::fs::read(path).unwrap())).collect()
    }

    #[tokio::test]
    async fn a_file_of_unknown_size_is_downloaded_again_after_a_crash() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("1-2.1.part"), WHOLE).unwrap();
        downloads(folder.path(), Arc::new(Sizeless), 1).run(request()).await.unwrap();
        assert_eq!(files_in(folder.path()), [("1-2".to_owned(), WHOLE.to_vec())]);
    }

    #[tokio::test]
    async fn a_former_leader_does_not_damage_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let halting = Arc::new(Halting::default());
        let former = downloads(folder.path(), halting.clone(), 1);
        former.clone().run(request()).await.unwrap_err();
        let late = tokio::spawn(former.run(request()));
        halting.rest_requested.notified().await;
        let next = downloads(folder.path(), Arc::new(Sizeless), 2);
        next.run(request()).await.unwrap();
        halting.may_continue.add_permits(1);
        let _ = late.await.unwrap();
        assert_eq!(files_in(folder.path()), [("1-2".to_owned(), WHOLE.to_vec())]);
    }

    #[tokio::test]
    async fn no_temporary_file_stays_after_the_last_attempt() {
        let folder = tempfile::tempdir().unwrap();
        let halting = Arc::new(Halting::default());
        std::fs::write(folder.path().join("1-3.2.part"), WHOLE).unwrap();
        std::fs::write(folder.path().join("1-4.0.part"), WHOLE).unwrap();
        std::fs::write(folder.path().join("1-5.4194310.part"), WHOLE).unwrap();
        std::fs::write(folder.path().join("9-3.2.part"), WHOLE).unwrap();
        let downloads = downloads(folder.path(), halting.clone(), 1);
        downloads.clone().run(request()).await.unwrap_err();
        let last = EffectRequest { is_last: true, ..request() };
        give_up(downloads.run(last), &halting).await;
        assert_eq!(files_in(folder.path()), [("9-3.2.part".to_owned(), WHOLE.to_vec())], "that is another bot's");
    }

    #[tokio::test]
    async fn the_next_attempt_continues_after_a_timeout() {
        let folder = tempfile::tempdir().unwrap();
        let halting = Arc::new(Halting::default());
        let downloads = downloads(folder.path(), halting.clone(), 1);
        downloads.clone().run(request()).await.unwrap_err();
        give_up(downloads.clone().run(request()), &halting).await;
        assert_eq!(files_in(folder.path()), [("1-2.1.part".to_owned(), WHOLE[..2].to_vec())]);
        // A download from the beginning would be cut again.
        halting.may_continue.add_permits(1);
        downloads.run(request()).await.unwrap();
        assert_eq!(files_in(folder.path()), [("1-2".to_owned(), WHOLE.to_vec())]);
    }

    /// Aborts a download that waits for the rest of its file, as its deadline does.
    async fn give_up(run: impl Future<Output = Result<Value, EffectError>> + Send + 'static, halting: &Halting) {
        let given_up = tokio::spawn(run);
        halting.rest_requested.notified().await;
        given_up.abort();
        assert!(given_up.await.unwrap_err().is_cancelled());
    }
}
