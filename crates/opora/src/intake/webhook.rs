//! The webhook: a router for the application's own server.
//!
//! 200 is answered only once the update is durable; until then Telegram keeps it and comes again.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use parking_lot::RwLock;
use subtle::ConstantTimeEq;

use super::Intake;

/// The header in which Telegram sends the secret.
static SECRET: HeaderName = HeaderName::from_static("x-telegram-bot-api-secret-token");
/// The largest update; Telegram's own are far smaller.
const LARGEST_BYTES: usize = 1024 * 1024;

/// How Telegram reaches this bot.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSettings {
    /// The address that Telegram calls.
    pub url: String,
    /// What Telegram must send along; 1 to 256 characters of `A-Z`, `a-z`, `0-9`, `_` and `-`.
    pub secret: String,
    /// How many updates Telegram may bring at once.
    pub connections: u32,
}

impl WebhookSettings {
    /// Whether Telegram takes the secret.
    pub(crate) fn has_good_secret(&self) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        (1..=256).contains(&self.secret.len()) && self.secret.bytes().all(is_plain)
    }
}

impl std::fmt::Debug for WebhookSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebhookSettings").field("url", &self.url).finish_non_exhaustive()
    }
}

/// The receiving end of a webhook: mount [`Webhook::router`] where the address leads. While the bot does not lead, it
/// answers 503, and Telegram comes again.
#[derive(Clone)]
pub struct Webhook {
    secret: Arc<str>,
    intake: Arc<RwLock<Option<Intake>>>,
}

impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Webhook").finish_non_exhaustive()
    }
}

impl Webhook {
    pub(crate) fn new(secret: &str) -> Self {
        Self { secret: secret.into(), intake: Arc::default() }
    }

    /// A router that takes updates at `path`.
    pub fn router(&self, path: &str) -> Router {
        let route = post(receive).layer(DefaultBodyLimit::max(LARGEST_BYTES));
        Router::new().route(path, route).with_state(self.clone())
    }

    /// Starts to take updates, or stops.
    pub(crate) fn set(&self, intake: Option<Intake>) {
        *self.intake.write() = intake;
    }
}

async fn receive(State(webhook): State<Webhook>, headers: HeaderMap, body: Bytes) -> Response {
    let given = headers.get(&SECRET).map_or(&[][..], HeaderValue::as_bytes);
    if !bool::from(given.ct_eq(webhook.secret.as_bytes())) {
        tracing::warn!("a webhook call without the right secret was refused");
        return (StatusCode::UNAUTHORIZED, "the secret is wrong").into_response();
    }
    let intake = webhook.intake.read().clone();
    let Some(intake) = intake.filter(|intake| !intake.mailboxes.is_full()) else {
        return later("too much waits; come again");
    };
    // In a task of its own: a caller who hangs up must not leave an update stored and not delivered.
    let received = tokio::spawn(async move {
        let update = String::from_utf8_lossy(&body);
        intake.receive(std::iter::once(&*update)).await
    });
    match received.await {
        // What is not an update was logged; asking Telegram to bring it again would help nobody.
        Ok(Ok(_)) => StatusCode::OK.into_response(),
        Ok(Err(error)) if error.ends_the_lease() => later("another instance has taken over"),
        Err(error) => {
            tracing::error!(%error, "an update could not be received; it stays with Telegram");
            later("the update cannot be stored now; come again")
        }
        Ok(Err(error)) => {
            tracing::error!(%error, "cannot store an update; it stays with Telegram");
            later("the update cannot be stored now; come again")
        }
    }
}

fn later(why: &'static str) -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "5")], why).into_response()
}
