//! The path of a file: requested in a turn, downloaded by the library, moved to the file store, recorded in its row.
//!
//! Each step can be repeated after a crash. A failed file is only marked in its row. The job retries it a few times,
//! and people who see it can ask for another try.

use std::path::{Path, PathBuf};
use std::time::Duration;

use opora::bot::HandleError;
use opora::effects::{Downloaded, EffectError, EffectRequest};
use opora::prelude::*;
use sea_orm::DbErr;
use serde_json::Value;

use super::records::{self, Attachment};
use super::{KEEP, MAX_FILE_BYTES};
use crate::application::App;
use crate::domain::{NotWritten, WriteInTurn};
use crate::failpoints;
use crate::files::{self, Accepts, StoreFileError, generated_name, pending_files};
use crate::jobs::{self, scheduled_job};
use crate::person::OWNERS;
use crate::web::Event;

/// The timer that requests pending downloads.
pub const RETRY_TIMER: &str = "attachments:again";
/// The topic that pages name in `data-live` to learn of new files.
pub const TOPIC: &str = "attachments";
/// The library's name for the download effect.
const DOWNLOAD: &str = "download";
/// How many downloads a turn requests, and the delay before the next batch.
const BATCH_SIZE: u64 = 20;
const NEXT_BATCH_DELAY: Duration = Duration::from_secs(5);
/// Longer than any download takes.
const LOST_AFTER: Duration = Duration::from_secs(60 * 60);

/// A downloaded file to be stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct StoreRequest {
    telegram_file: String,
    path: PathBuf,
    /// Chosen once, so that every attempt uses the same name.
    name: String,
}

/// The request of a download.
#[derive(Debug, Deserialize)]
struct DownloadRequest {
    file_id: String,
}

/// Inserts a row and requests the file, both in the turn's commit. `size` is what Telegram reports.
pub fn fetch(turn: &mut Turn, telegram_file: &str, size: Option<u64>) {
    let (file, at) = (telegram_file.to_owned(), turn.now());
    let is_too_large = download(turn, telegram_file, size);
    turn.write(move |db| Box::pin(records::insert(db, file, Some(at), is_too_large)));
}

/// Requests a file whose row the turn inserts itself; without a row the download is discarded. Returns whether the file
/// is too large.
pub fn download(turn: &mut Turn, telegram_file: &str, size: Option<u64>) -> bool {
    let is_too_large = size.is_some_and(|size| size > MAX_FILE_BYTES);
    if !is_too_large {
        turn.download(telegram_file, MAX_FILE_BYTES);
    }
    is_too_large
}

/// Handles the outcome of a download.
pub async fn downloaded<S: States>(turn: &mut Turn, outcome: Outcome) -> Step<S> {
    if *outcome.kind != *DOWNLOAD {
        return Ok(Next::Stay);
    }
    if let Ok(Downloaded { path, file_id, .. }) = outcome.result() {
        turn.effect_without_outcome(KEEP, &StoreRequest { telegram_file: file_id, path, name: generated_name()? });
        return Ok(Next::Stay);
    }
    let (request, at): (DownloadRequest, _) = (outcome.request()?, turn.now());
    tracing::warn!(user = turn.key().user, "an attachment could not be downloaded");
    let file = request.file_id.clone();
    turn.write(move |db| Box::pin(records::fail(db, request.file_id, at)));
    let app = turn.context::<App>();
    let person = app.speaker(turn).await?.person;
    for event in events(&app, &file, person.map(|person| person.id)).await? {
        event.publish_after(turn);
    }
    Ok(Next::Stay)
}

/// Requests pending downloads.
pub async fn request_pending<S: States>(turn: &mut Turn, _: Timer) -> Step<S> {
    let (app, at) = (turn.context::<App>(), turn.now());
    let wanted = records::unrequested(&app.domain, BATCH_SIZE).await?;
    for file in &wanted {
        turn.download(file.as_str(), MAX_FILE_BYTES);
    }
    if wanted.len() as u64 == BATCH_SIZE {
        turn.timer(RETRY_TIMER, NEXT_BATCH_DELAY, &());
    }
    if !wanted.is_empty() {
        turn.write(move |db| Box::pin(records::mark_requested(db, wanted, at)));
    }
    Ok(Next::Stay)
}

scheduled_job! { pub Fetch = "attachments" in jobs::DEFAULT }

