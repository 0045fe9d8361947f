//! A person presses a button, votes, or reacts.

use std::time::Duration;

use axum::Json;
use serde::Deserialize;
use serde_json::{Value, json};

use super::chats::member;
use super::{Body, BotPath, Refusal};
use crate::bot_api::methods::{ReactionKind, kinds_json};
use crate::world::callback::Answer;
use crate::world::queue::Lane;
use crate::world::render::Audience;
use crate::world::update::UpdateKind;

const MAX_DATA: usize = 64;
const DEFAULT_WAIT_SECONDS: f64 = 10.0;
const MAX_WAIT_SECONDS: f64 = 120.0;

#[derive(Deserialize)]
pub(super) struct Press {
    from: i64,
    message_id: i32,
    data: String,
    wait: Option<f64>,
}

/// Accepts any data, also of a button that no longer exists: a real press can arrive late too.
pub(super) async fn press(at: BotPath, Body(given): Body<Press>) -> Result<Json<Value>, Refusal> {
    let chat_id = at.chat()?;
    if !(1..=MAX_DATA).contains(&given.data.len()) {
        return Err(Refusal::bad("data must have 1 to 64 bytes"));
    }
    let (id, answer) = {
        let mut world = at.bot.world();
        member(&world, chat_id, given.from)?;
        let Some(message) = world.rendered(chat_id, given.message_id, Audience::Bot) else {
            return Err(Refusal::missing(format!("there is no message {}", given.message_id)));
        };
        let now_ms = world.clock.now_ms();
        let (id, answer) = world.presses.add(given.from, chat_id, given.message_id, now_ms);
        let query = json!({
            "id": id.to_string(), "from": world.user(given.from), "message": crate::world::event::raw(&message),
            "chat_instance": chat_instance(chat_id), "data": given.data,
        });
        let query = query.to_string();
        world.queue_update(UpdateKind::CallbackQuery, Lane::Presses(given.from), chat_id, query.as_bytes());
        (id, answer)
    };
    let wait = given.wait.unwrap_or(DEFAULT_WAIT_SECONDS);
    let wait = if wait.is_finite() { wait.clamp(0.0, MAX_WAIT_SECONDS) } else { DEFAULT_WAIT_SECONDS };
    let answered = tokio::time::timeout(Duration::from_secs_f64(wait), answer).await;
    Ok(Json(answer_json(id, answered.ok().and_then(Result::ok))))
}

fn answer_json(id: u64, answer: Option<Answer>) -> Value {
    let answered = answer.is_some();
    let mut json = json!(answer.unwrap_or_default());
    json["callback_query_id"] = id.to_string().into();
    json["answered"] = answered.into();
    json
}

/// The `chat_instance` of a callback query: the same for all presses in a chat.
fn chat_instance(chat_id: i64) -> String {
    (chat_id.wrapping_mul(0x2545_F491_4F6C_DD1D)).to_string()
}

#[derive(Deserialize)]
pub(super) struct Vote {
    from: i64,
    message_id: i32,
    option_ids: Vec<usize>,
}

pub(super) async fn vote(at: BotPath, Body(given): Body<Vote>) -> Result<Json<Value>, Refusal> {
    let chat_id = at.chat()?;
    let mut world = at.bot.world();
    member(&world, chat_id, given.from)?;
    world.vote(chat_id, given.message_id, given.from, &given.option_ids).map(Json).map_err(Refusal::bad)
}

#[derive(Deserialize)]
pub(super) struct React {
    from: i64,
    message_id: i32,
    #[serde(default)]
    reaction: Vec<ReactionKind>,
}

pub(super) async fn react(at: BotPath, Body(given): Body<React>) -> Result<Json<Value>, Refusal> {
    let chat_id = at.chat()?;
    let mut world = at.bot.world();
    member(&world, chat_id, given.from)?;
    let kinds = if given.reaction.is_empty() { None } else { Some(kinds_json(&given.reaction)?) };
    if !world.react(chat_id, given.message_id, given.from, kinds) {
        return Err(Refusal::missing(format!("there is no message {}", given.message_id)));
    }
    Ok(Json(json!({})))
}
