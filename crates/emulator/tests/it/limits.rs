//! Telegram's limits: on sending where they are switched on, on sizes always.

use opora_emulator::{Limits, Settings};
use serde_json::json;

use crate::stage::Stage;

async fn limited() -> Stage {
    Stage::with(Settings { limits: Limits::Telegram, ..Settings::default() }).await
}

#[tokio::test]
async fn a_chat_takes_a_burst_and_then_one_a_second() {
    let stage = limited().await;
    let (anna, ben) = (stage.person("Anna").await, stage.person("Ben").await);
    for _ in 0..3 {
        stage.call("sendMessage", json!({"chat_id": anna, "text": "x"})).await;
    }
    let (status, answer) = stage.answer("sendMessage", json!({"chat_id": anna, "text": "x"})).await;
    assert_eq!((status, &answer["parameters"]["retry_after"]), (429, &json!(1)));
    // Another chat does not wait for this one, and edits are not counted.
    stage.call("sendMessage", json!({"chat_id": ben, "text": "x"})).await;
    stage.call("editMessageText", json!({"chat_id": anna, "message_id": 1, "text": "y"})).await;
    stage.post("/clock", json!({"advance_seconds": 1})).await;
    stage.call("sendMessage", json!({"chat_id": anna, "text": "x"})).await;
}

#[tokio::test]
async fn a_group_takes_twenty_a_minute() {
    let stage = limited().await;
    let anna = stage.person("Anna").await;
    let group = json!({"type": "group", "title": "Crew", "members": [anna], "username": "our_crew"});
    let group = stage.post("/chats", group).await["id"].clone();
    for _ in 0..10 {
        stage.call("sendMessage", json!({"chat_id": group, "text": "x"})).await;
        stage.call("sendMessage", json!({"chat_id": "@our_crew", "text": "x"})).await;
    }
    let (status, _) = stage.refused("sendMessage", json!({"chat_id": group, "text": "x"})).await;
    assert_eq!(status, 429);
    stage.post("/clock", json!({"advance_seconds": 61})).await;
    stage.call("sendMessage", json!({"chat_id": group, "text": "x"})).await;
}

#[tokio::test]
async fn all_chats_together_take_thirty_a_second() {
    let stage = limited().await;
    let mut people = Vec::new();
    for number in 0..60 {
        people.push(stage.person(&format!("Person {number}")).await);
    }
    let mut refused = 0;
    for person in people {
        let (status, _) = stage.answer("sendMessage", json!({"chat_id": person, "text": "x"})).await;
        refused += usize::from(status == 429);
    }
    // The sends themselves take a moment, in which a few more are allowed.
    assert!((10..=30).contains(&refused), "{refused} of 60 refused");
}

#[tokio::test]
async fn without_the_switch_nothing_is_refused() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    for _ in 0..100 {
        stage.call("sendMessage", json!({"chat_id": anna, "text": "x"})).await;
    }
}

#[tokio::test]
async fn texts_captions_and_buttons_have_their_limits() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let text = |text: String| json!({"chat_id": anna, "text": text});
    stage.call("sendMessage", text("я".repeat(4096))).await;
    let too_long = (400, "Bad Request: message is too long".to_owned());
    assert_eq!(stage.refused("sendMessage", text("я".repeat(4097))).await, too_long);
    // An emoji counts as two.
    assert_eq!(stage.refused("sendMessage", text("😀".repeat(2049))).await, too_long);
    // Tags do not count.
    let html = json!({"chat_id": anna, "text": "<b>x</b>".repeat(1000), "parse_mode": "HTML"});
    stage.call("sendMessage", html).await;
    let empty = (400, "Bad Request: message text is empty".to_owned());
    assert_eq!(stage.refused("sendMessage", text(" \n ".into())).await, empty);
    let button = json!({"inline_keyboard": [[{"text": "x", "callback_data": "d".repeat(65)}]]});
    let invalid = (400, "Bad Request: BUTTON_DATA_INVALID".to_owned());
    let with_button = json!({"chat_id": anna, "text": "x", "reply_markup": button});
    assert_eq!(stage.refused("sendMessage", with_button).await, invalid);
}

#[tokio::test]
async fn a_callback_answer_is_limited_in_length_and_time() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    stage.call("sendMessage", json!({"chat_id": anna, "text": "x"})).await;
    let press = json!({"from": anna, "message_id": 1, "data": "go", "wait": 0});
    let id = stage.post(&format!("/chats/{anna}/press"), press).await["callback_query_id"].clone();
    let long = json!({"callback_query_id": id, "text": "x".repeat(201)});
    assert_eq!(stage.refused("answerCallbackQuery", long).await, (400, "Bad Request: MESSAGE_TOO_LONG".into()));
    stage.call("answerCallbackQuery", json!({"callback_query_id": id})).await;
    let gone = "Bad Request: query is too old and response timeout expired or query ID is invalid";
    let again = json!({"callback_query_id": id});
    assert_eq!(stage.refused("answerCallbackQuery", again).await, (400, gone.into()));
}

#[tokio::test]
async fn waiting_updates_expire() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    stage.says(anna, "hello").await;
    stage.call("sendMessage", json!({"chat_id": anna, "text": "x"})).await;
    let press = json!({"from": anna, "message_id": 2, "data": "go", "wait": 0});
    stage.post(&format!("/chats/{anna}/press"), press).await;
    assert_eq!(stage.updates(0).await.len(), 2);
    stage.post("/clock", json!({"advance_seconds": 151})).await;
    let left = stage.updates(0).await;
    assert_eq!((left.len(), &left[0]["message"]["text"]), (1, &json!("hello")));
    stage.post("/clock", json!({"advance_seconds": 24 * 3600})).await;
    assert!(stage.updates(0).await.is_empty());
}
