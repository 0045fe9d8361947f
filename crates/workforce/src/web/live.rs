//! Live pages: what changed is told to the pages that are open, and they load that part anew.
//!
//! An [`Event`] names a topic and who may know of it. It reaches the pages of this process, and of others on the same
//! PostgreSQL (`across`). A page that missed some (its connection was away, or it was too slow) is told to load everything
//! anew. How many sockets there may be is said in `sockets`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use opora::bot::Bot;
use parking_lot::Mutex;
use sea_orm::DbErr;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::mpsc;

use super::csrf;
use super::guards::SignedIn;
use super::oops::Oops;
use crate::application::App;

pub use self::across::run as across;
pub use self::event::Event;
use self::listener::Listener;
use self::sockets::{Numbers, Seat, Sockets};

mod across;
mod event;
mod listener;
mod sockets;

const EFFECT: &str = "live";
/// Events that a page may be behind.
const BACKLOG: usize = 256;
/// Events that come together are told together.
const GATHERED: Duration = Duration::from_millis(100);
/// How often a connection is looked after.
const PULSE: Duration = Duration::from_secs(25);
/// Pages say nothing.
const LONGEST_MESSAGE: usize = 1024;
/// What a socket reads and writes at once. Messages are short, and the library would take 128 KiB for each.
const BUFFER_BYTES: usize = 2 * 1024;
/// What may wait for a page that reads nothing.
const UNREAD_BYTES: usize = 64 * 1024;
/// Tells the page that its session is over.
const SIGNED_OUT: u16 = 4401;
/// Tells the page that newer pages of the person have taken its place.
const TOO_MANY: u16 = 4429;

/// Where events are published. Clones are the same place.
#[derive(Clone, Debug)]
pub struct Events {
    here: broadcast::Sender<Arc<Published>>,
    elsewhere: mpsc::Sender<Event>,
    /// For whoever passes them on.
    outgoing: Arc<Mutex<Option<mpsc::Receiver<Event>>>>,
    numbers: Arc<Numbers>,
    sockets: Sockets,
}

/// An event with its number.
#[derive(Debug)]
struct Published {
    number: u64,
    event: Event,
}

impl Default for Events {
    fn default() -> Self {
        let (elsewhere, outgoing) = mpsc::channel(BACKLOG);
        let (here, outgoing) = (broadcast::Sender::new(BACKLOG), Arc::new(Mutex::new(Some(outgoing))));
        Self { here, elsewhere, outgoing, numbers: Arc::default(), sockets: Sockets::default() }
    }
}

impl Events {
    /// Tells the pages that are open, if there are any.
    pub fn publish(&self, event: Event) {
        // Nobody may be there to pass it on; then nobody else is there either, or they are told to load everything.
        let _ = self.elsewhere.try_send(event.clone());
        self.publish_here(event);
    }

    fn publish_here(&self, event: Event) {
        // The number is taken first: a look-up that has it sees what was committed before the event.
        let number = self.numbers.next();
        let _ = self.here.send(Arc::new(Published { number, event }));
    }

    /// How many pages listen.
    pub fn count_sockets(&self) -> usize {
        self.sockets.count()
    }

    /// The number of the latest event.
    fn last_number(&self) -> u64 {
        self.numbers.last()
    }

    fn take_outgoing(&self) -> Option<mpsc::Receiver<Event>> {
        self.outgoing.lock().take()
    }
}

/// Lets a bot publish what its turns ask for.
pub fn work(app: &App, bot: Bot) -> Bot {
    let events = app.events.clone();
    bot.effect(EFFECT, move |asked| {
        let events = events.clone();
        async move {
            events.publish(asked.read()?);
            Ok(Value::Null)
        }
    })
}

