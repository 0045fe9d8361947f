//! The way of a file: asked for within a turn, fetched by the library, put into its place, written into its row.
//!
//! Each step may be done again after a crash. A file that could not be had, or kept, leaves a word in its row and nothing
//! else; the job tries it again a few times, and whoever sees that may ask again.

use std::path::{Path, PathBuf};
use std::time::Duration;

use opora::bot::NotRunning;
use opora::effects::{Asked, Downloaded, EffectError};
use opora::prelude::*;
use sea_orm::DbErr;
use serde_json::Value;

use super::records::{self, Attachment};
use super::{KEEP, LARGEST_BYTES};
use crate::application::App;
use crate::domain::{InTurn, NotWritten};
use crate::files::{self, Accepts, NotKept, generated_name, under_way};
use crate::person::OWNERS;
use crate::web::Event;
use crate::{failpoints, jobs};

/// The timer that has what waits taken up.
pub const AGAIN: &str = "attachments:again";
/// What pages name in `data-live` to hear that a file has come.
pub const TOPIC: &str = "attachments";
/// The library's name of its downloads.
const DOWNLOAD: &str = "download";
/// How many are asked for in one turn, and how long it is until the next.
const AT_ONCE: u64 = 20;
const NEXT_AFTER: Duration = Duration::from_secs(5);
/// Whatever a try takes, it does not take so long.
const LOST_AFTER: Duration = Duration::from_secs(60 * 60);

/// A download on its way to its place.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Fetched {
    telegram_file: String,
    path: PathBuf,
    /// Chosen once, so that every try puts it into the same place.
    name: String,
}

/// What a download was asked by.
#[derive(Debug, Deserialize)]
struct Wish {
    file_id: String,
}

/// Writes a file down and asks for it, both with the turn's commit. `size` is what Telegram says.
pub fn fetch(turn: &mut Turn, telegram_file: &str, size: Option<u64>) {
    let (file, at) = (telegram_file.to_owned(), turn.now());
    let is_too_large = ask(turn, telegram_file, size);
    turn.write(move |db| Box::pin(records::want(db, file, Some(at), is_too_large)));
}

/// Asks for a file that the turn's own writes write down, or do not; then what comes is let go. Answers whether it is too
/// large to be had.
pub fn ask(turn: &mut Turn, telegram_file: &str, size: Option<u64>) -> bool {
    let is_too_large = size.is_some_and(|size| size > LARGEST_BYTES);
    if !is_too_large {
        turn.download(telegram_file, LARGEST_BYTES);
    }
    is_too_large
}

/// A download has come, or will not.
pub async fn arrived<S: States>(turn: &mut Turn, outcome: Outcome) -> Step<S> {
    if *outcome.kind != *DOWNLOAD {
        return Ok(Next::Stay);
    }
    if let Ok(Downloaded { path, file_id, .. }) = outcome.read() {
        turn.effect_without_outcome(KEEP, &Fetched { telegram_file: file_id, path, name: generated_name()? });
        return Ok(Next::Stay);
    }
    let (wish, at): (Wish, _) = (outcome.asked()?, turn.now());
    tracing::warn!(user = turn.key().user, "an attachment could not be fetched");
    let file = wish.file_id.clone();
    turn.write(move |db| Box::pin(records::fail(db, wish.file_id, at)));
    let app = turn.context::<App>();
    let person = app.speaker(turn).await?.person;
    for event in events(&app, &file, person.map(|person| person.id)).await? {
        event.after(turn);
    }
    Ok(Next::Stay)
}

/// Asks for what waits.
pub async fn take_up<S: States>(turn: &mut Turn, _: Timer) -> Step<S> {
    let (app, at) = (turn.context::<App>(), turn.now());
    let wanted = records::wanted(&app.domain, AT_ONCE).await?;
    for file in &wanted {
        turn.download(file.as_str(), LARGEST_BYTES);
    }
    if wanted.len() as u64 == AT_ONCE {
        turn.timer(AGAIN, NEXT_AFTER, &());
    }
    if !wanted.is_empty() {
        turn.write(move |db| Box::pin(records::note_asked(db, wanted, at)));
    }
    Ok(Next::Stay)
}

