//! The bot's side: `/bot<token>/<method>` and `/file/bot<token>/<path>`, answered as Telegram answers.
//!
//! A call is read, given a fault if a test asked for one, run under the lock of its world, and logged for the
//! inspector. Nothing here knows what a method does: see [`methods`].

pub mod call;
pub mod chats;
pub mod error;
mod file_link;
pub mod methods;
pub mod not_emulated;
pub mod parameters;
pub mod texts;

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
use crate::world::event::{CallRecord, InspectorEntry};
use crate::world::fault::{Cut, Fault};

pub use file_link::download;
pub(crate) use file_link::{bytes_of, served};

/// The JSON of a successful answer's `result`, or Telegram's error.
pub type MethodResult = Result<Vec<u8>, ApiError>;

const LOGGED_OUT: &str = "Logged out";

/// Answers `/bot<token>/<method>`.
pub async fn answer(emulator: &Emulator, bot: Arc<Bot>, method: String, request: Request) -> Response {
    match Call::read(&method, request).await {
        Ok(call) => run(emulator, &bot, call).await,
        Err(error) => {
            let logged = LoggedAnswer { answer: error.body().into(), status: error.code, fault: None };
            log_call(&mut bot.world(), Call::unread(&method), logged, Stopwatch::start());
            error.into_response()
        }
    }
}

/// Runs a call that arrived as the answer to a webhook. Its result is dropped.
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
            _ => chats::take_fault(&mut world, &call),
        };
        if fault.is_none() && !method.is_some_and(Method::waits) {
            // Most calls take the lock once.
            let outcome = effect(&mut world, method, &call);
            return finish(emulator, bot, world, FinishedCall { call, outcome, fault, watch });
        }
        fault
    };
    if let Some(delay_ms) = fault.as_ref().and_then(|fault| fault.spec.delay_ms) {
        tokio::time::sleep(Duration::from_millis(delay_ms)).await;
    }
    let early = match forced_error(fault.as_ref()) {
        Some(error) => Some(Err(error)),
        None => before_the_lock(emulator, bot, method, &mut call).await,
    };
    let mut world = bot.world();
    let outcome = early.unwrap_or_else(|| effect(&mut world, method, &call));
    finish(emulator, bot, world, FinishedCall { call, outcome, fault, watch })
}

/// A call that was run, and its result.
struct FinishedCall {
    call: Call,
    outcome: MethodResult,
    fault: Option<Fault>,
    watch: Stopwatch,
}

