//! Live pages: open pages are told what changed, and reload those parts.
//!
//! An [`Event`] names a topic and its audience. It reaches the pages of this process, and of others on the same
//! PostgreSQL (`relay`). A page that missed events, because it was disconnected or too slow, reloads everything.
//! `sockets` limits the number of sockets.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use opora::bot::Bot;
use parking_lot::Mutex;
use sea_orm::DbErr;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::mpsc;

use super::csrf;
use super::guards::SignedIn;
use super::page_error::PageError;
use crate::application::App;

pub use self::event::Event;
use self::listener::Listener;
pub use self::relay::run as relay_events;
use self::sockets::{EventNumbers, OpenSocket, Sockets};

mod event;
mod listener;
mod relay;
mod sockets;

/// Path of the sockets.
pub const PATH: &str = "/live";

const EFFECT: &str = "live";
/// Events that a page may lag behind.
const BACKLOG: usize = 256;
/// Events within this time are sent together.
const COALESCE_DELAY: Duration = Duration::from_millis(100);
/// Interval of pings and of checks that the listener still has access.
const PING_INTERVAL: Duration = Duration::from_secs(25);
/// Pages send no messages.
const MAX_MESSAGE_BYTES: usize = 1024;
/// Buffer of a socket. Messages are short, and the library's default is 128 KiB.
const BUFFER_BYTES: usize = 2 * 1024;
/// Maximum of unread data for a page.
const MAX_UNREAD_BYTES: usize = 64 * 1024;
/// Close code: the session has ended.
const SIGNED_OUT: u16 = 4401;
/// Close code: newer pages of the person took the place.
const TOO_MANY: u16 = 4429;

/// The event bus of the pages. Clones share it.
#[derive(Clone, Debug)]
pub struct Events {
    local: broadcast::Sender<Arc<Published>>,
    relayed: mpsc::Sender<Event>,
    /// Taken once, by the relay.
    outgoing: Arc<Mutex<Option<mpsc::Receiver<Event>>>>,
    numbers: Arc<EventNumbers>,
    sockets: Sockets,
}

/// An event with its sequence number.
#[derive(Debug)]
struct Published {
    number: u64,
    event: Event,
}

impl Default for Events {
    fn default() -> Self {
        let (relayed, outgoing) = mpsc::channel(BACKLOG);
        let (local, outgoing) = (broadcast::Sender::new(BACKLOG), Arc::new(Mutex::new(Some(outgoing))));
        Self { local, relayed, outgoing, numbers: Arc::default(), sockets: Sockets::default() }
    }
}

impl Events {
    /// Sends an event to all open pages.
    pub fn publish(&self, event: Event) {
        // Fails if no relay runs or it lags; then other processes do not exist or reload everything.
        let _ = self.relayed.try_send(event.clone());
        self.publish_locally(event);
    }

    fn publish_locally(&self, event: Event) {
        // The number is taken first: a lookup that has seen it also sees what was committed before the event.
        let number = self.numbers.next();
        let _ = self.local.send(Arc::new(Published { number, event }));
    }

    /// Number of open sockets.
    pub fn count_sockets(&self) -> usize {
        self.sockets.count()
    }

    /// Whether an open page of this process names a topic in `data-live`.
    pub fn has_followers(&self, topic: &str) -> bool {
        self.sockets.follow(topic)
    }

    /// The number of the latest event.
    fn last_number(&self) -> u64 {
        self.numbers.last()
    }

    fn take_outgoing(&self) -> Option<mpsc::Receiver<Event>> {
        self.outgoing.lock().take()
    }
}

/// Registers the effect by which turns publish events.
pub fn register_effect(app: &App, bot: Bot) -> Bot {
    let events = app.events.clone();
    bot.effect(EFFECT, move |request| {
        let events = events.clone();
        async move {
            events.publish(request.read()?);
            Ok(Value::Null)
        }
    })
}

/// What a page asks for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Subscription {
    /// The topics that the page names in `data-live`, separated by spaces. They say which changes are worth looking
    /// for; events reach all pages of their audience.
    topics: String,
}

