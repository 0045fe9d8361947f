//! Groups, supergroups and topics.

use serde_json::{Value, json};

use crate::stage::Stage;

async fn group(stage: &Stage, kind: &str, members: &[i64], topics: &[&str]) -> Value {
    stage.post("/chats", json!({"type": kind, "title": "Crew", "members": members, "topics": topics})).await
}

#[tokio::test]
async fn a_bot_is_told_that_it_was_added() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let chat = group(&stage, "supergroup", &[anna], &[]).await;
    assert!(chat["id"].as_i64().unwrap() < -1_000_000_000_000);
    let updates = stage.updates(0).await;
    let added = &updates[0]["my_chat_member"];
    assert_eq!(
        (&added["old_chat_member"]["status"], &added["new_chat_member"]["status"]),
        (&json!("left"), &json!("member"))
    );
    assert_eq!(updates[1]["message"]["supergroup_chat_created"], true);
}

#[tokio::test]
async fn people_in_a_group_are_told_apart() {
    let stage = Stage::new().await;
    let (anna, ben) = (stage.person("Anna").await, stage.person("Ben").await);
    let chat = group(&stage, "group", &[anna, ben], &[]).await["id"].as_i64().unwrap();
    for (who, text) in [(anna, "from Anna"), (ben, "from Ben")] {
        stage.post(&format!("/chats/{chat}/send"), json!({"from": who, "text": text})).await;
    }
    let updates = stage.updates(0).await;
    let said: Vec<_> = updates[2..].iter().map(|it| (&it["message"]["from"]["id"], &it["message"]["text"])).collect();
    assert_eq!(said, [(&json!(anna), &json!("from Anna")), (&json!(ben), &json!("from Ben"))]);
}

#[tokio::test]
async fn a_topic_keeps_its_messages_apart() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let chat = group(&stage, "supergroup", &[anna], &["Orders", "Shifts"]).await;
    assert_eq!(chat["is_forum"], true);
    let (id, thread) = (chat["id"].as_i64().unwrap(), chat["topics"][1]["message_thread_id"].clone());
    let said = json!({"from": anna, "text": "hello", "thread_id": thread});
    let said = stage.post(&format!("/chats/{id}/send"), said).await;
    assert_eq!((&said["message_thread_id"], &said["is_topic_message"]), (&thread, &json!(true)));
    let answer = json!({"chat_id": id, "message_thread_id": thread, "text": "hi"});
    assert_eq!(stage.call("sendMessage", answer).await["message_thread_id"], thread);
    let nowhere = json!({"chat_id": id, "message_thread_id": 999, "text": "hi"});
    assert_eq!(stage.refused("sendMessage", nowhere).await.1, "Bad Request: message thread not found");
}

#[tokio::test]
async fn privacy_mode_keeps_plain_words_from_the_bot() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    stage.post("/bot", json!({"username": "crew_bot", "can_read_all_group_messages": false})).await;
    let chat = group(&stage, "group", &[anna], &[]).await["id"].as_i64().unwrap();
    stage.call("sendMessage", json!({"chat_id": chat, "text": "I am here"})).await;
    let before = stage.updates(0).await.len();
    let path = format!("/chats/{chat}/send");
    for text in ["plain words", "/help", "/help@other_bot", "hey @crew_bot"] {
        stage.post(&path, json!({"from": anna, "text": text})).await;
    }
    stage.post(&path, json!({"from": anna, "text": "to you", "reply_to": 2})).await;
    let updates = stage.updates(0).await;
    let received: Vec<_> = updates[before..].iter().map(|it| it["message"]["text"].as_str().unwrap()).collect();
    assert_eq!(received, ["/help", "hey @crew_bot", "to you"]);
}

#[tokio::test]
async fn a_person_or_bot_that_left_cannot_write() {
    let stage = Stage::new().await;
    let (anna, ben) = (stage.person("Anna").await, stage.person("Ben").await);
    let chat = group(&stage, "group", &[anna, ben], &[]).await["id"].as_i64().unwrap();
    stage.post(&format!("/chats/{chat}/leave"), json!({"from": ben})).await;
    let member = stage.call("getChatMember", json!({"chat_id": chat, "user_id": ben})).await;
    assert_eq!(member["status"], "left");
    let path = format!("/chats/{chat}/send");
    let said = stage.people(reqwest::Method::POST, &path, Some(json!({"from": ben, "text": "x"}))).await;
    assert_eq!(said.0, 400);
    let me = stage.call("getMe", json!({})).await["id"].clone();
    stage.post(&format!("/chats/{chat}/leave"), json!({"from": me})).await;
    let refused = stage.refused("sendMessage", json!({"chat_id": chat, "text": "x"})).await;
    assert_eq!(refused, (403, "Forbidden: bot is not a member of the group chat".into()));
}

