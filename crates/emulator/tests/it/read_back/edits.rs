//! Messages that are changed and taken back.

use frankenstein::response::MessageOrBool;
use frankenstein::types::{Message, MessageEntityType as Kind};
use serde_json::{Value, json};

use super::scene::{Scene, picture};

async fn edited(scene: &Scene, method: &str, parameters: Value) -> Message {
    whole(scene.ask(method, parameters).await)
}

fn whole(answer: MessageOrBool) -> Message {
    match answer {
        MessageOrBool::Message(message) => *message,
        MessageOrBool::Bool(_) => panic!("a message in a chat is answered with itself"),
    }
}

fn button() -> Value {
    json!({"inline_keyboard": [[{"text": "Next", "callback_data": "next"}]]})
}

fn check(message: &Message, first: &Message) {
    assert_eq!((message.message_id, message.date), (first.message_id, first.date));
    assert!(message.edit_date.is_some_and(|date| date >= first.date));
    let button = &message.reply_markup.as_ref().unwrap().inline_keyboard[0][0];
    assert_eq!(button.callback_data.as_deref(), Some("next"));
}

pub async fn text(scene: &Scene) {
    let first = scene.tells_anna("Hello").await;
    let which = json!({"chat_id": scene.anna, "message_id": first.message_id, "reply_markup": button()});
    let mut parameters = which.clone();
    parameters["parse_mode"] = json!("MarkdownV2");
    parameters["text"] = json!("*Hello* again");
    parameters["link_preview_options"] = json!({"is_disabled": true});
    let message = edited(scene, "editMessageText", parameters).await;
    check(&message, &first);
    assert_eq!(message.text.as_deref(), Some("Hello again"));
    assert_eq!(message.entities.as_ref().map(|it| it[0].type_field), Some(Kind::Bold));
    assert_eq!(message.link_preview_options.as_ref().and_then(|it| it.is_disabled), Some(true));

    let mut parameters = which;
    parameters["text"] = json!("Once more");
    parameters["entities"] = json!([{"type": "italic", "offset": 0, "length": 4}]);
    let message = edited(scene, "editMessageText", parameters).await;
    assert_eq!(message.entities.map(|it| it[0].type_field), Some(Kind::Italic));
    assert_eq!(message.link_preview_options, None);
}

async fn photo(scene: &Scene) -> Message {
    let parameters = json!({"chat_id": scene.anna, "caption": "Before"});
    scene.upload("sendPhoto", parameters, &[("photo", "a.png", &picture(90, 60))]).await
}

pub async fn caption(scene: &Scene) {
    let first = photo(scene).await;
    let which = json!({
        "chat_id": scene.anna, "message_id": first.message_id, "show_caption_above_media": true,
        "reply_markup": button(),
    });
    let mut parameters = which.clone();
    parameters["caption"] = json!("<i>After</i>");
    parameters["parse_mode"] = json!("HTML");
    let message = edited(scene, "editMessageCaption", parameters).await;
    check(&message, &first);
    assert_eq!((message.caption.as_deref(), message.show_caption_above_media), (Some("After"), Some(true)));
    assert_eq!(message.caption_entities.map(|it| it[0].type_field), Some(Kind::Italic));

    let mut parameters = which;
    parameters["caption"] = json!("Later");
    parameters["caption_entities"] = json!([{"type": "bold", "offset": 0, "length": 5}]);
    let message = edited(scene, "editMessageCaption", parameters).await;
    assert_eq!(message.caption_entities.map(|it| it[0].type_field), Some(Kind::Bold));
}

pub async fn media(scene: &Scene) {
    let first = photo(scene).await;
    let media = json!({
        "type": "document", "media": "attach://sheet", "caption": "The *sheet*", "parse_mode": "Markdown",
    });
    let parameters = json!({
        "chat_id": scene.anna, "message_id": first.message_id, "media": media, "reply_markup": button(),
    });
    let message = whole(scene.upload("editMessageMedia", parameters, &[("sheet", "sheet.pdf", b"%PDF-1.7")]).await);
    check(&message, &first);
    assert_eq!((message.caption.as_deref(), message.photo), (Some("The sheet"), None));
    let document = message.document.unwrap();
    assert_eq!(document.file_name.as_deref(), Some("sheet.pdf"));
    assert_eq!((document.mime_type.as_deref(), document.file_size), (Some("application/pdf"), Some(8)));

    // The same file again, by its id, in the message that has lost it meanwhile.
    let photo_id = &first.photo.unwrap()[0].file_id;
    let media = json!({"type": "photo", "media": photo_id, "has_spoiler": true});
    let parameters = json!({"chat_id": scene.anna, "message_id": first.message_id, "media": media});
    let message = edited(scene, "editMessageMedia", parameters).await;
    assert_eq!((&message.photo.unwrap()[0].file_id, message.has_media_spoiler), (photo_id, Some(true)));
}

pub async fn reply_markup(scene: &Scene) {
    let first = scene.tells_anna("Hello").await;
    let which = json!({"chat_id": scene.anna, "message_id": first.message_id});
    let mut parameters = which.clone();
    parameters["reply_markup"] = button();
    let message = edited(scene, "editMessageReplyMarkup", parameters).await;
    assert_eq!(message.text.as_deref(), Some("Hello"));
    assert_eq!(message.reply_markup.unwrap().inline_keyboard[0][0].text, "Next");
    let message = edited(scene, "editMessageReplyMarkup", which).await;
    assert_eq!(message.reply_markup, None);
}

pub async fn delete_message(scene: &Scene) {
    let message = scene.tells_anna("Hello").await;
    scene.does("deleteMessage", json!({"chat_id": scene.anna, "message_id": message.message_id})).await;
    assert_eq!(scene.stage.get(&format!("/chats/{}/messages", scene.anna)).await, json!([]));
}

pub async fn delete_messages(scene: &Scene) {
    let ids = [scene.tells_anna("One").await.message_id, scene.tells_anna("Two").await.message_id];
    scene.does("deleteMessages", json!({"chat_id": scene.anna, "message_ids": ids})).await;
    assert_eq!(scene.stage.get(&format!("/chats/{}/messages", scene.anna)).await, json!([]));
}
