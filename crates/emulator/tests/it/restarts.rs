//! With `--data`, a world survives a restart.

use std::path::PathBuf;

use opora_emulator::{Emulator, Settings, event_log};
use opora_testkit::pictures::PIXEL_PNG;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::stage::{Stage, base64, until};

fn settings(folder: &TempDir) -> Settings {
    Settings { data: Some(folder.path().to_owned()), ..Settings::default() }
}

/// Starts an emulator as soon as the previous one has released the folder, when its last connections are closed.
async fn stage_in(folder: &TempDir) -> Stage {
    until("the folder's lock", || event_log::lock(folder.path()).is_ok()).await;
    Stage::with(settings(folder)).await
}

/// Stops an emulator as the binary does, and starts it again.
async fn restarted(stage: Stage, folder: &TempDir) -> Stage {
    drop(stage);
    stage_in(folder).await
}

/// The folders of bots.
fn bots(folder: &TempDir) -> Vec<PathBuf> {
    let paths = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.is_dir()).collect()
}

/// Adds bytes to the end of the event log of the only bot.
fn append(folder: &TempDir, bytes: &[u8]) {
    let event_log = bots(folder)[0].join("journal.jsonl");
    let mut lines = std::fs::read(&event_log).unwrap();
    lines.extend(bytes);
    std::fs::write(&event_log, lines).unwrap();
}

fn ids(updates: &[Value]) -> Vec<i64> {
    updates.iter().map(|update| update["update_id"].as_i64().unwrap()).collect()
}

