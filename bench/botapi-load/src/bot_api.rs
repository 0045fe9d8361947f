//! The methods of the Bot API. Methods that the dialogue uses are emulated; all others answer `true`.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;
use serde_json::{Value, json};

use crate::harness::{Harness, World, unix_seconds};
use crate::parameters::Parameters;
use crate::polling;
use crate::updates::BOT;
use crate::users::{self, Reply};
use crate::webhook;

const ME: &str = concat!(
    r#"{"id":123456789,"is_bot":true,"first_name":"Bench","username":"bench_bot","can_join_groups":true,"#,
    r#""can_read_all_group_messages":false,"supports_inline_queries":false,"can_connect_to_business":false,"#,
    r#""has_main_web_app":false,"has_topics_enabled":false}"#
);

/// The status and the JSON of an answer.
pub type Answer = (StatusCode, String);

/// Answers a call; the method is in lower case.
pub async fn call(harness: &Arc<Harness>, method: &str, parameters: Parameters) -> Answer {
    match method {
        "getupdates" => return polling::get_updates(harness, &parameters).await,
        "getme" => return success(ME),
        _ => {}
    }
    let delay = Duration::from_millis(harness.options.api_delay_ms);
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    act(harness, method, parameters)
}

/// Carries out a method that needs no waiting.
pub fn act(harness: &Arc<Harness>, method: &str, parameters: Parameters) -> Answer {
    let mut world = harness.world();
    world.counts.api_calls += 1;
    match method {
        "sendmessage" => {
            let new_message = world.last_message + 1;
            send(harness, &mut world, new_message, parameters)
        }
        "editmessagetext" => send(harness, &mut world, parameters.message, parameters),
        "answercallbackquery" => {
            world.counts.callbacks_answered += 1;
            success("true")
        }
        "setwebhook" => {
            let url = parameters.url.clone().filter(|url| !url.is_empty());
            webhook::set(harness, &mut world, url, &parameters);
            success("true")
        }
        "deletewebhook" => {
            webhook::set(harness, &mut world, None, &parameters);
            success("true")
        }
        "getwebhookinfo" => success(webhook_info(&world)),
        "getfile" => success(file(&parameters.file_id)),
        _ => success("true"),
    }
}

/// Takes a message of the bot, unless it is refused as too many.
fn send(harness: &Arc<Harness>, world: &mut World, message: i64, parameters: Parameters) -> Answer {
    let flood = harness.options.flood;
    if flood > 0.0 && world.random.fraction() < flood {
        world.counts.floods += 1;
        let wait = json!({"retry_after": 1});
        return failure(StatusCode::TOO_MANY_REQUESTS, "Too Many Requests: retry after 1", Some(wait));
    }
    world.last_message += 1;
    let text = parameters.text.unwrap_or_default();
    let chat = parameters.chat;
    let reply = Reply { chat, text: &text, has_keyboard: parameters.has_keyboard, message };
    users::receive(harness, world, &reply);
    let (date, text) = (unix_seconds(), Value::String(text));
    let chat = format_args!(r#"{{"id":{chat},"first_name":"U","type":"private"}}"#);
    success(format_args!(r#"{{"message_id":{message},"from":{BOT},"chat":{chat},"date":{date},"text":{text}}}"#))
}

fn webhook_info(world: &World) -> Value {
    let url = world.webhook.as_deref().unwrap_or_default();
    json!({"url": url, "has_custom_certificate": false, "pending_update_count": world.queue.len()})
}

fn file(id: &str) -> Value {
    let path = format!("photos/{id}.jpg");
    json!({"file_id": id, "file_unique_id": format!("q{id}"), "file_size": 4096, "file_path": path})
}

/// An answer with a result.
pub fn success(result: impl Display) -> Answer {
    (StatusCode::OK, format!(r#"{{"ok":true,"result":{result}}}"#))
}

/// An answer that says why there is no result.
pub fn failure(status: StatusCode, description: &str, parameters: Option<Value>) -> Answer {
    let mut body = json!({"ok": false, "error_code": status.as_u16(), "description": description});
    if let Some(parameters) = parameters {
        body["parameters"] = parameters;
    }
    (status, body.to_string())
}
