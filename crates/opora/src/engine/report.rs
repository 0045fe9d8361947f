//! What a turn tells logs and metrics. People appear by their ids; what they wrote does not.

use std::any::Any;
use std::time::Duration;

use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::mailbox::Letter;
use crate::store::Place;
use crate::turn::Event;

/// Counts a turn that has committed.
pub(super) fn turn(took: Duration) {
    metrics::counter!("opora_turns_total", "outcome" => "committed").increment(1);
    metrics::histogram!("opora_turn_seconds").record(took.as_secs_f64());
}

/// Logs an input that a handler has heard, and the change of state that followed.
///
/// What Telegram sent is logged at info. Timers, outcomes and the library's own inputs are logged at debug.
pub(super) fn handled(
    key: &DialogueKey,
    event: &Event,
    moved: Option<&(Option<Place>, Option<Place>, &'static str)>,
    took: Duration,
) {
    let took_us = took.as_micros();
    let user = key.user;
    let chat = key.chat;
    let chat_type = chat_type(key);
    let input = event.name();
    if event.is_from_telegram() {
        tracing::info!(user, chat, chat_type, input, took_us, "input handled");
    } else {
        tracing::debug!(user, chat, chat_type, input, took_us, "input handled");
    }
    if let Some((from, to, by)) = moved {
        metrics::counter!("opora_transitions_total").increment(1);
        let name = |place: &Option<Place>| place.as_ref().map_or_else(|| "none".to_owned(), Place::to_string);
        let from = name(from);
        let to = name(to);
        tracing::info!(user, chat, by, "FSM State [CHANGED] user={user} {from} -> {to}");
    }
}

/// Tells how long the store took, and how long the input has waited in all since it came.
pub(super) fn commit(letters: &[Letter], took: Duration, now: Millis) {
    metrics::histogram!("opora_commit_seconds").record(took.as_secs_f64());
    if let Some(incoming) = letters.first().and_then(Letter::incoming) {
        metrics::histogram!("opora_input_seconds").record(now.since(incoming.at).as_secs_f64());
    }
}

/// What a panic said.
pub(super) fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

fn chat_type(key: &DialogueKey) -> &'static str {
    match key.chat {
        _ if key.is_private() => "private",
        _ if !key.business.is_empty() => "business",
        chat if chat < 0 => "group",
        _ => "other",
    }
}
