//! The world of the examples, as the introduction of the description defines it.

use opora_emulator::token::Token;
use opora_testkit::pictures::PIXEL_PNG;
use serde_json::json;

use super::document::Document;
use crate::stage::{Stage, base64};

const ANNA: i64 = 1001;
const CREW: i64 = -1_001_234_567_890;

/// A stage for one example, and the id of a file in it.
pub async fn of_the_examples(document: &Document) -> (Stage, String) {
    let mut stage = Stage::new().await;
    stage.token = document.json["components"]["parameters"]["Token"]["example"].as_str().unwrap().to_owned();
    let bot = stage.emulator.bot(&Token::parse(&stage.token).unwrap()).unwrap();
    bot.world().queue.set_next_id(700_000_001);
    for (id, name) in [(ANNA, "Anna"), (1002, "Boris"), (1003, "Carl")] {
        stage.post("/users", json!({"id": id, "first_name": name})).await;
    }
    let keyboard = json!({"inline_keyboard": [[{"text": "Confirm", "callback_data": "confirm:42"}]]});
    stage.call("sendMessage", json!({"chat_id": ANNA, "text": "Shift 42?", "reply_markup": keyboard})).await;
    stage.call("sendPoll", json!({"chat_id": ANNA, "question": "When?", "options": ["Noon", "Eight"]})).await;
    stage.says(ANNA, "See you at eight").await;
    let photo = json!({"name": "shelf.png", "base64": base64(PIXEL_PNG)});
    let photo = stage.post("/chats/1001/send", json!({"from": ANNA, "photo": photo})).await;
    let crew = json!({"type": "supergroup", "title": "Crew", "is_forum": true, "members": [ANNA, 1002], "id": CREW});
    stage.post("/chats", crew).await;
    stage.post("/chats", json!({"type": "group", "title": "Van", "members": [ANNA, 1002], "id": -4001})).await;
    stage.post("/faults", json!({"method": "getMe", "status": 500})).await;
    let file_id = photo["photo"][0]["file_id"].as_str().unwrap().to_owned();
    (stage, file_id)
}

/// Makes every kind of event happen; that the bot is forgotten comes last.
pub async fn everything_happens(stage: &Stage) {
    stage.post("/users", json!({"first_name": "Dora"})).await;
    stage.call("sendChatAction", json!({"chat_id": ANNA, "action": "typing"})).await;
    stage.call("editMessageText", json!({"chat_id": ANNA, "message_id": 1, "text": "Shift 43?"})).await;
    let press = json!({"from": ANNA, "message_id": 1, "data": "confirm:42", "wait": 0});
    let press = stage.post("/chats/1001/press", press).await;
    stage.call("answerCallbackQuery", json!({"callback_query_id": press["callback_query_id"]})).await;
    let reaction = json!([{"type": "emoji", "emoji": "👍"}]);
    stage.post("/chats/1001/react", json!({"from": ANNA, "message_id": 1, "reaction": reaction})).await;
    stage.call("pinChatMessage", json!({"chat_id": ANNA, "message_id": 1})).await;
    stage.call("deleteMessage", json!({"chat_id": ANNA, "message_id": 1})).await;
    stage.call("setMyDescription", json!({"description": "Plans shifts"})).await;
    stage.updates(0).await;
    stage.call("setWebhook", json!({"url": "http://127.0.0.1:9/hook"})).await;
    stage.post("/faults", json!({"updates": "duplicate"})).await;
    stage.post("/hints", json!({"links": [{"text": "Dashboard", "url": "/"}]})).await;
    stage.post("/clock", json!({"advance_seconds": 1})).await;
    stage.people(reqwest::Method::DELETE, "", None).await;
}
