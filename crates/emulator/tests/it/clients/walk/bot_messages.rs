//! Messages and edits of a bot, in the order in which they arrive.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout;

use crate::stage::{Stage, TIMEOUT};

/// An interpreter on a busy machine is slow to load a library.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Default)]
pub struct BotMessages {
    chats: HashMap<i64, ChatMessages>,
    is_started: bool,
    /// The last input of the bot, for the message of a failed test.
    pub last_input: String,
}

#[derive(Default)]
struct ChatMessages {
    revision: u64,
    last_message_id: i64,
    new: VecDeque<Value>,
    edited: HashMap<i64, Value>,
}

impl BotMessages {
    /// The bot's next message in a chat.
    pub async fn next(&mut self, stage: &Stage, chat: i64) -> Value {
        self.wait(stage, chat, |messages| messages.new.pop_front()).await
    }

    /// The next edited version of a message of the bot.
    pub async fn edited(&mut self, stage: &Stage, chat: i64, message_id: i64) -> Value {
        self.wait(stage, chat, |messages| messages.edited.remove(&message_id)).await
    }

    async fn wait(&mut self, stage: &Stage, chat: i64, take: impl Fn(&mut ChatMessages) -> Option<Value>) -> Value {
        let messages = self.chats.entry(chat).or_default();
        let wait = if self.is_started { TIMEOUT } else { STARTUP_TIMEOUT };
        let waiting = async {
            loop {
                if let Some(message) = take(messages) {
                    return message;
                }
                messages.fetch(stage, chat, wait).await;
            }
        };
        let found = timeout(wait, waiting).await;
        self.is_started = true;
        found.unwrap_or_else(|_| panic!("no more messages of the bot in chat {chat} after {}", self.last_input))
    }
}

impl ChatMessages {
    async fn fetch(&mut self, stage: &Stage, chat: i64, wait: Duration) {
        let (token, revision, seconds) = (&stage.token, self.revision, wait.as_secs());
        let url = format!("{}/client/{token}/chats/{chat}/messages?revision={revision}&wait={seconds}", stage.base);
        let response = stage.http.get(url).send().await.unwrap();
        self.revision = response.headers()["opora-revision"].to_str().unwrap().parse().unwrap();
        let mut messages: Vec<Value> = response.json().await.unwrap();
        messages.sort_by_key(|message| message["message_id"].as_i64());
        for message in messages {
            let id = message["message_id"].as_i64().unwrap();
            let (is_new, is_edited) = (id > self.last_message_id, message["edit_date"].is_i64());
            self.last_message_id = self.last_message_id.max(id);
            if message["from"]["is_bot"] == false {
                continue;
            }
            // A message that was edited before it was fetched counts as both.
            if is_edited {
                self.edited.insert(id, message.clone());
            }
            if is_new {
                self.new.push_back(message);
            }
        }
    }
}
