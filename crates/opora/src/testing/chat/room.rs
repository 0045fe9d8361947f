//! What people see: messages with their buttons, and what flashes up when a button is pressed.

use std::collections::HashMap;
use std::fmt::Write;

use serde_json::Value;

use super::run::json;
use crate::store::Outgoing;

/// All chats of a stage.
#[derive(Debug, Default)]
pub(super) struct Rooms {
    rooms: HashMap<i64, Room>,
    labels: HashMap<(i64, Box<str>), i64>,
    /// Whose press the next answer is for.
    pub pressing: Option<i64>,
    people: i64,
    last_update_id: i64,
    last_message_id: i64,
}

#[derive(Debug, Default)]
pub(super) struct Room {
    pub lines: Vec<Line>,
    /// Everything before this was there before the person's last deed.
    pub seen: usize,
    pub toasts: Vec<String>,
}

/// One message.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    pub message_id: i64,
    pub is_bots: bool,
    /// The bot has changed it since.
    pub edited: bool,
    pub text: String,
    /// Caption and data of inline buttons.
    pub buttons: Vec<(String, String)>,
    /// Captions of the keyboard that came with it.
    pub keys: Vec<String>,
}

impl Rooms {
    pub fn new_person(&mut self) -> i64 {
        self.people += 1;
        1000 + self.people
    }

    pub fn update_id(&mut self) -> i64 {
        self.last_update_id += 1;
        self.last_update_id
    }

    pub fn message_id(&mut self) -> i64 {
        self.last_message_id += 1;
        self.last_message_id
    }

    pub fn room(&mut self, chat: i64) -> &mut Room {
        self.rooms.entry(chat).or_default()
    }

    /// A person does something; what the bot says from now on is its answer.
    pub fn does(&mut self, chat: i64, text: String) -> i64 {
        let message_id = self.message_id();
        let room = self.room(chat);
        room.lines.push(Line { message_id, text, ..Line::default() });
        room.lines.iter_mut().for_each(|line| line.edited = false);
        room.seen = room.lines.len();
        room.toasts.clear();
        message_id
    }

    /// Shows calls of the bot's; answers the label that each has left.
    pub fn show(&mut self, calls: Vec<Outgoing>) -> Vec<Option<(i64, Box<str>, i64)>> {
        calls.into_iter().map(|call| self.show_one(&call)).collect()
    }

    fn show_one(&mut self, call: &Outgoing) -> Option<(i64, Box<str>, i64)> {
        let body = json(&call.body);
        if &*call.method == "answerCallbackQuery" {
            if let (Some(text), Some(chat)) = (body["text"].as_str(), self.pressing) {
                self.room(chat).toasts.push(text.to_owned());
            }
            return None;
        }
        let chat = call.chat.or(body["chat_id"].as_i64())?;
        let target = match &call.edits_label {
            Some(label) => self.labels.get(&(chat, label.clone())).copied(),
            None => body["message_id"].as_i64(),
        };
        match &*call.method {
            "sendChatAction" => None,
            "deleteMessage" => {
                self.room(chat).remove(target);
                None
            }
            method if method.starts_with("editMessage") => {
                self.room(chat).edit(target, &body);
                None
            }
            method => {
                let message_id = self.message_id();
                let line = Line { message_id, is_bots: true, text: words(method, &body), ..Line::default() };
                self.room(chat).lines.push(line.with_markup(&body));
                let label = call.label.clone()?;
                self.labels.insert((chat, label.clone()), message_id);
                Some((chat, label, message_id))
            }
        }
    }
}

impl Room {
    /// What the bot has said or changed since the person's last deed.
    pub fn fresh(&self) -> impl Iterator<Item = &Line> {
        self.lines
            .iter()
            .enumerate()
            .filter(|(index, line)| line.is_bots && (*index >= self.seen || line.edited))
            .map(|(_, line)| line)
    }

    fn edit(&mut self, target: Option<i64>, body: &Value) {
        if let Some(line) = self.lines.iter_mut().find(|line| Some(line.message_id) == target) {
            if let Some(text) = body["text"].as_str().or(body["caption"].as_str()) {
                text.clone_into(&mut line.text);
            }
            line.buttons.clear();
            line.edited = true;
            *line = std::mem::take(line).with_markup(body);
        }
    }

    fn remove(&mut self, target: Option<i64>) {
        if let Some(index) = self.lines.iter().position(|line| Some(line.message_id) == target) {
            self.lines.remove(index);
            self.seen -= usize::from(index < self.seen);
        }
    }

    /// The whole chat, for messages of failed tests.
    pub fn transcript(&self) -> String {
        let mut text = String::new();
        for line in &self.lines {
            let who = if line.is_bots { "bot   " } else { "person" };
            let _ = write!(text, "\n  {who} | {}", line.text.replace('\n', "\n         | "));
            for (caption, _) in &line.buttons {
                let _ = write!(text, " [{caption}]");
            }
            for key in &line.keys {
                let _ = write!(text, " <{key}>");
            }
        }
        for toast in &self.toasts {
            let _ = write!(text, "\n  flash  | {toast}");
        }
        if text.is_empty() { "\n  (nothing was said)".to_owned() } else { text }
    }
}

impl Line {
    fn with_markup(mut self, body: &Value) -> Self {
        let markup = &body["reply_markup"];
        let rows = |field: &str| {
            markup[field].as_array().into_iter().flatten().flat_map(|row| row.as_array().into_iter().flatten())
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        self.buttons =
            rows("inline_keyboard").map(|button| (text(&button["text"]), text(&button["callback_data"]))).collect();
        self.keys = rows("keyboard").map(|key| text(&key["text"])).collect();
        self
    }
}

/// What a call shows in words.
fn words(method: &str, body: &Value) -> String {
    let text = body["text"].as_str().or(body["caption"].as_str()).unwrap_or_default();
    match method {
        "sendMessage" => text.to_owned(),
        _ => format!("({}) {text}", method.trim_start_matches("send").to_lowercase()).trim_end().to_owned(),
    }
}
