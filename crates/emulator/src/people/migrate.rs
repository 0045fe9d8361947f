//! Upgrades a group to a supergroup.

use axum::Json;
use serde_json::Value;

use super::chats::{Actor, chat_id, member, overview};
use super::{Body, BotPath, Refusal};
use crate::world::chat::ChatKind;

/// Returns the new supergroup. The bot gets a message in both chats, and calls to the old one are refused with the new
/// id.
pub(super) async fn migrate(at: BotPath, Body(by): Body<Actor>) -> Result<Json<Value>, Refusal> {
    let old = at.chat()?;
    let mut world = at.bot.world();
    member(&world, old, by.from)?;
    let new = chat_id(&world, ChatKind::Supergroup, None)?;
    world.migrate(old, new, by.from).ok_or_else(|| Refusal::bad("only a group can be upgraded, and only once"))?;
    Ok(Json(overview(&world, new)))
}