/// Logs the call, restarts the webhook if the call changed it, and builds the answer.
fn finish(emulator: &Emulator, bot: &Arc<Bot>, mut world: WorldGuard<'_>, finished: FinishedCall) -> Response {
    let FinishedCall { call, outcome, fault, watch } = finished;
    let logged = LoggedAnswer::new(&outcome, fault.as_ref());
    let (body, cut_short) = (logged.answer.clone(), fault.is_some_and(|fault| fault.spec.cut.is_some()));
    let oldest = log_call(&mut world, call, logged, watch);
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

/// Does what has to wait: long polling and fetching links. Returns none if the call still has to run under the lock.
async fn before_the_lock(
    emulator: &Emulator,
    bot: &Arc<Bot>,
    method: Option<&'static Method>,
    call: &mut Call,
) -> Option<MethodResult> {
    let method = method?;
    match method.run {
        Run::Poll => Some(poll(bot, method, call).await),
        Run::Immediate(_) if method.links.is_empty() => None,
        Run::Immediate(_) => call.fetch_links(emulator.links(), method).await.err().map(Err),
    }
}

async fn poll(bot: &Bot, method: &Method, call: &Call) -> MethodResult {
    check_logged_in(&bot.world(), method)?;
    polling::get_updates(bot, call.parameters.read()?).await
}

fn effect(world: &mut World, method: Option<&'static Method>, call: &Call) -> MethodResult {
    let Some(method) = method else {
        return Err(not_emulated::explain(&call.method));
    };
    check_logged_in(world, method)?;
    if method.sends {
        chats::check_limits(world, call)?;
    }
    match method.run {
        Run::Immediate(run) => run(world, call),
        // `before_the_lock` answered the poll already.
        Run::Poll => Ok(b"[]".to_vec()),
    }
}

/// Refuses all calls of a bot that logged out, for ten minutes.
fn check_logged_in(world: &World, method: &Method) -> Result<(), ApiError> {
    let out = world.profile.logged_out_until > 0 && world.profile.logged_out_until > world.clock.now();
    if out && method.name != "logOut" { Err(ApiError::new(400, LOGGED_OUT)) } else { Ok(()) }
}

/// The error that a fault returns instead of running the call.
fn forced_error(fault: Option<&Fault>) -> Option<ApiError> {
    let spec = &fault?.spec;
    if let Some(seconds) = spec.retry_after {
        return Some(ApiError::too_many_requests(seconds));
    }
    if spec.status == Some(429) && spec.description.is_none() {
        return Some(ApiError::too_many_requests(1));
    }
    if let Some(status) = spec.status {
        let description = spec.description.clone().unwrap_or_else(|| default_description(status).to_owned());
        return Some(ApiError::new(status, description));
    }
    // The bot does not see this error: the connection is cut.
    (spec.cut == Some(Cut::Before)).then(|| ApiError::new(500, "Internal Server Error: cut before the effect"))
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

/// Complaints about parameters that Telegram ignores and a strict server would refuse.
fn complaints(method: &Method, call: &Call) -> Vec<String> {
    let unknown = call.parameters.names().filter(|name| !method.knows(name));
    let mut complaints: Vec<String> = unknown.map(|name| format!("unknown parameter \"{name}\"")).collect();
    let stray = call.uploads.iter().filter(|upload| !method.knows(&upload.field) && !call.refers_to(&upload.field));
    complaints.extend(stray.map(|upload| format!("a file was uploaded as \"{}\", which nothing names", upload.field)));
    complaints
}

fn success_body(result: &[u8]) -> Bytes {
    let mut body = Vec::with_capacity(result.len() + 22);
    body.extend_from_slice(b"{\"ok\":true,\"result\":");
    body.extend_from_slice(result);
    body.push(b'}');
    body.into()
}

/// What the inspector shows of an answer.
struct LoggedAnswer {
    answer: Bytes,
    status: u16,
    fault: Option<u64>,
}

impl LoggedAnswer {
    fn new(outcome: &MethodResult, fault: Option<&Fault>) -> Self {
        let (status, answer) = match outcome {
            Ok(result) => (200, success_body(result)),
            Err(error) => (error.code, error.body().into()),
        };
        Self { answer, status, fault: fault.map(|fault| fault.id) }
    }
}

/// Logs a call. Returns the entry that fell out of the log, so that the caller frees it outside of the lock.
fn log_call(world: &mut World, mut call: Call, logged: LoggedAnswer, watch: Stopwatch) -> Option<Arc<InspectorEntry>> {
    call.shorten();
    let record = CallRecord {
        id: world.log.next_id(),
        at_ms: world.clock.now_ms(),
        took_us: watch.micros(),
        uploads: call.uploads.iter().map(|it| (it.field.clone(), it.name.clone(), it.bytes.len())).collect(),
        method: call.method.into(),
        parameters: call.parameters,
        status: logged.status,
        answer: logged.answer,
        complaints: call.complaints,
        fault: logged.fault,
    };
    world.events.publish("call", || record.to_json());
    let oldest = world.log.push(InspectorEntry::Call(record));
    if logged.fault.is_some() {
        world.events.publish("faults", || serde_json::json!({"faults": world.faults.active()}));
    }
    oldest
}

/// An answer whose connection breaks before the first byte of its body.
fn cut() -> Response {
    let broken = futures_util::stream::once(async { Err::<Bytes, _>(std::io::Error::other("cut by a fault")) });
    let mut response = Response::new(Body::from_stream(broken));
    response.headers_mut().insert(header::CONNECTION, header::HeaderValue::from_static("close"));
    response
}
