//! Calls that send no message: `sendChatAction` and `answerCallbackQuery`.

use serde::Deserialize;
use serde_json::json;

use crate::bot_api::MethodResult;
use crate::bot_api::call::Call;
use crate::bot_api::chats::{self, ChatRef};
use crate::bot_api::error::ApiError;
use crate::bot_api::parameters::Ignored;
use crate::world::World;
use crate::world::callback::Answer;

#[derive(Debug, Deserialize)]
pub struct Action {
    #[allow(dead_code, reason = "known to Telegram, without effect here")]
    business_connection_id: Option<Ignored>,
    chat_id: ChatRef,
    message_thread_id: Option<i32>,
    action: String,
}

const ACTIONS: [&str; 11] = [
    "typing",
    "upload_photo",
    "record_video",
    "upload_video",
    "record_voice",
    "upload_voice",
    "upload_document",
    "choose_sticker",
    "find_location",
    "record_video_note",
    "upload_video_note",
];

pub fn chat_action(world: &mut World, call: &Call) -> MethodResult {
    let given: Action = call.parameters.read()?;
    let chat_id = chats::open(world, &given.chat_id)?.id;
    if !ACTIONS.contains(&given.action.as_str()) {
        return Err(ApiError::bad_request("wrong parameter action in request"));
    }
    world.events.publish(
        "chat_action",
        || json!({"chat_id": chat_id, "message_thread_id": given.message_thread_id, "action": given.action}),
    );
    Ok(b"true".to_vec())
}

#[derive(Debug, Deserialize)]
pub struct CallbackAnswer {
    callback_query_id: String,
    text: Option<String>,
    show_alert: Option<bool>,
    url: Option<String>,
    cache_time: Option<u32>,
}

const MAX_CALLBACK_TEXT: usize = 200;

pub fn answer_callback_query(world: &mut World, call: &Call) -> MethodResult {
    let given: CallbackAnswer = call.parameters.read()?;
    if given.text.as_ref().is_some_and(|text| text.chars().count() > MAX_CALLBACK_TEXT) {
        return Err(ApiError::bad_request("MESSAGE_TOO_LONG"));
    }
    let answer = Answer {
        text: given.text,
        show_alert: given.show_alert.unwrap_or(false),
        url: given.url,
        cache_time: given.cache_time.unwrap_or(0),
    };
    let now_ms = world.clock.now_ms();
    let press = world
        .presses
        .answer(&given.callback_query_id, &answer, now_ms)
        .ok_or_else(|| ApiError::bad_request("query is too old and response timeout expired or query ID is invalid"))?;
    world.events.publish("callback_answer", || {
        json!({
            "callback_query_id": given.callback_query_id, "user_id": press.user, "chat_id": press.chat,
            "message_id": press.message, "text": answer.text, "show_alert": answer.show_alert, "url": answer.url,
        })
    });
    Ok(b"true".to_vec())
}