#[tokio::test]
async fn a_bot_gets_no_updates_from_a_chat_it_left() {
    let stage = Stage::new().await;
    let (anna, ben) = (stage.person("Anna").await, stage.person("Ben").await);
    let chat = group(&stage, "group", &[anna, ben], &[]).await["id"].as_i64().unwrap();
    let keyboard = json!({"inline_keyboard": [[{"text": "Go", "callback_data": "go"}]]});
    stage.call("sendMessage", json!({"chat_id": chat, "text": "Go?", "reply_markup": keyboard})).await;
    stage.call("leaveChat", json!({"chat_id": chat})).await;
    let before = stage.updates(0).await;
    assert_eq!(before.last().unwrap()["my_chat_member"]["new_chat_member"]["status"], "left");
    stage.post(&format!("/chats/{chat}/leave"), json!({"from": ben})).await;
    let press = json!({"from": anna, "message_id": 2, "data": "go", "wait": 0});
    stage.post(&format!("/chats/{chat}/press"), press).await;
    assert_eq!(stage.updates(0).await, before);
}

#[tokio::test]
async fn a_contact_cannot_be_asked_for_in_a_group() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let chat = group(&stage, "group", &[anna], &[]).await["id"].clone();
    let keyboard = json!({"keyboard": [[{"text": "Phone", "request_contact": true}]]});
    let refused = stage.refused("sendMessage", json!({"chat_id": chat, "text": "x", "reply_markup": keyboard})).await;
    assert_eq!(refused.1, "Bad Request: phone number can be requested in private chats only");
}

#[tokio::test]
async fn only_an_administrator_pins_and_deletes_for_others() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let me = stage.call("getMe", json!({})).await["id"].clone();
    for (administrators, status) in [(json!([]), 400), (json!([me]), 200)] {
        let new = json!({"type": "group", "title": "Crew", "members": [anna], "administrators": administrators});
        let chat = stage.post("/chats", new).await["id"].as_i64().unwrap();
        let said = stage.post(&format!("/chats/{chat}/send"), json!({"from": anna, "text": "x"})).await;
        let which = json!({"chat_id": chat, "message_id": said["message_id"]});
        assert_eq!(stage.answer("pinChatMessage", which.clone()).await.0, status);
        assert_eq!(stage.answer("deleteMessage", which).await.0, status);
    }
}

#[tokio::test]
async fn an_upgraded_group_names_the_supergroup() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let old = group(&stage, "group", &[anna], &[]).await["id"].as_i64().unwrap();
    let before = stage.updates(0).await.len();
    let new = stage.post(&format!("/chats/{old}/migrate"), json!({"from": anna})).await;
    assert_eq!(new["type"], "supergroup");
    let (status, answer) = stage.answer("sendMessage", json!({"chat_id": old, "text": "x"})).await;
    assert_eq!((status, &answer["parameters"]["migrate_to_chat_id"]), (400, &new["id"]));
    assert_eq!(answer["description"], "Bad Request: group chat was upgraded to a supergroup chat");
    stage.call("sendMessage", json!({"chat_id": new["id"], "text": "x"})).await;
    let updates = stage.updates(0).await;
    assert_eq!(updates[before]["message"]["migrate_to_chat_id"], new["id"]);
    assert_eq!(updates[before + 1]["message"]["migrate_from_chat_id"], old);
}

#[tokio::test]
async fn a_mention_of_a_longer_name_is_not_the_bots() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    stage.post("/bot", json!({"username": "crew_bot", "can_read_all_group_messages": false})).await;
    let chat = group(&stage, "group", &[anna], &[]).await["id"].as_i64().unwrap();
    let before = stage.updates(0).await.len();
    for text in ["hey @crew_bot2", "/start me@mail.example"] {
        stage.post(&format!("/chats/{chat}/send"), json!({"from": anna, "text": text})).await;
    }
    let updates = stage.updates(0).await;
    let received: Vec<_> = updates[before..].iter().map(|it| &it["message"]["text"]).collect();
    assert_eq!(received, ["/start me@mail.example"]);
}
