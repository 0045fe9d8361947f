//! Updates of every kind, as `getUpdates` brings them.

use frankenstein::types::{
    ChatMember, ChatMemberUpdated, MaybeInaccessibleMessage, Message, MessageEntityType as Kind, ReactionType,
};
use frankenstein::updates::{Update, UpdateContent};
use serde_json::json;

use super::scene::{Scene, file, picture};

/// The messages among the updates since the last call.
async fn messages(scene: &Scene) -> Vec<Message> {
    let message = |update| match update {
        UpdateContent::Message(message) => Some(*message),
        _ => None,
    };
    scene.updates().await.into_iter().filter_map(message).collect()
}

/// Anna sends something in her chat, and the bot gets one message.
async fn receives(scene: &Scene, mut said: serde_json::Value) -> Message {
    said["from"] = scene.anna.into();
    scene.acts(scene.anna, "send", said).await;
    let mut messages = messages(scene).await;
    assert_eq!(messages.len(), 1);
    let message = messages.remove(0);
    let from = message.from.as_ref().unwrap();
    assert_eq!((from.id, from.is_bot, from.first_name.as_str()), (scene.anna as u64, false, "Anna"));
    assert_eq!((from.language_code.as_deref(), from.username.as_deref()), (Some("en"), Some("anna_s")));
    assert_eq!(message.chat.id, scene.anna);
    message
}

pub async fn get_updates(scene: &Scene) {
    for text in ["One", "Two", "Three"] {
        scene.stage.says(scene.anna, text).await;
    }
    let parameters = json!({"limit": 2, "timeout": 0, "allowed_updates": []});
    let first: Vec<Update> = scene.ask("getUpdates", parameters).await;
    assert_eq!(first.len(), 2);
    assert_eq!(first[1].update_id, first[0].update_id + 1);
    let rest: Vec<Update> = scene.ask("getUpdates", json!({"offset": first[1].update_id + 1})).await;
    assert!(matches!(&rest[0].content, UpdateContent::Message(it) if it.text.as_deref() == Some("Three")));
}

pub async fn text(scene: &Scene) {
    let message = receives(scene, json!({"text": "/start now, see example.org"})).await;
    assert_eq!(message.text.as_deref(), Some("/start now, see example.org"));
    let kinds: Vec<_> = message.entities.unwrap().iter().map(|entity| entity.type_field).collect();
    assert_eq!(kinds, [Kind::BotCommand, Kind::Url]);
}

pub async fn reply_in_topic(scene: &Scene) {
    let crew = scene.crew().await;
    messages(scene).await;
    let reply = json!({"from": scene.boris, "text": "I do", "reply_to": crew.said});
    scene.acts(crew.chat, "send", reply).await;
    let messages = messages(scene).await;
    assert_eq!((messages[0].message_thread_id, messages[0].is_topic_message), (Some(crew.topic), Some(true)));
    assert_eq!(messages[0].reply_to_message.as_ref().map(|replied| replied.message_id), Some(crew.said));
}

pub async fn photo(scene: &Scene) {
    let photo = file("a.png", &picture(800, 600));
    let message = receives(scene, json!({"photo": photo, "caption": "The #shelf"})).await;
    assert_eq!(message.caption.as_deref(), Some("The #shelf"));
    assert_eq!(message.caption_entities.map(|it| it[0].type_field), Some(Kind::Hashtag));
    let sizes: Vec<_> = message.photo.unwrap().iter().map(|size| (size.width, size.height)).collect();
    assert_eq!(sizes, [(320, 240), (800, 600)]);
}

pub async fn document(scene: &Scene) {
    let document = json!({"name": "list.txt", "base64": "YWJj", "mime_type": "text/plain"});
    let document = receives(scene, json!({"document": document})).await.document.unwrap();
    assert_eq!((document.file_name.as_deref(), document.file_size), (Some("list.txt"), Some(3)));
    assert_eq!(document.mime_type.as_deref(), Some("text/plain"));
}

pub async fn voice(scene: &Scene) {
    let voice = receives(scene, json!({"voice": file("v.ogg", b"words")})).await.voice.unwrap();
    assert_eq!((voice.mime_type.as_deref(), voice.file_size), (Some("audio/ogg"), Some(5)));
}