fn texts(updates: &[Value]) -> Vec<&str> {
    updates.iter().map(|update| update["message"]["text"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn hints_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let stage = stage_in(&folder).await;
    let hints = json!({"places": [{"name": "Depot", "latitude": 55.75, "longitude": 37.61}], "people": [],
        "links": [], "tour": [{"title": {"ru": "Раз", "en": "One"}, "text": "Press it"}]});
    stage.post("/hints", hints.clone()).await;
    let stage = restarted(stage, &folder).await;
    assert_eq!(stage.get("").await["hints"], hints);
}

#[tokio::test]
async fn a_world_is_the_same_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let stage = stage_in(&folder).await;
    let anna = stage.person("Anna").await;
    stage.says(anna, "/start").await;
    let keyboard = json!({"inline_keyboard": [[{"text": "Go", "callback_data": "go"}]]});
    stage.call("sendMessage", json!({"chat_id": anna, "text": "hi", "reply_markup": keyboard})).await;
    stage.call("sendMessage", json!({"chat_id": anna, "text": "gone"})).await;
    stage.call("deleteMessage", json!({"chat_id": anna, "message_id": 3})).await;
    stage.call("editMessageText", json!({"chat_id": anna, "message_id": 2, "text": "edited"})).await;
    stage.call("setMyCommands", json!({"commands": [{"command": "go", "description": "Go"}]})).await;
    let photo = json!({"from": anna, "photo": {"name": "a.png", "base64": base64(PIXEL_PNG)}});
    let message = stage.post(&format!("/chats/{anna}/send"), photo).await;
    let file_id = message["photo"][0]["file_id"].clone();
    let group = json!({"type": "supergroup", "title": "Crew", "members": [anna], "topics": ["One"]});
    stage.post("/chats", group).await;
    let first = stage.updates(0).await[0]["update_id"].as_i64().unwrap();
    stage.updates(first + 1).await;
    stage.post("/clock", json!({"advance_seconds": 60})).await;
    let before = stage.updates(0).await;
    let chat_before = stage.get("").await;
    let stage = restarted(stage, &folder).await;
    assert_eq!(stage.updates(0).await, before);
    let mut chat_after = stage.get("").await;
    // The clock was moved by a minute and has gone on since.
    assert_eq!(chat_after["clock_offset_seconds"], 60);
    chat_after["clock_offset_seconds"] = chat_before["clock_offset_seconds"].clone();
    assert_eq!(chat_after, chat_before);
    let file = stage.call("getFile", json!({"file_id": file_id})).await;
    let link = format!("{}/file/bot{}/{}", stage.base, stage.token, file["file_path"].as_str().unwrap());
    assert_eq!(&stage.http.get(link).send().await.unwrap().bytes().await.unwrap()[..], PIXEL_PNG);
    // Ids go on where they were.
    assert_eq!(stage.says(anna, "again").await["message_id"], 5);
    let last = stage.updates(0).await;
    let ids = ids(&last);
    assert!(ids.is_sorted_by(|one, two| *two == one + 1), "{ids:?}");
}

#[tokio::test]
async fn an_incomplete_line_loses_only_itself() {
    // The second cut is within a letter.
    for cut in [&br#"["message",{"chat":1,"mess"#[..], b"[\"user\",{\"first_name\":\"\xD0"] {
        let folder = tempfile::tempdir().unwrap();
        let stage = stage_in(&folder).await;
        let anna = stage.person("Anna").await;
        stage.says(anna, "hello").await;
        drop(stage);
        append(&folder, cut);
        let stage = stage_in(&folder).await;
        assert_eq!(texts(&stage.updates(0).await), ["hello"]);
    }
}

#[tokio::test]
async fn an_unreadable_folder_does_not_stop_other_bots() {
    let folder = tempfile::tempdir().unwrap();
    let stage = stage_in(&folder).await;
    let anna = stage.person("Anna").await;
    stage.says(anna, "hello").await;
    let rubbish = folder.path().join("1-rubbish");
    std::fs::create_dir(&rubbish).unwrap();
    std::fs::write(rubbish.join("journal.jsonl"), b"\xFF\n").unwrap();
    let stage = restarted(stage, &folder).await;
    assert_eq!(texts(&stage.updates(0).await), ["hello"]);
    assert_eq!(std::fs::read(rubbish.join("journal.jsonl")).unwrap(), b"\xFF\n");
}

#[tokio::test]
async fn a_replayed_update_does_not_change_the_ids_of_new_ones() {
    let folder = tempfile::tempdir().unwrap();
    let stage = stage_in(&folder).await;
    let anna = stage.person("Anna").await;
    stage.says(anna, "one").await;
    stage.says(anna, "two").await;
    let known = ids(&stage.updates(0).await);
    stage.updates(known[1] + 1).await;
    stage.post("/replay", json!({"update_id": known[0]})).await;
    stage.post("/replay", json!({"update": {"update_id": 1_i64 << 52}})).await;
    for bad in [-5, 0, (1 << 52) + 1, i64::MAX] {
        let update = Some(json!({"update": {"update_id": bad}}));
        assert_eq!(stage.people(reqwest::Method::POST, "/replay", update).await.0, 400, "{bad}");
    }
    let stage = restarted(stage, &folder).await;
    stage.says(anna, "three").await;
    assert_eq!(ids(&stage.updates(0).await), [known[0], 1 << 52, known[1] + 1]);
}

#[tokio::test]
async fn the_id_of_a_delayed_update_is_not_given_again() {
    let folder = tempfile::tempdir().unwrap();
    let stage = stage_in(&folder).await;
    let anna = stage.person("Anna").await;
    stage.post("/faults", json!({"updates": "delay", "delay_ms": 600_000})).await;
    stage.says(anna, "late").await;
    let stage = restarted(stage, &folder).await;
    stage.says(anna, "next").await;
    let updates = stage.updates(0).await;
    assert_eq!(texts(&updates), ["late", "next"]);
    assert_eq!(ids(&updates)[0] + 1, ids(&updates)[1]);
}

#[tokio::test]
async fn a_repeated_update_stays_until_it_is_delivered() {
    let folder = tempfile::tempdir().unwrap();
    let stage = stage_in(&folder).await;
    let anna = stage.person("Anna").await;
    stage.post("/faults", json!({"updates": "duplicate", "delay_ms": 600_000})).await;
    stage.says(anna, "twice").await;
    let first = ids(&stage.updates(0).await);
    assert!(stage.updates(first[0] + 1).await.is_empty());
    let stage = restarted(stage, &folder).await;
    assert_eq!(ids(&stage.updates(first[0] + 1).await), first);
}

#[tokio::test]
async fn a_link_outlives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let stage = stage_in(&folder).await;
    let anna = stage.person("Anna").await;
    let photo = json!({"from": anna, "photo": {"name": "a.png", "base64": base64(PIXEL_PNG)}});
    let message = stage.post(&format!("/chats/{anna}/send"), photo).await;
    let file = stage.call("getFile", json!({"file_id": message["photo"][0]["file_id"]})).await;
    let stage = restarted(stage, &folder).await;
    let link = format!("{}/file/bot{}/{}", stage.base, stage.token, file["file_path"].as_str().unwrap());
    assert_eq!(stage.http.get(&link).send().await.unwrap().status(), 200);
    stage.post("/clock", json!({"advance_seconds": 3600})).await;
    assert_eq!(stage.http.get(&link).send().await.unwrap().status(), 404);
}

#[tokio::test]
async fn two_emulators_do_not_share_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let _stage = stage_in(&folder).await;
    let error = Emulator::new(settings(&folder)).unwrap_err().to_string();
    assert!(error.contains(&folder.path().display().to_string()), "{error}");
}

#[tokio::test]
async fn a_deleted_bot_leaves_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let stage = stage_in(&folder).await;
    stage.person("Anna").await;
    stage.people(reqwest::Method::DELETE, "", None).await;
    until("the folder is gone", || bots(&folder).is_empty()).await;
}
