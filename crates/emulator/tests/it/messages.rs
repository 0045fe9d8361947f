//! Pins, replies, forwards and copies of messages; old parameter names; polls over time.

use opora_testkit::pictures::PIXEL_PNG;
use serde_json::{Value, json};

use crate::stage::{Stage, base64};

/// The id of a new photo, for sending it again.
async fn photo(stage: &Stage, person: i64) -> Value {
    let said = json!({"from": person, "photo": {"base64": base64(PIXEL_PNG)}});
    stage.post(&format!("/chats/{person}/send"), said).await["photo"][0]["file_id"].take()
}

#[tokio::test]
async fn the_service_message_of_a_pin_cannot_be_pinned() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    stage.call("sendMessage", json!({"chat_id": anna, "text": "x"})).await;
    stage.call("pinChatMessage", json!({"chat_id": anna, "message_id": 1})).await;
    let note = stage.refused("pinChatMessage", json!({"chat_id": anna, "message_id": 2})).await;
    assert_eq!(note, (400, "Bad Request: a service message can't be pinned".into()));
}

#[tokio::test]
async fn a_reply_to_a_pin_message_has_only_the_pinned_id() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    stage.call("sendMessage", json!({"chat_id": anna, "text": "x"})).await;
    stage.call("pinChatMessage", json!({"chat_id": anna, "message_id": 1})).await;
    let reply = json!({"chat_id": anna, "text": "y", "reply_parameters": {"message_id": 2}});
    let pinned = stage.call("sendMessage", reply).await["reply_to_message"]["pinned_message"].take();
    assert_eq!((&pinned["message_id"], &pinned["date"], &pinned["text"]), (&json!(1), &json!(0), &Value::Null));
    let note = &stage.updates(0).await[0]["message"];
    assert_eq!(note["pinned_message"]["text"], "x");
}

#[tokio::test]
async fn old_parameter_names_still_work() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    stage.says(anna, "hello").await;
    let file = photo(&stage, anna).await;
    let album = json!([{"type": "photo", "media": file}, {"type": "photo", "media": file}]);
    for (method, content) in [
        ("sendMessage", json!({"text": "x"})),
        ("sendPhoto", json!({"photo": file})),
        ("sendMediaGroup", json!({"media": album})),
        ("sendPoll", json!({"question": "x", "options": ["a", "b"]})),
        ("sendDice", json!({})),
    ] {
        let with = |reply_to: i64, or_without: bool| {
            let mut call = content.clone();
            call["chat_id"] = anna.into();
            call["reply_to_message_id"] = reply_to.into();
            call["allow_sending_without_reply"] = or_without.into();
            call
        };
        let said = stage.call(method, with(1, false)).await;
        let said = said.get(0).unwrap_or(&said);
        assert_eq!(said["reply_to_message"]["text"], "hello", "{method}");
        let missing = (400, "Bad Request: message to be replied not found".to_owned());
        assert_eq!(stage.refused(method, with(999, false)).await, missing, "{method}");
        stage.call(method, with(999, true)).await;
        stage.call(method, with(0, false)).await;
    }
    let copy = json!({"chat_id": anna, "from_chat_id": anna, "message_id": 1, "reply_to_message_id": 1});
    let id = stage.call("copyMessage", copy).await["message_id"].as_i64().unwrap();
    assert_eq!(stage.messages_after(anna, id - 1).await[0]["reply_to_message"]["message_id"], 1);
}

#[tokio::test]
async fn the_old_parameter_switches_a_preview_off() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let off = json!({"chat_id": anna, "text": "see opora.dev", "disable_web_page_preview": true});
    let said = stage.call("sendMessage", off).await;
    assert_eq!(said["link_preview_options"], json!({"is_disabled": true}));
    let edit = json!({"chat_id": anna, "message_id": 1, "text": "opora.dev", "disable_web_page_preview": true});
    assert_eq!(stage.call("editMessageText", edit).await["link_preview_options"], json!({"is_disabled": true}));
    let both = json!({
        "chat_id": anna, "text": "see opora.dev", "disable_web_page_preview": true,
        "link_preview_options": {"prefer_small_media": true},
    });
    assert_eq!(stage.call("sendMessage", both).await["link_preview_options"], json!({"prefer_small_media": true}));
}

#[tokio::test]
async fn old_parameter_names_make_no_complaint() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let former = json!({"chat_id": anna, "text": "x", "reply_to_message_id": 0, "disable_web_page_preview": true});
    stage.call("sendMessage", former).await;
    stage.call("sendChatAction", json!({"chat_id": anna, "action": "typing", "reply_to_message_id": 1})).await;
    let log = stage.get("/log").await;
    let complaints: Vec<_> =
        log.as_array().unwrap().iter().map(|call| (&call["method"], &call["complaints"])).collect();
    let unknown = json!(["unknown parameter \"reply_to_message_id\""]);
    let expected = [(&json!("sendMessage"), &json!([])), (&json!("sendChatAction"), &unknown)];
    assert_eq!(complaints, expected, "{log}");
}