pub async fn album(scene: &Scene) {
    let album = [file("1.png", &picture(90, 60)), file("2.png", &picture(60, 90))];
    scene.acts(scene.anna, "send", json!({"from": scene.anna, "album": album, "caption": "Both"})).await;
    let messages = messages(scene).await;
    assert_eq!(messages.len(), 2);
    assert!(messages[0].media_group_id.is_some() && messages[0].media_group_id == messages[1].media_group_id);
    assert_eq!((messages[0].caption.as_deref(), messages[1].caption.as_deref()), (Some("Both"), None));
}

pub async fn contact(scene: &Scene) {
    let contact = receives(scene, json!({"contact": {"phone_number": "+15550123"}})).await.contact.unwrap();
    assert_eq!((contact.phone_number.as_str(), contact.first_name.as_str()), ("+15550123", "Anna"));
    assert_eq!((contact.user_id, contact.last_name.as_deref()), (Some(scene.anna as u64), Some("Sørensen")));
}

pub async fn location(scene: &Scene) {
    let location = json!({"latitude": 55.5, "longitude": 37.25, "horizontal_accuracy": 10.0});
    let location = receives(scene, json!({"location": location})).await.location.unwrap();
    assert_eq!((location.latitude, location.longitude), (55.5, 37.25));
    assert_eq!(location.horizontal_accuracy, Some(10.0));
}

/// A plain group, and a supergroup with a topic. The bot also gets an update that it was added.
pub async fn created_groups(scene: &Scene) {
    scene.stage.post("/chats", json!({"type": "group", "title": "Few", "members": [scene.anna]})).await;
    let updates = scene.updates().await;
    let UpdateContent::MyChatMember(added) = &updates[0] else { panic!("first of all it was added") };
    assert_eq!((added.from.id, added.chat.title.as_deref()), (scene.anna as u64, Some("Few")));
    assert!(matches!((&added.old_chat_member, &added.new_chat_member), (ChatMember::Left(_), ChatMember::Member(_))));
    assert!(matches!(&updates[1], UpdateContent::Message(it) if it.group_chat_created == Some(true)));
    let crew = scene.crew().await;
    let messages = messages(scene).await;
    assert_eq!(messages[0].supergroup_chat_created, Some(true));
    let topic = messages[1].forum_topic_created.as_ref().unwrap();
    assert_eq!((topic.name.as_str(), messages[1].message_thread_id), ("Shifts", Some(crew.topic)));
    assert!(topic.icon_color > 0);
}

pub async fn comings_and_goings(scene: &Scene) {
    let crew = scene.crew().await;
    let carl = scene.stage.person("Carl").await;
    scene.updates().await;
    for deed in ["join", "leave"] {
        scene.acts(crew.chat, deed, json!({"from": carl})).await;
    }
    let updates = scene.updates().await;
    let [
        UpdateContent::ChatMember(joined),
        UpdateContent::Message(came),
        UpdateContent::ChatMember(gone),
        UpdateContent::Message(went),
    ] = &updates[..]
    else {
        panic!("each is told twice: {updates:?}")
    };
    let standings = |it: &ChatMemberUpdated| match (&it.old_chat_member, &it.new_chat_member) {
        (ChatMember::Left(left), ChatMember::Member(_)) => ("joined", left.user.id),
        (ChatMember::Member(_), ChatMember::Left(left)) => ("left", left.user.id),
        other => panic!("{other:?}"),
    };
    assert_eq!((standings(joined), standings(gone)), (("joined", carl as u64), ("left", carl as u64)));
    assert_eq!(came.new_chat_members.as_ref().map(|members| members[0].id), Some(carl as u64));
    assert_eq!(went.left_chat_member.as_ref().map(|member| member.id), Some(carl as u64));
}

pub async fn pinned(scene: &Scene) {
    let message = scene.tells_anna("The rules").await;
    scene.does("pinChatMessage", json!({"chat_id": scene.anna, "message_id": message.message_id})).await;
    let note = messages(scene).await.remove(0);
    let Some(MaybeInaccessibleMessage::Message(pinned)) = note.pinned_message.map(|it| *it) else {
        panic!("the pinned message is there to read")
    };
    assert_eq!((pinned.message_id, pinned.text.as_deref()), (message.message_id, Some("The rules")));
}

pub async fn edited(scene: &Scene) {
    let said = receives(scene, json!({"text": "Too late"})).await;
    scene.acts(scene.anna, "send", json!({"from": scene.anna, "edit": said.message_id, "text": "In time"})).await;
    let updates = scene.updates().await;
    let [UpdateContent::EditedMessage(message)] = &updates[..] else { panic!("{updates:?}") };
    assert_eq!((message.message_id, message.text.as_deref()), (said.message_id, Some("In time")));
    assert!(message.edit_date.is_some_and(|date| date >= message.date));
}

