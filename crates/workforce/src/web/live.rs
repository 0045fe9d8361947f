//! Live pages: what changed is told to the pages that are open, and they load that part anew.
//!
//! An event names a topic and who may know of it, and carries at most a type and numbers (`shift_created`, whose shift), so
//! nothing that people typed can leak by it. It reaches the pages of
//! this process, and of others on the same PostgreSQL (`across`). A page that missed some (its connection was away, or it was too slow) is told to load everything anew.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use opora::bot::Bot;
use opora::turn::Turn;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::mpsc;

use super::guards::{SignedIn, Visitor};
use super::oops::Oops;
use super::{csrf, sessions};
use crate::application::App;
use crate::people::{Person, Role};

pub use self::across::run as across;

mod across;

const EFFECT: &str = "live";
/// Events that a page may be behind.
const BACKLOG: usize = 256;
/// Events that come together are told together.
const GATHERED: Duration = Duration::from_millis(100);
/// How often a connection is looked after.
const PULSE: Duration = Duration::from_secs(25);
/// Pages say nothing.
const LONGEST_MESSAGE: usize = 1024;
/// The topic of those who missed something.
const EVERYTHING: &str = "*";
/// Tells the page that its session is over.
const SIGNED_OUT: u16 = 4401;

/// Something changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// What, as pages name it in `data-live`: `people`, `person:7`.
    topic: String,
    audience: Audience,
    /// What exactly, where somebody wants to know: a type and numbers.
    #[serde(default)]
    update: Option<Value>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Audience {
    Roles(Vec<Role>),
    Person(i64),
    Everybody,
}

/// Where events are published. Clones are the same place.
#[derive(Clone, Debug)]
pub struct Events {
    here: broadcast::Sender<Event>,
    elsewhere: mpsc::Sender<Event>,
    /// For whoever passes them on.
    outgoing: Arc<Mutex<Option<mpsc::Receiver<Event>>>>,
}

impl Event {
    /// For whoever may act in any of these roles.
    pub fn to_roles(topic: impl Into<String>, roles: &[Role]) -> Self {
        Self { topic: topic.into(), audience: Audience::Roles(roles.to_vec()), update: None }
    }

    /// For one person.
    pub fn to_person(topic: impl Into<String>, id: i64) -> Self {
        Self { topic: topic.into(), audience: Audience::Person(id), update: None }
    }

    /// The same, saying what exactly. It reaches everybody whom the event is for, so it has numbers and no words of people.
    #[must_use]
    pub fn with(self, update: &impl Serialize) -> Self {
        Self { update: serde_json::to_value(update).ok(), ..self }
    }

    /// Something that nobody here knows of: pages load all of their live parts anew.
    fn everything() -> Self {
        Self { topic: EVERYTHING.to_owned(), audience: Audience::Everybody, update: None }
    }

    /// Publishes it once the turn has committed. Outside of turns there is [`Events::publish`].
    pub fn after(&self, turn: &mut Turn) {
        turn.effect_without_outcome(EFFECT, self);
    }

    fn is_for(&self, person: &Person) -> bool {
        match &self.audience {
            Audience::Roles(roles) => person.may(roles),
            Audience::Person(id) => person.id == *id,
            Audience::Everybody => true,
        }
    }
}

impl Default for Events {
    fn default() -> Self {
        let (elsewhere, outgoing) = mpsc::channel(BACKLOG);
        Self { here: broadcast::Sender::new(BACKLOG), elsewhere, outgoing: Arc::new(Mutex::new(Some(outgoing))) }
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
        let _ = self.here.send(event);
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
    let upgrade = upgrade.max_message_size(LONGEST_MESSAGE);
    Ok(upgrade.on_upgrade(move |socket| async move {
        // Who goes away goes away.
        let _ = serve(socket, app, visitor).await;
    }))
}

/// Why a connection ended; nobody asks.
struct Over;

impl From<axum::Error> for Over {
    fn from(_: axum::Error) -> Self {
        Self
    }
}

async fn serve(mut socket: WebSocket, app: App, visitor: Visitor) -> Result<(), Over> {
    let mut events = app.events.here.subscribe();
    let mut pulse = tokio::time::interval(PULSE);
    loop {
        tokio::select! {
            event = events.recv() => {
                let first = match event {
                    Ok(event) => Some(event),
                    Err(RecvError::Lagged(_)) => None,
                    Err(RecvError::Closed) => return Ok(()),
                };
                if first.as_ref().is_some_and(|event| !event.is_for(&visitor.person)) {
                    continue;
                }
                tokio::time::sleep(GATHERED).await;
                let person = still_there(&mut socket, &app, visitor.session).await?;
                let told = gathered(&mut events, first, &person);
                socket.send(Message::text(json!(told).to_string())).await?;
            }
            _ = pulse.tick() => {
                still_there(&mut socket, &app, visitor.session).await?;
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

/// The person as they are now. Who is signed out, blocked or has another role meanwhile hears nothing more of the old one.
async fn still_there(socket: &mut WebSocket, app: &App, session: i64) -> Result<Person, Over> {
    match sessions::person_of(app, session).await {
        Ok(Some(person)) => Ok(person),
        Ok(None) => {
            let frame = CloseFrame { code: SIGNED_OUT, reason: "signed out".into() };
            socket.send(Message::Close(Some(frame))).await?;
            Err(Over)
        }
        // The page connects again, and finds out then.
        Err(_) => Err(Over),
    }
}

/// What a page is told: which of its parts to load anew, and what exactly has happened.
#[derive(Debug, Default, Serialize)]
struct Told {
    changed: BTreeSet<String>,
    updates: Vec<Value>,
}

impl Told {
    fn add(&mut self, event: Event, person: &Person) {
        if !event.is_for(person) {
            return;
        }
        self.changed.insert(event.topic);
        // Whoever belongs to two audiences hears of it once.
        self.updates.extend(event.update.filter(|update| !self.updates.contains(update)));
    }
}

/// What a person may know of what has come so far.
fn gathered(events: &mut broadcast::Receiver<Event>, first: Option<Event>, person: &Person) -> Told {
    let mut told = Told::default();
    told.add(first.unwrap_or_else(Event::everything), person);
    loop {
        match events.try_recv() {
            Ok(event) => told.add(event, person),
            Err(broadcast::error::TryRecvError::Lagged(_)) => told.add(Event::everything(), person),
            Err(_) => return told,
        }
    }
}
