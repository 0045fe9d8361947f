//! The walk: a person takes a bot through everything it can do, step by step, for any client library.
//!
//! Each step sends something and checks the answer. At the end the log of calls must show no parameter that Telegram
//! does not have, and no failure that the walk did not provoke.

mod bot_messages;
mod groups;
mod media;
pub mod refusals;
mod talk;

use serde_json::{Value, json};

use self::bot_messages::BotMessages;
use super::bot::Bot;
use super::library::{self, Library};
use crate::stage::Stage;

const SECRET: &str = "only-Telegram_knows";

/// How the bot gets its updates.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Polling,
    Webhook,
}

pub struct Walk {
    stage: Stage,
    bot_messages: BotMessages,
    library: &'static Library,
    transport: Transport,
    bot: Bot,
    anna: i64,
    boris: i64,
}

/// All steps, from start to a clean end.
pub async fn whole(library: &'static Library, transport: Transport) {
    let mut walk = Walk::begin(library, transport).await;
    talk::greeting(&mut walk).await;
    talk::sharing(&mut walk).await;
    talk::formatting(&mut walk).await;
    talk::editing_and_reacting(&mut walk).await;
    talk::tidying(&mut walk).await;
    talk::voting(&mut walk).await;
    media::photo(&mut walk).await;
    media::document(&mut walk).await;
    refusals::limit(&mut walk).await;
    refusals::all(&mut walk).await;
    groups::unblocking(&mut walk).await;
    groups::group(&mut walk).await;
    if transport == Transport::Webhook {
        forging(&mut walk).await;
    }
    walk.end().await;
}

/// The library refuses updates without the secret.
async fn forging(walk: &mut Walk) {
    let url = walk.stage.get("").await["webhook"]["url"].as_str().unwrap().to_owned();
    let forged = json!({"update_id": 1, "message": {
        "message_id": 1, "date": 1, "text": "/start",
        "chat": {"id": walk.anna, "type": "private", "first_name": "Anna"},
        "from": {"id": walk.anna, "is_bot": false, "first_name": "Mallory"},
    }});
    let request = walk.stage.http.post(url).json(&forged);
    let request = request.header("x-telegram-bot-api-secret-token", "a-guess");
    assert_eq!(request.send().await.unwrap().status(), 401);
    // The bot answers the next message only, so it dropped the forged update.
    walk.says("Nothing special here").await;
    assert_eq!(walk.text().await, "none");
}

impl Walk {
    pub async fn begin(library: &'static Library, transport: Transport) -> Self {
        let stage = Stage::new().await;
        let (anna, boris) = (stage.person("Anna").await, stage.person("Boris").await);
        let mut command = (library.command)();
        command.env("TOKEN", &stage.token).env("API_URL", &stage.base).env("PICTURE", library::path("picture.png"));
        command.env("HTML", talk::HTML).env("MARKDOWN", talk::MARKDOWN);
        if transport == Transport::Webhook {
            command.env("SECRET", SECRET);
        }
        let bot = Bot::start(&mut command);
        Self { stage, bot_messages: BotMessages::default(), library, transport, bot, anna, boris }
    }

    /// Anna sends a text in her private chat; returns the id of the message.
    async fn says(&mut self, text: &str) -> i64 {
        self.sends(json!({"text": text})).await["message_id"].as_i64().unwrap()
    }

    /// Anna sends anything in her private chat.
    async fn sends(&mut self, mut what: Value) -> Value {
        self.bot_messages.last_input = format!("{:.80}", what.to_string());
        what["from"] = self.anna.into();
        self.stage.post(&format!("/chats/{}/send", self.anna), what).await
    }

    /// The bot's next message to Anna.
    async fn next(&mut self) -> Value {
        self.next_in(self.anna).await
    }

    /// The text of the bot's next message to Anna.
    async fn text(&mut self) -> String {
        text_of(&self.next().await)
    }

    async fn next_in(&mut self, chat: i64) -> Value {
        tokio::select! {
            message = self.bot_messages.next(&self.stage, chat) => message,
            status = self.bot.ended() => panic!("the bot ended with {status}"),
        }
    }

    /// Waits for a message to Anna to be edited.
    async fn edited(&mut self, message_id: i64) -> Value {
        tokio::select! {
            message = self.bot_messages.edited(&self.stage, self.anna, message_id) => message,
            status = self.bot.ended() => panic!("the bot ended with {status}"),
        }
    }

    /// What the bot called so far, oldest first.
    async fn calls(&self) -> Vec<Value> {
        let log = self.stage.get("/log?limit=100000").await;
        log.as_array().unwrap().iter().filter(|entry| entry["event"] == "call").cloned().collect()
    }

    async fn end(self) {
        let calls = self.calls().await;
        let polled = calls.iter().any(|call| is(call, "getUpdates"));
        assert_eq!(polled, self.transport == Transport::Polling, "a bot polls exactly if it has no webhook");
        // With a webhook the chat action may be the answer to a post, and arrive after the message sent with it.
        let acted = calls.iter().any(|call| is(call, "sendChatAction") && call["status"] == 200);
        assert!(acted, "no chat action");
        let webhook = &self.stage.get("").await["webhook"];
        assert_eq!(webhook.get("last_error_message"), None, "{webhook}");
        for call in &calls {
            for complaint in call["complaints"].as_array().unwrap() {
                let known = self.library.superfluous.iter().any(|(known, _)| complaint == known);
                assert!(known, "{} sent what Telegram does not know: {call:#}", self.library.name);
            }
        }
        for call in calls.iter().filter(|call| call["status"] != 200) {
            assert!(refusals::is_provoked(call), "{}: {call:#}", self.library.name);
        }
        self.bot.stop().await;
    }
}

/// Whether a call is of a method. teloxide capitalises the name, which Telegram accepts.
fn is(call: &Value, method: &str) -> bool {
    call["method"].as_str().unwrap().eq_ignore_ascii_case(method)
}

fn text_of(message: &Value) -> String {
    message["text"].as_str().unwrap_or_else(|| panic!("no text: {message:#}")).to_owned()
}
