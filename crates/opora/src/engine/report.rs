//! Logs and metrics of turns. They contain ids of people, never their texts.

use std::any::Any;
use std::collections::HashMap;
use std::time::Duration;

use metrics::{Counter, Histogram};

use crate::clock::Millis;
use crate::dialogue::Script;
use crate::key::ConversationKey;
use crate::mailbox::QueuedInput;
use crate::store::{StateChange, StateName, StoredState};
use crate::turn::TurnInput;

/// Metrics of committed turns, looked up once because a lookup hashes name and labels.
pub(crate) struct TurnMeters {
    committed: Counter,
    transitions: Counter,
    commit_duration: Histogram,
    input_duration: Histogram,
    /// By the name of the dialogue.
    handler_duration: HashMap<&'static str, Histogram>,
    handler_duration_without_dialogue: Histogram,
}

impl TurnMeters {
    pub(crate) fn new(script: &Script) -> Self {
        let handler_duration = |dialogue| metrics::histogram!("opora_turn_seconds", "dialogue" => dialogue);
        Self {
            committed: metrics::counter!("opora_turns_total", "outcome" => "committed"),
            transitions: metrics::counter!("opora_transitions_total"),
            commit_duration: metrics::histogram!("opora_commit_seconds"),
            input_duration: metrics::histogram!("opora_input_seconds"),
            handler_duration: script.dialogue_states().map(|(name, _)| (name, handler_duration(name))).collect(),
            handler_duration_without_dialogue: handler_duration("none"),
        }
    }

    /// The histogram of a turn: that of the dialogue in the foreground before the turn, else of the one it begins.
    pub(super) fn handler_duration(&self, before: Option<&StoredState>, change: &StateChange) -> &Histogram {
        let begun = match change {
            StateChange::Set(stored) => Some(stored),
            StateChange::Keep | StateChange::Clear => None,
        };
        let state = before.or(begun).and_then(|stored| stored.states.first());
        let found = state.and_then(|state| self.handler_duration.get(&*state.dialogue));
        found.unwrap_or(&self.handler_duration_without_dialogue)
    }

    /// Counts a committed turn, and records the duration of its commit and the time since its input arrived.
    pub(super) fn committed(&self, inputs: &[QueuedInput], has_moved: bool, took: Duration, now: Millis) {
        self.committed.increment(1);
        self.commit_duration.record(took);
        if has_moved {
            self.transitions.increment(1);
        }
        if let Some(incoming) = inputs.first().and_then(QueuedInput::incoming) {
            self.input_duration.record(now.since(incoming.at));
        }
    }
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
        let name = |state: &Option<StateName>| state.as_ref().map_or_else(|| "none".to_owned(), StateName::to_string);
        let from = name(from);
        let to = name(to);
        tracing::info!(user, chat, by, "FSM State [CHANGED] user={user} {from} -> {to}");
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
