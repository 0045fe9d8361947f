//! A listening emulator with one bot, and short ways to act as the bot and as people.
//!
//! The bot itself is not here: the test acts as the bot, or runs one that talks to [`Stage::base`].

use std::time::Duration;

use base64::Engine;
use opora_emulator::token::Token;
use opora_emulator::world::World;
use opora_emulator::{Emulator, Settings};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::waiting;

/// Deadline of every wait: long enough for a slow machine.
pub const TIMEOUT: Duration = Duration::from_secs(30);
pub const TOKEN: &str = "123456789:AAtesttesttesttesttesttesttesttestt";
pub const BOT: i64 = 123_456_789;

/// Bytes as the people's side of the emulator takes them in JSON.
pub fn base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// Polls until a condition holds.
pub async fn until(what: &str, condition: impl Fn() -> bool) {
    waiting::until_some(what, TIMEOUT, async || condition().then_some(())).await;
}

#[derive(Debug)]
pub struct Stage {
    pub emulator: Emulator,
    pub base: String,
    pub token: String,
    pub http: reqwest::Client,
    server: JoinHandle<()>,
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Stage {
    pub async fn new() -> Self {
        Self::with(Settings::default()).await
    }

    pub async fn with(settings: Settings) -> Self {
        let emulator = Emulator::new(settings).unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let router = emulator.router();
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { emulator, base, token: TOKEN.to_owned(), http, server }
    }

    /// Calls a method. Returns the HTTP status and the whole answer.
    pub async fn answer(&self, method: &str, parameters: Value) -> (u16, Value) {
        let url = format!("{}/bot{}/{method}", self.base, self.token);
        let response = self.http.post(url).json(&parameters).send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    /// Calls a method that must succeed. Returns its result.
    pub async fn call(&self, method: &str, parameters: Value) -> Value {
        let (status, mut answer) = self.answer(method, parameters).await;
        assert_eq!((status, &answer["ok"]), (200, &json!(true)), "{method}: {answer}");
        answer["result"].take()
    }

    /// Calls a method that must fail. Returns code and description.
    pub async fn refused(&self, method: &str, parameters: Value) -> (u16, String) {
        let (status, answer) = self.answer(method, parameters).await;
        assert_eq!(answer["ok"], false, "{method} should have been refused: {answer}");
        assert_eq!(answer["error_code"], status);
        (status, answer["description"].as_str().unwrap().to_owned())
    }

    /// Updates from an offset on, without waiting.
    pub async fn updates(&self, offset: i64) -> Vec<Value> {
        let updates = self.call("getUpdates", json!({"offset": offset})).await;
        updates.as_array().unwrap().clone()
    }

    pub async fn people(&self, method: reqwest::Method, path: &str, body: Option<Value>) -> (u16, Value) {
        let mut request = self.http.request(method, format!("{}/client/{}{path}", self.base, self.token));
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    /// Posts to the people's side; must succeed.
    pub async fn post(&self, path: &str, body: Value) -> Value {
        let (status, answer) = self.people(reqwest::Method::POST, path, Some(body)).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    pub async fn get(&self, path: &str) -> Value {
        let (status, answer) = self.people(reqwest::Method::GET, path, None).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    pub async fn fault(&self, fault: Value) {
        self.post("/faults", fault).await;
    }

    pub fn world<T>(&self, read: impl FnOnce(&World) -> T) -> T {
        let bot = self.emulator.bot(&Token::parse(&self.token).unwrap()).unwrap();
        read(&bot.world())
    }

    pub fn unacknowledged(&self) -> usize {
        self.world(|world| world.queue.len())
    }

    /// How often the bot has asked for updates.
    pub fn polls(&self) -> u64 {
        self.world(|world| world.poller)
    }

    /// Waits until the bot has begun to poll.
    pub async fn polled(&self) {
        until("a call of getUpdates", || self.polls() > 0).await;
    }

    pub async fn clear_faults(&self) {
        let (status, answer) = self.people(reqwest::Method::DELETE, "/faults", None).await;
        assert_eq!(status, 200, "{answer}");
    }

    /// Adds a person. Returns the id, which is also the id of the private chat.
    pub async fn person(&self, first_name: &str) -> i64 {
        self.post("/users", json!({"first_name": first_name})).await["id"].as_i64().unwrap()
    }

    /// A person sends a text in the private chat. Returns the message.
    pub async fn says(&self, person: i64, text: &str) -> Value {
        self.post(&format!("/chats/{person}/send"), json!({"from": person, "text": text})).await
    }

    /// Waits for messages in a chat after this message id.
    pub async fn messages_after(&self, chat: i64, after: i64) -> Vec<Value> {
        let path = format!("/chats/{chat}/messages?after={after}&wait={}", TIMEOUT.as_secs());
        self.get(&path).await.as_array().unwrap().clone()
    }
}