/// `GET /live`.
pub async fn connect(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    Query(subscription): Query<Subscription>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Result<Response, PageError> {
    // Browsers always send the origin. Without this check a script of another site could listen.
    if !headers.contains_key(header::ORIGIN) || !csrf::is_own_origin(&visitor.visit, &headers) {
        return Err(PageError::Forbidden);
    }
    let open_socket = app.events.sockets.take(visitor.person.id, visitor.session, &subscription.topics);
    let open_socket = open_socket.ok_or(PageError::Unavailable)?;
    let upgrade = upgrade.max_message_size(MAX_MESSAGE_BYTES).max_frame_size(MAX_MESSAGE_BYTES);
    let upgrade = upgrade.read_buffer_size(BUFFER_BYTES).write_buffer_size(0).max_write_buffer_size(MAX_UNREAD_BYTES);
    Ok(upgrade.on_upgrade(move |socket| async move {
        // An error means that the client is gone.
        let _ = serve(socket, &app, &open_socket).await;
    }))
}

/// The connection has ended; the reason does not matter.
struct Disconnected;

impl From<axum::Error> for Disconnected {
    fn from(_: axum::Error) -> Self {
        Self
    }
}

async fn serve(mut socket: WebSocket, app: &App, open_socket: &OpenSocket) -> Result<(), Disconnected> {
    let mut events = app.events.local.subscribe();
    let mut listener = listener_or_close(&mut socket, open_socket.listener(app).await).await?;
    let mut ping_interval = tokio::time::interval(PING_INTERVAL);
    loop {
        tokio::select! {
            () = open_socket.evicted.cancelled() => return close(&mut socket, TOO_MANY, "too many pages").await,
            event = events.recv() => {
                let (number, first) = match event {
                    Ok(event) if !event.event.is_for(&listener) => continue,
                    Ok(event) => (event.number, event.event.clone()),
                    Err(RecvError::Lagged(_)) => (app.events.last_number(), Event::everything()),
                    Err(RecvError::Closed) => return Ok(()),
                };
                tokio::time::sleep(COALESCE_DELAY).await;
                let batch = collect_batch(&mut events, number, first);
                listener = listener_or_close(&mut socket, open_socket.listener_since(app, batch.number).await).await?;
                if let Some(changes) = batch.changes_for(&listener) {
                    socket.send(Message::text(json!(changes).to_string())).await?;
                }
            }
            _ = ping_interval.tick() => {
                listener = listener_or_close(&mut socket, open_socket.listener(app).await).await?;
                socket.send(Message::Ping(axum::body::Bytes::new())).await?;
            }
            received = socket.recv() => match received {
                Some(Ok(Message::Close(_))) | None => return Ok(()),
                Some(received) => { received?; }
            }
        }
    }
}

/// The current listener. A person who was signed out, blocked or got other roles receives nothing by old rights.
async fn listener_or_close(
    socket: &mut WebSocket,
    found: Result<Option<Arc<Listener>>, DbErr>,
) -> Result<Arc<Listener>, Disconnected> {
    match found {
        Ok(Some(listener)) => Ok(listener),
        Ok(None) => {
            close(socket, SIGNED_OUT, "signed out").await?;
            Err(Disconnected)
        }
        // The page reconnects, and finds out then.
        Err(_) => Err(Disconnected),
    }
}

/// Closes the connection with a code and a reason.
async fn close(socket: &mut WebSocket, code: u16, reason: &'static str) -> Result<(), Disconnected> {
    let frame = CloseFrame { code, reason: reason.into() };
    socket.send(Message::Close(Some(frame))).await?;
    Ok(())
}

/// Events that are sent together, and the number of the latest.
struct Batch {
    number: u64,
    events: Vec<Event>,
}

/// The message to a page: topics to reload, and details.
#[derive(Debug, Default, Serialize)]
struct Changes {
    changed: BTreeSet<String>,
    updates: Vec<Value>,
}

impl Batch {
    /// What this listener may know; none for nothing.
    fn changes_for(self, listener: &Listener) -> Option<Changes> {
        let mut changes = Changes::default();
        for event in self.events.into_iter().filter(|event| event.is_for(listener)) {
            changes.changed.insert(event.topic);
            // A listener in two audiences gets an update once.
            changes.updates.extend(event.update.filter(|update| !changes.updates.contains(update)));
        }
        (!changes.changed.is_empty()).then_some(changes)
    }
}

/// Collects the events that have arrived.
fn collect_batch(events: &mut broadcast::Receiver<Arc<Published>>, number: u64, first: Event) -> Batch {
    let mut batch = Batch { number, events: vec![first] };
    loop {
        match events.try_recv() {
            Ok(event) => {
                batch.number = event.number;
                batch.events.push(event.event.clone());
            }
            Err(broadcast::error::TryRecvError::Lagged(_)) => batch.events.push(Event::everything()),
            Err(_) => return batch,
        }
    }
}
