//! The chat of a call: which one it names, whether the bot may write there, and the sending limits.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};

use super::call::Call;
use super::error::ApiError;
use crate::world::World;
use crate::world::chat::{Chat, ChatKind, MemberStatus};
use crate::world::fault::Fault;
use crate::world::limit::{IN_CHAT, IN_GROUP, Limits, OVERALL};

/// `chat_id`: a number or `@username`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChatRef {
    Id(i64),
    Username(String),
}

impl ChatRef {
    fn parse(text: &str) -> Self {
        text.trim().parse().map_or_else(|_| Self::Username(text.trim().to_owned()), Self::Id)
    }
}

impl<'de> Deserialize<'de> for ChatRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct IdOrName;
        impl Visitor<'_> for IdOrName {
            type Value = ChatRef;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a chat's id or @username")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<ChatRef, E> {
                Ok(ChatRef::parse(text))
            }
            fn visit_i64<E: de::Error>(self, id: i64) -> Result<ChatRef, E> {
                Ok(ChatRef::Id(id))
            }
            fn visit_u64<E: de::Error>(self, id: u64) -> Result<ChatRef, E> {
                Ok(i64::try_from(id).map_or(ChatRef::Id(0), ChatRef::Id))
            }
        }
        deserializer.deserialize_str(IdOrName)
    }
}

/// The fault that applies to this call, if any. It counts as used.
pub fn take_fault(world: &mut World, call: &Call) -> Option<Fault> {
    let chat = named_in(world, call);
    world.faults.take_for_call(&call.method, chat)
}

/// The chat that a call names, by id or by name.
fn named_in(world: &World, call: &Call) -> Option<i64> {
    match ChatRef::parse(call.parameters.get("chat_id")?) {
        ChatRef::Id(id) => Some(id),
        name => find(world, &name).ok().map(|chat| chat.id),
    }
}

/// The chat, if the bot knows it.
pub fn find<'a>(world: &'a World, chat: &ChatRef) -> Result<&'a Chat, ApiError> {
    let found = match chat {
        ChatRef::Id(id) => world.chat(*id),
        ChatRef::Username(name) => {
            let name = name.strip_prefix('@').filter(|name| !name.is_empty());
            let named = |chat: &&Chat| {
                chat.group
                    .as_ref()
                    .and_then(|group| group.username.as_deref())
                    .is_some_and(|known| name.is_some_and(|name| known.eq_ignore_ascii_case(name)))
            };
            world.chats().find(named)
        }
    };
    found.ok_or_else(|| ApiError::bad_request("chat not found"))
}

/// The chat, if the bot may write there.
pub fn open<'a>(world: &'a World, chat: &ChatRef) -> Result<&'a Chat, ApiError> {
    let chat = find(world, chat)?;
    if let Some(id) = chat.group.as_ref().and_then(|group| group.migrated_to) {
        return Err(ApiError::migrated(id));
    }
    if !chat.closed_to_bot {
        return Ok(chat);
    }
    let kicked = chat.member_status(world.me.id) == Some(MemberStatus::Kicked);
    Err(ApiError::forbidden(match (chat.kind, kicked) {
        (ChatKind::Private, _) => "bot was blocked by the user",
        (ChatKind::Group, true) => "bot was kicked from the group chat",
        (ChatKind::Group, false) => "bot is not a member of the group chat",
        (ChatKind::Supergroup, true) => "bot was kicked from the supergroup chat",
        (ChatKind::Supergroup, false) => "bot is not a member of the supergroup chat",
    }))
}

/// Refuses a send above the limits, if limits are on; counts it otherwise.
pub fn check_limits(world: &mut World, call: &Call) -> Result<(), ApiError> {
    if world.limits == Limits::Off {
        return Ok(());
    }
    let now_ms = world.clock.now_ms();
    let overall_ms = world.rate_usage.wait_ms(OVERALL, now_ms);
    let named = named_in(world, call);
    let chat = named.and_then(|id| world.chat_mut(id));
    let limit = chat.as_ref().map_or(IN_CHAT, |chat| if chat.is_private() { IN_CHAT } else { IN_GROUP });
    let chat_ms = chat.as_ref().map_or(0, |chat| chat.rate_usage.wait_ms(limit, now_ms));
    let wait_ms = overall_ms.max(chat_ms);
    if wait_ms > 0 {
        let seconds = u32::try_from((wait_ms + 999) / 1000).unwrap_or(u32::MAX);
        return Err(ApiError::too_many_requests(seconds));
    }
    if let Some(chat) = chat {
        chat.rate_usage.spend(limit, now_ms);
    }
    world.rate_usage.spend(OVERALL, now_ms);
    Ok(())
}
