//! `getUpdates`: long polls, of which only the latest is answered with updates.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use hyper::StatusCode;
use tokio::time::Instant;

use crate::bot_api::{Answer, failure};
use crate::harness::{Harness, World};
use crate::parameters::Parameters;

const MAX_POLL_SECONDS: f64 = 60.0;
/// A poll that arrives sooner after a kill was still in a socket buffer of the dead bot.
const STALE_POLL_MS: u128 = 2;
const WEBHOOK_IS_SET: &str = "Conflict: can't use getUpdates method while webhook is active";
const OTHER_POLL: &str =
    "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running";

pub async fn get_updates(harness: &Arc<Harness>, parameters: &Parameters) -> Answer {
    let poll = harness.latest_poll.fetch_add(1, Relaxed) + 1;
    // An older poll in flight gets 409, as from Telegram.
    harness.news.notify_waiters();
    let until = Instant::now() + Duration::from_secs_f64(parameters.timeout_s.clamp(0.0, MAX_POLL_SECONDS));
    let limit = usize::try_from(parameters.limit.clamp(1, 100)).unwrap_or(1);
    if !begin(harness, parameters.offset) {
        return failure(StatusCode::CONFLICT, WEBHOOK_IS_SET, None);
    }
    loop {
        // Registered before the check, so that no update between check and wait is missed.
        let news = harness.news.notified();
        {
            let mut world = harness.world();
            if harness.latest_poll.load(Relaxed) != poll {
                world.counts.poll_conflicts += 1;
                return failure(StatusCode::CONFLICT, OTHER_POLL, None);
            }
            if !world.queue.is_empty() || Instant::now() >= until {
                return (StatusCode::OK, first_updates(&mut world, limit));
            }
        }
        // After the wait, with or without a notification, the loop checks again.
        let _ = tokio::time::timeout_at(until, news).await;
    }
}

/// Counts a poll and drops the confirmed updates; false if a webhook is set.
fn begin(harness: &Harness, offset: Option<i64>) -> bool {
    let mut world = harness.world();
    world.counts.polls += 1;
    if world.webhook.is_some() {
        return false;
    }
    if !world.is_bot_ready {
        world.is_bot_ready = true;
        harness.bot_ready.notify_waiters();
    }
    note_recovery(&mut world);
    confirm(&mut world, offset.unwrap_or_default());
    true
}

/// Completes the figures of the last kill at the first poll of the restarted bot.
fn note_recovery(world: &mut World) {
    let Some(killed_at) = world.killed_at.filter(|at| at.elapsed().as_millis() >= STALE_POLL_MS) else { return };
    world.killed_at = None;
    // Counted again: the last requests of the dead bot, in socket buffers at the kill, may have confirmed more.
    let number = world.kills.len();
    let confirmed_unanswered = world.confirmed_unanswered(|user| user.hit_by_kill == Some(number));
    if let Some(kill) = world.kills.last_mut() {
        kill.confirmed_unanswered = confirmed_unanswered;
        kill.restart_ms = u64::try_from(killed_at.elapsed().as_millis()).ok();
    }
}

/// Drops the updates before a positive offset. A negative offset keeps only that many last updates.
fn confirm(world: &mut World, offset: i64) {
    let confirmed = match offset {
        1.. => world.queue.partition_point(|update| update.id < offset),
        0 => 0,
        _ => world.queue.len().saturating_sub(usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX)),
    };
    world.queue.drain(..confirmed);
}

fn first_updates(world: &mut World, limit: usize) -> String {
    let count = limit.min(world.queue.len());
    world.counts.polled_updates += count as u64;
    let mut json = String::with_capacity(64 + count * 640);
    json.push_str(r#"{"ok":true,"result":["#);
    for (index, update) in world.queue.iter().take(count).enumerate() {
        if index > 0 {
            json.push(',');
        }
        json.push_str(&update.json);
    }
    json.push_str("]}");
    json
}
