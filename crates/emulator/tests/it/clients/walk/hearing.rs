//! What a bot says, in the order it says it, and what it changes afterwards.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout;

use crate::stage::{PATIENCE, Stage};

/// An interpreter on a busy machine takes its time to load a library.
const PATIENCE_AT_FIRST: Duration = Duration::from_secs(60);

#[derive(Default)]
pub struct Hearing {
    chats: HashMap<i64, Heard>,
    woken: bool,
    /// What was said to the bot last, to be told where no answer comes.
    pub asked: String,
}

#[derive(Default)]
struct Heard {
    revision: u64,
    last_message_id: i64,
    said: VecDeque<Value>,
    edited: HashMap<i64, Value>,
}

impl Hearing {
    /// The bot's next message in a chat.
    pub async fn next(&mut self, stage: &Stage, chat: i64) -> Value {
        self.wait(stage, chat, |heard| heard.said.pop_front()).await
    }

    /// The next state of a message of the bot that it edits.
    pub async fn edited(&mut self, stage: &Stage, chat: i64, message_id: i64) -> Value {
        self.wait(stage, chat, |heard| heard.edited.remove(&message_id)).await
    }

    async fn wait(&mut self, stage: &Stage, chat: i64, take: impl Fn(&mut Heard) -> Option<Value>) -> Value {
        let heard = self.chats.entry(chat).or_default();
        let patience = if self.woken { PATIENCE } else { PATIENCE_AT_FIRST };
        let waiting = async {
            loop {
                if let Some(message) = take(heard) {
                    return message;
                }
                heard.listen(stage, chat, patience).await;
            }
        };
        let found = timeout(patience, waiting).await;
        self.woken = true;
        found.unwrap_or_else(|_| panic!("the bot says nothing more in chat {chat} after {}", self.asked))
    }
}

impl Heard {
    async fn listen(&mut self, stage: &Stage, chat: i64, patience: Duration) {
        let (token, revision, seconds) = (&stage.token, self.revision, patience.as_secs());
        let url = format!("{}/client/{token}/chats/{chat}/messages?revision={revision}&wait={seconds}", stage.base);
        let response = stage.http.get(url).send().await.unwrap();
        self.revision = response.headers()["opora-revision"].to_str().unwrap().parse().unwrap();
        let mut messages: Vec<Value> = response.json().await.unwrap();
        messages.sort_by_key(|message| message["message_id"].as_i64());
        for message in messages {
            let id = message["message_id"].as_i64().unwrap();
            let (new, edited) = (id > self.last_message_id, message["edit_date"].is_i64());
            self.last_message_id = self.last_message_id.max(id);
            if message["from"]["is_bot"] == false {
                continue;
            }
            // A message that was edited before anybody looked counts as both.
            if edited {
                self.edited.insert(id, message.clone());
            }
            if new {
                self.said.push_back(message);
            }
        }
    }
}
