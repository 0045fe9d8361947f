//! The frame of every page: session, limits, CSRF check, error pages and headers.
//!
//! It is a layer over all routes, so no room can leave it out.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;
use tracing::Instrument;

use super::page_error::{PageError, render_error};
use super::visit::Visit;
use super::{assets, compression, csrf, file};
use crate::application::App;

/// Nothing inline and nothing external: text that people typed can never become code.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const HEADERS: [(HeaderName, &str); 7] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    // Without a referrer policy, browsers would send no origin with our own forms.
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
];

/// Sent by the pages' script when it reloads parts.
pub const LIVE: HeaderName = HeaderName::from_static("x-opora-live");

const ONE_YEAR: &str = "max-age=31536000";

/// Limits concurrent requests of guests. They use the same database as the bot, so the bot and signed-in people never
/// wait for more than a few of them.
#[derive(Debug)]
pub struct Guests(Semaphore);

const MAX_CONCURRENT_GUESTS: usize = 4;
const MAX_WAIT: Duration = Duration::from_secs(10);

impl Default for Guests {
    fn default() -> Self {
        Self(Semaphore::new(MAX_CONCURRENT_GUESTS))
    }
}

impl Guests {
    async fn acquire(&self) -> Result<SemaphorePermit<'_>, PageError> {
        let place = timeout(MAX_WAIT, self.0.acquire()).await;
        place.ok().and_then(Result::ok).ok_or(PageError::TooMany { retry_after_s: MAX_WAIT.as_secs() })
    }
}

/// Adds the frame to pages.
pub fn with_frame(app: &App, pages: Router<App>) -> Router<App> {
    pages.fallback(async || PageError::NotFound).layer(from_fn_with_state(app.clone(), handle))
}

async fn handle(State(app): State<App>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let (visit, begun) = Visit::begin(&app, &parts).await;
    let is_compressed = parts.method != Method::HEAD && compression::may_compress_page(&parts.headers);
    let span = tracing::info_span!("page", request = visit.request_id());
    let answered = match begun {
        Ok(()) => run_handler(&visit, Request::from_parts(parts, body), next).instrument(span).await,
        Err(error) => Err(error),
    };
    let response = answered.unwrap_or_else(IntoResponse::into_response);
    let mut response = render_error(&visit, response);
    visit.give_cookies(response.headers_mut());
    visit.pass_toast(&mut response);
    secure(&visit, response.headers_mut());
    if is_compressed { compression::compress_page(response).await } else { response }
}

async fn run_handler(visit: &Visit, request: Request, next: Next) -> Result<Response, PageError> {
    let app = visit.app();
    let (path, now) = (request.uri().path(), app.clock.now());
    let is_page = request.method() == Method::GET;
    match visit.person() {
        _ if path.starts_with(assets::FOLDER) => {}
        Some(person) if is_page && file::is_media_path(path) => app.limits.picture(person, now)?,
        Some(person) if is_page && request.headers().contains_key(LIVE) => app.limits.live_part(person, now)?,
        person => app.limits.page(person, visit.network(), now)?,
    }
    let is_asset = path.starts_with(assets::FOLDER);
    let mut request = csrf::check(visit, request).await?;
    // After the body has arrived, so that a slow sender holds no place.
    let _place = match visit.person() {
        None if !is_asset => Some(app.guests.acquire().await?),
        _ => None,
    };
    request.extensions_mut().insert(visit.clone());
    let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    answered.map_err(|_| anyhow::anyhow!("the handler panicked").into())
}

fn secure(visit: &Visit, headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // A page is for one person and one moment, unless it says otherwise.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if visit.is_https() {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static(ONE_YEAR));
    }
    if let Ok(number) = HeaderValue::from_str(visit.request_id()) {
        headers.insert("x-request-id", number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn concurrent_guests_are_limited() {
        let guests = Guests::default();
        let mut places = Vec::new();
        for _ in 0..MAX_CONCURRENT_GUESTS {
            places.push(guests.acquire().await.unwrap());
        }
        assert!(timeout(Duration::from_millis(20), guests.acquire()).await.is_err());
        places.pop();
        assert!(guests.acquire().await.is_ok());
    }
}
