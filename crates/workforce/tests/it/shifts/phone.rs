//! Somebody's chat with the real program, as it looks on their telephone: what is done there, and what stands at its end.
//!
//! A process that was killed may say something once more, also behind an answer. So a button is looked for under the last
//! message that has it, and an answer is what the chat ends with, or what becomes of the message whose button was pressed.

use opora_testkit::waiting::look_again;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::HERE;
use crate::kit::demo::{Demo, PATIENCE};

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
        let pressed = self.does(*deed).await;
        self.answers(pressed.as_ref(), heard).await;
    }

    /// Whether or not anybody listens; gives the message whose button it was.
    pub async fn does(&self, deed: Deed) -> Option<Value> {
        match deed {
            Deed::Says(text) => drop(self.emulator.says(self.owner, text).await),
            Deed::Presses(caption) => return Some(self.presses(caption, |offered| offered == caption).await),
            Deed::Chooses(words) => return Some(self.presses(words, |offered| offered.contains(words)).await),
            Deed::Photo(picture) => self.sends_photo(picture).await,
            Deed::Here => {
                let location = json!({"latitude": HERE.latitude, "longitude": HERE.longitude});
                self.emulator.post(&self.chat("send"), json!({"from": self.owner, "location": location})).await;
            }
        }
        None
    }

    /// Waits until the chat ends with a message that has these words, in it or on a button under it.
    pub async fn shows(&self, words: &str) {
        self.answers(None, words).await;
    }

    async fn answers(&self, pressed: Option<&Value>, words: &str) {
        let answered = async || {
            let messages = self.messages().await;
            let pressed = messages.iter().find(|message| Some(&message["message_id"]) == pressed);
            let last = messages.iter().rev().find(|message| message["text"].is_string());
            pressed.into_iter().chain(last).any(|message| read(message).contains(words)).then_some(())
        };
        let heard = timeout(PATIENCE, look_again(answered)).await;
        assert!(heard.is_ok(), "{words:?} is not answered: {:#?}", self.emulator.texts(self.owner).await);
    }

    /// How many messages have these words.
    pub async fn count(&self, words: &str) -> usize {
        self.emulator.texts(self.owner).await.iter().filter(|text| text.contains(words)).count()
    }

    async fn presses(&self, what: &str, is_meant: impl Fn(&str) -> bool) -> Value {
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
        message_id
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

/// A message as it is read: its text, and the captions under it.
fn read(message: &Value) -> String {
    let captions = buttons(message).map(|button| format!("\n[{}]", button["text"].as_str().unwrap_or_default()));
    format!("{}{}", message["text"].as_str().unwrap_or_default(), captions.collect::<String>())
}

fn buttons(message: &Value) -> impl Iterator<Item = &Value> {
    let rows = message["reply_markup"]["inline_keyboard"].as_array();
    rows.into_iter().flatten().flat_map(|row| row.as_array().into_iter().flatten())
}
