//! A person who blocked the bot, and a group with topics.

use serde_json::json;

use super::{Walk, text_of};

/// Boris unblocks the bot.
pub async fn unblocking(walk: &mut Walk) {
    let boris = walk.boris;
    walk.stage.post(&format!("/chats/{boris}/unblock"), json!({"from": boris})).await;
    assert_eq!(text_of(&walk.next_in(boris).await), "welcome back Boris");
}

pub async fn group(walk: &mut Walk) {
    let members = [walk.anna, walk.boris];
    let group = json!({"type": "supergroup", "title": "Team", "members": members, "topics": ["Work"]});
    let group = walk.stage.post("/chats", group).await;
    let (chat, topic) = (group["id"].as_i64().unwrap(), &group["topics"][0]["message_thread_id"]);
    let overview = walk.stage.get("").await;
    let asked = format!("/who@{}", overview["bot"]["username"].as_str().unwrap());
    let asked = json!({"from": walk.anna, "text": asked, "thread_id": topic});
    let asked = walk.stage.post(&format!("/chats/{chat}/send"), asked).await;
    let answer = walk.next_in(chat).await;
    assert_eq!(text_of(&answer), "Team: 3 people, you are creator");
    assert_eq!(answer["reply_to_message"]["message_id"], asked["message_id"]);
    assert_eq!((&answer["message_thread_id"], &answer["is_topic_message"]), (topic, &json!(true)));

    let clara = walk.stage.person("Clara").await;
    walk.stage.post(&format!("/chats/{chat}/join"), json!({"from": clara})).await;
    assert_eq!(text_of(&walk.next_in(chat).await), "welcome Clara");
    walk.stage.post(&format!("/chats/{chat}/leave"), json!({"from": clara})).await;
    assert_eq!(text_of(&walk.next_in(chat).await), "goodbye Clara");
}
