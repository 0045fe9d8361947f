//! Files from Telegram onto the disk, as an effect.
//!
//! A file is fetched into a temporary name, with a limit on its size, synced and then renamed; the name comes from the
//! wish, so a try after a crash replaces what an earlier one left. A cut connection goes on where it was cut, a link
//! that has died is asked for again. The temporary name has the epoch in it: whoever led before may still be writing,
//! and would spoil what it shares. What other epochs have left goes before the first download of one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::fs;
use tokio::io::AsyncWriteExt;
use tokio::sync::OnceCell;

use super::{Asked, EffectError};
use crate::store::Epoch;
use crate::telegram::{Api, ApiError};

/// The name of this effect.
pub(crate) const DOWNLOAD: &str = "download";

/// Where files go, and how large they may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DownloadSettings {
    /// The directory; it is made if it is missing.
    pub directory: PathBuf,
    /// The largest file, whatever a turn asks for. Telegram itself gives bots no more than 20 MB.
    pub largest_bytes: u64,
}

impl Default for DownloadSettings {
    fn default() -> Self {
        Self { directory: PathBuf::from("files"), largest_bytes: 20_000_000 }
    }
}

/// What a turn asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DownloadWish {
    pub(crate) file_id: String,
    pub(crate) max_bytes: u64,
}

/// A file that has been fetched; the outcome of a download.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Downloaded {
    /// Where it lies.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// The id that it was asked for by.
    pub file_id: String,
}

/// Fetches files.
#[derive(Clone, Debug)]
pub(crate) struct Downloads {
    pub(crate) api: Arc<dyn Api>,
    pub(crate) settings: DownloadSettings,
    pub(crate) epoch: Epoch,
    /// Whether the remains of earlier epochs are gone. Clones share it.
    pub(crate) is_swept: Arc<OnceCell<()>>,
}

/// A temporary file that nobody goes on with if its last try is given up in the midst.
struct Unfinished<'a>(Option<&'a Path>);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(path) = self.0 {
            // If it cannot be removed, another epoch does.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Downloads {
    /// Carries out one wish.
    pub(crate) async fn run(self, asked: Asked) -> Result<Value, EffectError> {
        let wish: DownloadWish = asked.read()?;
        let limit = wish.max_bytes.min(self.settings.largest_bytes);
        let directory = &self.settings.directory;
        create_private(directory).await?;
        self.is_swept.get_or_try_init(|| self.sweep(asked.dialogue.bot)).await?;
        let path = directory.join(&asked.key);
        let temporary = directory.join(format!("{}{}", asked.key, self.ending()));
        let mut unfinished = Unfinished(asked.is_last.then_some(&*temporary));
        let fetched = self.fetch(&wish.file_id, limit, &temporary).await;
        // The next try goes on with it.
        unfinished.0 = None;
        let bytes = match fetched {
            Ok(bytes) => bytes,
            Err(error) => {
                if asked.is_last || matches!(error, EffectError::Final(_)) {
                    // What will never be whole is not left behind; if it cannot be removed, cleaning finds it.
                    let _ = fs::remove_file(&temporary).await;
                }
                return Err(error);
            }
        };
        fs::rename(&temporary, &path).await?;
        sync_directory(directory).await?;
        let done = Downloaded { path, bytes, file_id: wish.file_id };
        serde_json::to_value(done).map_err(|error| EffectError::Final(error.to_string()))
    }

    /// How the temporary names of this epoch end.
    fn ending(&self) -> String {
        format!(".{}.part", self.epoch.0)
    }

    /// Removes partial downloads of all other epochs; they are fetched again. Later epochs count too, because a
    /// journal's epochs are higher than those of the Redis that follows it.
    async fn sweep(&self, bot: i64) -> std::io::Result<()> {
        let begin = format!("{bot}-");
        let ending = self.ending();
        let mut files = fs::read_dir(&self.settings.directory).await?;
        while let Some(file) = files.next_entry().await? {
            let name = file.file_name();
            let name = name.to_string_lossy();
            let is_temporary = name.starts_with(&begin) && name.ends_with(".part");
            if is_temporary && !name.ends_with(&ending) {
                // Whoever was still at it may have removed it.
                let _ = fs::remove_file(file.path()).await;
            }
        }
        Ok(())
    }

    /// Fetches into the temporary file, going on where an earlier try was cut.
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
        // Without an announced size nobody knows whether anything is missing: then it begins anew.
        let have = if file.file_size.is_some_and(|size| found <= size) { found } else { 0 };
        if file.file_size == Some(have) && have > 0 {
            // An earlier try got everything and ended before the rename.
            fs::File::open(temporary).await?.sync_all().await?;
            return Ok(have);
        }
        // A refusal here is a link that has died meanwhile: the next try asks for another.
        let mut download = self.api.download(&file_path, have).await?;
        let mut options = fs::OpenOptions::new();
        // What is gone on with has to be there: who leads by now may have removed it, and its end alone is no file.
        options.create(download.from_byte == 0).write(true);
        // It holds what a person sent: it is for its owner alone, like the database.
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
            return Err(EffectError::Retry(format!("{bytes} bytes came where {size} were announced").into()));
        }
        Ok(bytes)
    }
}

/// Makes a folder that only its owner can enter: downloads are what people sent.
async fn create_private(directory: &Path) -> std::io::Result<()> {
    let mut folder = fs::DirBuilder::new();
    #[cfg(unix)]
    folder.mode(0o700);
    folder.recursive(true).create(directory).await
}

