//! All members of a group read along, so personal data is shown only in the person's private chat.

use serde_json::{Value, json};
use workforce::person::Status;

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS, Demo};
use crate::kit::firm::{StorageKind, on_databases};
use crate::registration::in_process::{complete_registration, registration_of};

on_databases! {
    [sqlite Sqlite, redis_and_postgres RedisAndPostgres]
    owner_buttons_are_refused_in_a_group,
}

const VERA: i64 = 1003;
const PRIVATELY: &str = "Please write to me in private.";

async fn owner_buttons_are_refused_in_a_group(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    let emulator = &cabinet.emulator;
    emulator.post("/users", json!({"id": VERA, "first_name": "Vera", "language_code": "en"})).await;
    complete_registration(emulator, VERA).await;
    emulator.receives(VERA, "Done! Your registration is awaiting approval.").await;
    let (_, documents) = registration_of(&cabinet.app, VERA).await;
    let mark = format!("{VERA}:{}", &documents[0].id[..8]);
    let group = group_of(emulator, &[ANNA, BORIS]).await;
    // Buttons that the bot posted in the group earlier, or that a member forwarded there.
    let offered = json!([[{"text": "Registrations", "callback_data": "reg:waiting"}]]);
    let menu = json!({"chat_id": group, "text": "A menu", "reply_markup": {"inline_keyboard": offered}});
    let menu = emulator.bot("sendMessage", menu).await["result"]["message_id"].clone();
    for data in [
        "reg:waiting",
        &format!("reg:papers:{mark}"),
        &format!("reg:approve:{mark}"),
        &format!("reg:reject:{mark}"),
        "pay:mine:",
        "pay:report",
        "owner:today",
        "owner:sites",
        "menu",
        "cabinet",
    ] {
        let press = json!({"from": ANNA, "message_id": menu, "data": data});
        let answer = emulator.post(&format!("/chats/{group}/press"), press).await;
        let words = answer["text"].as_str().unwrap_or_default();
        assert!(words.contains(PRIVATELY), "{data}: {answer}");
    }
    assert_eq!(emulator.texts(group).await, ["A menu"], "nothing was said there");
    assert_eq!(cabinet.person(VERA).await.status, Status::Pending, "nothing was decided there");
    cabinet.close().await;
}

#[tokio::test]
async fn start_in_a_group_links_to_the_private_chat() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let emulator = &cabinet.emulator;
    emulator.post("/users", json!({"id": VERA, "first_name": "Vera", "language_code": "en"})).await;
    let group = group_of(emulator, &[ANNA, VERA]).await;
    let name = emulator.bot("getMe", json!({})).await["result"]["username"].as_str().unwrap().to_owned();
    // An owner, and a newcomer who would be asked for personal data in a private chat.
    for (answers, who) in [(1, ANNA), (2, VERA)] {
        let command = json!({"from": who, "text": format!("/start@{name}")});
        emulator.post(&format!("/chats/{group}/send"), command).await;
        let said = wait_for_answer(emulator, group, answers).await;
        assert!(said["text"].as_str().unwrap().contains(PRIVATELY), "{said}");
        let way = &said["reply_markup"]["inline_keyboard"][0][0];
        assert_eq!(way["url"], format!("https://t.me/{name}"), "{said}");
    }
    emulator.post(&format!("/chats/{group}/send"), json!({"from": ANNA, "text": "/me"})).await;
    let said = wait_for_answer(emulator, group, 3).await;
    assert!(said["text"].as_str().unwrap().contains(PRIVATELY), "roles are not shown in a group: {said}");
    assert!(cabinet.app.people.by_telegram(VERA).await.unwrap().is_none());
    let statistics = cabinet.app.domain.store().statistics(None).await.unwrap();
    assert!(statistics.by_state.is_empty(), "a registration has begun: {:?}", statistics.by_state);
    cabinet.close().await;
}

#[tokio::test]
async fn business_chats_are_ignored() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let emulator = &cabinet.emulator;
    emulator.post("/users", json!({"id": VERA, "first_name": "Vera", "language_code": "en"})).await;
    let mut update_id = 1;
    // An owner, and a newcomer who would be asked for personal data in a private chat, each in a chat with an account
    // that has connected the bot.
    for (who, name) in [(ANNA, "Anna"), (VERA, "Vera")] {
        let from = json!({"id": who, "is_bot": false, "first_name": name, "language_code": "en"});
        let message = |text: &str| {
            json!({"message_id": 7, "date": 1, "chat": {"id": who, "type": "private", "first_name": name}, "from": from,
                "business_connection_id": "connection", "text": text})
        };
        let said =
            ["/start", "/me", "/help", "/cancel", "/language", "hello"].map(|text| ("business_message", message(text)));
        let pressed = ["menu", "owner:today", "reg:waiting", "pay:mine:", "language:ru"].map(|data| {
            let press = json!({"id": format!("{who}{data}"), "from": from, "chat_instance": "1", "data": data,
                "message": message("A menu")});
            ("callback_query", press)
        });
        for (kind, content) in said.into_iter().chain(pressed) {
            update_id += 1;
            emulator.post("/replay", json!({"update": {"update_id": update_id, kind: content}})).await;
        }
    }
    emulator
        .until("all updates are processed", async |it| (it.get("").await["pending_update_count"] == 0).then_some(()))
        .await;
    for who in [ANNA, VERA] {
        emulator.says(who, "/language").await;
        emulator.until("the bot answers", async |it| (it.texts(who).await.len() == 2).then_some(())).await;
    }
    let log = emulator.get("/log?limit=1000").await;
    let calls = log.as_array().unwrap().iter().filter(|entry| entry.to_string().contains("connection"));
    let sent: Vec<_> =
        calls.filter(|entry| entry["method"].as_str().is_some_and(|it| it.starts_with("send"))).collect();
    assert_eq!(sent, Vec::<&Value>::new());
    assert!(cabinet.app.people.by_telegram(VERA).await.unwrap().is_none());
    let statistics = cabinet.app.domain.store().statistics(None).await.unwrap();
    assert!(statistics.by_state.is_empty(), "a registration has begun: {:?}", statistics.by_state);
    cabinet.close().await;
}

async fn group_of(emulator: &Demo, members: &[i64]) -> i64 {
    let group = json!({"type": "group", "title": "The team", "members": members});
    emulator.post("/chats", group).await["id"].as_i64().unwrap()
}

/// Waits for the bot's nth message in a chat.
async fn wait_for_answer(emulator: &Demo, chat: i64, count: usize) -> Value {
    emulator
        .until("the bot answers in the group", async |emulator| {
            let messages = emulator.get(&format!("/chats/{chat}/messages?after=0&wait=0")).await;
            let mut own =
                messages.as_array()?.iter().filter(|one| one["from"]["is_bot"] == true && one["text"].is_string());
            own.nth(count - 1).cloned()
        })
        .await
}
