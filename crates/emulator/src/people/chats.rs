//! Groups and topics, and who is in them.

use axum::Json;
use serde::Deserialize;
use serde_json::{Value, json};

use super::bots::check_username;
use super::{Body, BotPath, Refusal};
use crate::token::MAX_ID;
use crate::world::World;
use crate::world::chat::{ChatKind, Group, MemberStatus, Topic};
use crate::world::content::Service;
use crate::world::message::Extra;

/// The first of the colours that Telegram gives to topics. All topics of the emulator have it.
const TOPIC_COLOR: u32 = 0x6F_B9_F0;

#[derive(Deserialize)]
pub(super) struct NewChat {
    r#type: String,
    title: String,
    #[serde(default)]
    members: Vec<i64>,
    /// The members, possibly with the bot, who may pin and delete messages of others.
    #[serde(default)]
    administrators: Vec<i64>,
    #[serde(default)]
    is_forum: bool,
    #[serde(default)]
    topics: Vec<String>,
    username: Option<String>,
    id: Option<i64>,
}

#[derive(Deserialize)]
pub(super) struct Actor {
    pub(super) from: i64,
}

#[derive(Deserialize)]
pub(super) struct NewTopic {
    from: i64,
    name: String,
}

pub(super) async fn create(at: BotPath, Body(given): Body<NewChat>) -> Result<Json<Value>, Refusal> {
    let kind = match given.r#type.as_str() {
        "group" => ChatKind::Group,
        "supergroup" => ChatKind::Supergroup,
        "private" => return Err(Refusal::bad("a private chat comes with its user: POST …/users")),
        other => return Err(Refusal::bad(format!("type must be group or supergroup, not {other}"))),
    };
    let forum = given.is_forum || !given.topics.is_empty();
    if forum && kind == ChatKind::Group {
        return Err(Refusal::bad("only a supergroup has topics"));
    }
    if given.title.trim().is_empty() || given.title.chars().count() > 128 {
        return Err(Refusal::bad("title must have 1 to 128 characters"));
    }
    given.username.iter().try_for_each(|name| check_username(name))?;
    given.topics.iter().try_for_each(|name| check_topic_name(name))?;
    let mut world = at.bot.world();
    let named = given.members.iter().chain(&given.administrators);
    if let Some(stranger) = named.clone().find(|id| world.user(**id).is_none()) {
        return Err(Refusal::missing(format!("there is no user {stranger}")));
    }
    let id = chat_id(&world, kind, given.id)?;
    let members = given.administrators.iter().map(|id| (*id, MemberStatus::Administrator)).collect();
    let group = Group { title: given.title, username: given.username, forum, members, ..Group::default() };
    world.create_group(id, kind, group, &given.members);
    let creator = given.members.first().copied().unwrap_or(world.me.id);
    for name in &given.topics {
        topic(&mut world, id, creator, name);
    }
    Ok(Json(overview(&world, id)))
}

/// The id of a new chat. Groups have negative ids; those of supergroups begin with −100.
pub(super) fn chat_id(world: &World, kind: ChatKind, wanted: Option<i64>) -> Result<i64, Refusal> {
    match wanted {
        Some(id) if !(-MAX_ID..=-1).contains(&id) => Err(Refusal::bad("a group's id is from -(2^52 - 1) to -1")),
        Some(id) if world.chat(id).is_some() => Err(Refusal::bad(format!("there is a chat {id} already"))),
        Some(id) => Ok(id),
        None => loop {
            let random = fastrand::i64(1_000_000_000..4_000_000_000);
            let id = if kind == ChatKind::Supergroup { -1_000_000_000_000 - random } else { -random };
            if world.chat(id).is_none() {
                break Ok(id);
            }
        },
    }
}

pub(super) async fn add_topic(at: BotPath, Body(given): Body<NewTopic>) -> Result<Json<Topic>, Refusal> {
    let chat = at.chat()?;
    let mut world = at.bot.world();
    member(&world, chat, given.from)?;
    if world.chat(chat).and_then(|chat| chat.group.as_ref()).is_none_or(|group| !group.forum) {
        return Err(Refusal::bad("this chat has no topics"));
    }
    check_topic_name(&given.name)?;
    Ok(Json(topic(&mut world, chat, given.from, &given.name)))
}

