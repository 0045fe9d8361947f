//! Forwarded and copied messages.

use frankenstein::types::{Message, MessageId, MessageOrigin};
use serde_json::{Value, json};

use super::scene::{Crew, EFFECT, Scene, picture};

/// The message as people see it, read back too.
async fn shown(scene: &Scene, chat: i64, id: i32) -> Message {
    let messages = scene.stage.get(&format!("/chats/{chat}/messages")).await;
    let message = messages.as_array().unwrap().iter().find(|message| message["message_id"] == id);
    super::compare::read_back("a message", message.unwrap())
}

async fn photo(scene: &Scene) -> Message {
    let parameters = json!({"chat_id": scene.anna, "caption": "Before"});
    scene.upload("sendPhoto", parameters, &[("photo", "a.png", &picture(90, 60))]).await
}

fn into(crew: &Crew, from: i64) -> Value {
    json!({
        "chat_id": crew.chat, "message_thread_id": crew.topic, "direct_messages_topic_id": 1, "from_chat_id": from,
        "disable_notification": true, "protect_content": true,
    })
}

pub async fn forward(scene: &Scene) {
    let crew = scene.crew().await;
    let said = scene.stage.says(scene.anna, "I am late").await;
    let mut parameters = into(&crew, scene.anna);
    parameters["message_id"] = said["message_id"].clone();
    parameters["message_effect_id"] = json!(EFFECT);
    parameters["video_start_timestamp"] = json!(1);
    parameters["suggested_post_parameters"] = json!({"send_date": 0});
    let message: Message = scene.ask("forwardMessage", parameters).await;
    assert_eq!((message.text.as_deref(), message.message_thread_id), (Some("I am late"), Some(crew.topic)));
    assert_eq!((message.has_protected_content, message.effect_id.as_deref()), (Some(true), Some(EFFECT)));
    let Some(MessageOrigin::User(origin)) = message.forward_origin.map(|origin| *origin) else {
        panic!("a message of Anna comes from a user")
    };
    assert_eq!(origin.sender_user.id, scene.anna as u64);
    assert_eq!(Some(origin.date), said["date"].as_u64());
}

pub async fn forward_several(scene: &Scene) {
    let crew = scene.crew().await;
    let ids = [scene.tells_anna("One").await.message_id, scene.tells_anna("Two").await.message_id];
    let mut parameters = into(&crew, scene.anna);
    parameters["message_ids"] = json!(ids);
    let again: Vec<MessageId> = scene.ask("forwardMessages", parameters).await;
    assert_eq!(again.len(), 2);
    let message = shown(scene, crew.chat, again[1].message_id).await;
    assert_eq!((message.text.as_deref(), message.message_thread_id), (Some("Two"), Some(crew.topic)));
    assert_eq!((message.forward_origin.is_some(), message.has_protected_content), (true, Some(true)));
}

pub async fn copy(scene: &Scene) {
    let crew = scene.crew().await;
    let first = photo(scene).await;
    let own = json!({
        "from_chat_id": scene.anna, "message_id": first.message_id, "caption": "<b>After</b>", "parse_mode": "HTML",
        "show_caption_above_media": true, "video_start_timestamp": 1,
    });
    let copy: MessageId = scene.ask("copyMessage", scene.surrounded("copyMessage", &crew, own)).await;
    let message = shown(scene, crew.chat, copy.message_id).await;
    scene.check_surroundings(&crew, &message).await;
    assert_eq!((message.caption.as_deref(), message.show_caption_above_media), (Some("After"), Some(true)));
    assert_eq!((message.photo, message.forward_origin), (first.photo, None));
    let parameters = json!({
        "chat_id": scene.boris, "from_chat_id": scene.anna, "message_id": first.message_id, "caption": "After",
        "caption_entities": [{"type": "italic", "offset": 0, "length": 5}],
    });
    let copy: MessageId = scene.ask("copyMessage", parameters).await;
    assert_eq!(shown(scene, scene.boris, copy.message_id).await.caption_entities.map(|it| it[0].length), Some(5));
}

pub async fn copy_several(scene: &Scene) {
    let crew = scene.crew().await;
    let ids = [photo(scene).await.message_id, scene.tells_anna("Two").await.message_id];
    let mut parameters = into(&crew, scene.anna);
    parameters["message_ids"] = json!(ids);
    parameters["remove_caption"] = json!(true);
    let again: Vec<MessageId> = scene.ask("copyMessages", parameters).await;
    assert_eq!(again.len(), 2);
    let message = shown(scene, crew.chat, again[0].message_id).await;
    assert_eq!((message.photo.is_some(), message.caption, message.forward_origin), (true, None, None));
}
