//! The routes of the emulator.

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
    /// All routes: the Bot API, the people's side, and the chat page at `/`.
    pub fn router(&self) -> Router {
        self.router_with_page_at("/")
    }

    /// The same with the page at another path, for a server that uses `/` itself.
    pub fn router_with_page_at(&self, path: &str) -> Router {
        let people = self.allowed_hosts().guard(people::router().route(path, get(page::index)));
        // The fallback comes after the layers of `/client`: it makes the same checks itself, which is faster.
        people.fallback(bot_side).with_state(self.clone())
    }
}

/// `/bot<token>/<method>` and `/file/bot<token>/<path>`. Route patterns cannot express these paths.
async fn bot_side(State(emulator): State<Emulator>, request: Request<Body>) -> Response {
    if let Some(refusal) = emulator.allowed_hosts().refusal(&request) {
        return ApiError::forbidden(&refusal).into_response();
    }
    // Methods can be called by GET, so a foreign page could call one as the address of an image.
    if hosts::is_cross_site(&request) {
        return ApiError::forbidden("pages of other sites may not call a bot's methods").into_response();
    }
    let mut path = Cow::Borrowed(request.uri().path());
    // Some clients encode the colon of the token, or the slash in the path of a file.
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
