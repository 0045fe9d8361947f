//! A person who registers or works through the emulator, step by step.
//!
//! A newcomer waits for the expected message and presses the buttons of exactly that message.

use std::collections::HashMap;
use std::time::Duration;

use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::product::demo::Demo;

pub use crate::pictures::{HILL, TOWER};

/// The immediate answer to the last step, and its two possible results.
pub const SAVING: &str = "One moment, please";
pub const DONE: &str = "Done! Your registration is awaiting approval.";
pub const NOT_SAVED: &str = "Your registration couldn't be saved.";

/// The steps of a registration: what the newcomer does, and how the answer begins.
pub const REGISTRATION_STEPS: [(Action, &str); 9] = [
    (Action::Says("/start"), "Let's get to know each other."),
    (Action::Presses("English"), "To take you on, we need"),
    (Action::Presses("I agree"), "What's your first and last name?"),
    (Action::Says("Anna Smith"), "What's your phone number?"),
    (Action::SharesNumber, "What's your email address?"),
    (Action::Presses("Skip"), "Which document will you send?"),
    (Action::Presses("Passport"), "Send a photo of your passport"),
    (Action::Sends(TOWER), "Now send a selfie"),
    (Action::Sends(HILL), SAVING),
];

/// Something that a person does in the chat.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    Says(&'static str),
    Presses(&'static str),
    SharesNumber,
    Sends(&'static [u8]),
    SendsPhoto(&'static [u8]),
    /// Sends a file as this kind of media.
    SendsAs(&'static str, &'static [u8]),
    IsAt(f64, f64),
}

#[derive(Debug)]
pub struct Newcomer<'a> {
    emulator: &'a Demo,
    id: i64,
    timeout: Duration,
    /// The revision up to which the chat was read.
    revision: String,
    /// The texts of the messages that were read, by their ids.
    read: HashMap<i64, Value>,
    /// The message that [`Self::receives`] found last.
    message: Value,
}

impl<'a> Newcomer<'a> {
    pub fn new(emulator: &'a Demo, id: i64, timeout: Duration) -> Self {
        Self { emulator, id, timeout, revision: "0".into(), read: HashMap::new(), message: Value::Null }
    }

    /// Does all steps of the registration, up to the one that saves it.
    pub async fn completes_registration(&mut self) {
        for (action, answer) in REGISTRATION_STEPS {
            self.does(action).await;
            self.receives(answer).await;
        }
    }

    pub async fn does(&self, action: Action) {
        let id = self.id;
        match action {
            Action::Says(text) => drop(self.emulator.says(id, text).await),
            Action::Presses(caption) => self.presses(caption).await,
            Action::SharesNumber => {
                let contact = json!({"from": id, "contact": {"phone_number": "79991234567"}});
                self.emulator.post(&format!("/chats/{id}/send"), contact).await;
            }
            Action::Sends(picture) => self.sends("document", picture).await,
            Action::SendsPhoto(picture) => self.sends("photo", picture).await,
            Action::SendsAs(kind, file) => self.sends(kind, file).await,
            Action::IsAt(latitude, longitude) => {
                let location = json!({"from": id, "location": {"latitude": latitude, "longitude": longitude}});
                self.emulator.post(&format!("/chats/{id}/send"), location).await;
            }
        }
    }

    /// Waits for an unread message that begins with this text. A message is unread again when its text has changed.
    pub async fn receives(&mut self, start: &str) {
        let id = self.id;
        let found = timeout(self.timeout, self.find_message(start)).await;
        found.unwrap_or_else(|_| panic!("no message {start:?} in chat {id}"));
    }

    async fn find_message(&mut self, start: &str) {
        loop {
            let path = format!("messages?revision={}&wait=10", self.revision);
            let answer = self.emulator.http.get(self.chat(&path)).send().await.unwrap();
            let revision = answer.headers()["opora-revision"].to_str().unwrap().to_owned();
            let messages: Vec<Value> = answer.json().await.unwrap();
            for message in &messages {
                let number = message["message_id"].as_i64().unwrap();
                // Messages that were edited are listed again.
                let before = self.read.insert(number, message["text"].clone());
                if before.is_some_and(|before| before == message["text"]) {
                    continue;
                }
                if message["text"].as_str().is_some_and(|text| text.starts_with(start)) {
                    self.message = message.clone();
                    return;
                }
            }
            self.revision = revision;
        }
    }

    /// Presses a button of the message received last.
    pub async fn presses(&self, caption: &str) {
        let rows = self.message["reply_markup"]["inline_keyboard"].as_array();
        let mut buttons = rows.into_iter().flatten().flat_map(|row| row.as_array().into_iter().flatten());
        let button = buttons.find(|one| one["text"] == caption);
        let data = &button.unwrap_or_else(|| panic!("no {caption:?} in {}", self.message))["callback_data"];
        let press = json!({"from": self.id, "message_id": self.message["message_id"], "data": data, "wait": 0});
        self.emulator.post(&format!("/chats/{}/press", self.id), press).await;
    }

    /// Presses the first button of the message received last.
    pub async fn presses_first(&self) {
        let caption = self.message["reply_markup"]["inline_keyboard"][0][0]["text"].as_str();
        self.presses(caption.unwrap_or_else(|| panic!("no button in {}", self.message))).await;
    }

    pub fn message_text(&self) -> String {
        self.message["text"].as_str().unwrap_or_default().to_owned()
    }

    async fn sends(&self, field: &'static str, picture: &'static [u8]) {
        let part = Part::bytes(picture).file_name("picture.png").mime_str("image/png").unwrap();
        let form = Form::new().text("from", self.id.to_string()).part(field, part);
        let sent = self.emulator.http.post(self.chat("send")).multipart(form).send().await.unwrap();
        assert!(sent.status().is_success(), "{}", sent.text().await.unwrap());
    }

    fn chat(&self, path: &str) -> String {
        format!("{}/client/{}/chats/{}/{path}", self.emulator.base, self.emulator.token, self.id)
    }
}
