//! A stage with people and a group, where all calls and updates of the bot are checked and recorded.

use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

use frankenstein::types::Message;
use frankenstein::updates::{Update, UpdateContent};
use opora_emulator::bot_api::methods;
use opora_emulator::token::Token;
use opora_emulator::world::chat::MemberStatus;
use opora_emulator::world::update::UpdateKind;
use opora_testkit::pictures::PIXEL_PNG;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::compare::read_back;
use crate::stage::{Stage, base64};

pub const EFFECT: &str = "5104841245755180586";

pub struct Scene {
    pub stage: Stage,
    pub anna: i64,
    pub boris: i64,
    next_update: AtomicI64,
    calls: Mutex<Vec<RecordedCall>>,
}

/// A call that succeeded.
#[derive(Clone)]
pub struct RecordedCall {
    pub method: String,
    /// The names of the given parameters and files.
    pub parameters: Vec<String>,
    pub result: Value,
}

impl RecordedCall {
    /// What `getUpdates` brought.
    pub fn updates(&self) -> &[Value] {
        let updates = self.result.as_array().filter(|_| self.method == "getUpdates");
        updates.map(Vec::as_slice).unwrap_or_default()
    }
}

/// A file to upload: the part's name, the file's, and the bytes.
pub type File<'a> = (&'a str, &'a str, &'a [u8]);

/// A supergroup with a topic, where Anna has said something.
pub struct Crew {
    pub chat: i64,
    pub topic: i32,
    pub said: i32,
}

impl Scene {
    pub async fn new() -> Self {
        let stage = Stage::new().await;
        let anna = json!({"first_name": "Anna", "last_name": "Sørensen", "username": "anna_s", "language_code": "en"});
        let anna = stage.post("/users", anna).await["id"].as_i64().unwrap();
        let boris = stage.person("Boris").await;
        Self { stage, anna, boris, next_update: AtomicI64::new(0), calls: Mutex::default() }
    }

    pub fn calls(&self) -> Vec<RecordedCall> {
        self.calls.lock().unwrap().clone()
    }

    /// Calls a method and reads its result back.
    pub async fn ask<T: DeserializeOwned + Serialize>(&self, method: &str, parameters: Value) -> T {
        let result = self.stage.call(method, parameters.clone()).await;
        let names = parameters.as_object().unwrap().keys().cloned().collect();
        self.record(method, names, result).await
    }

