//! What people read: messages, files, and the log of calls and updates.

use std::time::Duration;

use axum::Json;
use axum::extract::{FromRequestParts, Query};
use axum::http::{HeaderName, HeaderValue, header, request::Parts};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::Value;

use super::{BotPath, Refusal};
use crate::bot_api::{bytes_of, served};
use crate::clock::Stopwatch;
use crate::emulator::Emulator;
use crate::world::World;
use crate::world::render::Audience;

const REVISION: HeaderName = HeaderName::from_static("opora-revision");
const MAX_WAIT_SECONDS: f64 = 120.0;
const DEFAULT_LIMIT: usize = 1000;

#[derive(Deserialize)]
pub(super) struct MessagesQuery {
    after: Option<i32>,
    revision: Option<u32>,
    wait: Option<f64>,
    limit: Option<usize>,
}

/// A query string. A malformed one is a [`Refusal`].
pub(super) struct QueryString<T>(T);

impl<T: serde::de::DeserializeOwned> FromRequestParts<Emulator> for QueryString<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, emulator: &Emulator) -> Result<Self, Refusal> {
        let query = Query::<T>::from_request_parts(parts, emulator).await;
        query.map(|Query(fields)| Self(fields)).map_err(|error| Refusal::bad(error.body_text()))
    }
}

/// New messages after a message, and older ones that were edited since. Waits until there are some, or for `wait`
/// seconds.
pub(super) async fn messages(at: BotPath, QueryString(query): QueryString<MessagesQuery>) -> Result<Response, Refusal> {
    let chat_id = at.chat()?;
    let wait = query.wait.filter(|wait| wait.is_finite()).unwrap_or(0.0).clamp(0.0, MAX_WAIT_SECONDS);
    let wait = Duration::from_secs_f64(wait);
    let started = Stopwatch::start();
    loop {
        let left = wait.saturating_sub(started.elapsed());
        let notify = at.bot.world().chat_mut(chat_id).map(|chat| chat.change_notify());
        let notify = notify.ok_or_else(|| Refusal::missing("the chat is gone"))?;
        // Registered before the check, so that no change between check and wait is missed.
        let mut woken = std::pin::pin!(notify.notified());
        woken.as_mut().enable();
        if let Some(response) = changed(&at.bot.world(), chat_id, &query, left.is_zero()) {
            return Ok(response);
        }
        // After a timeout the next iteration returns an empty answer.
        let _ = tokio::time::timeout(left, woken).await;
    }
}

fn changed(world: &World, chat_id: i64, query: &MessagesQuery, even_none: bool) -> Option<Response> {
    let chat = world.chat(chat_id)?;
    let revision = query.revision.unwrap_or_else(|| chat.revision_of(query.after.unwrap_or(0)));
    let changed: Vec<_> = chat.changed_since(revision).collect();
    if changed.is_empty() && !even_none {
        return None;
    }
    let skip = changed.len().saturating_sub(query.limit.unwrap_or(DEFAULT_LIMIT));
    let messages: Vec<_> =
        changed[skip..].iter().map(|message| world.message_view(chat, message, Audience::People)).collect();
    let mut response = Json(messages).into_response();
    response.headers_mut().insert(REVISION, HeaderValue::from(chat.revision));
    Some(response)
}

#[derive(Deserialize)]
pub(super) struct LogQuery {
    limit: Option<usize>,
}

pub(super) async fn log(at: BotPath, QueryString(query): QueryString<LogQuery>) -> Json<Vec<Value>> {
    let entries = at.bot.world().log.newest(query.limit.unwrap_or(200));
    Json(entries.iter().map(|entry| entry.to_json()).collect())
}

/// A file by its id, for the page to show.
pub(super) async fn file(at: BotPath) -> Result<Response, Refusal> {
    let data = {
        let world = at.bot.world();
        world.files.by_id(at.part("file")).and_then(|no| world.files.get(no)).map(|file| file.data.clone())
    };
    let bytes = bytes_of(data).await.ok_or_else(|| Refusal::missing("there is no such file"))?;
    let mut response = served(bytes, true);
    let value = HeaderValue::from_static("private, max-age=3600");
    response.headers_mut().insert(header::CACHE_CONTROL, value);
    Ok(response)
}
