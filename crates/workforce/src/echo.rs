//! `--echo`: a bot that repeats its messages and shows every kind of button, to try the chat page.
//!
//! It talks to the emulator over HTTP like any other bot. It keeps no state: its counters are in the buttons.

use std::time::Duration;

use opora_emulator::Emulator;
use opora_emulator::token::Token;
use opora_emulator::world::user::User;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::texts::Language;

/// Not a secret: it opens only an emulator.
pub const TOKEN: &str = "7000000002:AAOporaEchoOporaEchoOporaEchoOpora2";
const POLL_SECONDS: u64 = 25;

/// Adds the bot and two people, and starts the bot.
pub fn begin(emulator: &Emulator, port: u16, language: Language) -> JoinHandle<()> {
    add_people(emulator, language);
    tokio::spawn(run(format!("http://127.0.0.1:{port}"), language))
}

/// Names the bot and adds its people; repeating it changes nothing.
fn add_people(emulator: &Emulator, language: Language) {
    let Some(bot) = Token::parse(TOKEN).and_then(|token| emulator.bot(&token)) else { return };
    let people = match language {
        Language::Ru => [("Анна", "Петрова", "anna_p"), ("Борис", "Ким", "boris_kim")],
        Language::En => [("Anna", "Peters", "anna_p"), ("Boris", "Kim", "boris_kim")],
    };
    let mut world = bot.world();
    world.me.username = Some("opora_echo_bot".into());
    world.me_changed();
    for (id, (first_name, last_name, username)) in (1001..).zip(people) {
        world.put_user(User {
            id,
            is_bot: false,
            first_name: first_name.into(),
            last_name: Some(last_name.into()),
            username: Some(username.into()),
            language_code: Some(language.code().into()),
        });
    }
}

/// A client for this process. A proxy from the environment could not reach it.
fn http() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap_or_default()
}

