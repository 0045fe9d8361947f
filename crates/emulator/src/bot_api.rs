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
use crate::emulator::{Bot, Emulator, WorldGuard};
use crate::world::World;
use crate::world::event::{CallRecord, Entry};
use crate::world::fault::{Cut, Fault};

pub use file_link::download;
pub(crate) use file_link::{bytes_of, served};

/// The JSON of a successful answer's `result`, or Telegram's error.
pub type Outcome = Result<Vec<u8>, ApiError>;

const LOGGED_OUT: &str = "Logged out";

/// Answers `/bot<token>/<method>`.
pub async fn answer(emulator: &Emulator, bot: Arc<Bot>, method: String, request: Request) -> Response {
    match Call::read(&method, request).await {
        Ok(call) => run(emulator, &bot, call).await,
        Err(error) => {
            let noted = Noted { answer: error.body().into(), status: error.code, fault: None };
            note(&mut bot.world(), Call::unread(&method), noted, Stopwatch::start());
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
    call.complaints = method.map(|method| complaints(method, &call)).unwrap_or_default();
    bot.store_uploads(&call.uploads).await;
    let fault = {
        let mut world = bot.world();
        let fault = match world.faults.active() {
            [] => None,
            _ => chats::struck(&mut world, &call),
        };
        if fault.is_none() && !method.is_some_and(Method::waits) {
            // The usual call takes the lock once.
            let outcome = effect(&mut world, method, &call);
            return settle(emulator, bot, world, Settled { call, outcome, fault, watch });
        }
        fault
    };
    if let Some(delay_ms) = fault.as_ref().and_then(|fault| fault.order.delay_ms) {
        tokio::time::sleep(Duration::from_millis(delay_ms)).await;
    }
    let early = match forced(fault.as_ref()) {
        Some(error) => Some(Err(error)),
        None => before_the_lock(emulator, bot, method, &mut call).await,
    };
    let mut world = bot.world();
    let outcome = early.unwrap_or_else(|| effect(&mut world, method, &call));
    settle(emulator, bot, world, Settled { call, outcome, fault, watch })
}

/// A call that has had its effect.
struct Settled {
    call: Call,
    outcome: Outcome,
    fault: Option<Fault>,
    watch: Stopwatch,
}

/// Notes the call, sees to a webhook that it changed, and makes the answer.
fn settle(emulator: &Emulator, bot: &Arc<Bot>, mut world: WorldGuard<'_>, settled: Settled) -> Response {
    let Settled { call, outcome, fault, watch } = settled;
    let noted = Noted::new(&outcome, fault.as_ref());
    let (body, cut_short) = (noted.answer.clone(), fault.is_some_and(|fault| fault.order.cut.is_some()));
    let oldest = note(&mut world, call, noted, watch);
    let webhook_changed = std::mem::take(&mut world.webhook_changed);
    drop(world);
    drop(oldest);
    if webhook_changed {
        webhook::run(emulator, bot);
    }
    match outcome {
        _ if cut_short => cut(),
        Ok(_) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
        Err(error) => error.into_response(),
    }
}

/// What must wait: long polling, which is all of its call, and links to fetch. None: the call goes on.
async fn before_the_lock(
    emulator: &Emulator,
    bot: &Arc<Bot>,
    method: Option<&'static Method>,
    call: &mut Call,
) -> Option<Outcome> {
    let method = method?;
    match method.run {
        Run::Poll => Some(poll(bot, method, call).await),
        Run::Now(_) if method.links.is_empty() => None,
        Run::Now(_) => call.fetch_links(emulator.links(), method).await.err().map(Err),
    }
}

async fn poll(bot: &Bot, method: &Method, call: &Call) -> Outcome {
    admitted(&bot.world(), method)?;
    polling::get_updates(bot, call.parameters.read()?).await
}

fn effect(world: &mut World, method: Option<&'static Method>, call: &Call) -> Outcome {
    let Some(method) = method else {
        return Err(not_emulated::explain(&call.method));
    };
    admitted(world, method)?;
    if method.sends {
        chats::check_limits(world, call)?;
    }
    match method.run {
        Run::Now(run) => run(world, call),
        // Polling has answered before the lock was taken.
        Run::Poll => Ok(b"[]".to_vec()),
    }
}

/// A bot that logged out can do nothing else for a while.
fn admitted(world: &World, method: &Method) -> Result<(), ApiError> {
    let out = world.profile.logged_out_until > 0 && world.profile.logged_out_until > world.clock.now();
    if out && method.name != "logOut" { Err(ApiError::new(400, LOGGED_OUT)) } else { Ok(()) }
}

/// The error that a fault puts in place of the call's own effect.
fn forced(fault: Option<&Fault>) -> Option<ApiError> {
    let order = &fault?.order;
    if let Some(seconds) = order.retry_after {
        return Some(ApiError::too_many_requests(seconds));
    }
    if order.status == Some(429) && order.description.is_none() {
        return Some(ApiError::too_many_requests(1));
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

/// What a strict server would have said about parameters that Telegram passes over.
fn complaints(method: &Method, call: &Call) -> Vec<String> {
    let unknown = call.parameters.names().filter(|name| !method.knows(name));
    let mut complaints: Vec<String> = unknown.map(|name| format!("unknown parameter \"{name}\"")).collect();
    let stray = call.uploads.iter().filter(|upload| !method.knows(&upload.field) && !call.refers_to(&upload.field));
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

/// What the inspector is shown of an answer.
struct Noted {
    answer: Bytes,
    status: u16,
    fault: Option<u64>,
}

impl Noted {
    fn new(outcome: &Outcome, fault: Option<&Fault>) -> Self {
        let (status, answer) = match outcome {
            Ok(result) => (200, framed(result)),
            Err(error) => (error.code, error.body().into()),
        };
        Self { answer, status, fault: fault.map(|fault| fault.id) }
    }
}

/// Gives back what fell out of the log, to be freed outside the lock.
fn note(world: &mut World, mut call: Call, noted: Noted, watch: Stopwatch) -> Option<Arc<Entry>> {
    call.shorten();
    let record = CallRecord {
        id: world.log.next_id(),
        at_ms: world.clock.now_ms(),
        took_us: watch.micros(),
        uploads: call.uploads.iter().map(|it| (it.field.clone(), it.name.clone(), it.bytes.len())).collect(),
        method: call.method.into(),
        parameters: call.parameters,
        status: noted.status,
        answer: noted.answer,
        complaints: call.complaints,
        fault: noted.fault,
    };
    world.events.tell("call", || record.shown());
    let oldest = world.log.push(Entry::Call(record));
    if noted.fault.is_some() {
        world.events.tell("faults", || serde_json::json!({"faults": world.faults.active()}));
    }
    oldest
}

/// An answer whose connection breaks before its first byte of content.
fn cut() -> Response {
    let broken = futures_util::stream::once(async { Err::<Bytes, _>(std::io::Error::other("cut by a fault")) });
    let mut response = Response::new(Body::from_stream(broken));
    response.headers_mut().insert(header::CONNECTION, header::HeaderValue::from_static("close"));
    response
}
