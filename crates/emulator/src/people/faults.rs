//! Faults, the clock, and updates delivered again: what a test does to a bot.

use axum::Json;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{At, Body, Refused};
use crate::emulator::Bot;
use crate::world::fault::{Fault, Order};
use crate::world::queue::{Lane, MAX_ID, Queued};
use crate::world::update::UpdateKind;

/// A century: more is a slip of the keyboard, and dates must stay in range.
const MAX_ADVANCE_SECONDS: i64 = 100 * 366 * 24 * 3600;

pub(super) async fn list(at: At) -> Json<Vec<Fault>> {
    Json(at.bot.world().faults.active().to_vec())
}

pub(super) async fn order(at: At, Body(order): Body<Order>) -> Result<Json<Fault>, Refused> {
    order.check().map_err(Refused::bad)?;
    let fault = at.bot.world().faults.add(order);
    let fault = fault.ok_or_else(|| Refused::bad("too many faults are active"))?;
    tell(&at.bot);
    Ok(Json(fault))
}

pub(super) async fn clear(at: At) -> Json<Value> {
    at.bot.world().faults.clear();
    tell(&at.bot);
    Json(json!({}))
}

pub(super) async fn remove(at: At) -> Result<Json<Value>, Refused> {
    let id = at.part("id").parse().map_err(|_| Refused::bad("a fault's id is a number"))?;
    if !at.bot.world().faults.remove(id) {
        return Err(Refused::missing(format!("there is no fault {id}")));
    }
    tell(&at.bot);
    Ok(Json(json!({})))
}

fn tell(bot: &Bot) {
    let world = bot.world();
    world.events.tell("faults", || json!({"faults": world.faults.active()}));
}

#[derive(Deserialize)]
pub(super) struct Advance {
    advance_seconds: i64,
}

pub(super) async fn clock(at: At) -> Json<Value> {
    Json(shown(&at.bot))
}

/// Time goes forward only: nothing in Telegram goes back.
pub(super) async fn advance(at: At, Body(given): Body<Advance>) -> Result<Json<Value>, Refused> {
    if !(0..=MAX_ADVANCE_SECONDS).contains(&given.advance_seconds) {
        return Err(Refused::bad("advance_seconds is from 0 to a hundred years"));
    }
    at.bot.clock.advance(given.advance_seconds);
    let clock = shown(&at.bot);
    let mut world = at.bot.world();
    world.save("clock", &world.clock.offset_seconds());
    let now_ms = world.clock.now_ms();
    let expired = world.queue.expire(now_ms);
    world.forget_updates(&expired);
    world.events.tell("clock", || clock.clone());
    world.updates_ready.notify_waiters();
    Ok(Json(clock))
}

fn shown(bot: &Bot) -> Value {
    json!({"now": bot.clock.now(), "offset_seconds": bot.clock.offset_seconds()})
}

#[derive(Deserialize)]
pub(super) struct Replay {
    update_id: Option<i64>,
    update: Option<Value>,
}

/// Delivers an update once more under its own id, from the log or as given.
pub(super) async fn replay(at: At, Body(given): Body<Replay>) -> Result<Json<Value>, Refused> {
    let mut world = at.bot.world();
    let json = match (&given.update, given.update_id) {
        (Some(update), _) => update.to_string().into(),
        (None, Some(id)) => {
            world.log.update(id).ok_or_else(|| Refused::missing("the log no longer has this update"))?
        }
        (None, None) => return Err(Refused::bad("name an update_id or give an update")),
    };
    let update: Value = serde_json::from_slice(&json).map_err(|error| Refused::bad(error.to_string()))?;
    let id = update["update_id"].as_i64().filter(|id| (1..=MAX_ID).contains(id));
    let id = id.ok_or_else(|| Refused::bad(format!("an update needs its update_id, 1 to {MAX_ID}")))?;
    if !world.queue.has_room() {
        return Err(Refused::bad("too many updates wait"));
    }
    let chat = update.pointer("/message/chat/id").or_else(|| update.pointer("/callback_query/from/id"));
    let lane = Lane::Chat(chat.and_then(Value::as_i64).unwrap_or(0));
    let update = Queued::new(id, UpdateKind::Message, lane, world.clock.now_ms(), json);
    world.enqueue(Queued { late: true, ..update });
    Ok(Json(json!({"update_id": id})))
}