#[tokio::test]
async fn a_copied_poll_is_a_new_one() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let poll = json!({"chat_id": anna, "question": "x", "options": ["a", "b"], "open_period": 60});
    let first = stage.call("sendPoll", poll).await["poll"].take();
    stage.post(&format!("/chats/{anna}/vote"), json!({"from": anna, "message_id": 1, "option_ids": [0]})).await;
    stage.call("stopPoll", json!({"chat_id": anna, "message_id": 1})).await;
    stage.call("copyMessage", json!({"chat_id": anna, "from_chat_id": anna, "message_id": 1})).await;
    stage.call("copyMessages", json!({"chat_id": anna, "from_chat_id": anna, "message_ids": [1]})).await;
    let mut copies = stage.messages_after(anna, 1).await;
    copies.retain(|message| message["message_id"] != 1);
    assert_eq!(copies.len(), 2);
    for copy in copies.iter().map(|message| &message["poll"]) {
        assert_ne!(copy["id"], first["id"]);
        assert_eq!((&copy["total_voter_count"], &copy["is_closed"]), (&json!(0), &json!(false)));
        assert_eq!(copy["question"], "x");
    }
    assert_ne!(copies[0]["poll"]["id"], copies[1]["poll"]["id"]);
}

#[tokio::test]
async fn albums_stay_together_when_they_are_forwarded_or_copied() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let file = photo(&stage, anna).await;
    let album = json!([{"type": "photo", "media": file}, {"type": "photo", "media": file}]);
    for _ in 0..2 {
        stage.call("sendMediaGroup", json!({"chat_id": anna, "media": album})).await;
    }
    let old: Vec<Value> = stage.messages_after(anna, 1).await.iter().map(|it| it["media_group_id"].clone()).collect();
    for method in ["forwardMessages", "copyMessages"] {
        // Both of the first album, one of the second.
        let again = json!({"chat_id": anna, "from_chat_id": anna, "message_ids": [2, 3, 4]});
        let first = stage.call(method, again).await[0]["message_id"].as_i64().unwrap();
        let new: Vec<Value> =
            stage.messages_after(anna, first - 1).await.iter().map(|it| it["media_group_id"].clone()).collect();
        assert!(new[0].is_string() && new[0] == new[1] && !old.contains(&new[0]), "{method}: {new:?}");
        assert_eq!(new[2], Value::Null, "{method}: one alone is no album");
    }
}

#[tokio::test]
async fn a_poll_closes_when_its_time_is_over() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let poll = json!({"chat_id": anna, "question": "x", "options": ["a", "b"]});
    let mut by_period = poll.clone();
    by_period["open_period"] = 60.into();
    let said = stage.call("sendPoll", by_period).await;
    let until = said["date"].as_i64().unwrap() + 60;
    assert_eq!((&said["poll"]["is_closed"], &said["poll"]["close_date"]), (&json!(false), &json!(until)));
    let mut by_date = poll;
    by_date["close_date"] = until.into();
    stage.call("sendPoll", by_date).await;
    let path = format!("/chats/{anna}/vote");
    let vote = |message: i64| json!({"from": anna, "message_id": message, "option_ids": [0]});
    for message in [1, 2] {
        stage.post(&path, vote(message)).await;
    }
    stage.post("/clock", json!({"advance_seconds": 61})).await;
    for message in [1, 2] {
        let refused = stage.people(reqwest::Method::POST, &path, Some(vote(message))).await;
        assert_eq!(refused.0, 400, "{}", refused.1);
        let stopped = stage.refused("stopPoll", json!({"chat_id": anna, "message_id": message})).await;
        assert_eq!(stopped, (400, "Bad Request: poll has already been closed".into()));
    }
    assert_eq!(stage.messages_after(anna, 0).await[0]["poll"]["is_closed"], true);
}

#[tokio::test]
async fn a_stopped_poll_is_an_update() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    stage.call("sendPoll", json!({"chat_id": anna, "question": "x", "options": ["a", "b"]})).await;
    let stopped = stage.call("stopPoll", json!({"chat_id": anna, "message_id": 1})).await;
    let updates = stage.updates(0).await;
    assert_eq!(updates.len(), 1);
    assert_eq!((&updates[0]["poll"], &stopped["is_closed"]), (&stopped, &json!(true)));
}

/// The emulator serves files itself, so the links can point to it.
#[tokio::test]
async fn links_inside_objects_are_fetched() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let file = photo(&stage, anna).await;
    let path = stage.call("getFile", json!({"file_id": file})).await["file_path"].take();
    let link = format!("{}/file/bot{}/{}", stage.base, stage.token, path.as_str().unwrap());
    let album = json!([{"type": "photo", "media": link}, {"type": "photo", "media": link}]);
    let said = stage.call("sendMediaGroup", json!({"chat_id": anna, "media": album})).await;
    assert_eq!(said[1]["photo"][0]["file_size"], PIXEL_PNG.len());
}
