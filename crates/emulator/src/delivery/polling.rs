//! `getUpdates`: long polling with offsets and confirmations.
//!
//! There is one poller at a time: a new call ends an older one with 409, and so does setting a webhook.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tokio::time::timeout;

use crate::bot_api::MethodResult;
use crate::bot_api::error::ApiError;
use crate::bot_api::methods::allow_updates;
use crate::clock::Stopwatch;
use crate::emulator::Bot;
use crate::world::World;

const MAX_TIMEOUT_SECONDS: u64 = 50;

const OTHER_POLLER: &str = "terminated by other getUpdates request; make sure that only one bot instance is running";
const WEBHOOK_ACTIVE: &str =
    "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first";
const WEBHOOK_SET: &str = "terminated by setWebhook request";

#[derive(Debug, Deserialize)]
pub struct Parameters {
    offset: Option<i64>,
    limit: Option<i64>,
    timeout: Option<i64>,
    allowed_updates: Option<Vec<String>>,
}

pub async fn get_updates(bot: &Bot, given: Parameters) -> MethodResult {
    let limit = given.limit.unwrap_or(100).clamp(1, 100) as usize;
    let seconds = u64::try_from(given.timeout.unwrap_or(0)).unwrap_or(0).min(MAX_TIMEOUT_SECONDS);
    let me = begin(&mut bot.world(), &given)?;
    let started = Stopwatch::start();
    loop {
        // Registered before the check, so that no update between check and wait is missed.
        let mut woken = std::pin::pin!(bot.updates_ready.notified());
        woken.as_mut().enable();
        let left = Duration::from_secs(seconds).saturating_sub(started.elapsed());
        let wait = {
            let mut world = bot.world();
            check_still_current(&world, me)?;
            let now_ms = world.clock.now_ms();
            let expired = world.queue.expire(now_ms);
            world.forget_updates(&expired);
            let updates = world.queue.poll(limit, now_ms);
            if !updates.is_empty() || left.is_zero() {
                publish_deliveries(&world, &updates);
                return Ok(array(updates.iter().map(|(_, json)| &json[..])));
            }
            let ready = world.queue.next_ready_ms(now_ms).map(|ready| Duration::from_millis((ready - now_ms) as u64));
            ready.map_or(left, |ready| ready.min(left))
        };
        // After a timeout the next iteration returns an empty answer.
        let _ = timeout(wait, woken).await;
    }
}

/// Becomes the current poller, and confirms the updates below the offset.
fn begin(world: &mut World, given: &Parameters) -> Result<(u64, u64), ApiError> {
    if world.profile.webhook.is_some() {
        return Err(ApiError::conflict(WEBHOOK_ACTIVE));
    }
    world.poller += 1;
    world.updates_ready.notify_waiters();
    if let Some(names) = &given.allowed_updates {
        allow_updates(world, names.clone());
    }
    let confirmed = world.queue.confirm(given.offset.unwrap_or(0));
    world.forget_updates(&confirmed);
    Ok((world.poller, world.webhook_generation))
}

fn check_still_current(world: &World, (poller, webhook): (u64, u64)) -> Result<(), ApiError> {
    if world.webhook_generation != webhook && world.profile.webhook.is_some() {
        return Err(ApiError::conflict(WEBHOOK_SET));
    }
    if world.poller != poller {
        return Err(ApiError::conflict(OTHER_POLLER));
    }
    Ok(())
}

fn publish_deliveries(world: &World, updates: &[(i64, bytes::Bytes)]) {
    if !world.events.has_subscribers() {
        return;
    }
    for (id, _) in updates {
        let at = world.clock.now_ms();
        world.events.publish("delivery", || json!({"update_id": id, "by": "poll", "at": at, "ok": true}));
    }
}

fn array<'a>(items: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut array = vec![b'['];
    for item in items {
        if array.len() > 1 {
            array.push(b',');
        }
        array.extend_from_slice(item);
    }
    array.push(b']');
    array
}
