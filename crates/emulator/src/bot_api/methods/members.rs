//! `getChatMember`, `getChatMemberCount`, `getChatAdministrators` and `leaveChat`.

use serde::Deserialize;
use serde_json::json;

use super::about::ChatParameter;
use crate::bot_api::MethodResult;
use crate::bot_api::call::Call;
use crate::bot_api::chats::{self, ChatRef};
use crate::bot_api::error::ApiError;
use crate::bot_api::parameters::Ignored;
use crate::world::World;
use crate::world::chat::MemberStatus;

#[derive(Debug, Deserialize)]
pub struct GetMember {
    chat_id: ChatRef,
    user_id: i64,
}

#[derive(Debug, Deserialize)]
pub struct GetAdministrators {
    chat_id: ChatRef,
    #[allow(dead_code, reason = "known to Telegram, without effect here")]
    return_bots: Option<Ignored>,
}

pub fn member(world: &mut World, call: &Call) -> MethodResult {
    let given: GetMember = call.parameters.read()?;
    let chat = chats::open(world, &given.chat_id)?;
    if world.user(given.user_id).is_none() {
        return Err(ApiError::bad_request("invalid user_id specified"));
    }
    let status = match chat.member_status(given.user_id) {
        Some(status) => status,
        None if chat.is_private() && (given.user_id == chat.id || given.user_id == world.me.id) => MemberStatus::Member,
        None if chat.is_private() => return Err(ApiError::bad_request("PARTICIPANT_ID_INVALID")),
        None => MemberStatus::Left,
    };
    Ok(world.member(given.user_id, status).to_string().into())
}

pub fn count(world: &mut World, call: &Call) -> MethodResult {
    let given: ChatParameter = call.parameters.read()?;
    let chat = chats::open(world, &given.chat_id)?;
    let present = |status: &&MemberStatus| !matches!(status, MemberStatus::Left | MemberStatus::Kicked);
    let count = chat.group.as_ref().map_or(2, |group| group.members.values().filter(present).count());
    Ok(count.to_string().into())
}

pub fn administrators(world: &mut World, call: &Call) -> MethodResult {
    let given: GetAdministrators = call.parameters.read()?;
    let chat = chats::open(world, &given.chat_id)?;
    let Some(group) = &chat.group else {
        return Err(ApiError::bad_request("there are no administrators in the private chat"));
    };
    // Telegram leaves out other bots unless asked for. There are none here, and this bot is always listed.
    let heads = group
        .members
        .iter()
        .filter(|(_, status)| matches!(status, MemberStatus::Creator | MemberStatus::Administrator));
    Ok(json!(heads.map(|(id, status)| world.member(*id, *status)).collect::<Vec<_>>()).to_string().into())
}

pub fn leave(world: &mut World, call: &Call) -> MethodResult {
    let given: ChatParameter = call.parameters.read()?;
    let chat = chats::open(world, &given.chat_id)?;
    let chat_id = chat.id;
    if chat.is_private() {
        return Err(ApiError::bad_request("chat member status can't be changed in private chats"));
    }
    let me = world.me.id;
    world.leave(chat_id, me);
    Ok(b"true".to_vec())
}
