//! Bots and their people.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};

use super::upload::FileIn;
use super::{Body, BotPath, Refusal};
use crate::bot_api::methods::add_file;
use crate::emulator::Emulator;
use crate::token::MAX_ID;
use crate::world::content::MediaKind;
use crate::world::file::FileAttributes;
use crate::world::hints::Hints;
use crate::world::user::User;

pub(super) async fn list(State(emulator): State<Emulator>) -> Json<Value> {
    let bots: Vec<Value> = emulator
        .bots()
        .iter()
        .map(|bot| {
            let world = bot.world();
            json!({
                "token": bot.token.as_str(), "id": world.me.id, "first_name": world.me.first_name,
                "username": world.me.username, "users": world.users().count(), "chats": world.chats().count(),
            })
        })
        .collect();
    Json(json!({"version": env!("CARGO_PKG_VERSION"), "limits": emulator.limits().name(), "bots": bots}))
}

pub(super) async fn overview(at: BotPath) -> Json<Value> {
    let world = at.bot.world();
    let mut users: Vec<&User> = world.users().collect();
    users.sort_by_key(|user| user.id);
    let mut chats: Vec<_> = world.chats().collect();
    chats.sort_by_key(|chat| chat.id);
    let mut overview = world.profile_overview();
    overview["users"] = json!(users);
    overview["hints"] = json!(world.hints());
    overview["chats"] = chats.into_iter().map(|chat| world.chat_overview(chat)).collect();
    overview["webhook"] = world.webhook_info();
    overview["clock_offset_seconds"] = world.clock.offset_seconds().into();
    overview["pending_update_count"] = world.queue.len().into();
    overview["faults"] = json!(world.faults.active());
    Json(overview)
}

pub(super) async fn forget(State(emulator): State<Emulator>, at: BotPath) -> Json<Value> {
    emulator.forget(&at.bot.token);
    Json(json!({}))
}

#[derive(Deserialize)]
pub(super) struct Description {
    first_name: Option<Box<str>>,
    username: Option<Box<str>>,
    can_join_groups: Option<bool>,
    can_read_all_group_messages: Option<bool>,
    supports_inline_queries: Option<bool>,
}

pub(super) async fn describe(at: BotPath, Body(given): Body<Description>) -> Result<Json<Value>, Refusal> {
    let mut world = at.bot.world();
    if let Some(name) = given.first_name {
        check_name("first_name", &name)?;
        world.me.first_name = name;
    }
    if let Some(name) = given.username {
        check_username(&name)?;
        world.me.username = Some(name);
    }
    let abilities = &mut world.abilities;
    abilities.can_join_groups = given.can_join_groups.unwrap_or(abilities.can_join_groups);
    abilities.can_read_all_group_messages =
        given.can_read_all_group_messages.unwrap_or(abilities.can_read_all_group_messages);
    abilities.supports_inline_queries = given.supports_inline_queries.unwrap_or(abilities.supports_inline_queries);
    world.me_changed();
    Ok(Json(world.me_overview()))
}

/// Replaces what the chat page shows beside the messages.
pub(super) async fn set_hints(at: BotPath, Body(hints): Body<Hints>) -> Result<Json<Hints>, Refusal> {
    if let Some(problem) = hints.problem() {
        return Err(Refusal::bad(problem));
    }
    at.bot.world().set_hints(hints.clone());
    Ok(Json(hints))
}

#[derive(Deserialize)]
pub(super) struct NewUser {
    id: Option<i64>,
    first_name: Box<str>,
    last_name: Option<Box<str>>,
    username: Option<Box<str>>,
    language_code: Option<Box<str>>,
    /// A profile photo.
    photo: Option<FileIn>,
}

pub(super) async fn add_user(at: BotPath, Body(given): Body<NewUser>) -> Result<Json<User>, Refusal> {
    check_name("first_name", &given.first_name)?;
    given.last_name.iter().try_for_each(|name| check_name("last_name", name))?;
    given.username.iter().try_for_each(|name| check_username(name))?;
    let photo = given.photo.map(|photo| photo.upload("photo")).transpose()?;
    let mut world = at.bot.world();
    if given.id.is_some_and(|id| !(1..=MAX_ID).contains(&id)) {
        return Err(Refusal::bad("id must be from 1 to 2^52 - 1"));
    }
    if given.id == Some(world.me.id) {
        return Err(Refusal::bad("this id is the bot's own"));
    }
    let id = given.id.unwrap_or_else(|| world.free_user_id());
    let user = User {
        id,
        is_bot: false,
        first_name: given.first_name,
        last_name: given.last_name,
        username: given.username,
        language_code: given.language_code,
    };
    world.put_user(user.clone());
    if let Some(photo) = photo {
        let sizes = add_file(&mut world, MediaKind::Photo, &photo, FileAttributes::default(), false)?;
        world.add_profile_photo(id, sizes);
    }
    Ok(Json(user))
}

pub(super) fn check_name(what: &str, name: &str) -> Result<(), Refusal> {
    let fits = !name.trim().is_empty() && name.chars().count() <= 64;
    if fits { Ok(()) } else { Err(Refusal::bad(format!("{what} must have 1 to 64 characters"))) }
}

pub(super) fn check_username(name: &str) -> Result<(), Refusal> {
    let spelled = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let fits = (3..=32).contains(&name.len());
    if spelled && fits { Ok(()) } else { Err(Refusal::bad("username must be 3 to 32 of A-Z, a-z, 0-9 and _")) }
}