/// A rename is durable once its directory is.
async fn sync_directory(directory: &Path) -> std::io::Result<()> {
    fs::File::open(directory).await?.sync_all().await
}

fn too_large(size: u64, limit: u64) -> EffectError {
    EffectError::Final(format!("the file has {size} bytes; {limit} are allowed"))
}

/// A file id that Telegram refuses will not get better.
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
    use crate::key::DialogueKey;
    use crate::store::Upload;
    use crate::telegram::{ApiAnswer, Download};

    const WHOLE: &[u8] = b"whole";

    /// A server that announces no size, and has nothing behind a file's end.
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

    /// A server that gives half of a file, breaks off, and gives the rest when it is let.
    #[derive(Debug)]
    struct Halting {
        may_go_on: Semaphore,
        is_asked_for_the_rest: Notify,
    }

    impl Default for Halting {
        fn default() -> Self {
            Self { may_go_on: Semaphore::new(0), is_asked_for_the_rest: Notify::new() }
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
                self.is_asked_for_the_rest.notify_one();
                self.may_go_on.acquire().await.unwrap().forget();
                Ok(Download { from_byte, length: None, bytes: stream::once(async { Ok(rest.into()) }).boxed() })
            })
        }
    }

    fn asked() -> Asked {
        let body = json!({"file_id": "x", "max_bytes": 100}).to_string().into();
        Asked { key: "1-2".to_owned(), dialogue: DialogueKey::private(1, 2), body, attempt: 1, is_last: false }
    }

    fn downloads(folder: &Path, api: Arc<dyn Api>, epoch: i64) -> Downloads {
        let settings = DownloadSettings { directory: folder.to_owned(), ..DownloadSettings::default() };
        Downloads { api, settings, epoch: Epoch(epoch), is_swept: Arc::default() }
    }

    fn found(folder: &Path) -> Vec<(String, Vec<u8>)> {
        let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        files.map(|path| (path.file_name().unwrap().to_string_lossy().into(), std::fs::read(path).unwrap())).collect()
    }

    #[tokio::test]
    async fn a_file_without_an_announced_size_is_fetched_after_a_crash_before_its_rename() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("1-2.1.part"), WHOLE).unwrap();
        downloads(folder.path(), Arc::new(Sizeless), 1).run(asked()).await.unwrap();
        assert_eq!(found(folder.path()), [("1-2".to_owned(), WHOLE.to_vec())]);
    }

    #[tokio::test]
    async fn who_still_fetches_a_file_under_an_earlier_epoch_does_not_spoil_it() {
        let folder = tempfile::tempdir().unwrap();
        let halting = Arc::new(Halting::default());
        let former = downloads(folder.path(), halting.clone(), 1);
        former.clone().run(asked()).await.unwrap_err();
        let late = tokio::spawn(former.run(asked()));
        halting.is_asked_for_the_rest.notified().await;
        let next = downloads(folder.path(), Arc::new(Sizeless), 2);
        next.run(asked()).await.unwrap();
        halting.may_go_on.add_permits(1);
        let _ = late.await.unwrap();
        assert_eq!(found(folder.path()), [("1-2".to_owned(), WHOLE.to_vec())]);
    }

    #[tokio::test]
    async fn a_download_that_is_given_up_for_good_leaves_nothing_and_nor_do_other_epochs() {
        let folder = tempfile::tempdir().unwrap();
        let halting = Arc::new(Halting::default());
        std::fs::write(folder.path().join("1-3.2.part"), WHOLE).unwrap();
        std::fs::write(folder.path().join("1-4.0.part"), WHOLE).unwrap();
        std::fs::write(folder.path().join("1-5.4194310.part"), WHOLE).unwrap();
        std::fs::write(folder.path().join("9-3.2.part"), WHOLE).unwrap();
        let downloads = downloads(folder.path(), halting.clone(), 1);
        downloads.clone().run(asked()).await.unwrap_err();
        let last = Asked { is_last: true, ..asked() };
        give_up(downloads.run(last), &halting).await;
        assert_eq!(found(folder.path()), [("9-3.2.part".to_owned(), WHOLE.to_vec())], "that is another bot's");
    }

    #[tokio::test]
    async fn a_try_that_takes_too_long_leaves_the_next_one_what_it_has_fetched() {
        let folder = tempfile::tempdir().unwrap();
        let halting = Arc::new(Halting::default());
        let downloads = downloads(folder.path(), halting.clone(), 1);
        downloads.clone().run(asked()).await.unwrap_err();
        give_up(downloads.clone().run(asked()), &halting).await;
        assert_eq!(found(folder.path()), [("1-2.1.part".to_owned(), WHOLE[..2].to_vec())]);
        // From its beginning it would be cut again.
        halting.may_go_on.add_permits(1);
        downloads.run(asked()).await.unwrap();
        assert_eq!(found(folder.path()), [("1-2".to_owned(), WHOLE.to_vec())]);
    }

    /// Ends a download that waits for the rest of its file, as its deadline does.
    async fn give_up(run: impl Future<Output = Result<Value, EffectError>> + Send + 'static, halting: &Halting) {
        let given_up = tokio::spawn(run);
        halting.is_asked_for_the_rest.notified().await;
        given_up.abort();
        assert!(given_up.await.unwrap_err().is_cancelled());
    }
}
