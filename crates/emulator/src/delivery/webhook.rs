//! Posting updates to a bot's webhook.
//!
//! Updates of one chat are posted in order, and so are one person's button presses. As with Telegram, there is no order
//! between chats. An update that is not answered with 2xx is posted again until it expires: at once, then after
//! 2, 4, 8 … 60 seconds of the bot's clock, or after the time in `Retry-After`.

use std::sync::Arc;
use std::time::Duration;

use axum::http::header;
use serde_json::json;

use crate::bot_api::{self, call::Call};
use crate::emulator::{Bot, Emulator};
use crate::world::World;
use crate::world::profile::Webhook;
use crate::world::queue::QueuedUpdate;

const ANSWER_SECONDS: u64 = 60;
const MAX_BACKOFF_SECONDS: i64 = 60;
/// The accepted range of `Retry-After`. Zero and negative values are ignored.
const RETRY_AFTER_SECONDS: std::ops::RangeInclusive<i64> = 1..=3600;
/// The limit for an answer, which may contain a call.
const MAX_REPLY: usize = 4 << 20;
/// Poll interval while an update is delayed: the bot's clock can be moved, so a timer cannot be used.
const DELAY_POLL_INTERVAL: Duration = Duration::from_millis(200);
const SECRET_HEADER: &str = "x-telegram-bot-api-secret-token";

/// Starts posting to the webhook that is set now, until it is changed or deleted.
pub fn run(emulator: &Emulator, bot: &Arc<Bot>) {
    let generation = {
        let world = bot.world();
        if world.profile.webhook.is_none() {
            return;
        }
        world.webhook_generation
    };
    let (emulator, bot) = (emulator.clone(), bot.clone());
    tokio::spawn(async move { post_all(&emulator, &bot, generation).await });
}

async fn post_all(emulator: &Emulator, bot: &Arc<Bot>, generation: u64) {
    loop {
        let mut woken = std::pin::pin!(bot.updates_ready.notified());
        woken.as_mut().enable();
        let (webhook, updates, delayed) = {
            let mut world = bot.world();
            let Some(webhook) = world.profile.webhook.clone().filter(|_| world.webhook_generation == generation) else {
                return;
            };
            let now_ms = world.clock.now_ms();
            let expired = world.queue.expire(now_ms);
            world.forget_updates(&expired);
            let updates = world.queue.take_for_webhook(webhook.max_connections as usize, now_ms);
            (webhook, updates, world.queue.next_ready_ms(now_ms).is_some())
        };
        for update in updates {
            let (emulator, bot, webhook) = (emulator.clone(), bot.clone(), webhook.clone());
            tokio::spawn(async move { post(&emulator, &bot, &webhook, update, generation).await });
        }
        if delayed {
            let _ = tokio::time::timeout(DELAY_POLL_INTERVAL, woken).await;
        } else {
            woken.await;
        }
    }
}

/// The result of posting an update once.
struct Attempt {
    status: Option<u16>,
    retry_after: Option<i64>,
    reply: Option<Call>,
    error: Option<String>,
}

async fn post(emulator: &Emulator, bot: &Arc<Bot>, webhook: &Webhook, update: QueuedUpdate, generation: u64) {
    let id = update.id;
    let outcome = attempt(emulator, webhook, &update).await;
    {
        let mut world = bot.world();
        if world.webhook_generation == generation {
            settle(&mut world, &update, &outcome);
        }
        world.events.publish("delivery", || {
            json!({
                "update_id": id, "by": "webhook", "at": world.clock.now_ms(), "ok": outcome.error.is_none(),
                "status": outcome.status, "error": outcome.error,
            })
        });
    }
    bot.updates_ready.notify_waiters();
    if let Some(call) = outcome.reply {
        bot_api::answer_webhook_reply(emulator, bot, call).await;
    }
}

fn settle(world: &mut World, update: &QueuedUpdate, outcome: &Attempt) {
    let Some(error) = &outcome.error else {
        world.queue.delivered(update.number);
        world.forget_updates(&[update.number]);
        return;
    };
    let now = world.clock.now();
    let wait = wait_seconds(update.attempts, outcome.retry_after);
    world.queue.not_delivered(update.number, world.clock.now_ms() + wait * 1000);
    if let Some(webhook) = &mut world.profile.webhook {
        webhook.last_error = Some((now, error.clone()));
    }
    world.events.publish("webhook", || json!({"webhook": world.webhook_info()}));
}

/// How long to wait after a failed attempt; `attempts` counts the failed ones before it.
fn wait_seconds(attempts: u32, retry_after: Option<i64>) -> i64 {
    let asked = retry_after.filter(|seconds| seconds >= RETRY_AFTER_SECONDS.start());
    match (asked, attempts) {
        (Some(seconds), _) => seconds.min(*RETRY_AFTER_SECONDS.end()),
        (None, 0) => 0,
        (None, _) => (1 << attempts.min(6)).min(MAX_BACKOFF_SECONDS),
    }
}

async fn attempt(emulator: &Emulator, webhook: &Webhook, update: &QueuedUpdate) -> Attempt {
    let mut request = emulator
        .http()
        .post(&webhook.url)
        .timeout(Duration::from_secs(ANSWER_SECONDS))
        .header(header::CONTENT_TYPE, "application/json")
        .body(update.json.clone());
    if let Some(secret) = &webhook.secret_token {
        request = request.header(SECRET_HEADER, secret);
    }
    let failed = |error: &str| Attempt { status: None, retry_after: None, reply: None, error: Some(error.to_owned()) };
    let response = match request.send().await {
        Ok(response) => response,
        Err(error) if error.is_timeout() => return failed("Read timeout expired"),
        Err(error) if error.is_connect() => return failed("Connection refused"),
        Err(_) => return failed("Connection closed"),
    };
    let status = response.status();
    let retry_after = response.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    if !status.is_success() {
        let error = Some(format!("Wrong response from the webhook: {status}"));
        return Attempt { status: Some(status.as_u16()), retry_after, reply: None, error };
    }
    let reply = reply(response).await;
    Attempt { status: Some(status.as_u16()), retry_after: None, reply, error: None }
}

/// The call in the bot's answer, if there is one.
async fn reply(mut response: reqwest::Response) -> Option<Call> {
    let content_type = response.headers().get(header::CONTENT_TYPE)?.to_str().ok()?.to_owned();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.ok()? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_REPLY {
            return None;
        }
    }
    Call::from_webhook_reply(&content_type, body).await
}

#[cfg(test)]
mod tests {
    use super::wait_seconds;

    #[test]
    fn a_wait_doubles_up_to_a_minute() {
        let waits: Vec<i64> = [0, 1, 2, 5, 6, 63, 64, u32::MAX].map(|attempts| wait_seconds(attempts, None)).into();
        assert_eq!(waits, [0, 2, 4, 32, 60, 60, 60, 60]);
    }

    #[test]
    fn an_answer_may_ask_for_a_second_to_an_hour() {
        let waits = [i64::MIN, -5, 0, 1, 600, i64::MAX].map(|asked| wait_seconds(1, Some(asked)));
        assert_eq!(waits, [2, 2, 2, 1, 600, 3600]);
    }
}
