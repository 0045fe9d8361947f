//! Two bots on one Redis, both with webhook updates: the real aiogram, and one of this library.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use opora::aiogram::{AiogramLayout, AiogramStore, Mapping};
use opora::key::ConversationKey;
use opora::prelude::*;
use opora::store::Store;
use opora_testkit::redis_server::RedisServer;
use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::python::{AiogramState, Python};
use crate::runtime::webhook::{SECRET, Server};
use crate::stage::{BOT, Person, Running, Stage, until};

/// The dialogue that both bots know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
pub enum Talk {
    Counting(Counting),
    Paused { count: i64 },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counting {
    pub count: i64,
    pub note: String,
}

/// The chat in which turns report, once they have committed.
struct Watcher(i64);

#[derive(Clone, Default)]
pub struct Gate(pub Arc<Notify>);

pub fn mapping() -> Mapping<Talk> {
    Mapping::new()
        .state("Talk:counting", |data| {
            let note = data.read::<Option<String>>("note")?.unwrap_or_default();
            Ok(Talk::Counting(Counting { count: data.read("count")?, note }))
        })
        .state("Talk:paused", |data| Ok(Talk::Paused { count: data.read("count")? }))
        .write(|state, data| match state {
            Talk::Counting(Counting { count, note }) => {
                data.set("count", count)?;
                data.set("note", note)?;
                Ok("Talk:counting")
            }
            Talk::Paused { count } => data.set("count", count).map(|()| "Talk:paused"),
        })
}

async fn start(turn: &mut Turn, _: Command) -> Step<Talk> {
    report(turn, "started");
    Ok(Next::Go(Talk::Counting(Counting { count: 0, note: String::new() })))
}

async fn counting(turn: &mut Turn, Counting { count, note }: Counting, text: String) -> Step<Talk> {
    let count = count + 1;
    if text == "wait" {
        turn.context::<Gate>().0.notified().await;
    }
    report(turn, format!("{text} {count} {note}").trim_end());
    Ok(match &*text {
        "pause" => Next::Go(Talk::Paused { count }),
        "end" => Next::End,
        "here" => {
            turn.say("here");
            Next::Stay
        }
        _ => Next::Go(Talk::Counting(Counting { count, note })),
    })
}

async fn paused(turn: &mut Turn, count: i64, _: String) -> Step<Talk> {
    report(turn, "goes on");
    Ok(Next::Go(Talk::Counting(Counting { count, note: "again".into() })))
}

fn report(turn: &mut Turn, what: &str) {
    let Watcher(chat) = *turn.context();
    turn.say_to(chat, what);
}

pub fn talk() -> Dialogue<Talk> {
    let talk = Dialogue::new().start(command("start"), start);
    talk.on(Talk::COUNTING, text(), counting).on(Talk::PAUSED, text(), paused)
}

/// A person in a place, who sends texts.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub chat: i64,
    pub user: i64,
    pub thread: Option<i64>,
    pub business: Option<&'static str>,
}

pub const PRIVATE: Place = Place { chat: 5, user: 5, thread: None, business: None };
pub const TOPIC: Place = Place { chat: -1_001_234_567_890, user: 7, thread: Some(9), business: None };
pub const BUSINESS: Place = Place { chat: 11, user: 11, thread: None, business: Some("bc_AbC-1") };

impl Place {
    pub fn update(self, text: &str) -> Value {
        static LAST: AtomicI64 = AtomicI64::new(0);
        let id = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        let kind = if self.chat > 0 { "private" } else { "supergroup" };
        let mut message = json!({
            "message_id": id, "date": 1_700_000_000, "text": text,
            "chat": {"id": self.chat, "type": kind, "title": "Group", "is_forum": true},
            "from": {"id": self.user, "is_bot": false, "first_name": "Anna"},
        });
        if let Some(thread) = self.thread {
            message["message_thread_id"] = thread.into();
            message["is_topic_message"] = true.into();
        }
        if text.starts_with('/') {
            message["entities"] = json!([{"type": "bot_command", "offset": 0, "length": text.len()}]);
        }
        match self.business {
            None => json!({"update_id": id, "message": message}),
            Some(connection) => {
                message["business_connection_id"] = connection.into();
                json!({"update_id": id, "business_message": message})
            }
        }
    }

    pub fn key(self) -> ConversationKey {
        let business = self.business.unwrap_or_default().into();
        ConversationKey { bot: BOT, chat: self.chat, user: self.user, thread: self.thread.unwrap_or(0), business }
    }
}

pub struct TwoBots<'s> {
    pub layout: AiogramLayout,
    pub store: Arc<dyn Store>,
    pub gate: Gate,
    pub server: Server,
    pub watcher: Person<'s>,
    bot: Running,
    said: Vec<String>,
}

impl<'s> TwoBots<'s> {
    pub async fn begin(stage: &'s Stage, redis: &RedisServer, layout: &AiogramLayout) -> Self {
        let address = format!("{}?prefix=opora-{}", redis.url(), layout.keys.prefix);
        let store = AiogramStore::open_with(&address, layout.clone(), mapping()).await.unwrap();
        let store: Arc<dyn Store> = Arc::new(store);
        let (watcher, gate, mut server) = (stage.person("Watcher").await, Gate::default(), Server::new(stage).await);
        let bot = stage
            .bot(&store)
            .script(Script::from(talk()).business_chats())
            .context(Watcher(watcher.id))
            .context(gate.clone());
        let (bot, webhook) = bot.webhook(server.settings());
        server.mount(&webhook);
        let bot = Running::start(bot);
        let both = Self { layout: layout.clone(), store, gate, server, watcher, bot, said: Vec::new() };
        until("the webhook", async || both.brings(json!({"update_id": 0}).to_string()).await).await;
        both
    }

    /// This library's bot gets a text. After the commit it has reported `reported`.
    pub async fn opora(&mut self, place: Place, text: &str, reported: &str) {
        assert!(self.brings(place.update(text).to_string()).await);
        self.said.push(reported.to_owned());
        let said: Vec<_> = self.said.iter().map(|said| &**said).collect();
        self.watcher.receives_exactly(&said).await;
    }

    pub async fn aiogram(&self, python: &mut Python, place: Place, text: &str) -> AiogramState {
        python.receives(&self.layout, &[place.update(text)]).await.pop().unwrap()
    }

    /// Delivers an update to this library's bot. Returns whether it was accepted.
    pub async fn brings(&self, update: String) -> bool {
        self.server.brings(SECRET, update).await.status() == StatusCode::OK
    }

    pub async fn ends(self) {
        self.bot.stops().await;
        self.store.close().await.unwrap();
    }
}