fn check_topic_name(name: &str) -> Result<(), Refusal> {
    let fits = !name.trim().is_empty() && name.chars().count() <= 128;
    if fits { Ok(()) } else { Err(Refusal::bad("a topic's name must have 1 to 128 characters")) }
}

fn topic(world: &mut World, chat: i64, from: i64, name: &str) -> Topic {
    // A topic's id is that of the message that created it.
    let thread = world.chat(chat).map_or(0, |chat| chat.last_message_id + 1);
    let service = Service::TopicCreated { name: name.to_owned(), icon_color: TOPIC_COLOR };
    let extra = Extra { thread: Some(thread), ..Extra::default() };
    world.post_service_message_in(chat, from, service, Some(Box::new(extra)));
    let topic = Topic { thread, name: name.to_owned() };
    if let Some(group) = world.chat_mut(chat).and_then(|chat| chat.group.as_mut()) {
        group.topics.push(topic.clone());
    }
    world.chat_changed(chat);
    topic
}

pub(super) async fn block(at: BotPath, Body(by): Body<Actor>) -> Result<Json<Value>, Refusal> {
    set_blocked(&at, by.from, true)
}

pub(super) async fn unblock(at: BotPath, Body(by): Body<Actor>) -> Result<Json<Value>, Refusal> {
    set_blocked(&at, by.from, false)
}

fn set_blocked(at: &BotPath, user: i64, blocked: bool) -> Result<Json<Value>, Refusal> {
    let chat = at.chat()?;
    if chat != user {
        return Err(Refusal::bad("a person blocks the bot in their own private chat: from must be the chat's id"));
    }
    let mut world = at.bot.world();
    world.set_blocked(user, blocked);
    Ok(Json(overview(&world, chat)))
}

pub(super) async fn join(at: BotPath, Body(by): Body<Actor>) -> Result<Json<Value>, Refusal> {
    let chat = at.chat()?;
    let mut world = at.bot.world();
    if world.user(by.from).is_none() {
        return Err(Refusal::missing(format!("there is no user {}", by.from)));
    }
    if !world.join(chat, by.from) {
        return Err(Refusal::bad("this chat cannot be joined, or the user is in it already"));
    }
    Ok(Json(overview(&world, chat)))
}

/// A member leaves; `from` may also be the bot's id, which is how an administrator removes the bot.
pub(super) async fn leave(at: BotPath, Body(by): Body<Actor>) -> Result<Json<Value>, Refusal> {
    let chat = at.chat()?;
    let mut world = at.bot.world();
    if !world.leave(chat, by.from) {
        return Err(Refusal::bad(format!("user {} is not in this group", by.from)));
    }
    Ok(Json(overview(&world, chat)))
}

/// Checks that a user exists and may act in the chat.
pub(super) fn member(world: &World, chat_id: i64, user: i64) -> Result<(), Refusal> {
    if world.user(user).is_none_or(|user| user.is_bot) {
        return Err(Refusal::missing(format!("there is no user {user}")));
    }
    let Some(chat) = world.chat(chat_id) else {
        return Err(Refusal::missing(format!("there is no chat {chat_id}")));
    };
    if chat.is_private() && chat.id != user {
        return Err(Refusal::bad("this private chat belongs to another user"));
    }
    if chat.is_private() && chat.closed_to_bot {
        return Err(Refusal::bad("the bot is blocked: unblock it first"));
    }
    let out = matches!(chat.member_status(user), None | Some(MemberStatus::Left | MemberStatus::Kicked));
    if !chat.is_private() && out {
        return Err(Refusal::bad(format!("user {user} is not in this group")));
    }
    Ok(())
}

pub(super) fn overview(world: &World, chat: i64) -> Value {
    world.chat(chat).map_or(json!({}), |chat| world.chat_overview(chat))
}
