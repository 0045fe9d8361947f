//! Chats, who is in them, and what is pinned there.

use frankenstein::types::{ChatFullInfo, ChatMember, ChatType};
use serde_json::json;

use super::scene::Scene;

async fn pinned(scene: &Scene, chat: i64) -> Option<i32> {
    let chat: ChatFullInfo = scene.ask("getChat", json!({"chat_id": chat})).await;
    chat.pinned_message.map(|message| message.message_id)
}

async fn pins(scene: &Scene, message_id: i32) {
    let pin = json!({"chat_id": scene.anna, "message_id": message_id, "disable_notification": true});
    scene.does("pinChatMessage", pin).await;
}

pub async fn pin(scene: &Scene) {
    let message = scene.tells_anna("The rules").await;
    pins(scene, message.message_id).await;
    assert_eq!(pinned(scene, scene.anna).await, Some(message.message_id));
    let crew = scene.crew().await;
    scene.promote_bot(crew.chat);
    scene.does("pinChatMessage", json!({"chat_id": crew.chat, "message_id": crew.said})).await;
    assert_eq!(pinned(scene, crew.chat).await, Some(crew.said));
}

pub async fn unpin(scene: &Scene) {
    let (one, two) = (scene.tells_anna("One").await.message_id, scene.tells_anna("Two").await.message_id);
    pins(scene, one).await;
    pins(scene, two).await;
    scene.does("unpinChatMessage", json!({"chat_id": scene.anna, "message_id": two})).await;
    assert_eq!(pinned(scene, scene.anna).await, Some(one));
    scene.does("unpinChatMessage", json!({"chat_id": scene.anna})).await;
    assert_eq!(pinned(scene, scene.anna).await, None);
}

pub async fn unpin_all(scene: &Scene) {
    let message = scene.tells_anna("One").await;
    pins(scene, message.message_id).await;
    scene.does("unpinAllChatMessages", json!({"chat_id": scene.anna})).await;
    assert_eq!(pinned(scene, scene.anna).await, None);
}

pub async fn get_chat(scene: &Scene) {
    let anna: ChatFullInfo = scene.ask("getChat", json!({"chat_id": scene.anna})).await;
    assert_eq!((anna.id, anna.type_field), (scene.anna, ChatType::Private));
    assert_eq!((anna.first_name.as_deref(), anna.last_name.as_deref()), (Some("Anna"), Some("Sørensen")));
    assert_eq!(anna.active_usernames, Some(vec!["anna_s".to_owned()]));
    assert!(anna.accent_color_id.is_some() && anna.max_reaction_count.is_some() && anna.permissions.is_none());

    let crew = scene.crew().await;
    let group: ChatFullInfo = scene.ask("getChat", json!({"chat_id": "@the_crew"})).await;
    assert_eq!((group.id, group.type_field), (crew.chat, ChatType::Supergroup));
    assert_eq!((group.title.as_deref(), group.username.as_deref()), (Some("Crew"), Some("the_crew")));
    assert_eq!(group.is_forum, Some(true));
    let permissions = group.permissions.unwrap();
    assert_eq!((permissions.can_send_messages, permissions.can_manage_topics), (Some(true), Some(true)));
}

pub async fn member(scene: &Scene) {
    let crew = scene.crew().await;
    let carl = scene.stage.person("Carl").await;
    let me = 123_456_789;
    let who = |user: i64| json!({"chat_id": crew.chat, "user_id": user});
    let ChatMember::Creator(anna) = scene.ask("getChatMember", who(scene.anna)).await else { panic!("Anna owns it") };
    assert_eq!((anna.user.first_name.as_str(), anna.is_anonymous), ("Anna", false));
    let ChatMember::Member(boris) = scene.ask("getChatMember", who(scene.boris)).await else { panic!("Boris is in") };
    assert_eq!(boris.user.id, scene.boris as u64);
    let ChatMember::Left(carl_there) = scene.ask("getChatMember", who(carl)).await else { panic!("Carl is out") };
    assert_eq!(carl_there.user.first_name, "Carl");
    let ChatMember::Member(bot) = scene.ask("getChatMember", who(me)).await else { panic!("the bot is in") };
    assert!(bot.user.is_bot);
    scene.promote_bot(crew.chat);
    let ChatMember::Administrator(bot) = scene.ask("getChatMember", who(me)).await else { panic!("it was promoted") };
    assert!(bot.can_manage_chat && bot.can_delete_messages && bot.can_pin_messages == Some(true));
    let private = json!({"chat_id": scene.anna, "user_id": scene.anna});
    let ChatMember::Member(anna) = scene.ask("getChatMember", private).await else { panic!("it is her chat") };
    assert_eq!(anna.user.id, scene.anna as u64);
}

pub async fn member_count(scene: &Scene) {
    let crew = scene.crew().await;
    assert_eq!(scene.ask::<u32>("getChatMemberCount", json!({"chat_id": crew.chat})).await, 3);
    assert_eq!(scene.ask::<u32>("getChatMemberCount", json!({"chat_id": scene.anna})).await, 2);
}

pub async fn administrators(scene: &Scene) {
    let crew = scene.crew().await;
    let which = json!({"chat_id": crew.chat, "return_bots": true});
    let heads: Vec<ChatMember> = scene.ask("getChatAdministrators", which).await;
    assert!(matches!(&heads[..], [ChatMember::Creator(anna)] if anna.user.id == scene.anna as u64));
    scene.promote_bot(crew.chat);
    let heads: Vec<ChatMember> = scene.ask("getChatAdministrators", json!({"chat_id": crew.chat})).await;
    let of_bot = |head: &ChatMember| matches!(head, ChatMember::Administrator(head) if head.user.is_bot);
    assert!(heads.len() == 2 && heads.iter().any(of_bot), "only other bots are left out: {heads:?}");
}

pub async fn leave(scene: &Scene) {
    let crew = scene.crew().await;
    scene.does("leaveChat", json!({"chat_id": crew.chat})).await;
    let refused = scene.stage.refused("sendMessage", json!({"chat_id": crew.chat, "text": "Still here?"})).await;
    assert_eq!(refused.0, 403);
}