/// `GET /live`.
pub async fn connect(
    State(app): State<App>,
    SignedIn(visitor): SignedIn,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Result<Response, Oops> {
    // A browser always says from where; another site's script could otherwise listen along.
    if !headers.contains_key(header::ORIGIN) || !csrf::is_own_origin(&visitor.visit, &headers) {
        return Err(Oops::Forbidden);
    }
    let seat = app.events.sockets.take(visitor.person.id, visitor.session).ok_or(Oops::Unavailable)?;
    let upgrade = upgrade.max_message_size(LONGEST_MESSAGE).max_frame_size(LONGEST_MESSAGE);
    let upgrade = upgrade.read_buffer_size(BUFFER_BYTES).write_buffer_size(0).max_write_buffer_size(UNREAD_BYTES);
    Ok(upgrade.on_upgrade(move |socket| async move {
        // Who goes away goes away.
        let _ = serve(socket, &app, &seat).await;
    }))
}

/// Why a connection ended; nobody asks.
struct Over;

impl From<axum::Error> for Over {
    fn from(_: axum::Error) -> Self {
        Self
    }
}

async fn serve(mut socket: WebSocket, app: &App, seat: &Seat) -> Result<(), Over> {
    let mut events = app.events.here.subscribe();
    let mut listener = still_there(&mut socket, seat.listener(app).await).await?;
    let mut pulse = tokio::time::interval(PULSE);
    loop {
        tokio::select! {
            () = seat.pushed_out.cancelled() => return close(&mut socket, TOO_MANY, "too many pages").await,
            event = events.recv() => {
                let (number, first) = match event {
                    Ok(event) if !event.event.is_for(&listener) => continue,
                    Ok(event) => (event.number, event.event.clone()),
                    Err(RecvError::Lagged(_)) => (app.events.last_number(), Event::everything()),
                    Err(RecvError::Closed) => return Ok(()),
                };
                tokio::time::sleep(GATHERED).await;
                let gathered = gathered(&mut events, number, first);
                listener = still_there(&mut socket, seat.listener_since(app, gathered.number).await).await?;
                if let Some(told) = gathered.told_to(&listener) {
                    socket.send(Message::text(json!(told).to_string())).await?;
                }
            }
            _ = pulse.tick() => {
                listener = still_there(&mut socket, seat.listener(app).await).await?;
                socket.send(Message::Ping(bytes())).await?;
            }
            said = socket.recv() => match said {
                Some(Ok(Message::Close(_))) | None => return Ok(()),
                Some(said) => { said?; }
            }
        }
    }
}

fn bytes() -> axum::body::Bytes {
    axum::body::Bytes::new()
}

/// The listener as they are now. Who is signed out, blocked or has another role meanwhile hears nothing more of the old one.
async fn still_there(
    socket: &mut WebSocket,
    found: Result<Option<Arc<Listener>>, DbErr>,
) -> Result<Arc<Listener>, Over> {
    match found {
        Ok(Some(listener)) => Ok(listener),
        Ok(None) => {
            close(socket, SIGNED_OUT, "signed out").await?;
            Err(Over)
        }
        // The page connects again, and finds out then.
        Err(_) => Err(Over),
    }
}

/// Says why, and ends the connection.
async fn close(socket: &mut WebSocket, code: u16, reason: &'static str) -> Result<(), Over> {
    let frame = CloseFrame { code, reason: reason.into() };
    socket.send(Message::Close(Some(frame))).await?;
    Ok(())
}

/// Events that are told together, and the number of the latest.
struct Gathered {
    number: u64,
    events: Vec<Event>,
}

/// What a page is told: which of its parts to load anew, and what exactly has happened.
#[derive(Debug, Default, Serialize)]
struct Told {
    changed: BTreeSet<String>,
    updates: Vec<Value>,
}

impl Gathered {
    /// What this listener may know of it; none where that is nothing.
    fn told_to(self, listener: &Listener) -> Option<Told> {
        let mut told = Told::default();
        for event in self.events.into_iter().filter(|event| event.is_for(listener)) {
            told.changed.insert(event.topic);
            // Whoever belongs to two audiences hears of it once.
            told.updates.extend(event.update.filter(|update| !told.updates.contains(update)));
        }
        (!told.changed.is_empty()).then_some(told)
    }
}

/// What has come so far.
fn gathered(events: &mut broadcast::Receiver<Arc<Published>>, number: u64, first: Event) -> Gathered {
    let mut gathered = Gathered { number, events: vec![first] };
    loop {
        match events.try_recv() {
            Ok(event) => {
                gathered.number = event.number;
                gathered.events.push(event.event.clone());
            }
            Err(broadcast::error::TryRecvError::Lagged(_)) => gathered.events.push(Event::everything()),
            Err(_) => return gathered,
        }
    }
}
