//! Upgrading a group to a supergroup, which every bot meets one day.

use axum::Json;
use serde_json::Value;

use super::chats::{By, chat_id, member, overview};
use super::{At, Body, Refused};
use crate::world::chat::ChatKind;

/// The supergroup. The bot is told in both chats, and calls to the old one are refused with the new id.
pub(super) async fn migrate(at: At, Body(by): Body<By>) -> Result<Json<Value>, Refused> {
    let old = at.chat()?;
    let mut world = at.bot.world();
    member(&world, old, by.from)?;
    let new = chat_id(&world, ChatKind::Supergroup, None)?;
    world.migrate(old, new, by.from).ok_or_else(|| Refused::bad("only a group can be upgraded, and only once"))?;
    Ok(Json(overview(&world, new)))
}
