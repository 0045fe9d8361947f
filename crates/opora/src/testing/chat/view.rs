//! What people see: messages with buttons, and toasts.

use std::collections::HashMap;
use std::fmt::Write;

use serde_json::Value;

use super::run::json;
use crate::store::Outgoing;

/// The chats of a stage.
#[derive(Debug, Default)]
pub(super) struct ChatViews {
    views: HashMap<i64, ChatView>,
    labels: HashMap<(i64, Box<str>), i64>,
    /// The person whose button press is being answered.
    pub pressing: Option<i64>,
    people: i64,
    last_update_id: i64,
    last_message_id: i64,
}

#[derive(Debug, Default)]
pub(super) struct ChatView {
    pub lines: Vec<Line>,
    /// Lines from this index on came after the person's last action.
    pub answers_from: usize,
    pub toasts: Vec<String>,
}

/// A message.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    pub message_id: i64,
    pub is_from_bot: bool,
    /// The bot has edited it since the last action.
    pub is_edited: bool,
    pub text: String,
    /// Captions and data of the inline buttons.
    pub buttons: Vec<(String, String)>,
    /// Captions of the reply keyboard.
    pub keys: Vec<String>,
}

impl ChatViews {
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

    pub fn view(&mut self, chat: i64) -> &mut ChatView {
        self.views.entry(chat).or_default()
    }

    /// Records an action of a person. Later lines of the bot are the answer.
    pub fn person_acts(&mut self, chat: i64, text: String) -> i64 {
        let message_id = self.message_id();
        let view = self.view(chat);
        view.lines.push(Line { message_id, text, ..Line::default() });
        view.lines.iter_mut().for_each(|line| line.is_edited = false);
        view.answers_from = view.lines.len();
        view.toasts.clear();
        message_id
    }

    /// Shows calls of the bot. Returns the label that each has set.
    pub fn show(&mut self, calls: Vec<Outgoing>) -> Vec<Option<(i64, Box<str>, i64)>> {
        calls.into_iter().map(|call| self.show_one(&call)).collect()
    }

    fn show_one(&mut self, call: &Outgoing) -> Option<(i64, Box<str>, i64)> {
        let body = json(&call.body);
        if &*call.method == "answerCallbackQuery" {
            if let (Some(text), Some(chat)) = (body["text"].as_str(), self.pressing) {
                self.view(chat).toasts.push(text.to_owned());
            }
            return None;
        }
        let chat = call.chat.or(body["chat_id"].as_i64())?;
        let target = match &call.extras.edits_label {
            Some(label) => self.labels.get(&(chat, label.clone())).copied(),
            None => body["message_id"].as_i64(),
        };
        match &*call.method {
            "sendChatAction" => None,
            "deleteMessage" => {
                self.view(chat).remove(target);
                None
            }
            method if method.starts_with("editMessage") => {
                self.view(chat).edit(target, &body);
                None
            }
            method => {
                let message_id = self.message_id();
                let line = Line { message_id, is_from_bot: true, text: words(method, &body), ..Line::default() };
                self.view(chat).lines.push(line.with_markup(&body));
                let label = call.extras.label.clone()?;
                self.labels.insert((chat, label.clone()), message_id);
                Some((chat, label, message_id))
            }
        }
    }
}

impl ChatView {
    /// The lines that the bot has sent or edited since the last action.
    pub fn new_lines(&self) -> impl Iterator<Item = &Line> {
        self.lines
            .iter()
            .enumerate()
            .filter(|(index, line)| line.is_from_bot && (*index >= self.answers_from || line.is_edited))
            .map(|(_, line)| line)
    }

    fn edit(&mut self, target: Option<i64>, body: &Value) {
        if let Some(line) = self.lines.iter_mut().find(|line| Some(line.message_id) == target) {
            if let Some(text) = body["text"].as_str().or(body["caption"].as_str()) {
                text.clone_into(&mut line.text);
            }
            line.buttons.clear();
            line.is_edited = true;
            *line = std::mem::take(line).with_markup(body);
        }
    }

    fn remove(&mut self, target: Option<i64>) {
        if let Some(index) = self.lines.iter().position(|line| Some(line.message_id) == target) {
            self.lines.remove(index);
            self.answers_from -= usize::from(index < self.answers_from);
        }
    }

    /// The whole chat, for failed checks.
    pub fn transcript(&self) -> String {
        let mut text = String::new();
        for line in &self.lines {
            let speaker = if line.is_from_bot { "bot   " } else { "person" };
            let _ = write!(text, "\n  {speaker} | {}", line.text.replace('\n', "\n         | "));
            for (caption, _) in &line.buttons {
                let _ = write!(text, " [{caption}]");
            }
            for key in &line.keys {
                let _ = write!(text, " <{key}>");
            }
        }
        for toast in &self.toasts {
            let _ = write!(text, "\n  toast  | {toast}");
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

/// The text that a call shows.
fn words(method: &str, body: &Value) -> String {
    let text = body["text"].as_str().or(body["caption"].as_str()).unwrap_or_default();
    match method {
        "sendMessage" => text.to_owned(),
        _ => format!("({}) {text}", method.trim_start_matches("send").to_lowercase()).trim_end().to_owned(),
    }
}
