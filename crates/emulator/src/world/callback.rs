//! Presses of inline buttons that wait for the bot's answer.

use std::collections::HashMap;

use serde::Serialize;
use tokio::sync::oneshot;

/// How long an answer is accepted. After that the query is "too old".
const ANSWER_TTL_MS: i64 = 15 * 60 * 1000;

/// What the bot answered to a press.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Answer {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    pub show_alert: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    pub cache_time: u32,
}

/// A press that waits for its answer.
#[derive(Debug)]
pub struct Press {
    pub user: i64,
    pub chat: i64,
    pub message: i32,
    pressed_ms: i64,
    answer_sender: Option<oneshot::Sender<Answer>>,
}

#[derive(Debug, Default)]
pub struct Presses {
    open: HashMap<u64, Press>,
}

impl Presses {
    /// Adds a press; the receiver gets its answer.
    pub fn add(&mut self, user: i64, chat: i64, message: i32, now_ms: i64) -> (u64, oneshot::Receiver<Answer>) {
        // Old presses are removed only now and then, because that visits all presses.
        if self.open.len().is_power_of_two() {
            self.open.retain(|_, press| now_ms < press.pressed_ms + ANSWER_TTL_MS);
        }
        let (sender, receiver) = oneshot::channel();
        let mut id = fastrand::u64(1 << 60..1 << 63);
        while self.open.contains_key(&id) {
            id += 1;
        }
        self.open.insert(id, Press { user, chat, message, pressed_ms: now_ms, answer_sender: Some(sender) });
        (id, receiver)
    }

    /// Passes on the bot's answer; none if the query is unknown, answered or too old.
    pub fn answer(&mut self, id: &str, answer: &Answer, now_ms: i64) -> Option<Press> {
        let id = id.parse().ok()?;
        let mut press = self.open.remove(&id)?;
        if now_ms >= press.pressed_ms + ANSWER_TTL_MS {
            return None;
        }
        if let Some(answer_sender) = press.answer_sender.take() {
            // The client may have stopped waiting.
            let _ = answer_sender.send(answer.clone());
        }
        Some(press)
    }
}
