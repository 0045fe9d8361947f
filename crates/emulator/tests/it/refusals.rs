//! Refused calls: their error texts, and that they have no effect.

use opora_testkit::pictures::PIXEL_PNG;
use serde_json::{Value, json};

use crate::stage::{Stage, base64};

fn bad(what: &str) -> (u16, String) {
    (400, format!("Bad Request: {what}"))
}

#[tokio::test]
async fn malformed_objects_are_refused_as_by_telegram() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    for (name, value, expected) in [
        ("reply_markup", json!([]), "object expected as reply markup"),
        ("reply_markup", json!([[], [], true, true, true, true, true, "x", true]), "object expected as reply markup"),
        ("reply_markup", json!(5), "object expected as reply markup"),
        ("reply_markup", json!("x"), "can't parse reply keyboard markup JSON object"),
        ("reply_markup", json!({"inline_keyboard": "x"}), "field \"inline_keyboard\" must be of type Array"),
        ("reply_markup", json!({"keyboard": [[7]]}), "can't parse keyboard button: expected an Object"),
        ("reply_parameters", json!({}), "can't find field \"message_id\""),
        ("reply_parameters", json!(5), "object expected as reply parameters"),
        ("link_preview_options", json!([]), "object expected as link preview options"),
        ("link_preview_options", json!({"is_disabled": "1"}), "field \"is_disabled\" must be of type Boolean"),
        ("entities", json!({}), "expected an Array of MessageEntity"),
        ("entities", json!([{}]), "can't parse MessageEntity: Can't find field \"type\""),
    ] {
        let mut call = json!({"chat_id": anna, "text": "x"});
        call[name] = value;
        assert_eq!(stage.refused("sendMessage", call.clone()).await, bad(expected), "{call}");
    }
    assert!(stage.get(&format!("/chats/{anna}/messages")).await.as_array().unwrap().is_empty());
    stage.says(anna, "hello").await;
    for (reaction, expected) in [
        (json!({}), "expected an Array of ReactionType"),
        (json!([["emoji", "👍"]]), "can't parse ReactionType: expected an Object"),
        (json!(["👍"]), "can't parse ReactionType: expected an Object"),
        (json!([{"type": "emoji", "emoji": []}]), "can't parse ReactionType: expected a String"),
        (json!([{"type": "emoji"}]), "can't parse ReactionType: Can't find field \"emoji\""),
        (json!([{"type": "x"}]), "can't parse ReactionType: unsupported type \"x\" specified"),
    ] {
        let call = json!({"chat_id": anna, "message_id": 1, "reaction": reaction});
        assert_eq!(stage.refused("setMessageReaction", call.clone()).await, bad(expected), "{call}");
    }
    let more = json!({"type": "emoji", "emoji": "👍", "unknown_field": [1, {}]});
    stage.call("setMessageReaction", json!({"chat_id": anna, "message_id": 1, "reaction": [more]})).await;
}

#[tokio::test]
async fn a_reply_to_another_chat_is_not_emulated() {
    let stage = Stage::new().await;
    let (anna, ben) = (stage.person("Anna").await, stage.person("Ben").await);
    stage.says(anna, "hello").await;
    stage.says(ben, "hello").await;
    let reply =
        |chat: Value| json!({"chat_id": anna, "text": "x", "reply_parameters": {"message_id": 1, "chat_id": chat}});
    assert_eq!(stage.call("sendMessage", reply(json!(anna))).await["reply_to_message"]["text"], "hello");
    stage.call("sendMessage", reply(json!(anna.to_string()))).await;
    assert_eq!(stage.refused("sendMessage", reply(json!(ben))).await.0, 501);
    assert_eq!(stage.refused("sendMessage", reply(json!(7))).await, bad("chat not found"));
}

/// A picture whose header claims to be of this size.
fn claims(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = PIXEL_PNG.to_vec();
    bytes[16..20].copy_from_slice(&width.to_be_bytes());
    bytes[20..24].copy_from_slice(&height.to_be_bytes());
    bytes
}

#[tokio::test]
async fn photos_of_impossible_sizes_are_refused() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    for (width, height) in [(u32::MAX, u32::MAX), (u32::MAX, 1), (1, u32::MAX), (0, 0), (0, 1), (5001, 5000)] {
        let photo = reqwest::multipart::Part::bytes(claims(width, height)).file_name("p.png");
        let form = reqwest::multipart::Form::new().text("chat_id", anna.to_string()).part("photo", photo);
        let url = format!("{}/bot{}/sendPhoto", stage.base, stage.token);
        let answer: Value = stage.http.post(url).multipart(form).send().await.unwrap().json().await.unwrap();
        assert_eq!(answer["description"], "Bad Request: PHOTO_INVALID_DIMENSIONS", "{width}x{height}: {answer}");
        // People may send what they like.
        let said = json!({"from": anna, "photo": {"base64": base64(&claims(width, height))}});
        stage.post(&format!("/chats/{anna}/send"), said).await;
    }
}

#[tokio::test]
async fn a_known_file_is_no_photo_and_a_known_photo_no_file() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let sends = async |kind: &str| {
        let mut said = json!({"from": anna});
        said[kind] = json!({"name": "p.png", "base64": base64(PIXEL_PNG)});
        stage.post(&format!("/chats/{anna}/send"), said).await
    };
    let document = sends("document").await["document"]["file_id"].clone();
    let photo = sends("photo").await["photo"][0]["file_id"].clone();
    let as_photo = stage.refused("sendPhoto", json!({"chat_id": anna, "photo": document})).await;
    assert_eq!(as_photo, bad("can't use file of type Document as Photo"));
    let as_document = stage.refused("sendDocument", json!({"chat_id": anna, "document": photo})).await;
    assert_eq!(as_document, bad("can't use file of type Photo as Document"));
    stage.call("sendDocument", json!({"chat_id": anna, "document": document})).await;
    stage.call("sendPhoto", json!({"chat_id": anna, "photo": photo})).await;
    let note = sends("video_note").await["video_note"]["file_id"].clone();
    let as_video = stage.refused("sendVideo", json!({"chat_id": anna, "video": note})).await;
    assert_eq!(as_video, bad("can't use file of type VideoNote as Video"));
    let video = sends("video").await["video"]["file_id"].clone();
    stage.call("sendDocument", json!({"chat_id": anna, "document": video})).await;
}

#[tokio::test]
async fn a_group_with_a_nameless_topic_is_not_made_at_all() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let chats = stage.get("").await["chats"].clone();
    for name in [String::new(), " ".to_owned(), "x".repeat(129)] {
        let new = json!({"type": "supergroup", "title": "Crew", "members": [anna], "topics": ["ok", name]});
        let (status, answer) = stage.people(reqwest::Method::POST, "/chats", Some(new)).await;
        assert_eq!(status, 400, "{answer}");
    }
    assert_eq!(stage.get("").await["chats"], chats);
    assert!(stage.updates(0).await.is_empty());
}

#[tokio::test]
async fn a_text_of_invisible_characters_is_empty() {
    let stage = Stage::new().await;
    let anna = stage.person("Anna").await;
    let unseen = json!({"chat_id": anna, "text": "\u{0}\u{200b}\u{2060}"});
    assert_eq!(stage.refused("sendMessage", unseen).await, bad("message text is empty"));
}
