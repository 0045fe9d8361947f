//! Turns queued inputs into turn inputs, and into parked rows.

use std::sync::Arc;

use frankenstein::types::MaybeInaccessibleMessage;
use serde_json::json;

use crate::key::ConversationKey;
use crate::mailbox::QueuedInput;
use crate::store::{Origin, Outgoing, ParkedTurn};
use crate::telegram::Destination;
use crate::turn::TurnInput;
use crate::update::{self, Content, Update};

/// The input of a turn, or why it cannot be read.
pub(super) fn turn_input(inputs: &[QueuedInput]) -> Result<TurnInput, String> {
    match inputs {
        [QueuedInput::Expired] => Ok(TurnInput::Expired),
        [QueuedInput::Timer(timer)] => Ok(TurnInput::Timer { name: timer.name.clone(), body: timer.body.clone() }),
        [QueuedInput::Retry(parked)] => retried(parked),
        [QueuedInput::Inbox(row)] if matches!(row.incoming.origin, Origin::Outcome(_)) => {
            TurnInput::outcome(&row.incoming.body)
        }
        inputs => updates(bodies(inputs)),
    }
}

/// The chat and thread of an update. It matters if one conversation spans several of them.
pub(super) fn destination(update: &Update) -> Option<Destination> {
    if let Content::Callback(query) = &update.content
        && let Some(MaybeInaccessibleMessage::InaccessibleMessage(message)) = &query.message
    {
        return Some(Destination::chat(message.chat.id));
    }
    let message = update.message()?;
    let thread = message.message_thread_id.filter(|_| message.is_topic_message == Some(true));
    let business = message.business_connection_id.as_deref().unwrap_or_default().into();
    Some(Destination { chat: message.chat.id, thread: thread.map_or(0, i64::from), business })
}

/// A parked row for inputs. The operator can retry it.
pub(super) fn parked(key: &ConversationKey, inputs: &[QueuedInput], reason: String, attempts: u32) -> ParkedTurn {
    let (kind, body) = match inputs {
        [] | [QueuedInput::Expired] => ("expired", String::new()),
        [QueuedInput::Timer(timer)] => ("timer", json!({"name": timer.name, "body": timer.body}).to_string()),
        [QueuedInput::Retry(parked)] => (parked.input(), parked.body.clone()),
        [QueuedInput::Inbox(row)] if matches!(row.incoming.origin, Origin::Outcome(_)) => {
            ("outcome", row.incoming.body.to_string())
        }
        inputs => {
            let bodies: Vec<_> = bodies(inputs).collect();
            if let [body] = bodies[..] {
                ("update", body.to_owned())
            } else {
                ("album", format!("[{}]", bodies.join(",")))
            }
        }
    };
    ParkedTurn::new(key.clone(), kind, body, reason, attempts)
}

/// A parked row for an input without a handler.
pub(super) fn unhandled(key: &ConversationKey, inputs: &[QueuedInput], reason: String) -> ParkedTurn {
    let parked = parked(key, inputs, reason, 1);
    ParkedTurn { kind: format!("{}{}", ParkedTurn::UNHANDLED, parked.kind), ..parked }
}

/// The answer to the press of a failed turn, so that its button does not keep spinning.
pub(super) fn callback_answers(turn_input: &TurnInput) -> Vec<Outgoing> {
    let TurnInput::Update(update) = turn_input else { return Vec::new() };
    let Content::Callback(query) = &update.content else { return Vec::new() };
    vec![callback_answer(&query.id)]
}

/// Answers to presses that cannot be read except for their ids.
pub(super) fn unread_answers(inputs: &[QueuedInput]) -> Vec<Outgoing> {
    bodies(inputs).filter_map(update::callback_id).map(|id| callback_answer(&id)).collect()
}

fn callback_answer(id: &str) -> Outgoing {
    Outgoing::new(None, "answerCallbackQuery", json!({"callback_query_id": id}).to_string())
}

/// The bodies of updates and outcomes.
fn bodies(inputs: &[QueuedInput]) -> impl Iterator<Item = &str> {
    inputs.iter().filter_map(|input| input.incoming().map(|incoming| &*incoming.body))
}

fn updates<'a>(bodies: impl Iterator<Item = &'a str>) -> Result<TurnInput, String> {
    let read = |body| Update::read(body).map(Arc::new).map_err(|error| error.to_string());
    let mut updates = bodies.map(read).collect::<Result<Vec<_>, _>>()?;
    match &updates[..] {
        [update] if update.media_group().is_none() => Ok(TurnInput::Update(updates.remove(0))),
        _ => Ok(TurnInput::Album(updates)),
    }
}

fn retried(parked: &ParkedTurn) -> Result<TurnInput, String> {
    let unreadable = |error: serde_json::Error| error.to_string();
    match parked.input() {
        "timer" => {
            #[derive(serde::Deserialize)]
            struct Timer {
                name: Box<str>,
                body: Box<str>,
            }
            let Timer { name, body } = serde_json::from_str(&parked.body).map_err(unreadable)?;
            Ok(TurnInput::Timer { name, body })
        }
        "outcome" => TurnInput::outcome(&parked.body),
        "expired" => Ok(TurnInput::Expired),
        "again" => Ok(TurnInput::AskAgain),
        "album" => {
            let items: Vec<&serde_json::value::RawValue> = serde_json::from_str(&parked.body).map_err(unreadable)?;
            updates(items.iter().map(|item| item.get()))
        }
        "state" => Err("a parked state cannot be run; import it once it can be read".to_owned()),
        _ => updates(std::iter::once(parked.body.as_str())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parked_expiry_can_be_retried() {
        let parked = parked(&ConversationKey::private(1, 2), &[QueuedInput::Expired], "a bad day".to_owned(), 3);
        assert!(matches!(turn_input(&[QueuedInput::Retry(parked)]), Ok(TurnInput::Expired)));
    }
}
