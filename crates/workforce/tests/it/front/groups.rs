//! In a group everybody reads along: whatever is of one person is told in that person's own chat, and nowhere else.

use serde_json::{Value, json};
use workforce::person::Status;

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS, Demo};
use crate::kit::firm::{Kind, on_databases};
use crate::registration::live::{gives_all_of, written};

on_databases! {
    [sqlite Sqlite, redis_and_postgres RedisAndPostgres]
    an_owner_sees_no_applicant_no_document_and_no_pay_in_a_group,
}

const VERA: i64 = 1003;
const PRIVATELY: &str = "Please write to me in private.";

async fn an_owner_sees_no_applicant_no_document_and_no_pay_in_a_group(kind: Kind) {
    let cabinet = Cabinet::open(kind).await;
    let emulator = &cabinet.emulator;
    emulator.post("/users", json!({"id": VERA, "first_name": "Vera", "language_code": "en"})).await;
    gives_all_of(emulator, VERA).await;
    emulator.hears(VERA, "Done! Your registration is being looked at.").await;
    let (_, documents) = written(&cabinet.app, VERA).await;
    let mark = format!("{VERA}:{}", &documents[0].id[..8]);
    let group = group_of(emulator, &[ANNA, BORIS]).await;
    // Buttons that the bot has put into the group before, or that somebody has forwarded there.
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
async fn start_in_a_group_leads_to_the_bots_own_chat() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let emulator = &cabinet.emulator;
    emulator.post("/users", json!({"id": VERA, "first_name": "Vera", "language_code": "en"})).await;
    let group = group_of(emulator, &[ANNA, VERA]).await;
    let name = emulator.bot("getMe", json!({})).await["result"]["username"].as_str().unwrap().to_owned();
    // An owner, and somebody who would be asked for a name, a phone and documents elsewhere.
    for (answers, who) in [(1, ANNA), (2, VERA)] {
        let command = json!({"from": who, "text": format!("/start@{name}")});
        emulator.post(&format!("/chats/{group}/send"), command).await;
        let said = answered(emulator, group, answers).await;
        assert!(said["text"].as_str().unwrap().contains(PRIVATELY), "{said}");
        let way = &said["reply_markup"]["inline_keyboard"][0][0];
        assert_eq!(way["url"], format!("https://t.me/{name}"), "{said}");
    }
    emulator.post(&format!("/chats/{group}/send"), json!({"from": ANNA, "text": "/me"})).await;
    let said = answered(emulator, group, 3).await;
    assert!(said["text"].as_str().unwrap().contains(PRIVATELY), "the roles of an owner are nobody's business: {said}");
    assert!(cabinet.app.people.by_telegram(VERA).await.unwrap().is_none());
    let statistics = cabinet.app.domain.store().statistics(None).await.unwrap();
    assert!(statistics.by_place.is_empty(), "no registration begins there: {:?}", statistics.by_place);
    cabinet.close().await;
}

#[tokio::test]
async fn nothing_is_told_or_changed_in_a_business_chat() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let emulator = &cabinet.emulator;
    emulator.post("/users", json!({"id": VERA, "first_name": "Vera", "language_code": "en"})).await;
    let mut update_id = 1;
    // An owner, and a stranger who would be asked for a name, a phone and documents elsewhere, each in a chat with an account
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
        .until("all of it is taken", async |it| (it.get("").await["pending_update_count"] == 0).then_some(()))
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
    assert!(statistics.by_place.is_empty(), "no registration begins there: {:?}", statistics.by_place);
    cabinet.close().await;
}

async fn group_of(emulator: &Demo, members: &[i64]) -> i64 {
    let group = json!({"type": "group", "title": "The team", "members": members});
    emulator.post("/chats", group).await["id"].as_i64().unwrap()
}

/// The last of so many messages of the bot.
async fn answered(emulator: &Demo, chat: i64, count: usize) -> Value {
    emulator
        .until("the bot answers in the group", async |emulator| {
            let messages = emulator.get(&format!("/chats/{chat}/messages?after=0&wait=0")).await;
            let mut own =
                messages.as_array()?.iter().filter(|one| one["from"]["is_bot"] == true && one["text"].is_string());
            own.nth(count - 1).cloned()
        })
        .await
}
