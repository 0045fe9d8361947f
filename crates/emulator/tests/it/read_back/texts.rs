//! Texts, presses, typing and reactions.

use frankenstein::types::{ButtonStyle, Message, MessageEntityType as Kind};
use serde_json::{Value, json};

use super::scene::Scene;

pub async fn send_message(scene: &Scene) {
    let own = json!({
        "text": "Shift <b>42</b>: https://example.org/42",
        "parse_mode": "HTML",
        "link_preview_options": {
            "is_disabled": false, "url": "https://example.org/", "prefer_small_media": true,
            "prefer_large_media": false, "show_above_text": true,
        },
    });
    let message = scene.sends("sendMessage", own, &[]).await;
    assert_eq!(message.text.as_deref(), Some("Shift 42: https://example.org/42"));
    let entities: Vec<_> = message.entities.unwrap().iter().map(|it| (it.type_field, it.offset, it.length)).collect();
    assert_eq!(entities, [(Kind::Bold, 6, 2), (Kind::Url, 10, 22)]);
    let preview = message.link_preview_options.unwrap();
    assert_eq!((preview.is_disabled, preview.url.as_deref()), (Some(false), Some("https://example.org/")));
    assert_eq!((preview.prefer_small_media, preview.prefer_large_media), (Some(true), Some(false)));
    assert_eq!(preview.show_above_text, Some(true));

    let private = scene.tells_anna("Hello").await;
    assert_eq!(private.chat.first_name.as_deref(), Some("Anna"));
    assert_eq!(private.chat.last_name.as_deref(), Some("Sørensen"));
    assert_eq!(private.chat.username.as_deref(), Some("anna_s"));
    assert_eq!(private.chat.id, scene.anna);
}

/// One entity of each kind that a bot can name, and of each that the emulator finds by itself.
pub async fn every_entity(scene: &Scene) {
    let given = [
        json!({"type": "bold"}),
        json!({"type": "italic"}),
        json!({"type": "underline"}),
        json!({"type": "strikethrough"}),
        json!({"type": "spoiler"}),
        json!({"type": "code"}),
        json!({"type": "pre", "language": "rust"}),
        json!({"type": "text_link", "url": "https://example.org/a"}),
        json!({"type": "text_mention", "user": {"id": scene.anna, "is_bot": false, "first_name": "Anna"}}),
        json!({"type": "custom_emoji", "custom_emoji_id": "5368324170671202286"}),
        json!({"type": "date_time", "unix_time": 1_790_000_000, "date_time_format": "t"}),
        json!({"type": "blockquote"}),
        json!({"type": "expandable_blockquote"}),
    ];
    // Each entity covers one word, and quotes have lines of their own.
    let words = ["w01", "w02", "w03", "w04", "w05", "w06", "w07", "w08", "w09", "👍", "w11", "w12", "w13"];
    let (mut text, mut entities) = ("Words:".to_owned(), Vec::new());
    for (word, mut entity) in words.into_iter().zip(given) {
        text.push_str(if word > "w11" && word.starts_with('w') { "\n" } else { " " });
        entity["offset"] = text.encode_utf16().count().into();
        entity["length"] = word.encode_utf16().count().into();
        text.push_str(word);
        entities.push(entity);
    }
    text.push_str("\n@anna_s #shift $USD /start a.b@example.org https://example.org");
    let message: Message =
        scene.ask("sendMessage", json!({"chat_id": scene.anna, "text": text, "entities": entities})).await;
    let shown = message.entities.unwrap();
    let kinds: Vec<Kind> = shown.iter().map(|entity| entity.type_field).collect();
    let expected = [
        Kind::Bold,
        Kind::Italic,
        Kind::Underline,
        Kind::Strikethrough,
        Kind::Spoiler,
        Kind::Code,
        Kind::Pre,
        Kind::TextLink,
        Kind::TextMention,
        Kind::CustomEmoji,
        Kind::DateTime,
        Kind::Blockquote,
        Kind::ExpandableBlockquote,
        Kind::Mention,
        Kind::Hashtag,
        Kind::Cashtag,
        Kind::BotCommand,
        Kind::Email,
        Kind::Url,
    ];
    assert_eq!(kinds, expected);
    assert_eq!(shown[6].language.as_deref(), Some("rust"));
    assert_eq!(shown[7].url.as_deref(), Some("https://example.org/a"));
    assert_eq!(shown[8].user.as_ref().map(|user| user.id), u64::try_from(scene.anna).ok());
    assert_eq!(shown[8].user.as_ref().and_then(|user| user.last_name.as_deref()), Some("Sørensen"));
    assert_eq!(shown[9].custom_emoji_id.as_deref(), Some("5368324170671202286"));
    assert_eq!((shown[10].unix_time, shown[10].date_time_format.as_deref()), (Some(1_790_000_000), Some("t")));
}

