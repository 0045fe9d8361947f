//! The webhook: a router for the application's own server.
//!
//! The secret is checked before the body is read. The body has a size limit and a timeout. 200 is answered only after
//! the update is durable; otherwise Telegram keeps the update and delivers it again.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use parking_lot::{Mutex, RwLock};
use subtle::ConstantTimeEq;

use super::WebhookQueue;
use crate::clock::timer_now;
use crate::rate_limit::RateLimit;
use crate::store::Store;

/// The header in which Telegram sends the secret.
static SECRET_HEADER: HeaderName = HeaderName::from_static("x-telegram-bot-api-secret-token");
/// The largest body. Telegram's updates are far smaller.
const MAX_BODY_BYTES: usize = 1024 * 1024;
/// From the shortest secret that cannot be guessed to the longest that Telegram accepts.
const SECRET_LENGTHS: std::ops::RangeInclusive<usize> = 16..=256;

/// The shortest time between warnings about refused calls.
const WARN_INTERVAL: Duration = Duration::from_secs(60);

/// The answer while too many updates wait.
const TOO_MUCH: &str = "too many updates wait; try again";

/// Settings of the webhook.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSettings {
    /// The address that Telegram calls.
    pub url: String,
    /// The secret that Telegram sends with every call: 16 to 256 characters of `A-Z`, `a-z`, `0-9`, `_` and `-`.
    /// `openssl rand -hex 32` makes a good one.
    pub secret: String,
    /// How many calls Telegram may make at once.
    pub connections: u32,
    /// Timeout for the body of a call.
    pub body_timeout: Duration,
    /// Which instances accept updates.
    pub instances: Instances,
}

/// Which instances of a bot accept calls of its webhook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Instances {
    /// All if the store supports several machines, as Redis and PostgreSQL do; otherwise only the leader.
    #[default]
    ByStore,
    /// Only the leader; others answer 503. With a single instance this saves a write and a read, because a turn can
    /// start before its update is stored.
    LeaderOnly,
    /// All, behind a balancer: each instance stores its updates, and the leader runs the turns. SQLite cannot notify
    /// other processes, so there the leader finds updates of others within a second.
    All,
}

impl WebhookSettings {
    /// A webhook at this address, with 40 calls at once, a body timeout of ten seconds, and [`Instances::ByStore`].
    pub fn new(url: impl Into<String>, secret: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            secret: secret.into(),
            connections: 40,
            body_timeout: Duration::from_secs(10),
            instances: Instances::default(),
        }
    }

    /// Whether all instances accept updates, with this store.
    pub(crate) fn all_instances_deliver(&self, store: &dyn Store) -> bool {
        match self.instances {
            Instances::ByStore => store.supports_multiple_instances(),
            Instances::LeaderOnly => false,
            Instances::All => true,
        }
    }

    /// Whether the secret is valid for Telegram and too long to be guessed.
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

/// The receiving end of a webhook. Mount [`Webhook::router`] at its address. It answers 503 while the bot does not run,
/// and on a standby if only the leader accepts updates. Then Telegram delivers the update again.
#[derive(Clone)]
pub struct Webhook {
    secret: Arc<str>,
    body_timeout: Duration,
    /// Limits warnings about refused calls, so that a stranger cannot fill the log.
    refusal_logs: Arc<Mutex<RateLimit>>,
    queue: Arc<RwLock<Option<WebhookQueue>>>,
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
            refusal_logs: Arc::default(),
            queue: Arc::default(),
        }
    }

    /// A router that receives updates at `path`.
    pub fn router(&self, path: &str) -> Router {
        Router::new().route(path, post(receive)).with_state(self.clone())
    }

    /// Starts or stops accepting updates.
    pub(crate) fn set(&self, queue: Option<WebhookQueue>) {
        *self.queue.write() = queue;
    }
}

async fn receive(State(webhook): State<Webhook>, request: Request) -> Response {
    let secret = request.headers().get(&SECRET_HEADER).map_or(&[][..], HeaderValue::as_bytes);
    if !bool::from(secret.ct_eq(webhook.secret.as_bytes())) {
        if let Some(more) = webhook.refusal_logs.lock().admit(timer_now(), 1, WARN_INTERVAL) {
            tracing::warn!(calls = more + 1, "webhook calls without the right secret were refused");
        }
        return (StatusCode::UNAUTHORIZED, "the secret is wrong").into_response();
    }
    let queue = webhook.queue.read().clone();
    let Some(queue) = queue else { return unavailable("this instance accepts no updates now; try again") };
    if queue.is_full() {
        return unavailable(TOO_MUCH);
    }
    let body = match read(request.into_body(), webhook.body_timeout).await {
        Ok(body) => body,
        Err(refused) => return refused,
    };
    match queue.receive(String::from_utf8_lossy(&body).into_owned()) {
        None => unavailable(TOO_MUCH),
        Some(stored) => match stored.await {
            // Also for a body that is not an update: it was logged, and a second delivery would not help.
            Ok(()) => StatusCode::OK.into_response(),
            // The error was logged where it occurred.
            Err(_) => unavailable("the update cannot be stored now; try again"),
        },
    }
}

async fn read(body: Body, timeout: Duration) -> Result<Bytes, Response> {
    match tokio::time::timeout(timeout, to_bytes(body, MAX_BODY_BYTES)).await {
        Ok(Ok(body)) => Ok(body),
        // A broken connection ends here too, but then the answer is not read.
        Ok(Err(_)) => Err((StatusCode::PAYLOAD_TOO_LARGE, "the body is too large").into_response()),
        Err(_) => Err((StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time").into_response()),
    }
}

fn unavailable(reason: &'static str) -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "5")], reason).into_response()
}