    /// The same with files, as a multipart body.
    pub async fn upload<T: DeserializeOwned + Serialize>(
        &self,
        method: &str,
        parameters: Value,
        files: &[File<'_>],
    ) -> T {
        let mut form = reqwest::multipart::Form::new();
        let mut names = Vec::new();
        for (name, value) in parameters.as_object().unwrap() {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            form = form.text(name.clone(), text);
            names.push(name.clone());
        }
        for (field, file, bytes) in files {
            let part = reqwest::multipart::Part::bytes(bytes.to_vec()).file_name((*file).to_owned());
            form = form.part((*field).to_owned(), part);
            names.push((*field).to_owned());
        }
        let url = format!("{}/bot{}/{method}", self.stage.base, self.stage.token);
        let response = self.stage.http.post(url).multipart(form).send().await.unwrap();
        let mut answer: Value = response.json().await.unwrap();
        assert_eq!(answer["ok"], true, "{method}: {answer}");
        self.record(method, names, answer["result"].take()).await
    }

    /// Calls a method whose result is `true`.
    pub async fn does(&self, method: &str, parameters: Value) {
        assert!(self.ask::<bool>(method, parameters).await, "{method}");
    }

    /// Sends into the group with everything that can surround a message, and checks that the answer shows it.
    pub async fn sends(&self, method: &str, own: Value, files: &[File<'_>]) -> Message {
        let crew = self.crew().await;
        let parameters = self.surrounded(method, &crew, own);
        let message: Message = if files.is_empty() {
            self.ask(method, parameters).await
        } else {
            self.upload(method, parameters, files).await
        };
        self.check_surroundings(&crew, &message).await;
        let button = &message.reply_markup.as_ref().unwrap().inline_keyboard[0][0];
        assert_eq!((button.text.as_str(), button.callback_data.as_deref()), ("Take it", Some("take:1")));
        message
    }

    /// Parameters that surround a message, as far as the method knows them.
    pub fn surrounded(&self, method: &str, crew: &Crew, own: Value) -> Value {
        let known = methods::find(method).unwrap().parameter_names();
        let all = json!({
            "chat_id": crew.chat,
            "message_thread_id": crew.topic,
            "direct_messages_topic_id": 1,
            "disable_notification": true,
            "protect_content": true,
            "allow_paid_broadcast": false,
            "message_effect_id": EFFECT,
            "suggested_post_parameters": {"send_date": 0},
            "reply_parameters": {"message_id": crew.said, "quote": "the evening"},
            "reply_markup": {"inline_keyboard": [[{"text": "Take it", "callback_data": "take:1"}]]},
        });
        let mut parameters = own;
        for (name, value) in all.as_object().unwrap() {
            if known.contains(&name.as_str()) {
                parameters[name] = value.clone();
            }
        }
        parameters
    }

    /// Checks what [`Self::surrounded`] asked for, but the keyboard, which an album has not.
    pub async fn check_surroundings(&self, crew: &Crew, message: &Message) {
        let now = self.stage.get("/clock").await["now"].as_u64().unwrap();
        assert!(message.date.abs_diff(now) < 60, "{} is not now", message.date);
        let from = message.from.as_ref().unwrap();
        assert_eq!((from.id, from.is_bot), (123_456_789, true));
        assert_eq!((message.chat.id, message.chat.title.as_deref()), (crew.chat, Some("Crew")));
        assert_eq!((message.chat.username.as_deref(), message.chat.is_forum), (Some("the_crew"), Some(true)));
        assert_eq!((message.message_thread_id, message.is_topic_message), (Some(crew.topic), Some(true)));
        assert_eq!(message.has_protected_content, Some(true));
        assert_eq!(message.effect_id.as_deref(), Some(EFFECT));
        let replied = message.reply_to_message.as_ref().unwrap();
        assert_eq!((replied.message_id, replied.text.as_deref()), (crew.said, Some("Who takes the evening?")));
        let quote = message.quote.as_ref().unwrap();
        assert_eq!((quote.text.as_str(), quote.position, quote.is_manual), ("the evening", 10, Some(true)));
    }

    /// A supergroup "Crew" of Anna, Boris and the bot.
    pub async fn crew(&self) -> Crew {
        let chat = json!({
            "type": "supergroup", "title": "Crew", "username": "the_crew", "members": [self.anna, self.boris],
            "topics": ["Shifts"],
        });
        let chat = self.stage.post("/chats", chat).await;
        let topic = chat["topics"][0]["message_thread_id"].as_i64().unwrap();
        let chat = chat["id"].as_i64().unwrap();
        let text = json!({"from": self.anna, "text": "Who takes the evening?", "thread_id": topic});
        let said = self.acts(chat, "send", text).await["message_id"].as_i64().unwrap();
        Crew { chat, topic: topic as i32, said: said as i32 }
    }

    /// A person does something in a chat.
    pub async fn acts(&self, chat: i64, deed: &str, body: Value) -> Value {
        self.stage.post(&format!("/chats/{chat}/{deed}"), body).await
    }

    /// The bot says a text to Anna.
    pub async fn tells_anna(&self, text: &str) -> Message {
        self.ask("sendMessage", json!({"chat_id": self.anna, "text": text})).await
    }

    /// Makes the bot an administrator of a group, for which `/client` has no route.
    pub fn promote_bot(&self, chat: i64) {
        let bot = self.stage.emulator.bot(&Token::parse(&self.stage.token).unwrap()).unwrap();
        let mut world = bot.world();
        let me = world.me.id;
        world.chat_mut(chat).unwrap().group.as_mut().unwrap().members.insert(me, MemberStatus::Administrator);
    }

    /// Asks for every kind of update, and takes what there is.
    pub async fn updates(&self) -> Vec<UpdateContent> {
        let kinds = UpdateKind::ALL.map(UpdateKind::name);
        let offset = self.next_update.load(Ordering::Relaxed);
        let parameters = json!({"offset": offset, "limit": 100, "timeout": 0, "allowed_updates": kinds});
        let updates: Vec<Update> = self.ask("getUpdates", parameters).await;
        if let Some(last) = updates.last() {
            self.next_update.store(i64::from(last.update_id) + 1, Ordering::Relaxed);
        }
        updates.into_iter().map(|update| update.content).collect()
    }

    async fn record<T: DeserializeOwned + Serialize>(&self, method: &str, names: Vec<String>, result: Value) -> T {
        let typed = read_back(method, &result);
        self.calls.lock().unwrap().push(RecordedCall { method: method.to_owned(), parameters: names, result });
        let log = self.stage.get("/log?limit=1").await;
        assert_eq!(log[0]["complaints"], json!([]), "{method}");
        typed
    }
}

/// A PNG of this size, as far as its header goes.
pub fn picture(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = PIXEL_PNG.to_vec();
    bytes[16..20].copy_from_slice(&width.to_be_bytes());
    bytes[20..24].copy_from_slice(&height.to_be_bytes());
    bytes
}

/// A file as the people's side takes it.
pub fn file(name: &str, bytes: &[u8]) -> Value {
    json!({"name": name, "base64": base64(bytes)})
}
