//! The people's side, `/client/…`: the API that the chat page, tests and scripts use.
//!
//! Answers are plain JSON. Errors are a 4xx with `{"error": "…"}`. `openapi.json` describes all routes.

mod bots;
mod chats;
mod events;
mod faults;
mod migrate;
mod press;
mod read;
mod send;
mod upload;

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use serde_json::json;

use crate::bot_api::error::ApiError;
use crate::emulator::{Bot, Emulator};
use crate::page;
use crate::token::Token;

/// Room for ten photos of the largest size in base64.
const MAX_BODY: usize = 140 << 20;

/// Builds the router and [`ROUTES`] from one table.
macro_rules! routes {
    ($($method:ident $path:literal $handler:path,)*) => {
        /// Method and path of every route, for comparing with `openapi.json`.
        pub const ROUTES: &[(&str, &str)] = &[$((stringify!($method), $path)),*];

        fn routes() -> Router<Emulator> {
            Router::new()$(.route($path, $method($handler)))*
        }
    };
}

routes! {
    get "/client" bots::list,
    get "/client/openapi.json" openapi,
    get "/client/page/{name}" asset,
    get "/client/{token}" bots::overview,
    delete "/client/{token}" bots::forget,
    post "/client/{token}/bot" bots::describe,
    post "/client/{token}/hints" bots::set_hints,
    post "/client/{token}/users" bots::add_user,
    post "/client/{token}/chats" chats::create,
    post "/client/{token}/chats/{chat}/topics" chats::add_topic,
    post "/client/{token}/chats/{chat}/send" send::send,
    post "/client/{token}/chats/{chat}/press" press::press,
    post "/client/{token}/chats/{chat}/vote" press::vote,
    post "/client/{token}/chats/{chat}/react" press::react,
    get "/client/{token}/chats/{chat}/messages" read::messages,
    post "/client/{token}/chats/{chat}/block" chats::block,
    post "/client/{token}/chats/{chat}/unblock" chats::unblock,
    post "/client/{token}/chats/{chat}/join" chats::join,
    post "/client/{token}/chats/{chat}/leave" chats::leave,
    post "/client/{token}/chats/{chat}/migrate" migrate::migrate,
    get "/client/{token}/files/{file}" read::file,
    get "/client/{token}/faults" faults::list,
    post "/client/{token}/faults" faults::create,
    delete "/client/{token}/faults" faults::clear,
    delete "/client/{token}/faults/{id}" faults::remove,
    get "/client/{token}/clock" faults::clock,
    post "/client/{token}/clock" faults::advance,
    post "/client/{token}/replay" faults::replay,
    get "/client/{token}/log" read::log,
    get "/client/{token}/events" events::stream,
}

pub fn router() -> Router<Emulator> {
    routes().layer(DefaultBodyLimit::max(MAX_BODY))
}

/// Why a request is refused: a status and a message for the caller.
#[derive(Debug)]
pub struct Refusal {
    status: StatusCode,
    message: String,
}

impl Refusal {
    pub fn bad(message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, message: message.into() }
    }

    pub fn missing(message: impl Into<String>) -> Self {
        Self { status: StatusCode::NOT_FOUND, message: message.into() }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, Json(json!({"error": self.message}))).into_response()
    }
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        let status = StatusCode::from_u16(error.code).unwrap_or(StatusCode::BAD_REQUEST);
        Self { status, message: error.description.trim_start_matches("Bad Request: ").to_owned() }
    }
}

/// The bot in the path of a request, and the chat if the path has one.
#[derive(Debug)]
pub struct BotPath {
    pub bot: Arc<Bot>,
    chat: Option<i64>,
    rest: HashMap<String, String>,
}

impl BotPath {
    /// The chat, which must exist.
    pub fn chat(&self) -> Result<i64, Refusal> {
        let id = self.chat.ok_or_else(|| Refusal::bad("a chat's id is a number"))?;
        match self.bot.world().chat(id) {
            Some(_) => Ok(id),
            None => Err(Refusal::missing(format!("there is no chat {id}"))),
        }
    }

    /// Another part of the path, by name.
    pub fn part(&self, name: &str) -> &str {
        self.rest.get(name).map(String::as_str).unwrap_or_default()
    }
}

impl FromRequestParts<Emulator> for BotPath {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, emulator: &Emulator) -> Result<Self, Refusal> {
        let path = Path::<HashMap<String, String>>::from_request_parts(parts, emulator).await;
        let Path(rest) = path.map_err(|error| Refusal::bad(error.to_string()))?;
        let token = rest.get("token").and_then(|token| Token::parse(token));
        let token =
            token.ok_or_else(|| Refusal::bad("a token looks like 123456789:AAE…, digits, a colon, a secret"))?;
        let bot = emulator.bot(&token).ok_or_else(|| Refusal::bad("too many bots"))?;
        let chat = rest.get("chat").and_then(|chat| chat.parse().ok());
        Ok(Self { bot, chat, rest })
    }
}

/// A JSON body. A malformed one is a [`Refusal`].
#[derive(Debug)]
pub struct Body<T>(pub T);

impl<T: serde::de::DeserializeOwned> axum::extract::FromRequest<Emulator> for Body<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, emulator: &Emulator) -> Result<Self, Refusal> {
        match Json::<T>::from_request(request, emulator).await {
            Ok(Json(body)) => Ok(Self(body)),
            Err(rejection) => Err(Refusal { status: rejection.status(), message: rejection.body_text() }),
        }
    }
}

async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], include_str!("people/openapi.json")).into_response()
}

async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    page::asset(&name, &headers)
}
