//! Which request goes where.

use std::borrow::Cow;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::bot_api::{self, error::ApiError};
use crate::emulator::Emulator;
use crate::{hosts, page, people};

impl Emulator {
    /// Everything: the bot's side, the people's side, and the chat page at `/`.
    pub fn router(&self) -> Router {
        self.router_with_page_at("/")
    }

    /// The same with the page elsewhere, for a server that has a `/` of its own.
    pub fn router_with_page_at(&self, path: &str) -> Router {
        let people = self.allowed_hosts().guard(people::router().route(path, get(page::index)));
        // The fallback comes after the people's layers: it makes the same checks without them, which is faster.
        people.fallback(bot_side).with_state(self.clone())
    }
}

/// `/bot<token>/<method>` and `/file/bot<token>/<path>`, which no route pattern can tell from other words.
async fn bot_side(State(emulator): State<Emulator>, request: Request<Body>) -> Response {
    if let Some(refusal) = emulator.allowed_hosts().refusal(&request) {
        return ApiError::forbidden(&refusal).into_response();
    }
    // Every method can be called by GET, which a page can do by naming it as a picture.
    if hosts::is_cross_site(&request) {
        return ApiError::forbidden("pages of other sites may not call a bot's methods").into_response();
    }
    let mut path = Cow::Borrowed(request.uri().path());
    // Some clients write the token's colon so, or the slash in a file's path.
    if path.contains('%') {
        let plain = path.replace("%3A", ":").replace("%3a", ":");
        path = plain.replace("%2F", "/").replace("%2f", "/").into();
    }
    if let Some((token, file)) = path.strip_prefix("/file/bot").and_then(|rest| rest.split_once('/')) {
        return bot_api::download(&emulator, token, file).await;
    }
    if let Some((token, method)) = path.strip_prefix("/bot").and_then(|rest| rest.split_once('/')) {
        if request.method() != Method::GET && request.method() != Method::POST {
            return ApiError::new(405, "Method Not Allowed").into_response();
        }
        let method = method.strip_prefix("test/").unwrap_or(method).trim_end_matches('/').to_owned();
        return match emulator.by_token(token) {
            Ok(bot) => bot_api::answer(&emulator, bot, method, request).await,
            Err(error) => error.into_response(),
        };
    }
    if path.starts_with("/bot") { ApiError::new(404, "Not Found").into_response() } else { nothing_here() }
}

fn nothing_here() -> Response {
    (StatusCode::NOT_FOUND, "nothing here: the chat page is at /, a bot's methods at /bot<token>/<method>\n")
        .into_response()
}
