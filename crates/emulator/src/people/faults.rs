//! Faults, the clock, and replayed updates: what a test does to a bot.

use axum::Json;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Body, BotPath, Refusal};
use crate::emulator::Bot;
use crate::world::fault::{Fault, FaultSpec};
use crate::world::queue::{Lane, MAX_ID, QueuedUpdate};
use crate::world::update::UpdateKind;

/// A century. More is a typing error, and dates must stay in range.
const MAX_ADVANCE_SECONDS: i64 = 100 * 366 * 24 * 3600;

pub(super) async fn list(at: BotPath) -> Json<Vec<Fault>> {
    Json(at.bot.world().faults.active().to_vec())
}

pub(super) async fn create(at: BotPath, Body(spec): Body<FaultSpec>) -> Result<Json<Fault>, Refusal> {
    spec.check().map_err(Refusal::bad)?;
    let fault = at.bot.world().faults.add(spec);
    let fault = fault.ok_or_else(|| Refusal::bad("too many faults are active"))?;
    publish_faults(&at.bot);
    Ok(Json(fault))
}

pub(super) async fn clear(at: BotPath) -> Json<Value> {
    at.bot.world().faults.clear();
    publish_faults(&at.bot);
    Json(json!({}))
}

pub(super) async fn remove(at: BotPath) -> Result<Json<Value>, Refusal> {
    let id = at.part("id").parse().map_err(|_| Refusal::bad("a fault's id is a number"))?;
    if !at.bot.world().faults.remove(id) {
        return Err(Refusal::missing(format!("there is no fault {id}")));
    }
    publish_faults(&at.bot);
    Ok(Json(json!({})))
}

fn publish_faults(bot: &Bot) {
    let world = bot.world();
    world.events.publish("faults", || json!({"faults": world.faults.active()}));
}

#[derive(Deserialize)]
pub(super) struct Advance {
    advance_seconds: i64,
}

pub(super) async fn clock(at: BotPath) -> Json<Value> {
    Json(clock_json(&at.bot))
}

/// Moves the clock forward. It never goes back.
pub(super) async fn advance(at: BotPath, Body(given): Body<Advance>) -> Result<Json<Value>, Refusal> {
    if !(0..=MAX_ADVANCE_SECONDS).contains(&given.advance_seconds) {
        return Err(Refusal::bad("advance_seconds is from 0 to a hundred years"));
    }
    at.bot.clock.advance(given.advance_seconds);
    let clock = clock_json(&at.bot);
    let mut world = at.bot.world();
    world.save("clock", &world.clock.offset_seconds());
    let now_ms = world.clock.now_ms();
    let expired = world.queue.expire(now_ms);
    world.forget_updates(&expired);
    world.events.publish("clock", || clock.clone());
    world.updates_ready.notify_waiters();
    Ok(Json(clock))
}

fn clock_json(bot: &Bot) -> Value {
    json!({"now": bot.clock.now(), "offset_seconds": bot.clock.offset_seconds()})
}

#[derive(Deserialize)]
pub(super) struct Replay {
    update_id: Option<i64>,
    update: Option<Value>,
}

/// Delivers an update again under its own id, from the log or from the request.
pub(super) async fn replay(at: BotPath, Body(given): Body<Replay>) -> Result<Json<Value>, Refusal> {
    let mut world = at.bot.world();
    let json = match (&given.update, given.update_id) {
        (Some(update), _) => update.to_string().into(),
        (None, Some(id)) => {
            world.log.update(id).ok_or_else(|| Refusal::missing("the log no longer has this update"))?
        }
        (None, None) => return Err(Refusal::bad("name an update_id or give an update")),
    };
    let update: Value = serde_json::from_slice(&json).map_err(|error| Refusal::bad(error.to_string()))?;
    let id = update["update_id"].as_i64().filter(|id| (1..=MAX_ID).contains(id));
    let id = id.ok_or_else(|| Refusal::bad(format!("an update needs its update_id, 1 to {MAX_ID}")))?;
    if !world.queue.has_room() {
        return Err(Refusal::bad("too many updates wait"));
    }
    let chat = update.pointer("/message/chat/id").or_else(|| update.pointer("/callback_query/from/id"));
    let lane = Lane::Chat(chat.and_then(Value::as_i64).unwrap_or(0));
    let update = QueuedUpdate::new(id, UpdateKind::Message, lane, world.clock.now_ms(), json);
    world.enqueue(QueuedUpdate { late: true, ..update });
    Ok(Json(json!({"update_id": id})))
}
