//! The bot's side: `/bot<token>/<method>` and `/file/bot<token>/<path>`, answered as Telegram answers.
//!
//! A call is read from whatever shape it came in, struck by a fault if one was ordered, run under its world's lock, and
//! noted for the inspector. Nothing here knows what a method does: see [`methods`].

pub mod call;
pub mod chats;
pub mod error;
mod file_link;
pub mod methods;
pub mod not_emulated;
pub mod parameters;
pub mod speech;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;

use self::call::Call;
use self::error::ApiError;
use self::methods::{Method, Run};
use crate::clock::Stopwatch;
use crate::delivery::{polling, webhook};
use crate::emulator::{Bot, Emulator};
use crate::token::Token;
use crate::world::World;
use crate::world::event::CallRecord;
use crate::world::event::Entry;
use crate::world::fault::{Cut, Fault};

pub use file_link::download;
pub(crate) use file_link::{bytes_of, served};

/// The JSON of a successful answer's `result`, or Telegram's error.
pub type Outcome = Result<Vec<u8>, ApiError>;

const LOGGED_OUT: &str = "Logged out";

/// Answers `/bot<token>/<method>`.
pub async fn answer(emulator: &Emulator, token: &str, method: &str, request: Request) -> Response {
    let Some(token) = Token::parse(token) else {
        return ApiError::unauthorized().into_response();
    };
    let Some(bot) = emulator.bot(&token) else {
        return ApiError::too_many_requests(60).into_response();
    };
    match Call::read(method, request).await {
        Ok(call) => run(emulator, &bot, call).await,
        Err(error) => {
            note(&bot, Call::unread(method), &error.body(), error.code, Stopwatch::start(), None);
            error.into_response()
        }
    }
}

/// Runs a call that arrived as the answer to a webhook; nobody waits for what it says.
pub async fn answer_webhook_reply(emulator: &Emulator, bot: &Arc<Bot>, call: Call) {
    drop(run(emulator, bot, call).await);
}

async fn run(emulator: &Emulator, bot: &Arc<Bot>, mut call: Call) -> Response {
    let watch = Stopwatch::start();
    let method = methods::find(&call.method);
    let fault = bot.world().faults.strike_call(&call.method, chats::named_in(&call));
    if let Some(delay_ms) = fault.as_ref().and_then(|fault| fault.order.delay_ms) {
        tokio::time::sleep(Duration::from_millis(delay_ms)).await;
    }
    let outcome = match forced(fault.as_ref()) {
        Some(error) => Err(error),
        None => effect(emulator, bot, method, &mut call).await,
    };
    let complaints = method.map(|method| complaints(method, &call)).unwrap_or_default();
    let fault_id = fault.as_ref().map(|fault| fault.id);
    let (status, body) = match &outcome {
        Ok(result) => (200, framed(result)),
        Err(error) => (error.code, error.body().into()),
    };
    call.complaints = complaints;
    note(bot, call, &body, status, watch, fault_id);
    if let Some(fault) = &fault {
        let world = bot.world();
        world.events.tell("faults", || serde_json::json!({"faults": world.faults.active()}));
        if fault.order.cut.is_some() {
            return cut();
        }
    }
    match outcome {
        Ok(_) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
        Err(error) => error.into_response(),
    }
}

/// The error that a fault puts in place of the call's own effect.
fn forced(fault: Option<&Fault>) -> Option<ApiError> {
    let order = &fault?.order;
    if let Some(seconds) = order.retry_after {
        return Some(ApiError::too_many_requests(seconds));
    }
    if let Some(status) = order.status {
        let description = order.description.clone().unwrap_or_else(|| default_description(status).to_owned());
        return Some(ApiError::new(status, description));
    }
    // What is answered does not matter: the connection is cut.
    (order.cut == Some(Cut::Before)).then(|| ApiError::new(500, "Internal Server Error: cut before the effect"))
}

fn default_description(status: u16) -> &'static str {
    match status {
        400 => "Bad Request: emulated fault",
        401 => "Unauthorized",
        403 => "Forbidden: bot was blocked by the user",
        404 => "Not Found",
        409 => "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
        429 => "Too Many Requests: retry after 1",
        502 => "Bad Gateway",
        _ => "Internal Server Error: restart",
    }
}

async fn effect(emulator: &Emulator, bot: &Arc<Bot>, method: Option<&'static Method>, call: &mut Call) -> Outcome {
    let Some(method) = method else {
        return Err(not_emulated::explain(&call.method));
    };
    {
        let world = bot.world();
        let out = world.profile.logged_out_until > world.clock.now();
        if out && method.name != "logOut" {
            return Err(ApiError::new(400, LOGGED_OUT));
        }
    }
    match method.run {
        Run::Poll => polling::get_updates(bot, call.parameters.read()?).await,
        Run::Now(run) => {
            call.fetch_links(emulator.http(), method).await?;
            let webhook_before = bot.world().webhook_generation;
            let outcome = {
                let mut world = bot.world();
                if method.sends {
                    chats::check_limits(&mut world, call)?;
                }
                run(&mut world, call)
            };
            if outcome.is_ok() && bot.world().webhook_generation != webhook_before {
                webhook::run(emulator, bot);
            }
            outcome
        }
    }
}

/// What a strict server would have said about parameters that Telegram passes over.
fn complaints(method: &Method, call: &Call) -> Vec<String> {
    let known = |name: &str| method.parameters.iter().any(|names| names().contains(&name));
    let unknown = call.parameters.names().filter(|name| !known(name));
    let mut complaints: Vec<String> = unknown.map(|name| format!("unknown parameter \"{name}\"")).collect();
    let stray = call.uploads.iter().filter(|upload| !known(&upload.field) && !call.refers_to(&upload.field));
    complaints.extend(stray.map(|upload| format!("a file was uploaded as \"{}\", which nothing names", upload.field)));
    complaints
}

fn framed(result: &[u8]) -> Bytes {
    let mut body = Vec::with_capacity(result.len() + 22);
    body.extend_from_slice(b"{\"ok\":true,\"result\":");
    body.extend_from_slice(result);
    body.push(b'}');
    body.into()
}

fn note(bot: &Bot, call: Call, body: &[u8], status: u16, watch: Stopwatch, fault: Option<u64>) {
    let world: &mut World = &mut bot.world();
    let record = CallRecord {
        id: world.log.next_id(),
        at_ms: world.clock.now_ms(),
        took_us: watch.micros(),
        uploads: call.uploads.iter().map(|it| (it.field.clone(), it.name.clone(), it.bytes.len())).collect(),
        method: call.method.into(),
        parameters: call.parameters,
        status,
        answer: Bytes::copy_from_slice(body),
        complaints: call.complaints,
        fault,
    };
    world.events.tell("call", || record.shown());
    world.log.push(Entry::Call(record));
}

/// An answer whose connection breaks before its first byte of content.
fn cut() -> Response {
    let broken = futures_util::stream::once(async { Err::<Bytes, _>(std::io::Error::other("cut by a fault")) });
    let mut response = Response::new(Body::from_stream(broken));
    response.headers_mut().insert(header::CONNECTION, header::HeaderValue::from_static("close"));
    response
}
