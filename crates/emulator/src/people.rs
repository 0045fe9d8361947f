//! The people's side, `/client/…`: the one API that the chat page, tests and scripts use.
//!
//! Answers are bare JSON; what cannot be done is a 4xx with `{"error": "…"}` in plain words. The page `openapi.json`
//! describes all of it.

mod bots;
mod chats;
mod events;
mod faults;
mod press;
mod read;
mod send;
mod upload;

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use serde_json::json;

use crate::emulator::{Bot, Emulator};
use crate::page;
use crate::token::Token;

/// Room for ten photos of the largest size in base64.
const MAX_BODY: usize = 140 << 20;

pub fn router() -> Router<Emulator> {
    Router::new()
        .route("/client", get(bots::list))
        .route("/client/openapi.json", get(openapi))
        .route("/client/page/{name}", get(asset))
        .route("/client/{token}", get(bots::overview).delete(bots::forget))
        .route("/client/{token}/bot", post(bots::describe))
        .route("/client/{token}/users", post(bots::add_user))
        .route("/client/{token}/chats", post(chats::create))
        .route("/client/{token}/chats/{chat}/topics", post(chats::add_topic))
        .route("/client/{token}/chats/{chat}/send", post(send::send))
        .route("/client/{token}/chats/{chat}/press", post(press::press))
        .route("/client/{token}/chats/{chat}/vote", post(press::vote))
        .route("/client/{token}/chats/{chat}/react", post(press::react))
        .route("/client/{token}/chats/{chat}/messages", get(read::messages))
        .route("/client/{token}/chats/{chat}/block", post(chats::block))
        .route("/client/{token}/chats/{chat}/unblock", post(chats::unblock))
        .route("/client/{token}/chats/{chat}/join", post(chats::join))
        .route("/client/{token}/chats/{chat}/leave", post(chats::leave))
        .route("/client/{token}/files/{file}", get(read::file))
        .route("/client/{token}/faults", get(faults::list).post(faults::order).delete(faults::clear))
        .route("/client/{token}/faults/{id}", delete(faults::remove))
        .route("/client/{token}/clock", get(faults::clock).post(faults::advance))
        .route("/client/{token}/replay", post(faults::replay))
        .route("/client/{token}/log", get(read::log))
        .route("/client/{token}/events", get(events::stream))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(middleware::from_fn(same_origin))
}

/// What is wrong with a request, in words for the person who made it.
#[derive(Debug)]
pub struct Refused {
    status: StatusCode,
    message: String,
}

impl Refused {
    pub fn bad(message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, message: message.into() }
    }

    pub fn missing(message: impl Into<String>) -> Self {
        Self { status: StatusCode::NOT_FOUND, message: message.into() }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        (self.status, Json(json!({"error": self.message}))).into_response()
    }
}

impl From<crate::bot_api::error::ApiError> for Refused {
    fn from(error: crate::bot_api::error::ApiError) -> Self {
        Self::bad(error.description.trim_start_matches("Bad Request: ").to_owned())
    }
}

/// The bot and, where the path names one, the chat.
#[derive(Debug)]
pub struct At {
    pub bot: Arc<Bot>,
    chat: Option<i64>,
    rest: HashMap<String, String>,
}

impl At {
    /// The chat, which must exist.
    pub fn chat(&self) -> Result<i64, Refused> {
        let id = self.chat.ok_or_else(|| Refused::bad("a chat's id is a number"))?;
        match self.bot.world().chat(id) {
            Some(_) => Ok(id),
            None => Err(Refused::missing(format!("there is no chat {id}"))),
        }
    }

    /// Some other part of the path.
    pub fn part(&self, name: &str) -> &str {
        self.rest.get(name).map(String::as_str).unwrap_or_default()
    }
}

impl FromRequestParts<Emulator> for At {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, emulator: &Emulator) -> Result<Self, Refused> {
        let path = Path::<HashMap<String, String>>::from_request_parts(parts, emulator).await;
        let Path(rest) = path.map_err(|error| Refused::bad(error.to_string()))?;
        let token = rest.get("token").and_then(|token| Token::parse(token));
        let token = token.ok_or_else(|| Refused::bad("a token looks like 123456789:AAE…, digits, a colon, a secret"))?;
        let bot = emulator.bot(&token).ok_or_else(|| Refused::bad("too many bots"))?;
        let chat = rest.get("chat").and_then(|chat| chat.parse().ok());
        Ok(Self { bot, chat, rest })
    }
}

/// A JSON body, whose faults are told in plain words.
#[derive(Debug)]
pub struct Body<T>(pub T);

impl<T: serde::de::DeserializeOwned> axum::extract::FromRequest<Emulator> for Body<T> {
    type Rejection = Refused;

    async fn from_request(request: Request, emulator: &Emulator) -> Result<Self, Refused> {
        match Json::<T>::from_request(request, emulator).await {
            Ok(Json(body)) => Ok(Self(body)),
            Err(rejection) => Err(Refused { status: rejection.status(), message: rejection.body_text() }),
        }
    }
}

async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], include_str!("people/openapi.json")).into_response()
}

async fn asset(Path(name): Path<String>) -> Response {
    page::asset(&name)
}

/// A page of another site must not read or steer a developer's emulator.
async fn same_origin(request: Request, next: Next) -> Response {
    if is_foreign(&request) {
        let message = "pages of other sites may not use the emulator".to_owned();
        return Refused { status: StatusCode::FORBIDDEN, message }.into_response();
    }
    next.run(request).await
}

fn is_foreign(request: &Request) -> bool {
    let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    header(header::ORIGIN).is_some_and(|origin| {
        let site = origin.split_once("://").map_or(origin, |(_, site)| site);
        Some(site) != header(header::HOST)
    })
}
