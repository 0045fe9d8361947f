//! What people read: messages, files, and the log of calls and updates.

use std::time::Duration;

use axum::Json;
use axum::extract::{FromRequestParts, Query};
use axum::http::{HeaderName, HeaderValue, header, request::Parts};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::Value;

use super::{At, Refused};
use crate::bot_api::{bytes_of, served};
use crate::clock::Stopwatch;
use crate::emulator::Emulator;
use crate::world::World;
use crate::world::render::Audience;

const REVISION: HeaderName = HeaderName::from_static("opora-revision");
const MAX_WAIT_SECONDS: f64 = 120.0;
const DEFAULT_LIMIT: usize = 1000;

#[derive(Deserialize)]
pub(super) struct Since {
    after: Option<i32>,
    revision: Option<u32>,
    wait: Option<f64>,
    limit: Option<usize>,
}

/// A query string, whose faults are told in plain words.
pub(super) struct Asked<T>(T);

impl<T: serde::de::DeserializeOwned> FromRequestParts<Emulator> for Asked<T> {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, emulator: &Emulator) -> Result<Self, Refused> {
        let query = Query::<T>::from_request_parts(parts, emulator).await;
        query.map(|Query(asked)| Self(asked)).map_err(|error| Refused::bad(error.body_text()))
    }
}

/// Messages after one, and older ones that were edited since it was said; waits until there is something.
pub(super) async fn messages(at: At, Asked(since): Asked<Since>) -> Result<Response, Refused> {
    let chat_id = at.chat()?;
    let wait = since.wait.filter(|wait| wait.is_finite()).unwrap_or(0.0).clamp(0.0, MAX_WAIT_SECONDS);
    let wait = Duration::from_secs_f64(wait);
    let started = Stopwatch::start();
    loop {
        let left = wait.saturating_sub(started.elapsed());
        let notify = at.bot.world().chat_mut(chat_id).map(|chat| chat.waiting());
        let notify = notify.ok_or_else(|| Refused::missing("the chat is gone"))?;
        // Registered before looking, so that nothing is missed in between.
        let mut woken = std::pin::pin!(notify.notified());
        woken.as_mut().enable();
        if let Some(response) = changed(&at.bot.world(), chat_id, &since, left.is_zero()) {
            return Ok(response);
        }
        // Running out of time is an empty answer at the next turn of the loop.
        let _ = tokio::time::timeout(left, woken).await;
    }
}

fn changed(world: &World, chat_id: i64, since: &Since, even_none: bool) -> Option<Response> {
    let chat = world.chat(chat_id)?;
    let revision = since.revision.unwrap_or_else(|| chat.revision_of(since.after.unwrap_or(0)));
    let changed: Vec<_> = chat.changed_since(revision).collect();
    if changed.is_empty() && !even_none {
        return None;
    }
    let skip = changed.len().saturating_sub(since.limit.unwrap_or(DEFAULT_LIMIT));
    let shown: Vec<_> =
        changed[skip..].iter().map(|message| world.message_view(chat, message, Audience::People)).collect();
    let mut response = Json(shown).into_response();
    response.headers_mut().insert(REVISION, HeaderValue::from(chat.revision));
    Some(response)
}

#[derive(Deserialize)]
pub(super) struct Newest {
    limit: Option<usize>,
}

pub(super) async fn log(at: At, Asked(newest): Asked<Newest>) -> Json<Vec<Value>> {
    let entries = at.bot.world().log.newest(newest.limit.unwrap_or(200));
    Json(entries.iter().map(|entry| entry.shown()).collect())
}

/// A file by its id, for the page to show.
pub(super) async fn file(at: At) -> Result<Response, Refused> {
    let data = {
        let world = at.bot.world();
        world.files.by_id(at.part("file")).and_then(|no| world.files.get(no)).map(|file| file.data.clone())
    };
    let bytes = bytes_of(data).await.ok_or_else(|| Refused::missing("there is no such file"))?;
    let mut response = served(bytes, true);
    let value = HeaderValue::from_static("private, max-age=3600");
    response.headers_mut().insert(header::CACHE_CONTROL, value);
    Ok(response)
}