/// The job: requests lost and failed files again.
pub async fn retry_pending(app: App) -> anyhow::Result<()> {
    let now = app.clock.now();
    app.domain
        .write(move |db| {
            Box::pin(async move {
                records::retry_failed(db, now).await?;
                records::retry_lost(db, now.minus(LOST_AFTER)).await
            })
        })
        .await?;
    if !records::unrequested(&app.domain, 1).await?.is_empty() {
        request_soon(&app).await?;
    }
    Ok(())
}

/// Requests a failed file again, on behalf of a person.
pub async fn retry(app: &App, telegram_file: String) -> Result<(), NotWritten> {
    app.domain.write(move |db| Box::pin(records::retry(db, telegram_file))).await?;
    if let Err(error) = request_soon(app).await {
        // The bot does not run here. The job of the leader requests the file.
        tracing::debug!(%error, "an attachment will be requested later");
    }
    Ok(())
}

async fn request_soon(app: &App) -> Result<(), HandleError> {
    app.bot.timer(&jobs::system_conversation(app.bot_id), RETRY_TIMER, Duration::ZERO, &()).await
}

/// The effect: moves a downloaded file to the store and completes its row.
pub async fn store(app: App, request: EffectRequest) -> Result<Value, EffectError> {
    let StoreRequest { telegram_file, path, name } = request.read()?;
    let found = records::find(app.domain.read(), [telegram_file.as_str()]).await?.remove(&telegram_file);
    let is_wanted = match found {
        // Deleted meanwhile.
        None => false,
        Some(Attachment::Kept { name: kept, .. }) if kept == name => return remove_download(&path).await,
        Some(attachment) => !matches!(attachment, Attachment::Kept { .. }),
    };
    let is_filled = is_wanted && store_file(&app, &request, (&telegram_file, &name), &path).await?;
    if !is_filled {
        let discarded = pending_files::discard(&app, vec![name]).await;
        discarded.map_err(|error| EffectError::Retry(error.into()))?;
    }
    let person = app.people.by_telegram(request.conversation.user).await?;
    for event in events(&app, &telegram_file, person.map(|person| person.id)).await? {
        app.events.publish(event);
    }
    remove_download(&path).await
}

/// Stores the file; returns false if it is not needed any more.
async fn store_file(
    app: &App,
    request: &EffectRequest,
    (telegram_file, name): (&str, &str),
    path: &Path,
) -> Result<bool, EffectError> {
    pending_files::register(&app.domain, vec![name.to_owned()], app.clock.now()).await?;
    let stored = match app.files.store(name.to_owned(), path.to_owned(), Accepts::Anything).await {
        Ok(stored) => stored,
        Err(StoreFileError::Storage(error)) if !request.is_last => return Err(EffectError::Retry(error.into())),
        Err(error) => {
            tracing::error!(user = request.conversation.user, %error, "an attachment could not be stored");
            let (file, at) = (telegram_file.to_owned(), app.clock.now());
            app.domain.write(move |db| Box::pin(records::fail(db, file, at))).await?;
            return Ok(false);
        }
    };
    failpoints::hit(failpoints::ATTACHMENT_AFTER_RENAME).await;
    let (user, bytes) = (request.conversation.user, stored.size_bytes);
    let (file, name) = (telegram_file.to_owned(), name.to_owned());
    let filled = app.domain.write_and_get(move |db| Box::pin(records::fill(db, file, name, stored))).await?;
    tracing::debug!(user, bytes, "attachment stored");
    Ok(filled)
}

/// Removes the downloaded copy. If that fails, the cleanup finds it later.
async fn remove_download(path: &Path) -> Result<Value, EffectError> {
    let _ = files::remove(path).await;
    Ok(Value::Null)
}

/// Events for the pages of people who may see the file, and of its sender.
async fn events(app: &App, telegram_file: &str, person: Option<i64>) -> Result<Vec<Event>, DbErr> {
    let mut events = vec![Event::to_roles(TOPIC, OWNERS)];
    events.extend(person.map(|id| Event::to_person(TOPIC, id)));
    for room in app.rooms.iter() {
        let seen_with = room.file_permissions(&app.domain, telegram_file).await?;
        events.extend(seen_with.into_iter().map(|(needs, site)| Event::to_permitted(TOPIC, needs, &[site])));
    }
    Ok(events)
}
