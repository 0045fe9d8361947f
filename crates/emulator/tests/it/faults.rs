//! Faults apply as requested, and lose no updates.

use std::time::Instant;

use opora_emulator::token::Token;
use opora_emulator::world::queue::{Lane, QueuedUpdate};
use opora_emulator::world::update::UpdateKind;
use serde_json::{Value, json};

use crate::stage::{Stage, base64};

fn texts(updates: &[Value]) -> Vec<&str> {
    updates.iter().map(|update| update["message"]["text"].as_str().unwrap()).collect()
}

/// Sends a request and reads its whole answer; a connection may be cut at any point of it.
async fn read(request: reqwest::RequestBuilder) -> reqwest::Result<bytes::Bytes> {
    request.send().await?.bytes().await
}

/// Polls like a bot, confirming what came, until nothing comes.
async fn all_texts(stage: &Stage) -> Vec<String> {
    let (mut offset, mut all) = (0, Vec::new());
    for _ in 0..10 {
        let updates = stage.updates(offset).await;
        if updates.is_empty() {
            return all;
        }
        all.extend(texts(&updates).into_iter().map(str::to_owned));
        offset = updates.last().unwrap()["update_id"].as_i64().unwrap() + 1;
    }
    panic!("there is no end to it: {all:?}");
}

#[tokio::test]
async fn calls_fail_as_often_as_asked_and_have_no_effect() {
    let stage = Stage::new().await;
    let (anna, ben) = (stage.person("Anna").await, stage.person("Ben").await);
    let order =
        json!({"method": "sendMessage", "chat_id": anna, "times": 2, "status": 502, "description": "Bad Gateway"});
    assert_eq!(stage.post("/faults", order).await["left"], 2);
    let message = |to: i64| json!({"chat_id": to, "text": "hello"});
    assert_eq!(stage.refused("sendMessage", message(anna)).await, (502, "Bad Gateway".into()));
    stage.call("sendMessage", message(ben)).await;
    assert_eq!(stage.get("/faults").await[0]["left"], 1);
    assert_eq!(stage.refused("sendmessage", message(anna)).await.0, 502);
    assert_eq!(stage.call("sendMessage", message(anna)).await["message_id"], 1);
    assert_eq!(stage.get("/faults").await, json!([]));
}

#[tokio::test]
async fn a_429_says_how_long_to_wait() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    stage.post("/faults", json!({"retry_after": 7})).await;
    let (status, answer) = stage.answer("sendMessage", json!({"chat_id": anna, "text": "x"})).await;
    assert_eq!(status, 429);
    assert_eq!(answer["parameters"]["retry_after"], 7);
    assert_eq!(answer["description"], "Too Many Requests: retry after 7");
}

#[tokio::test]
async fn a_connection_is_cut_before_or_after_the_effect() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let url = format!("{}/bot{}/sendMessage", stage.base, stage.token);
    for (cut, said) in [("before", 0), ("after", 1)] {
        stage.post("/faults", json!({"method": "sendMessage", "cut": cut})).await;
        let call = stage.http.post(&url).json(&json!({"chat_id": anna, "text": cut}));
        assert!(read(call).await.is_err(), "the connection should have been cut");
        assert_eq!(stage.get(&format!("/chats/{anna}/messages")).await.as_array().unwrap().len(), said);
    }
}

#[tokio::test]
async fn an_answer_can_be_delayed() {
    let stage = Stage::new().await;
    stage.post("/faults", json!({"method": "getMe", "delay_ms": 300})).await;
    let started = Instant::now();
    stage.call("getMe", json!({})).await;
    assert!(started.elapsed().as_millis() >= 300);
}

#[tokio::test]
async fn an_update_comes_twice_under_one_id() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    stage.post("/faults", json!({"updates": "duplicate"})).await;
    stage.says(anna, "twice").await;
    stage.says(anna, "once").await;
    let updates = stage.updates(0).await;
    assert_eq!(texts(&updates), ["twice", "twice", "once"]);
    assert_eq!(updates[0]["update_id"], updates[1]["update_id"]);
}

#[tokio::test]
async fn updates_are_reordered() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    stage.says(anna, "one").await;
    stage.post("/faults", json!({"updates": "reorder"})).await;
    for text in ["two", "three", "four"] {
        stage.says(anna, text).await;
    }
    assert_eq!(all_texts(&stage).await, ["one", "three", "two", "four"]);
}

#[tokio::test]
async fn updates_are_reordered_for_a_waiting_bot() {
    let stage = Stage::new().await;
    let (anna, ben) = (stage.person("Anna").await, stage.person("Ben").await);
    let order = json!({"updates": "reorder", "chat_id": anna, "delay_ms": 600_000, "times": 2});
    stage.post("/faults", order).await;
    let talk = async {
        for (who, text) in [(anna, "one"), (ben, "other"), (anna, "two"), (anna, "three"), (anna, "four")] {
            stage.says(who, text).await;
        }
    };
    let (came, ()) = tokio::join!(texts_as_they_come(&stage, 5), talk);
    assert_eq!(came, ["other", "two", "one", "four", "three"]);
}

#[tokio::test]
async fn a_held_update_comes_even_if_none_overtakes_it() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    stage.post("/faults", json!({"updates": "reorder", "delay_ms": 50})).await;
    stage.says(anna, "alone").await;
    assert_eq!(texts_as_they_come(&stage, 1).await, ["alone"]);
}