/// The job: what was lost on its way, or could not be had, is asked for again.
pub async fn look_after(app: App) -> anyhow::Result<()> {
    let now = app.clock.now();
    app.domain
        .write(move |db| {
            Box::pin(async move {
                records::try_failed(db, now).await?;
                records::give_up_waiting(db, now.minus(LOST_AFTER)).await
            })
        })
        .await?;
    if !records::wanted(&app.domain, 1).await?.is_empty() {
        soon(&app).await?;
    }
    Ok(())
}

/// Somebody has seen that a file could not be had, and wants it tried again.
pub async fn try_again(app: &App, telegram_file: String) -> Result<(), NotWritten> {
    app.domain.write(move |db| Box::pin(records::again(db, telegram_file))).await?;
    if let Err(error) = soon(app).await {
        // The bot does not run here: the job of the one that does takes it up.
        tracing::debug!(%error, "an attachment will be asked for later");
    }
    Ok(())
}

async fn soon(app: &App) -> Result<(), NotRunning> {
    app.bot.timer(&jobs::key(app.bot_id), AGAIN, Duration::ZERO, &()).await
}

/// The work outside: puts a download into its place and fills its row.
pub async fn keep(app: App, asked: Asked) -> Result<Value, EffectError> {
    let Fetched { telegram_file, path, name } = asked.read()?;
    let found = records::of(app.domain.read(), [telegram_file.as_str()]).await?.remove(&telegram_file);
    let is_wanted = match found {
        // Forgotten meanwhile.
        None => false,
        Some(Attachment::Kept { name: kept, .. }) if kept == name => return done(&path).await,
        Some(attachment) => !matches!(attachment, Attachment::Kept { .. }),
    };
    let is_filled = is_wanted && put(&app, &asked, (&telegram_file, &name), &path).await?;
    if !is_filled {
        let discarded = under_way::discard(&app, vec![name]).await;
        discarded.map_err(|error| EffectError::Retry(error.into()))?;
    }
    let person = app.people.by_telegram(asked.dialogue.user).await?;
    for event in events(&app, &telegram_file, person.map(|person| person.id)).await? {
        app.events.publish(event);
    }
    done(&path).await
}

/// False if nobody wants it any more.
async fn put(app: &App, asked: &Asked, (telegram_file, name): (&str, &str), path: &Path) -> Result<bool, EffectError> {
    under_way::begin(&app.domain, vec![name.to_owned()], app.clock.now()).await?;
    let kept = match app.files.keep(name.to_owned(), path.to_owned(), Accepts::Anything).await {
        Ok(kept) => kept,
        Err(NotKept::Storage(error)) if !asked.is_last => return Err(EffectError::Retry(error.into())),
        Err(error) => {
            tracing::error!(user = asked.dialogue.user, %error, "an attachment could not be kept");
            let (file, at) = (telegram_file.to_owned(), app.clock.now());
            app.domain.write(move |db| Box::pin(records::fail(db, file, at))).await?;
            return Ok(false);
        }
    };
    failpoints::hit(failpoints::ATTACHMENT_AFTER_RENAME).await;
    let (user, bytes) = (asked.dialogue.user, kept.size_bytes);
    let (file, name) = (telegram_file.to_owned(), name.to_owned());
    let filled = app.domain.write_and_get(move |db| Box::pin(records::fill(db, file, name, kept))).await?;
    tracing::debug!(user, bytes, "an attachment is kept");
    Ok(filled)
}

/// What cannot be removed now is old one day, and the cleanup finds it.
async fn done(path: &Path) -> Result<Value, EffectError> {
    let _ = files::remove(path).await;
    Ok(Value::Null)
}

/// Open pages look anew: those of people who may see the file, and those of whoever sent it.
async fn events(app: &App, telegram_file: &str, person: Option<i64>) -> Result<Vec<Event>, DbErr> {
    let mut events = vec![Event::to_roles(TOPIC, OWNERS)];
    events.extend(person.map(|id| Event::to_person(TOPIC, id)));
    for room in app.rooms.iter() {
        let seen_with = room.file_is_seen_with(&app.domain, telegram_file).await?;
        events.extend(seen_with.into_iter().map(|(needs, site)| Event::to_permitted(TOPIC, needs, &[site])));
    }
    Ok(events)
}
