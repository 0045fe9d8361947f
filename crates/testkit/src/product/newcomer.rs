//! Somebody who registers, or works, through the emulator, step by step.
//!
//! A newcomer waits for the very message that is expected, and presses the buttons of that one.

use std::time::Duration;

use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::product::demo::Demo;

pub use crate::pictures::{HILL, TOWER};

/// What the last step is answered with at once, and what becomes of it.
pub const SAVING: &str = "One moment, please";
pub const DONE: &str = "Done! Your registration is being looked at.";
pub const NOT_SAVED: &str = "Your registration could not be saved.";

/// The whole way: what a newcomer does, and how the answer begins.
pub const WAY: [(Deed, &str); 8] = [
    (Deed::Says("/start"), "Let us get to know each other."),
    (Deed::Presses("English"), "What is your first and last name?"),
    (Deed::Says("Anna Smith"), "Your phone number?"),
    (Deed::SharesNumber, "Your email address?"),
    (Deed::Presses("Skip"), "Which document will you show?"),
    (Deed::Presses("Passport"), "Send a photo of your passport"),
    (Deed::Sends(TOWER), "Now a selfie"),
    (Deed::Sends(HILL), SAVING),
];

#[derive(Clone, Copy, Debug)]
pub enum Deed {
    Says(&'static str),
    Presses(&'static str),
    SharesNumber,
    /// As a file.
    Sends(&'static [u8]),
    SendsPhoto(&'static [u8]),
    /// As Telegram's kind of this name.
    SendsAs(&'static str, &'static [u8]),
    /// Shares a position.
    IsAt(f64, f64),
}

#[derive(Debug)]
pub struct Newcomer<'a> {
    emulator: &'a Demo,
    id: i64,
    patience: Duration,
    /// Up to where the chat was looked at.
    revision: String,
    seen: i64,
    /// The message that was waited for last.
    heard: Value,
}

impl<'a> Newcomer<'a> {
    pub fn new(emulator: &'a Demo, id: i64, patience: Duration) -> Self {
        Self { emulator, id, patience, revision: "0".into(), seen: 0, heard: Value::Null }
    }

    /// Everything that is asked, up to the step that saves it.
    pub async fn gives_all(&mut self) {
        for (deed, answer) in WAY {
            self.does(deed).await;
            self.hears(answer).await;
        }
    }

    pub async fn does(&self, deed: Deed) {
        let id = self.id;
        match deed {
            Deed::Says(text) => drop(self.emulator.says(id, text).await),
            Deed::Presses(caption) => self.presses(caption).await,
            Deed::SharesNumber => {
                let contact = json!({"from": id, "contact": {"phone_number": "79991234567"}});
                self.emulator.post(&format!("/chats/{id}/send"), contact).await;
            }
            Deed::Sends(picture) => self.sends("document", picture).await,
            Deed::SendsPhoto(picture) => self.sends("photo", picture).await,
            Deed::SendsAs(kind, file) => self.sends(kind, file).await,
            Deed::IsAt(latitude, longitude) => {
                let location = json!({"from": id, "location": {"latitude": latitude, "longitude": longitude}});
                self.emulator.post(&format!("/chats/{id}/send"), location).await;
            }
        }
    }

    /// Waits for a message that begins so, among those that were not looked at yet.
    pub async fn hears(&mut self, start: &str) {
        let id = self.id;
        let found = timeout(self.patience, self.listens(start)).await;
        found.unwrap_or_else(|_| panic!("waited in vain until {start:?} is said in chat {id}"));
    }

    async fn listens(&mut self, start: &str) {
        loop {
            let path = format!("messages?revision={}&wait=10", self.revision);
            let answer = self.emulator.http.get(self.chat(&path)).send().await.unwrap();
            let revision = answer.headers()["opora-revision"].to_str().unwrap().to_owned();
            let messages: Vec<Value> = answer.json().await.unwrap();
            for message in &messages {
                let number = message["message_id"].as_i64().unwrap();
                // What was changed afterwards comes once more.
                if number <= self.seen {
                    continue;
                }
                self.seen = number;
                if message["text"].as_str().is_some_and(|text| text.starts_with(start)) {
                    self.heard = message.clone();
                    return;
                }
            }
            self.revision = revision;
        }
    }

    /// Presses a button of the message that was waited for last.
    pub async fn presses(&self, caption: &str) {
        let rows = self.heard["reply_markup"]["inline_keyboard"].as_array();
        let mut buttons = rows.into_iter().flatten().flat_map(|row| row.as_array().into_iter().flatten());
        let button = buttons.find(|one| one["text"] == caption);
        let data = &button.unwrap_or_else(|| panic!("no {caption:?} in {}", self.heard))["callback_data"];
        let press = json!({"from": self.id, "message_id": self.heard["message_id"], "data": data, "wait": 0});
        self.emulator.post(&format!("/chats/{}/press", self.id), press).await;
    }

    /// Presses the first button of the message that was waited for last.
    pub async fn presses_first(&self) {
        let caption = self.heard["reply_markup"]["inline_keyboard"][0][0]["text"].as_str();
        self.presses(caption.unwrap_or_else(|| panic!("no button in {}", self.heard))).await;
    }

    /// The message that was waited for last.
    pub fn heard_text(&self) -> String {
        self.heard["text"].as_str().unwrap_or_default().to_owned()
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
