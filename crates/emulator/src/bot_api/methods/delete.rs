//! `deleteMessage` and `deleteMessages`.

use serde::Deserialize;

use crate::bot_api::MethodResult;
use crate::bot_api::call::Call;
use crate::bot_api::chats::{self, ChatRef};
use crate::bot_api::error::ApiError;
use crate::world::World;
use crate::world::chat::{Chat, MemberStatus};
use crate::world::message::Message;

/// An older message cannot be deleted.
const DELETABLE_SECONDS: i64 = 48 * 3600;
const MAX_AT_ONCE: usize = 100;

#[derive(Debug, Deserialize)]
pub struct DeleteMessage {
    chat_id: ChatRef,
    message_id: i32,
}

#[derive(Debug, Deserialize)]
pub struct DeleteMessages {
    chat_id: ChatRef,
    message_ids: Vec<i32>,
}

pub fn message(world: &mut World, call: &Call) -> MethodResult {
    let given: DeleteMessage = call.parameters.read()?;
    let chat = chats::open(world, &given.chat_id)?;
    let not_found = || ApiError::bad_request("message to delete not found");
    let message = chat.message(given.message_id).ok_or_else(not_found)?;
    check(world, chat, message)?;
    let chat_id = chat.id;
    world.delete(chat_id, &[given.message_id]);
    Ok(b"true".to_vec())
}

/// Ignores messages that do not exist, as Telegram does.
pub fn messages(world: &mut World, call: &Call) -> MethodResult {
    let given: DeleteMessages = call.parameters.read()?;
    let chat = chats::open(world, &given.chat_id)?;
    if !(1..=MAX_AT_ONCE).contains(&given.message_ids.len()) {
        return Err(ApiError::bad_request("message identifiers must be from 1 to 100"));
    }
    for message in given.message_ids.iter().filter_map(|id| chat.message(*id)) {
        check(world, chat, message)?;
    }
    let chat_id = chat.id;
    world.delete(chat_id, &given.message_ids);
    Ok(b"true".to_vec())
}

fn check(world: &World, chat: &Chat, message: &Message) -> Result<(), ApiError> {
    if world.clock.now() - message.date >= DELETABLE_SECONDS {
        return Err(ApiError::bad_request("message can't be deleted for everyone"));
    }
    let own = message.from == world.me.id;
    let entitled = matches!(chat.member_status(world.me.id), Some(MemberStatus::Creator | MemberStatus::Administrator));
    if own || chat.is_private() || entitled { Ok(()) } else { Err(ApiError::bad_request("message can't be deleted")) }
}
