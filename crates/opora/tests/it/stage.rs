//! An emulator with people in it, and a bot that runs in this process.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use opora::bot::{Bot, BotError, Handle, Stop};
use opora::store::{MemoryStore, SqliteStore, Store};
use opora::telegram::Telegram;
use opora_emulator::{Limits, Settings};
use opora_testkit::{stage, waiting};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

pub use opora_testkit::stage::{BOT, TIMEOUT, TOKEN};

pub struct Stage {
    emulator: stage::Stage,
    folder: tempfile::TempDir,
}

impl Deref for Stage {
    type Target = stage::Stage;

    fn deref(&self) -> &stage::Stage {
        &self.emulator
    }
}

impl Stage {
    pub async fn new() -> Self {
        Self::with(Limits::Off).await
    }

    pub async fn with(limits: Limits) -> Self {
        let emulator = stage::Stage::with(Settings { limits, ..Settings::default() }).await;
        Self { emulator, folder: tempfile::tempdir().unwrap() }
    }

    pub fn telegram(&self) -> Telegram {
        Telegram::new(TOKEN, &self.base).unwrap()
    }

    /// A bot that talks to this stage, with short waits.
    pub fn bot(&self, store: &Arc<dyn Store>) -> Bot {
        let bot = Bot::new(TOKEN).api_url(&self.base).store(Arc::clone(store)).files(self.files());
        bot.send_limits(opora::outbox::SendLimits::Off).settings(|settings| {
            settings.turns.backoff = Duration::from_millis(5);
            settings.effects.backoff = Duration::from_millis(5);
            settings.mailboxes.album_quiet = Duration::from_millis(200);
            settings.lease.poll_interval = Duration::from_millis(20);
            settings.polling.timeout = Duration::from_secs(5);
        })
    }

    /// Like [`Self::bot`], with every update stored in the inbox before its turn.
    pub fn inbox_first(&self, store: &Arc<dyn Store>) -> Bot {
        self.bot(store).settings(|settings| settings.mailboxes.direct_updates = false)
    }

    pub fn files(&self) -> PathBuf {
        self.folder.path().join("files")
    }

    /// A store in a file of this stage. Opened again, it has its data. A bot closes it when it stops.
    pub async fn sqlite(&self) -> Arc<dyn Store> {
        Arc::new(SqliteStore::open(&self.folder.path().join("state.db")).await.unwrap())
    }

    pub async fn advance_telegram_clock(&self, seconds: i64) {
        self.post("/clock", json!({"advance_seconds": seconds})).await;
    }

    pub async fn person(&self, name: &str) -> Person<'_> {
        self.person_with(json!({"first_name": name})).await
    }

    pub async fn person_with(&self, is: Value) -> Person<'_> {
        let id = self.post("/users", is).await["id"].as_i64().unwrap();
        Person { stage: self, id }
    }

    /// The bot's calls of a method so far, with their answers.
    pub async fn calls(&self, method: &str) -> Vec<Value> {
        let log = self.get("/log?limit=1000").await;
        let calls = log.as_array().unwrap().iter().filter(|entry| entry["method"] == method);
        calls.cloned().collect()
    }
}

pub fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new())
}

/// A person in the private chat with the bot.
#[derive(Clone, Copy)]
pub struct Person<'s> {
    pub stage: &'s Stage,
    pub id: i64,
}

impl Person<'_> {
    pub async fn says(&self, text: &str) -> Value {
        self.sends(json!({"text": text})).await
    }

    /// Sends anything that the people's side of the emulator takes.
    pub async fn sends(&self, mut what: Value) -> Value {
        what["from"] = self.id.into();
        self.stage.post(&format!("/chats/{}/send", self.id), what).await
    }

    /// All messages of the bot, in order.
    pub async fn received(&self) -> Vec<String> {
        let messages = self.messages().await;
        messages.iter().map(|message| message["text"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Waits for a message of the bot that contains these words.
    pub async fn receives(&self, words: &str) {
        let what = format!("`{words}` for {}", self.id);
        until(&what, async || self.received().await.iter().any(|text| text.contains(words))).await;
    }

    /// Waits until the bot has sent exactly these messages, and fails as soon as it sends another one.
    pub async fn receives_exactly(&self, texts: &[&str]) {
        until(&format!("{texts:?} for {}", self.id), async || {
            let received = self.received().await;
            assert!(texts.iter().zip(&received).all(|(said, text)| said == text), "{received:?} instead of {texts:?}");
            assert!(received.len() <= texts.len(), "{received:?} instead of {texts:?}");
            received.len() == texts.len()
        })
        .await;
    }

    /// The newest button with this caption: its message and its data. Waits until there is one.
    pub async fn button(&self, caption: &str) -> (i64, String) {
        until_some(&format!("a button `{caption}` for {}", self.id), async || {
            self.messages().await.iter().rev().find_map(|message| {
                let rows = message["reply_markup"]["inline_keyboard"].as_array()?;
                let button = rows.iter().filter_map(Value::as_array).flatten().find(|key| key["text"] == caption)?;
                Some((message["message_id"].as_i64()?, button["callback_data"].as_str()?.to_owned()))
            })
        })
        .await
    }

    /// Presses the newest button with this caption. The press must be answered.
    pub async fn presses(&self, caption: &str) -> Value {
        let button = self.button(caption).await;
        self.presses_this(&button).await
    }

    /// Presses a button, which may be gone. The press must be answered.
    pub async fn presses_this(&self, (message_id, data): &(i64, String)) -> Value {
        let press = json!({"from": self.id, "message_id": message_id, "data": data, "wait": 20});
        let answer = self.stage.post(&format!("/chats/{}/press", self.id), press).await;
        assert_eq!(answer["answered"], true, "the button keeps spinning: {answer}");
        answer
    }

    pub async fn blocks(&self) {
        self.stage.post(&format!("/chats/{}/block", self.id), json!({"from": self.id})).await;
    }

    async fn messages(&self) -> Vec<Value> {
        let messages = self.stage.get(&format!("/chats/{}/messages?after=0&limit=100000", self.id)).await;
        let mut messages: Vec<Value> = messages.as_array().cloned().unwrap_or_default();
        messages.retain(|message| message["from"]["is_bot"] == true);
        messages
    }
}

pub struct Running {
    pub stop: Stop,
    pub handle: Handle,
    task: JoinHandle<Result<(), BotError>>,
}

impl Running {
    pub fn start(bot: Bot) -> Self {
        let (stop, handle) = (Stop::new(), bot.handle());
        let task = tokio::spawn(bot.run_until(stop.clone()));
        Self { stop, handle, task }
    }

    /// Stops it in order. It must end without an error.
    pub async fn stops(self) {
        self.stop.stop();
        self.ends().await.unwrap();
    }

    /// Stops it at once.
    pub async fn stops_now(self) {
        self.stop.stop_now();
        self.ends().await.unwrap();
    }

    pub async fn ends(self) -> Result<(), BotError> {
        tokio::time::timeout(TIMEOUT, self.task).await.expect("the bot does not end").unwrap()
    }

    pub fn has_ended(&self) -> bool {
        self.task.is_finished()
    }
}

/// A file as the people's side of the emulator takes it.
pub fn file(bytes: &[u8]) -> Value {
    json!({"name": "file", "base64": base64::engine::general_purpose::STANDARD.encode(bytes)})
}

/// Polls until an async condition holds.
pub async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    until_some(what, async || is_so().await.then_some(())).await;
}

pub async fn until_some<T>(what: &str, look: impl AsyncFn() -> Option<T>) -> T {
    waiting::until_some(what, TIMEOUT, look).await
}
