//! The bot's reactions to messages.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::bot_api::MethodResult;
use crate::bot_api::call::Call;
use crate::bot_api::chats::{self, ChatRef};
use crate::bot_api::error::ApiError;
use crate::bot_api::parameters::Ignored;
use crate::world::World;

#[derive(Debug, Deserialize)]
pub struct Reaction {
    chat_id: ChatRef,
    message_id: i32,
    reaction: Option<Vec<ReactionKind>>,
    #[allow(dead_code, reason = "known to Telegram, without effect here")]
    is_big: Option<Ignored>,
}

/// A `ReactionType`.
#[derive(Debug, Deserialize, serde::Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ReactionKind {
    Emoji { emoji: String },
    CustomEmoji { custom_emoji_id: String },
    Paid,
}

pub fn set(world: &mut World, call: &Call) -> MethodResult {
    let given: Reaction = call.parameters.read()?;
    let chat = chats::open(world, &given.chat_id)?;
    let chat_id = chat.id;
    if chat.message(given.message_id).is_none() {
        return Err(ApiError::bad_request("message to react not found"));
    }
    let kinds = given.reaction.unwrap_or_default();
    // A bot is not a premium user: it may set one reaction, and no paid one.
    if kinds.len() > 1 || kinds.iter().any(|kind| matches!(kind, ReactionKind::Paid)) {
        return Err(ApiError::bad_request("REACTIONS_TOO_MANY"));
    }
    let raw = kinds_json(&kinds)?;
    world.react(chat_id, given.message_id, world.me.id, (!kinds.is_empty()).then_some(raw));
    Ok(b"true".to_vec())
}

/// The reactions as a JSON array, the form in which they are stored and sent.
pub fn kinds_json(kinds: &[ReactionKind]) -> Result<Box<RawValue>, ApiError> {
    serde_json::value::to_raw_value(kinds).map_err(|_| ApiError::bad_request("REACTION_INVALID"))
}
