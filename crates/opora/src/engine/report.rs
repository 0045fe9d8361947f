//! Logs and metrics of turns. They contain ids of people, never their texts.

use std::any::Any;
use std::time::Duration;

use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::mailbox::QueuedInput;
use crate::store::StateName;
use crate::turn::TurnInput;

/// Counts a turn that has committed.
pub(super) fn turn(took: Duration) {
    metrics::counter!("opora_turns_total", "outcome" => "committed").increment(1);
    metrics::histogram!("opora_turn_seconds").record(took.as_secs_f64());
}

/// Logs a handled input and its change of state. Inputs from Telegram are logged at info, others at debug.
pub(super) fn handled(
    key: &ConversationKey,
    turn_input: &TurnInput,
    moved: Option<&(Option<StateName>, Option<StateName>, &'static str)>,
    took: Duration,
) {
    let took_us = took.as_micros();
    let user = key.user;
    let chat = key.chat;
    let chat_type = chat_type(key);
    let input = turn_input.name();
    if turn_input.is_from_telegram() {
        tracing::info!(user, chat, chat_type, input, took_us, "input handled");
    } else {
        tracing::debug!(user, chat, chat_type, input, took_us, "input handled");
    }
    if let Some((from, to, by)) = moved {
        metrics::counter!("opora_transitions_total").increment(1);
        let name = |place: &Option<StateName>| place.as_ref().map_or_else(|| "none".to_owned(), StateName::to_string);
        let from = name(from);
        let to = name(to);
        tracing::info!(user, chat, by, "FSM State [CHANGED] user={user} {from} -> {to}");
    }
}

/// Records the duration of the commit, and the time since the input arrived.
pub(super) fn commit(inputs: &[QueuedInput], took: Duration, now: Millis) {
    metrics::histogram!("opora_commit_seconds").record(took.as_secs_f64());
    if let Some(incoming) = inputs.first().and_then(QueuedInput::incoming) {
        metrics::histogram!("opora_input_seconds").record(now.since(incoming.at).as_secs_f64());
    }
}

/// The message of a panic.
pub(super) fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

fn chat_type(key: &ConversationKey) -> &'static str {
    match key.chat {
        _ if key.is_private() => "private",
        _ if !key.business.is_empty() => "business",
        chat if chat < 0 => "group",
        _ => "other",
    }
}
