//! Who is in a chat.

use serde::Deserialize;
use serde_json::json;

use super::about::WhichChat;
use crate::bot_api::Outcome;
use crate::bot_api::call::Call;
use crate::bot_api::chats::{self, ChatRef};
use crate::bot_api::error::ApiError;
use crate::bot_api::parameters::Ignored;
use crate::world::World;
use crate::world::chat::Standing;

#[derive(Debug, Deserialize)]
pub struct WhichMember {
    chat_id: ChatRef,
    user_id: i64,
}

#[derive(Debug, Deserialize)]
pub struct WhichAdministrators {
    chat_id: ChatRef,
    #[allow(dead_code, reason = "known to Telegram, without effect here")]
    return_bots: Option<Ignored>,
}

pub fn one(world: &mut World, call: &Call) -> Outcome {
    let given: WhichMember = call.parameters.read()?;
    let chat = chats::open(world, &given.chat_id)?;
    if world.user(given.user_id).is_none() {
        return Err(ApiError::bad_request("invalid user_id specified"));
    }
    let standing = match chat.standing(given.user_id) {
        Some(standing) => standing,
        None if chat.is_private() && (given.user_id == chat.id || given.user_id == world.me.id) => Standing::Member,
        None if chat.is_private() => return Err(ApiError::bad_request("PARTICIPANT_ID_INVALID")),
        None => Standing::Left,
    };
    Ok(world.member(given.user_id, standing).to_string().into())
}

pub fn count(world: &mut World, call: &Call) -> Outcome {
    let given: WhichChat = call.parameters.read()?;
    let chat = chats::open(world, &given.chat_id)?;
    let present = |standing: &&Standing| !matches!(standing, Standing::Left | Standing::Kicked);
    let count = chat.group.as_ref().map_or(2, |group| group.members.values().filter(present).count());
    Ok(count.to_string().into())
}

pub fn administrators(world: &mut World, call: &Call) -> Outcome {
    let given: WhichAdministrators = call.parameters.read()?;
    let chat = chats::open(world, &given.chat_id)?;
    let Some(group) = &chat.group else {
        return Err(ApiError::bad_request("there are no administrators in the private chat"));
    };
    // Other bots would be left out unless asked for, but there are none: this bot is always told of itself.
    let heads =
        group.members.iter().filter(|(_, standing)| matches!(standing, Standing::Creator | Standing::Administrator));
    Ok(json!(heads.map(|(id, standing)| world.member(*id, *standing)).collect::<Vec<_>>()).to_string().into())
}

pub fn leave(world: &mut World, call: &Call) -> Outcome {
    let given: WhichChat = call.parameters.read()?;
    let chat = chats::open(world, &given.chat_id)?;
    let chat_id = chat.id;
    if chat.is_private() {
        return Err(ApiError::bad_request("chat member status can't be changed in private chats"));
    }
    let me = world.me.id;
    world.leave(chat_id, me);
    Ok(b"true".to_vec())
}
