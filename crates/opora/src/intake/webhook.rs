//! The webhook: a router for the application's own server.
//!
//! The secret is looked at first. Only a caller that knows it has its body read, up to a size and within a time.
//! 200 is answered only once the update is durable; until then Telegram keeps it and comes again.

mod refusals;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use parking_lot::RwLock;
use subtle::ConstantTimeEq;

use self::refusals::Refusals;
use super::Door;
use crate::clock::timer_now;
use crate::store::Store;

/// The header in which Telegram sends the secret.
static SECRET: HeaderName = HeaderName::from_static("x-telegram-bot-api-secret-token");
/// The largest update; Telegram's own are far smaller.
const LARGEST_BYTES: usize = 1024 * 1024;
/// The length of a secret that cannot be guessed, and the longest that Telegram takes.
const SECRET_LENGTHS: std::ops::RangeInclusive<usize> = 16..=256;

/// Why a caller is asked to come again.
const TOO_MUCH: &str = "too much waits; come again";

/// How Telegram reaches this bot.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSettings {
    /// The address that Telegram calls.
    pub url: String,
    /// What Telegram must send along; 16 to 256 characters of `A-Z`, `a-z`, `0-9`, `_` and `-`. `openssl rand -hex 32`
    /// makes a good one.
    pub secret: String,
    /// How many updates Telegram may bring at once.
    pub connections: u32,
    /// How long the body of a call may take to arrive.
    pub body_timeout: Duration,
    /// Whether several instances take updates.
    pub instances: Instances,
}

/// Which instances of a bot answer the calls of its webhook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Instances {
    /// Several if the store serves several machines, as Redis and PostgreSQL do; else only the one that works.
    #[default]
    ByStore,
    /// Only the one that works: others answer 503. It saves a write and a read of the store where one instance is all
    /// there is, for a turn can begin before its update is stored.
    Alone,
    /// All of them, behind a balancer: each stores what it gets, and one works on it. With SQLite, which cannot tell
    /// other processes of a change, what another process stored is found within a second.
    Several,
}

impl WebhookSettings {
    /// A webhook at this address; Telegram may bring 40 updates at once, a body has ten seconds to arrive, and the
    /// store says whether several instances take updates.
    pub fn new(url: impl Into<String>, secret: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            secret: secret.into(),
            connections: 40,
            body_timeout: Duration::from_secs(10),
            instances: Instances::default(),
        }
    }

    /// Whether all instances take updates, with this store.
    pub(crate) fn has_several(&self, store: &dyn Store) -> bool {
        match self.instances {
            Instances::ByStore => store.supports_multiple_instances(),
            Instances::Alone => false,
            Instances::Several => true,
        }
    }

    /// Whether Telegram takes the secret, and it is too long to be guessed.
    pub(crate) fn has_good_secret(&self) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        SECRET_LENGTHS.contains(&self.secret.len()) && self.secret.bytes().all(is_plain)
    }
}

impl std::fmt::Debug for WebhookSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebhookSettings").field("url", &self.url).finish_non_exhaustive()
    }
}

/// The receiving end of a webhook: mount [`Webhook::router`] where the address leads. While the bot does not run, and
/// where only the one that works takes updates also while another one works, it answers 503, and Telegram comes again.
#[derive(Clone)]
pub struct Webhook {
    secret: Arc<str>,
    body_timeout: Duration,
    refusals: Arc<Refusals>,
    door: Arc<RwLock<Option<Door>>>,
}

impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Webhook").finish_non_exhaustive()
    }
}

impl Webhook {
    pub(crate) fn new(settings: &WebhookSettings) -> Self {
        Self {
            secret: settings.secret.as_str().into(),
            body_timeout: settings.body_timeout,
            refusals: Arc::default(),
            door: Arc::default(),
        }
    }

    /// A router that takes updates at `path`.
    pub fn router(&self, path: &str) -> Router {
        Router::new().route(path, post(receive)).with_state(self.clone())
    }

    /// Starts to take updates, or stops.
    pub(crate) fn set(&self, door: Option<Door>) {
        *self.door.write() = door;
    }
}

async fn receive(State(webhook): State<Webhook>, request: Request) -> Response {
    let given = request.headers().get(&SECRET).map_or(&[][..], HeaderValue::as_bytes);
    if !bool::from(given.ct_eq(webhook.secret.as_bytes())) {
        if let Some(calls) = webhook.refusals.count(timer_now()) {
            tracing::warn!(calls, "webhook calls without the right secret were refused");
        }
        return (StatusCode::UNAUTHORIZED, "the secret is wrong").into_response();
    }
    let door = webhook.door.read().clone();
    let Some(door) = door else { return later("this instance takes no updates now; come again") };
    if door.is_full() {
        return later(TOO_MUCH);
    }
    let body = match read(request.into_body(), webhook.body_timeout).await {
        Ok(body) => body,
        Err(refused) => return refused,
    };
    match door.receive(String::from_utf8_lossy(&body).into_owned()) {
        None => later(TOO_MUCH),
        Some(stored) => match stored.await {
            // What is not an update was logged; asking Telegram to bring it again would help nobody.
            Ok(()) => StatusCode::OK.into_response(),
            // It was told where it happened.
            Err(_) => later("the update cannot be stored now; come again"),
        },
    }
}

async fn read(body: Body, timeout: Duration) -> Result<Bytes, Response> {
    match tokio::time::timeout(timeout, to_bytes(body, LARGEST_BYTES)).await {
        Ok(Ok(body)) => Ok(body),
        // A body whose connection broke ends here too; its answer is not read.
        Ok(Err(_)) => Err((StatusCode::PAYLOAD_TOO_LARGE, "the body is too large").into_response()),
        Err(_) => Err((StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time").into_response()),
    }
}

fn later(why: &'static str) -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "5")], why).into_response()
}