pub async fn press(scene: &Scene) {
    let keyboard = json!({"inline_keyboard": [[{"text": "Yes", "callback_data": "yes"}]]});
    let parameters = json!({"chat_id": scene.anna, "text": "Well?", "reply_markup": keyboard});
    let message: Message = scene.ask("sendMessage", parameters).await;
    let press = json!({"from": scene.anna, "message_id": message.message_id, "data": "yes", "wait": 0});
    let pressed = scene.acts(scene.anna, "press", press).await;
    let updates = scene.updates().await;
    let [UpdateContent::CallbackQuery(query)] = &updates[..] else { panic!("{updates:?}") };
    assert_eq!(pressed["callback_query_id"], query.id);
    assert_eq!((query.from.id, query.data.as_deref()), (scene.anna as u64, Some("yes")));
    assert!(!query.chat_instance.is_empty());
    let Some(MaybeInaccessibleMessage::Message(shown)) = &query.message else { panic!("{query:?}") };
    assert_eq!(**shown, message);
}

/// An open poll tells the new counts and who voted; a vote taken back is an empty one.
pub async fn vote(scene: &Scene) {
    let poll = json!({"chat_id": scene.anna, "question": "Tea?", "options": ["Yes", "No"], "is_anonymous": false});
    let sent: Message = scene.ask("sendPoll", poll).await;
    let id = &sent.poll.as_ref().unwrap().id;
    for chosen in [vec![1], vec![]] {
        let vote = json!({"from": scene.anna, "message_id": sent.message_id, "option_ids": chosen});
        scene.acts(scene.anna, "vote", vote).await;
        let updates = scene.updates().await;
        let [UpdateContent::Poll(poll), UpdateContent::PollAnswer(answer)] = &updates[..] else {
            panic!("{updates:?}")
        };
        assert_eq!((&poll.id, poll.total_voter_count as usize), (id, chosen.len()));
        assert_eq!((&answer.poll_id, &answer.option_ids), (id, &chosen));
        assert_eq!(answer.user.as_ref().map(|user| user.id), Some(scene.anna as u64));
        let persistent = chosen.iter().map(|at| poll.options[*at as usize].persistent_id.clone().unwrap());
        assert_eq!(answer.option_persistent_ids, persistent.collect::<Vec<_>>());
    }
}

pub async fn block(scene: &Scene) {
    scene.acts(scene.anna, "block", json!({"from": scene.anna})).await;
    scene.acts(scene.anna, "unblock", json!({"from": scene.anna})).await;
    let updates = scene.updates().await;
    let [UpdateContent::MyChatMember(blocked), UpdateContent::MyChatMember(again)] = &updates[..] else {
        panic!("{updates:?}")
    };
    assert_eq!((blocked.chat.id, blocked.from.id), (scene.anna, scene.anna as u64));
    assert!(matches!(&blocked.new_chat_member, ChatMember::Kicked(bot) if bot.user.is_bot && bot.until_date == 0));
    assert!(matches!((&again.old_chat_member, &again.new_chat_member), (ChatMember::Kicked(_), ChatMember::Member(_))));
}

pub async fn reaction(scene: &Scene) {
    let message = scene.tells_anna("Done").await;
    scene.updates().await;
    for reaction in [
        json!([{"type": "emoji", "emoji": "👍"}]),
        json!([{"type": "custom_emoji", "custom_emoji_id": "53683241706712"}]),
        json!([]),
    ] {
        let reaction = json!({"from": scene.anna, "message_id": message.message_id, "reaction": reaction});
        scene.acts(scene.anna, "react", reaction).await;
    }
    let updates = scene.updates().await;
    let [
        UpdateContent::MessageReaction(first),
        UpdateContent::MessageReaction(second),
        UpdateContent::MessageReaction(third),
    ] = &updates[..]
    else {
        panic!("{updates:?}")
    };
    assert_eq!((first.chat.id, first.message_id), (scene.anna, message.message_id));
    assert_eq!(first.user.as_ref().map(|user| user.id), Some(scene.anna as u64));
    assert!(matches!(&first.new_reaction[..], [ReactionType::Emoji(it)] if it.emoji == "👍"));
    assert!(matches!(&second.new_reaction[..], [ReactionType::CustomEmoji(_)]));
    assert_eq!((second.old_reaction.as_slice(), third.new_reaction.len()), (first.new_reaction.as_slice(), 0));
}
