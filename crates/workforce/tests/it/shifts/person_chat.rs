//! A person's chat with the real program: their actions, and the messages at its end.
//!
//! A killed process may repeat a message, even after an answer. So a button is searched under the last message that has
//! it. An answer is the last message, or the edited message whose button was pressed.

use opora_testkit::waiting::poll_until_some;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::HERE;
use crate::kit::demo::{Demo, TIMEOUT};

/// An action in the chat.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    Says(&'static str),
    Presses(&'static str),
    /// Presses the button whose caption contains these words. The rest depends on the day.
    Chooses(&'static str),
    Photo(&'static [u8]),
    /// Shares the position of the sites.
    Here,
}

/// An action, and the expected end of the chat: text of the last message, or `[caption]` of a button under it.
pub type Step = (Action, &'static str);

pub struct PersonChat<'a> {
    emulator: &'a Demo,
    person: i64,
}

impl<'a> PersonChat<'a> {
    pub const fn of(person: i64, emulator: &'a Demo) -> Self {
        Self { emulator, person }
    }

    pub async fn take_steps(&self, steps: &[Step]) {
        for step in steps {
            self.take_step(step).await;
        }
    }

    pub async fn take_step(&self, (action, heard): &Step) {
        let pressed = self.act(*action).await;
        self.wait_for_answer(pressed.as_ref(), heard).await;
    }

    /// Acts without waiting for an answer. Returns the id of the message whose button was pressed.
    pub async fn act(&self, action: Action) -> Option<Value> {
        match action {
            Action::Says(text) => drop(self.emulator.says(self.person, text).await),
            Action::Presses(caption) => return Some(self.presses(caption, |offered| offered == caption).await),
            Action::Chooses(words) => return Some(self.presses(words, |offered| offered.contains(words)).await),
            Action::Photo(picture) => self.sends_photo(picture).await,
            Action::Here => {
                let location = json!({"latitude": HERE.latitude, "longitude": HERE.longitude});
                self.emulator.post(&self.chat("send"), json!({"from": self.person, "location": location})).await;
            }
        }
        None
    }

    /// Waits until the last message has these words, in its text or on a button.
    pub async fn wait_for(&self, words: &str) {
        self.wait_for_answer(None, words).await;
    }

    async fn wait_for_answer(&self, pressed: Option<&Value>, words: &str) {
        let answered = async || {
            let messages = self.messages().await;
            let pressed = messages.iter().find(|message| Some(&message["message_id"]) == pressed);
            let last = messages.iter().rev().find(|message| message["text"].is_string());
            pressed.into_iter().chain(last).any(|message| message_text(message).contains(words)).then_some(())
        };
        let heard = timeout(TIMEOUT, poll_until_some(answered)).await;
        assert!(heard.is_ok(), "{words:?} is not answered: {:#?}", self.emulator.texts(self.person).await);
    }

    /// The number of messages with these words.
    pub async fn count(&self, words: &str) -> usize {
        self.emulator.texts(self.person).await.iter().filter(|text| text.contains(words)).count()
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
        let press = json!({"from": self.person, "message_id": message_id, "data": data, "wait": 0});
        self.emulator.post(&self.chat("press"), press).await;
        message_id
    }

    async fn sends_photo(&self, picture: &'static [u8]) {
        let part = Part::bytes(picture).file_name("picture.png").mime_str("image/png").unwrap();
        let form = Form::new().text("from", self.person.to_string()).part("photo", part);
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
        format!("/chats/{}/{path}", self.person)
    }
}

/// A message as text, with the captions of its buttons.
fn message_text(message: &Value) -> String {
    let captions = buttons(message).map(|button| format!("\n[{}]", button["text"].as_str().unwrap_or_default()));
    format!("{}{}", message["text"].as_str().unwrap_or_default(), captions.collect::<String>())
}

fn buttons(message: &Value) -> impl Iterator<Item = &Value> {
    let rows = message["reply_markup"]["inline_keyboard"].as_array();
    rows.into_iter().flatten().flat_map(|row| row.as_array().into_iter().flatten())
}
