//! Somebody's chat with the real program, as it looks on their telephone: what is done there, and what stands at its end.
//!
//! A process that was killed may say something once more. So a button is looked for under the last message that has it, and
//! an answer is what the chat ends with, and not what has come since.

use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use super::HERE;
use crate::demo::Demo;

/// What somebody does.
#[derive(Clone, Copy, Debug)]
pub enum Deed {
    Says(&'static str),
    Presses(&'static str),
    /// Presses the button with these words in its caption, the rest of which depends on the day.
    Chooses(&'static str),
    Photo(&'static [u8]),
    /// Shares the position of the sites.
    Here,
}

/// What is done, and what the chat ends with then: words of the last message, or `[the caption of a button]` under it.
pub type Step = (Deed, &'static str);

pub struct Phone<'a> {
    emulator: &'a Demo,
    owner: i64,
}

impl<'a> Phone<'a> {
    pub const fn of(owner: i64, emulator: &'a Demo) -> Self {
        Self { emulator, owner }
    }

    pub async fn takes(&self, steps: &[Step]) {
        for step in steps {
            self.step(step).await;
        }
    }

    pub async fn step(&self, (deed, heard): &Step) {
        self.does(*deed).await;
        self.shows(heard).await;
    }

    /// Whether or not anybody listens.
    pub async fn does(&self, deed: Deed) {
        match deed {
            Deed::Says(text) => drop(self.emulator.says(self.owner, text).await),
            Deed::Presses(caption) => self.presses(caption, |offered| offered == caption).await,
            Deed::Chooses(words) => self.presses(words, |offered| offered.contains(words)).await,
            Deed::Photo(picture) => self.sends_photo(picture).await,
            Deed::Here => {
                let location = json!({"latitude": HERE.latitude, "longitude": HERE.longitude});
                self.emulator.post(&self.chat("send"), json!({"from": self.owner, "location": location})).await;
            }
        }
    }

    /// Waits until the chat ends with a message that has these words, in it or on a button under it.
    pub async fn shows(&self, words: &str) {
        let what = format!("{words:?} is the last that is said to {}", self.owner);
        let ends_so = async |_: &Demo| self.last_said().await.filter(|said| said.contains(words));
        self.emulator.until(&what, ends_so).await;
    }

    /// How many messages have these words.
    pub async fn count(&self, words: &str) -> usize {
        self.emulator.texts(self.owner).await.iter().filter(|text| text.contains(words)).count()
    }

    /// The last message with a text, and the captions under it.
    pub async fn last_said(&self) -> Option<String> {
        let messages = self.messages().await;
        let last = messages.iter().rev().find(|message| message["text"].is_string())?;
        let captions = buttons(last).map(|button| format!("\n[{}]", button["text"].as_str().unwrap_or_default()));
        Some(format!("{}{}", last["text"].as_str()?, captions.collect::<String>()))
    }

    async fn presses(&self, what: &str, is_meant: impl Fn(&str) -> bool) {
        let offered = async |_: &Demo| {
            let messages = self.messages().await;
            messages.iter().rev().find_map(|message| {
                let mut buttons = buttons(message);
                let button = buttons.find(|button| button["text"].as_str().is_some_and(&is_meant))?;
                Some((message["message_id"].clone(), button["callback_data"].clone()))
            })
        };
        let (message_id, data) = self.emulator.until(&format!("[{what}] is offered"), offered).await;
        let press = json!({"from": self.owner, "message_id": message_id, "data": data, "wait": 0});
        self.emulator.post(&self.chat("press"), press).await;
    }

    async fn sends_photo(&self, picture: &'static [u8]) {
        let part = Part::bytes(picture).file_name("picture.png").mime_str("image/png").unwrap();
        let form = Form::new().text("from", self.owner.to_string()).part("photo", part);
        let Demo { base, token, http, .. } = self.emulator;
        let url = format!("{base}/client/{token}{}", self.chat("send"));
        let sent = http.post(url).multipart(form).send().await.unwrap();
        assert!(sent.status().is_success(), "{:?}", sent.text().await);
    }

    async fn messages(&self) -> Vec<Value> {
        let messages = self.emulator.get(&self.chat("messages?after=0&wait=0")).await;
        messages.as_array().cloned().unwrap_or_default()
    }

    fn chat(&self, path: &str) -> String {
        format!("/chats/{}/{path}", self.owner)
    }
}

fn buttons(message: &Value) -> impl Iterator<Item = &Value> {
    let rows = message["reply_markup"]["inline_keyboard"].as_array();
    rows.into_iter().flatten().flat_map(|row| row.as_array().into_iter().flatten())
}
