//! Groups and topics, and who is in them.

use axum::Json;
use serde::Deserialize;
use serde_json::{Value, json};

use super::bots::check_username;
use super::{At, Body, Refused};
use crate::token::MAX_ID;
use crate::world::World;
use crate::world::chat::{ChatKind, Group, Standing, Topic};
use crate::world::content::Service;
use crate::world::message::Extra;

/// The colours Telegram gives to topics; the emulator gives them all the first.
const TOPIC_COLOR: u32 = 0x6F_B9_F0;

#[derive(Deserialize)]
pub(super) struct NewChat {
    r#type: String,
    title: String,
    #[serde(default)]
    members: Vec<i64>,
    /// Those of the members, or the bot, who may pin and delete what others said.
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
pub(super) struct By {
    pub(super) from: i64,
}

#[derive(Deserialize)]
pub(super) struct NewTopic {
    from: i64,
    name: String,
}

pub(super) async fn create(at: At, Body(given): Body<NewChat>) -> Result<Json<Value>, Refused> {
    let kind = match given.r#type.as_str() {
        "group" => ChatKind::Group,
        "supergroup" => ChatKind::Supergroup,
        "private" => return Err(Refused::bad("a private chat comes with its user: POST …/users")),
        other => return Err(Refused::bad(format!("type must be group or supergroup, not {other}"))),
    };
    let forum = given.is_forum || !given.topics.is_empty();
    if forum && kind == ChatKind::Group {
        return Err(Refused::bad("only a supergroup has topics"));
    }
    if given.title.trim().is_empty() || given.title.chars().count() > 128 {
        return Err(Refused::bad("title must have 1 to 128 characters"));
    }
    given.username.iter().try_for_each(|name| check_username(name))?;
    given.topics.iter().try_for_each(|name| check_topic_name(name))?;
    let mut world = at.bot.world();
    let named = given.members.iter().chain(&given.administrators);
    if let Some(stranger) = named.clone().find(|id| world.user(**id).is_none()) {
        return Err(Refused::missing(format!("there is no user {stranger}")));
    }
    let id = chat_id(&world, kind, given.id)?;
    let members = given.administrators.iter().map(|id| (*id, Standing::Administrator)).collect();
    let group = Group { title: given.title, username: given.username, forum, members, ..Group::default() };
    world.create_group(id, kind, group, &given.members);
    let creator = given.members.first().copied().unwrap_or(world.me.id);
    for name in &given.topics {
        topic(&mut world, id, creator, name);
    }
    Ok(Json(overview(&world, id)))
}

/// Groups have negative ids; those of supergroups begin with −100.
pub(super) fn chat_id(world: &World, kind: ChatKind, wanted: Option<i64>) -> Result<i64, Refused> {
    match wanted {
        Some(id) if !(-MAX_ID..=-1).contains(&id) => Err(Refused::bad("a group's id is from -(2^52 - 1) to -1")),
        Some(id) if world.chat(id).is_some() => Err(Refused::bad(format!("there is a chat {id} already"))),
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

pub(super) async fn add_topic(at: At, Body(given): Body<NewTopic>) -> Result<Json<Topic>, Refused> {
    let chat = at.chat()?;
    let mut world = at.bot.world();
    member(&world, chat, given.from)?;
    if world.chat(chat).and_then(|chat| chat.group.as_ref()).is_none_or(|group| !group.forum) {
        return Err(Refused::bad("this chat has no topics"));
    }
    check_topic_name(&given.name)?;
    Ok(Json(topic(&mut world, chat, given.from, &given.name)))
}

fn check_topic_name(name: &str) -> Result<(), Refused> {
    let fits = !name.trim().is_empty() && name.chars().count() <= 128;
    if fits { Ok(()) } else { Err(Refused::bad("a topic's name must have 1 to 128 characters")) }
}

fn topic(world: &mut World, chat: i64, from: i64, name: &str) -> Topic {
    // A topic's id is that of the message that created it.
    let thread = world.chat(chat).map_or(0, |chat| chat.last_message_id + 1);
    let service = Service::TopicCreated { name: name.to_owned(), icon_color: TOPIC_COLOR };
    let extra = Extra { thread: Some(thread), ..Extra::default() };
    world.note_in(chat, from, service, Some(Box::new(extra)));
    let topic = Topic { thread, name: name.to_owned() };
    if let Some(group) = world.chat_mut(chat).and_then(|chat| chat.group.as_mut()) {
        group.topics.push(topic.clone());
    }
    world.chat_changed(chat);
    topic
}

pub(super) async fn block(at: At, Body(by): Body<By>) -> Result<Json<Value>, Refused> {
    set_blocked(&at, by.from, true)
}

pub(super) async fn unblock(at: At, Body(by): Body<By>) -> Result<Json<Value>, Refused> {
    set_blocked(&at, by.from, false)
}

fn set_blocked(at: &At, user: i64, blocked: bool) -> Result<Json<Value>, Refused> {
    let chat = at.chat()?;
    if chat != user {
        return Err(Refused::bad("a person blocks the bot in their own private chat: from must be the chat's id"));
    }
    let mut world = at.bot.world();
    world.set_blocked(user, blocked);
    Ok(Json(overview(&world, chat)))
}

pub(super) async fn join(at: At, Body(by): Body<By>) -> Result<Json<Value>, Refused> {
    let chat = at.chat()?;
    let mut world = at.bot.world();
    if world.user(by.from).is_none() {
        return Err(Refused::missing(format!("there is no user {}", by.from)));
    }
    if !world.join(chat, by.from) {
        return Err(Refused::bad("nobody can join here, or they are here already"));
    }
    Ok(Json(overview(&world, chat)))
}

/// A member leaves; `from` may also be the bot's id, which is how an administrator removes the bot.
pub(super) async fn leave(at: At, Body(by): Body<By>) -> Result<Json<Value>, Refused> {
    let chat = at.chat()?;
    let mut world = at.bot.world();
    if !world.leave(chat, by.from) {
        return Err(Refused::bad(format!("user {} is not in this group", by.from)));
    }
    Ok(Json(overview(&world, chat)))
}

/// Whoever acts in a chat must be in it.
pub(super) fn member(world: &World, chat_id: i64, user: i64) -> Result<(), Refused> {
    if world.user(user).is_none_or(|user| user.is_bot) {
        return Err(Refused::missing(format!("there is no user {user}")));
    }
    let Some(chat) = world.chat(chat_id) else {
        return Err(Refused::missing(format!("there is no chat {chat_id}")));
    };
    if chat.is_private() && chat.id != user {
        return Err(Refused::bad("this private chat is somebody else's"));
    }
    if chat.is_private() && chat.closed_to_bot {
        return Err(Refused::bad("the bot is blocked: unblock it first"));
    }
    let out = matches!(chat.standing(user), None | Some(Standing::Left | Standing::Kicked));
    if !chat.is_private() && out {
        return Err(Refused::bad(format!("user {user} is not in this group")));
    }
    Ok(())
}

pub(super) fn overview(world: &World, chat: i64) -> Value {
    world.chat(chat).map_or(json!({}), |chat| world.chat_overview(chat))
}
