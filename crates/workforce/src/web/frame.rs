//! What stands around every page: the visitor, limits, the check of forms, error pages and headers.
//!
//! It is a layer over all routes, so a room that adds a page has it without asking.

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

use super::oops::{self, Oops};
use super::visit::Visit;
use super::{assets, csrf, file};
use crate::application::App;

/// Nothing inline, nothing from elsewhere: what people typed can never become code.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const HEADERS: [(HeaderName, &str); 7] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    // Without any, browsers would hide from where our own forms come.
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
];

/// What the script of a page says when it loads parts of the page anew.
const LIVE: HeaderName = HeaderName::from_static("x-opora-live");

const ONE_YEAR: &str = "max-age=31536000";

/// The requests of guests that are worked on at once. They read and write the same database as the bot: however many
/// try to sign in, the bot and those who are signed in wait for a few of them at most.
#[derive(Debug)]
pub struct Guests(Semaphore);

const GUESTS_AT_ONCE: usize = 4;
const LONGEST_WAIT: Duration = Duration::from_secs(10);

impl Default for Guests {
    fn default() -> Self {
        Self(Semaphore::new(GUESTS_AT_ONCE))
    }
}

impl Guests {
    async fn take(&self) -> Result<SemaphorePermit<'_>, Oops> {
        let place = timeout(LONGEST_WAIT, self.0.acquire()).await;
        place.ok().and_then(Result::ok).ok_or(Oops::TooMany { retry_after_s: LONGEST_WAIT.as_secs() })
    }
}

/// Puts the frame around pages.
pub fn framed(app: &App, pages: Router<App>) -> Router<App> {
    pages.fallback(async || Oops::NotFound).layer(from_fn_with_state(app.clone(), around))
}

async fn around(State(app): State<App>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let (visit, begun) = Visit::begin(&app, &parts).await;
    let span = tracing::info_span!("page", request = visit.number());
    let answered = match begun {
        Ok(()) => answer(&visit, Request::from_parts(parts, body), next).instrument(span).await,
        Err(oops) => Err(oops),
    };
    let response = answered.unwrap_or_else(IntoResponse::into_response);
    let mut response = oops::explained(&visit, response);
    visit.give_cookies(response.headers_mut());
    secure(&visit, response.headers_mut());
    response
}

async fn answer(visit: &Visit, request: Request, next: Next) -> Result<Response, Oops> {
    let app = visit.app();
    let (path, now) = (request.uri().path(), app.clock.now());
    let is_page = request.method() == Method::GET;
    match visit.person() {
        _ if path.starts_with(assets::FOLDER) => {}
        Some(person) if is_page && file::is_path(path) => app.limits.picture(person, now)?,
        Some(person) if is_page && request.headers().contains_key(LIVE) => app.limits.live_part(person, now)?,
        person => app.limits.page(person, visit.network(), now)?,
    }
    let is_asset = path.starts_with(assets::FOLDER);
    let mut request = csrf::check(visit, request).await?;
    // After the body is there, so that nobody holds a place by sending slowly.
    let _place = match visit.person() {
        None if !is_asset => Some(app.guests.take().await?),
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
    if let Ok(number) = HeaderValue::from_str(visit.number()) {
        headers.insert("x-request-id", number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn guests_wait_for_one_another() {
        let guests = Guests::default();
        let mut places = Vec::new();
        for _ in 0..GUESTS_AT_ONCE {
            places.push(guests.take().await.unwrap());
        }
        assert!(timeout(Duration::from_millis(20), guests.take()).await.is_err());
        places.pop();
        assert!(guests.take().await.is_ok());
    }
}
