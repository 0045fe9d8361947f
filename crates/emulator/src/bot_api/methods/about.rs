//! `getMe`, `logOut`, `close` and `getChat`.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::bot_api::MethodResult;
use crate::bot_api::call::Call;
use crate::bot_api::chats::{self, ChatRef};
use crate::bot_api::error::ApiError;
use crate::world::World;
use crate::world::chat::Chat;
use crate::world::render::{Audience, ChatView};

/// How long `logOut` locks a bot out, and how long `close` is refused after the start.
const TEN_MINUTES: i64 = 600;

#[derive(Debug, Deserialize)]
pub struct ChatParameter {
    pub chat_id: ChatRef,
}

pub fn me(world: &mut World, _: &Call) -> MethodResult {
    Ok(world.me_overview().to_string().into())
}

/// Refuses the token for the next ten minutes, like the cloud Bot API server.
pub fn log_out(world: &mut World, _: &Call) -> MethodResult {
    world.profile.logged_out_until = world.clock.now() + TEN_MINUTES;
    world.profile_changed();
    Ok(b"true".to_vec())
}

/// Telegram refuses this in a bot's first ten minutes.
pub fn close(world: &mut World, _: &Call) -> MethodResult {
    let left = TEN_MINUTES - (world.clock.now_ms() - world.created_ms) / 1000;
    match u32::try_from(left) {
        Ok(left) if left > 0 => Err(ApiError::too_many_requests(left)),
        _ => Ok(b"true".to_vec()),
    }
}

pub fn chat(world: &mut World, call: &Call) -> MethodResult {
    let given: ChatParameter = call.parameters.read()?;
    let chat = chats::find(world, &given.chat_id)?;
    if !chat.is_private() {
        chats::open(world, &given.chat_id)?;
    }
    Ok(full(world, chat).to_string().into())
}

/// A `ChatFullInfo`.
fn full(world: &World, chat: &Chat) -> Value {
    let mut info = json!(ChatView { world, chat });
    info["accent_color_id"] = json!(chat.id.unsigned_abs() % 7);
    info["max_reaction_count"] = json!(11);
    info["accepted_gift_types"] = json!({
        "unlimited_gifts": false, "limited_gifts": false, "unique_gifts": false, "premium_subscription": false,
        "gifts_from_channels": false,
    });
    if let Some(name) = info.get("username").cloned() {
        info["active_usernames"] = json!([name]);
    }
    if let Some(pinned) = chat.pinned.last().and_then(|id| chat.message(*id)) {
        info["pinned_message"] = json!(world.message_view(chat, pinned, Audience::Bot));
    }
    if chat.group.is_some() {
        let allowed = [
            "can_send_messages",
            "can_send_audios",
            "can_send_documents",
            "can_send_photos",
            "can_send_videos",
            "can_send_video_notes",
            "can_send_voice_notes",
            "can_send_polls",
            "can_send_other_messages",
            "can_add_web_page_previews",
            "can_react_to_messages",
            "can_edit_tag",
            "can_change_info",
            "can_invite_users",
            "can_pin_messages",
            "can_manage_topics",
        ];
        info["permissions"] = allowed.into_iter().map(|right| (right.to_owned(), json!(true))).collect();
    }
    info
}