/// Polls with a timeout and takes one update at a time, until `count` have arrived.
async fn texts_as_they_come(stage: &Stage, count: usize) -> Vec<String> {
    let (mut offset, mut all) = (0, Vec::new());
    while all.len() < count {
        let updates = stage.call("getUpdates", json!({"offset": offset, "limit": 1, "timeout": 20})).await;
        let updates = updates.as_array().unwrap();
        all.extend(texts(updates).into_iter().map(str::to_owned));
        offset = updates.last().expect("an update was lost")["update_id"].as_i64().unwrap() + 1;
    }
    all
}

#[tokio::test]
async fn a_late_update_comes_after_higher_ids_were_confirmed() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    stage.post("/faults", json!({"updates": "delay", "delay_ms": 400})).await;
    stage.says(anna, "late").await;
    stage.says(anna, "in time").await;
    assert_eq!(all_texts(&stage).await, ["in time"]);
    let late = stage.call("getUpdates", json!({"offset": 999_999_999, "timeout": 20})).await;
    assert_eq!(late[0]["message"]["text"], "late");
}

#[tokio::test]
async fn ids_may_restart_lower_and_nothing_is_dropped() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    stage.says(anna, "before").await;
    let before = stage.updates(0).await[0]["update_id"].as_i64().unwrap();
    assert!(stage.updates(before + 1).await.is_empty());
    stage.post("/faults", json!({"updates": "restart_ids"})).await;
    stage.says(anna, "after").await;
    let updates = stage.updates(before + 1).await;
    assert_eq!(texts(&updates), ["after"]);
    assert!(updates[0]["update_id"].as_i64().unwrap() < before);
}

#[tokio::test]
async fn updates_from_before_a_restart_of_ids_are_confirmed() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    stage.says(anna, "before").await;
    stage.post("/faults", json!({"updates": "restart_ids"})).await;
    stage.says(anna, "after").await;
    // The last id of the first answer is the low one, which does not confirm the high one.
    assert_eq!(all_texts(&stage).await, ["before", "after", "before"]);
}

#[tokio::test]
async fn an_update_is_replayed_from_the_log() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    stage.says(anna, "again").await;
    let id = stage.updates(0).await[0]["update_id"].as_i64().unwrap();
    stage.updates(id + 1).await;
    stage.post("/replay", json!({"update_id": id})).await;
    assert_eq!(texts(&stage.updates(id + 1).await), ["again"]);
}

#[tokio::test]
async fn a_replay_is_refused_if_the_queue_is_full() {
    let stage = Stage::new().await;
    let bot = stage.emulator.bot(&Token::parse(&stage.token).unwrap()).unwrap();
    let update = QueuedUpdate::new(1, UpdateKind::Message, Lane::Chat(1), bot.clock.now_ms(), "{}".into());
    while bot.world().queue.has_room() {
        bot.world().queue.push(update.clone());
    }
    let replay = Some(json!({"update": {"update_id": 1}}));
    assert_eq!(stage.people(reqwest::Method::POST, "/replay", replay).await.0, 400);
}

#[tokio::test]
async fn a_fault_without_effect_is_refused() {
    let stage = Stage::new().await;
    let idle = [json!({}), json!({"status": 200}), json!({"updates": "lose"}), json!({"times": -1, "status": 500})];
    let contradictory = [json!({"methd": "x", "status": 500}), json!({"updates": "duplicate", "retry_after": 5})];
    for bad in idle.into_iter().chain(contradictory) {
        let (status, answer) = stage.people(reqwest::Method::POST, "/faults", Some(bad)).await;
        assert!((400..=422).contains(&status), "{answer}");
        assert!(answer["error"].is_string());
    }
}

#[tokio::test]
async fn a_fault_of_the_method_file_applies_to_downloads() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let document = json!({"from": anna, "document": {"name": "a.txt", "base64": base64(&[7; 4096])}});
    let sent = stage.post(&format!("/chats/{anna}/send"), document).await;
    let file = stage.call("getFile", json!({"file_id": sent["document"]["file_id"]})).await;
    let link = format!("{}/file/bot{}/{}", stage.base, stage.token, file["file_path"].as_str().unwrap());
    // A fault of calls does not apply to a download.
    stage.post("/faults", json!({"retry_after": 3})).await;
    assert_eq!(stage.http.get(&link).send().await.unwrap().status(), 200);
    stage.people(reqwest::Method::DELETE, "/faults", None).await;
    stage.post("/faults", json!({"method": "file", "status": 500})).await;
    assert_eq!(stage.http.get(&link).send().await.unwrap().status(), 500);
    stage.post("/faults", json!({"method": "file", "cut": "after"})).await;
    assert!(read(stage.http.get(&link)).await.is_err(), "the download should have been cut");
    assert_eq!(stage.http.get(&link).send().await.unwrap().bytes().await.unwrap().len(), 4096);
}

#[tokio::test]
async fn a_fault_finds_its_chat_by_name_too() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let group = json!({"type": "supergroup", "title": "Crew", "members": [anna], "username": "our_crew"});
    let id = stage.post("/chats", group).await["id"].clone();
    stage.post("/faults", json!({"chat_id": id, "status": 500})).await;
    assert_eq!(stage.refused("sendMessage", json!({"chat_id": "@our_crew", "text": "x"})).await.0, 500);
}
