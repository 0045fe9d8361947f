//! `--data`: everything is there again after a restart.

use opora_emulator::Settings;
use serde_json::json;

use crate::stage::{PIXEL_PNG, Stage, base64};

async fn stage_in(folder: &tempfile::TempDir) -> Stage {
    Stage::with(Settings { data: Some(folder.path().to_owned()), ..Settings::default() }).await
}

#[tokio::test]
async fn a_world_is_the_same_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (anna, before, chat_before, file_id);
    {
        let stage = stage_in(&folder).await;
        anna = stage.person("Anna").await;
        stage.says(anna, "/start").await;
        let keyboard = json!({"inline_keyboard": [[{"text": "Go", "callback_data": "go"}]]});
        stage.call("sendMessage", json!({"chat_id": anna, "text": "hi", "reply_markup": keyboard})).await;
        stage.call("sendMessage", json!({"chat_id": anna, "text": "gone"})).await;
        stage.call("deleteMessage", json!({"chat_id": anna, "message_id": 3})).await;
        stage.call("editMessageText", json!({"chat_id": anna, "message_id": 2, "text": "edited"})).await;
        stage.call("setMyCommands", json!({"commands": [{"command": "go", "description": "Go"}]})).await;
        let photo = json!({"from": anna, "photo": {"name": "a.png", "base64": base64(PIXEL_PNG)}});
        let message = stage.post(&format!("/chats/{anna}/send"), photo).await;
        file_id = message["photo"][0]["file_id"].clone();
        let group = json!({"type": "supergroup", "title": "Crew", "members": [anna], "topics": ["One"]});
        stage.post("/chats", group).await;
        let first = stage.updates(0).await[0]["update_id"].as_i64().unwrap();
        stage.updates(first + 1).await;
        stage.post("/clock", json!({"advance_seconds": 60})).await;
        before = stage.updates(0).await;
        chat_before = stage.get("").await;
        stage.emulator.flush();
    }
    let stage = stage_in(&folder).await;
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
    let ids: Vec<i64> = last.iter().map(|update| update["update_id"].as_i64().unwrap()).collect();
    assert!(ids.is_sorted_by(|one, two| *two == one + 1), "{ids:?}");
}

#[tokio::test]
async fn a_line_cut_short_by_a_crash_costs_only_itself() {
    let folder = tempfile::tempdir().unwrap();
    let anna;
    {
        let stage = stage_in(&folder).await;
        anna = stage.person("Anna").await;
        stage.says(anna, "hello").await;
        stage.emulator.flush();
    }
    let bot = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let journal = bot.join("journal.jsonl");
    let mut lines = std::fs::read(&journal).unwrap();
    lines.extend(br#"["message",{"chat":1,"mess"#);
    std::fs::write(&journal, lines).unwrap();
    let stage = stage_in(&folder).await;
    assert_eq!(stage.updates(0).await[0]["message"]["text"], "hello");
}

#[tokio::test]
async fn a_forgotten_bot_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    {
        let stage = stage_in(&folder).await;
        stage.person("Anna").await;
        stage.people(reqwest::Method::DELETE, "", None).await;
        let gone = async {
            while std::fs::read_dir(folder.path()).unwrap().next().is_some() {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(crate::stage::PATIENCE, gone).await.expect("the folder stayed");
    }
}
