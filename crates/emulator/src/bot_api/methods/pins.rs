//! Pinned messages.

use serde::Deserialize;
use serde_json::json;

use super::about::ChatParameter;
use crate::bot_api::MethodResult;
use crate::bot_api::call::Call;
use crate::bot_api::chats::{self, ChatRef};
use crate::bot_api::error::ApiError;
use crate::bot_api::parameters::Ignored;
use crate::world::World;
use crate::world::chat::{Chat, MemberStatus};
use crate::world::content::{Content, Service};

#[allow(dead_code, reason = "some are known to Telegram and without effect here")]
#[derive(Debug, Deserialize)]
pub struct Pin {
    business_connection_id: Option<Ignored>,
    chat_id: ChatRef,
    message_id: i32,
    disable_notification: Option<bool>,
}

#[allow(dead_code, reason = "some are known to Telegram and without effect here")]
#[derive(Debug, Deserialize)]
pub struct Unpin {
    business_connection_id: Option<Ignored>,
    chat_id: ChatRef,
    message_id: Option<i32>,
}

pub fn pin(world: &mut World, call: &Call) -> MethodResult {
    let given: Pin = call.parameters.read()?;
    let chat = entitled(world, &given.chat_id)?;
    let chat_id = chat.id;
    let message = chat.message(given.message_id);
    let message = message.ok_or_else(|| ApiError::bad_request("message to pin not found"))?;
    if matches!(message.content, Content::Service(_)) {
        return Err(ApiError::bad_request("A service message can't be pinned"));
    }
    if chat.pinned.last() == Some(&given.message_id) {
        return Ok(b"true".to_vec());
    }
    set(world, chat_id, |pinned| {
        pinned.retain(|id| *id != given.message_id);
        pinned.push(given.message_id);
    });
    // A pin posts a service message in the chat, with the bot as its sender.
    let from = world.me.id;
    world.post_service_message(chat_id, from, Service::Pinned(given.message_id));
    Ok(b"true".to_vec())
}

pub fn unpin(world: &mut World, call: &Call) -> MethodResult {
    let given: Unpin = call.parameters.read()?;
    let chat = entitled(world, &given.chat_id)?;
    let chat_id = chat.id;
    if given.message_id.is_some_and(|id| !chat.pinned.contains(&id)) {
        return Err(ApiError::bad_request("message to unpin not found"));
    }
    set(world, chat_id, |pinned| match given.message_id {
        Some(id) => pinned.retain(|pinned| *pinned != id),
        None => drop(pinned.pop()),
    });
    Ok(b"true".to_vec())
}

pub fn unpin_all(world: &mut World, call: &Call) -> MethodResult {
    let given: ChatParameter = call.parameters.read()?;
    let chat_id = entitled(world, &given.chat_id)?.id;
    set(world, chat_id, Vec::clear);
    Ok(b"true".to_vec())
}

fn entitled<'a>(world: &'a World, chat: &ChatRef) -> Result<&'a Chat, ApiError> {
    let chat = chats::open(world, chat)?;
    match chat.member_status(world.me.id) {
        Some(MemberStatus::Member) => {
            Err(ApiError::bad_request("not enough rights to manage pinned messages in the chat"))
        }
        _ => Ok(chat),
    }
}

fn set(world: &mut World, chat_id: i64, change: impl FnOnce(&mut Vec<i32>)) {
    let Some(chat) = world.chat_mut(chat_id) else { return };
    change(&mut chat.pinned);
    let pinned = chat.pinned.last().copied();
    world.events.publish("pin", || json!({"chat_id": chat_id, "message_id": pinned}));
    world.chat_changed(chat_id);
}