/// Polls forever; an error is logged and retried after a second.
async fn run(base: String, language: Language) {
    let bot = Echo { http: http(), url: format!("{base}/bot{TOKEN}"), texts: Texts::for_language(language) };
    if let Err(error) = bot.introduce().await {
        tracing::warn!(error = %error, "the echo bot could not introduce itself");
    }
    let mut offset = 0;
    loop {
        match bot.call("getUpdates", json!({"offset": offset, "timeout": POLL_SECONDS})).await {
            Ok(updates) => {
                for update in updates.as_array().into_iter().flatten() {
                    offset = update["update_id"].as_i64().unwrap_or(offset) + 1;
                    if let Err(error) = bot.handle(update).await {
                        tracing::warn!(%error, "the echo bot could not answer");
                    }
                }
            }
            Err(error) => {
                tracing::warn!(%error, "the echo bot could not poll; trying again");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

struct Echo {
    http: reqwest::Client,
    url: String,
    texts: &'static Texts,
}

impl Echo {
    async fn call(&self, method: &str, parameters: Value) -> anyhow::Result<Value> {
        let response = self.http.post(format!("{}/{method}", self.url)).json(&parameters).send().await?;
        let mut answer: Value = response.json().await?;
        anyhow::ensure!(answer["ok"] == true, "{method}: {}", answer["description"]);
        Ok(answer["result"].take())
    }

    async fn introduce(&self) -> anyhow::Result<()> {
        let texts = self.texts;
        let commands = json!([
            {"command": "start", "description": texts.start_command},
            {"command": "buttons", "description": texts.buttons_command},
            {"command": "keyboard", "description": texts.keyboard_command},
            {"command": "poll", "description": texts.poll_command},
        ]);
        self.call("setMyCommands", json!({"commands": commands})).await?;
        self.call("setMyName", json!({"name": texts.name})).await?;
        self.call("setMyDescription", json!({"description": texts.description})).await?;
        Ok(())
    }

    async fn handle(&self, update: &Value) -> anyhow::Result<()> {
        if let Some(query) = update.get("callback_query") {
            return self.handle_button(query).await;
        }
        let Some(message) = update.get("message") else {
            return Ok(());
        };
        let chat = &message["chat"]["id"];
        if let Some(text) = message["text"].as_str() {
            return self.handle_text(chat, text).await;
        }
        if let Some(photo) = message["photo"].as_array().and_then(|sizes| sizes.last()) {
            let parameters = json!({"chat_id": chat, "photo": photo["file_id"], "caption": self.texts.photo});
            return self.call("sendPhoto", parameters).await.map(drop);
        }
        if message.get("document").is_some() {
            let parameters = json!({"chat_id": chat, "document": message["document"]["file_id"]});
            return self.call("sendDocument", parameters).await.map(drop);
        }
        if let Some(contact) = message.get("contact") {
            let own = contact["user_id"] == message["from"]["id"];
            let thanks = if own { self.texts.own_contact } else { self.texts.other_contact };
            let text = format!("{thanks} {}", contact["phone_number"].as_str().unwrap_or_default());
            return self.say(chat, &text, json!({"remove_keyboard": true})).await;
        }
        if let Some(location) = message.get("location") {
            let text = format!("{} {}, {}", self.texts.location, location["latitude"], location["longitude"]);
            return self.say(chat, &text, json!({"remove_keyboard": true})).await;
        }
        Ok(())
    }

    async fn handle_text(&self, chat: &Value, text: &str) -> anyhow::Result<()> {
        let texts = self.texts;
        match text {
            "/start" => {
                let help = json!([[{"text": texts.more, "callback_data": "count:1"}]]);
                self.say(chat, texts.hello, json!({"inline_keyboard": help})).await
            }
            "/buttons" => {
                let rows = json!([
                    [{"text": texts.toast, "callback_data": "toast"}, {"text": texts.alert, "callback_data": "alert"}],
                    [{"text": texts.more, "callback_data": "count:1"}],
                ]);
                self.say(chat, texts.choose, json!({"inline_keyboard": rows})).await
            }
            "/keyboard" => {
                let rows = json!([
                    [{"text": texts.contact_button, "request_contact": true}],
                    [{"text": texts.location_button, "request_location": true}],
                    [{"text": texts.plain_button}],
                ]);
                self.say(chat, texts.choose, json!({"keyboard": rows, "resize_keyboard": true})).await
            }
            "/poll" => {
                let options = json!([{"text": texts.poll_yes}, {"text": texts.poll_no}]);
                let poll = json!({"chat_id": chat, "question": texts.poll_question, "options": options});
                self.call("sendPoll", poll).await.map(drop)
            }
            _ => {
                self.call("sendChatAction", json!({"chat_id": chat, "action": "typing"})).await?;
                self.say(chat, text, Value::Null).await
            }
        }
    }

    async fn handle_button(&self, query: &Value) -> anyhow::Result<()> {
        let data = query["data"].as_str().unwrap_or_default();
        let mut answer = match data {
            "toast" => json!({"text": self.texts.toast_answer}),
            "alert" => json!({"text": self.texts.alert_answer, "show_alert": true}),
            _ => json!({}),
        };
        answer["callback_query_id"] = query["id"].clone();
        self.call("answerCallbackQuery", answer).await?;
        let Some(count) = data.strip_prefix("count:").and_then(|count| count.parse::<u32>().ok()) else {
            return Ok(());
        };
        let next = json!([[{"text": self.texts.more, "callback_data": format!("count:{}", count + 1)}]]);
        let edit = json!({
            "chat_id": query["message"]["chat"]["id"], "message_id": query["message"]["message_id"],
            "text": format!("{} {count}", self.texts.pressed), "reply_markup": {"inline_keyboard": next},
        });
        self.call("editMessageText", edit).await.map(drop)
    }

    async fn say(&self, chat: &Value, text: &str, markup: Value) -> anyhow::Result<()> {
        let mut parameters = json!({"chat_id": chat, "text": text});
        if !markup.is_null() {
            parameters["reply_markup"] = markup;
        }
        self.call("sendMessage", parameters).await.map(drop)
    }
}

/// The bot's texts in one language.
struct Texts {
    name: &'static str,
    description: &'static str,
    start_command: &'static str,
    buttons_command: &'static str,
    keyboard_command: &'static str,
    poll_command: &'static str,
    hello: &'static str,
    choose: &'static str,
    more: &'static str,
    pressed: &'static str,
    toast: &'static str,
    toast_answer: &'static str,
    alert: &'static str,
    alert_answer: &'static str,
    contact_button: &'static str,
    location_button: &'static str,
    plain_button: &'static str,
    own_contact: &'static str,
    other_contact: &'static str,
    location: &'static str,
    photo: &'static str,
    poll_question: &'static str,
    poll_yes: &'static str,
    poll_no: &'static str,
}

impl Texts {
    fn for_language(language: Language) -> &'static Self {
        match language {
            Language::Ru => &RUSSIAN,
            Language::En => &ENGLISH,
        }
    }
}

static RUSSIAN: Texts = Texts {
    name: "Эхо",
    description: "Повторяет всё, что вы пришлёте: текст, фото, файл, контакт, место.",
    start_command: "Начать",
    buttons_command: "Кнопки под сообщением",
    keyboard_command: "Клавиатура: контакт и место",
    poll_command: "Опрос",
    hello: "Здравствуйте! Пришлите текст, фото или файл, и я верну их. Ещё есть /buttons, /keyboard и /poll.",
    choose: "Выберите кнопку.",
    more: "Нажать ещё",
    pressed: "Нажатий:",
    toast: "Подсказка",
    toast_answer: "Это подсказка",
    alert: "Окно",
    alert_answer: "Это окно: его закрывают кнопкой.",
    contact_button: "Отправить телефон",
    location_button: "Отправить место",
    plain_button: "Просто кнопка",
    own_contact: "Ваш телефон:",
    other_contact: "Это чужой телефон:",
    location: "Вы здесь:",
    photo: "Ваше фото",
    poll_question: "Всё понятно?",
    poll_yes: "Да",
    poll_no: "Пока нет",
};

static ENGLISH: Texts = Texts {
    name: "Echo",
    description: "Repeats whatever you send: text, photo, file, contact, place.",
    start_command: "Begin",
    buttons_command: "Buttons under a message",
    keyboard_command: "Keyboard: contact and place",
    poll_command: "Poll",
    hello: "Hello! Send a text, a photo or a file, and I return it. There are also /buttons, /keyboard and /poll.",
    choose: "Choose a button.",
    more: "Press again",
    pressed: "Presses:",
    toast: "Toast",
    toast_answer: "This is a toast",
    alert: "Alert",
    alert_answer: "This is an alert: a button closes it.",
    contact_button: "Send my phone",
    location_button: "Send my place",
    plain_button: "Just a button",
    own_contact: "Your phone:",
    other_contact: "Somebody else's phone:",
    location: "You are here:",
    photo: "Your photo",
    poll_question: "Is it all clear?",
    poll_yes: "Yes",
    poll_no: "Not yet",
};