/// Every kind of inline button. Reply keyboards are taken too, and not shown to the bot.
pub async fn every_inline_button(scene: &Scene) {
    let keyboard = json!([
        [
            {"text": "Data", "callback_data": "d", "style": "success", "icon_custom_emoji_id": "53683241706712"},
            {"text": "Link", "url": "https://example.org/"},
        ],
        [
            {"text": "App", "web_app": {"url": "https://example.org/app"}},
            {"text": "Login", "login_url": {"url": "https://example.org/login", "request_write_access": true}},
            {"text": "Inline", "switch_inline_query": "query"},
            {"text": "Here", "switch_inline_query_current_chat": ""},
            {"text": "Chosen", "switch_inline_query_chosen_chat": {"query": "q", "allow_user_chats": true}},
            {"text": "Copy", "copy_text": {"text": "copied"}},
        ],
    ]);
    let parameters = |markup: Value| json!({"chat_id": scene.anna, "text": "Choose", "reply_markup": markup});
    let message: Message = scene.ask("sendMessage", parameters(json!({"inline_keyboard": keyboard}))).await;
    let rows = message.reply_markup.unwrap().inline_keyboard;
    let first = &rows[0][0];
    assert_eq!((first.text.as_str(), first.callback_data.as_deref()), ("Data", Some("d")));
    assert_eq!(first.style, Some(ButtonStyle::Success));
    assert_eq!(first.icon_custom_emoji_id.as_deref(), Some("53683241706712"));
    assert_eq!(rows[0][1].url.as_deref(), Some("https://example.org/"));
    let second = &rows[1];
    assert_eq!(second[0].web_app.as_ref().map(|it| it.url.as_str()), Some("https://example.org/app"));
    assert_eq!(second[1].login_url.as_ref().and_then(|it| it.request_write_access), Some(true));
    assert_eq!(second[2].switch_inline_query.as_deref(), Some("query"));
    assert_eq!(second[3].switch_inline_query_current_chat.as_deref(), Some(""));
    assert_eq!(second[4].switch_inline_query_chosen_chat.as_ref().and_then(|it| it.allow_user_chats), Some(true));
    assert_eq!(second[5].copy_text.as_ref().map(|it| it.text.as_str()), Some("copied"));
    for markup in [
        json!({"keyboard": [["Yes", {"text": "Phone", "request_contact": true}]], "resize_keyboard": true}),
        json!({"remove_keyboard": true, "selective": true}),
        json!({"force_reply": true, "input_field_placeholder": "Hours"}),
    ] {
        let message: Message = scene.ask("sendMessage", parameters(markup)).await;
        assert_eq!(message.reply_markup, None);
    }
}

pub async fn answer_callback_query(scene: &Scene) {
    let message = scene.tells_anna("Press").await;
    let press = json!({"from": scene.anna, "message_id": message.message_id, "data": "yes", "wait": 0});
    let press = scene.acts(scene.anna, "press", press).await;
    let answer = json!({
        "callback_query_id": press["callback_query_id"], "text": "Taken", "show_alert": true,
        "url": "https://example.org/", "cache_time": 5,
    });
    scene.does("answerCallbackQuery", answer).await;
}

pub async fn send_chat_action(scene: &Scene) {
    let crew = scene.crew().await;
    let action = json!({"chat_id": crew.chat, "message_thread_id": crew.topic, "action": "typing"});
    scene.does("sendChatAction", action).await;
}

pub async fn set_message_reaction(scene: &Scene) {
    let said = scene.stage.says(scene.anna, "Done").await["message_id"].clone();
    for reaction in [json!([{"type": "emoji", "emoji": "👍"}]), json!([])] {
        let reaction = json!({"chat_id": scene.anna, "message_id": said, "reaction": reaction, "is_big": true});
        scene.does("setMessageReaction", reaction).await;
    }
}
