//! What letters mean to a dialogue, and how they are set aside.

use std::sync::Arc;

use frankenstein::types::MaybeInaccessibleMessage;
use serde_json::json;

use crate::key::DialogueKey;
use crate::mailbox::Letter;
use crate::store::{Origin, Outgoing, Parked};
use crate::telegram::Destination;
use crate::turn::Event;
use crate::update::{self, Content, Update};

/// The event of one input, or why it means nothing.
pub(super) fn event(letters: &[Letter]) -> Result<Event, String> {
    match letters {
        [Letter::Expired] => Ok(Event::Expired),
        [Letter::Timer(timer)] => Ok(Event::Timer { name: timer.name.clone(), body: timer.body.clone() }),
        [Letter::Retry(parked)] => retried(parked),
        [Letter::Inbox(row)] if matches!(row.incoming.origin, Origin::Outcome(_)) => Event::outcome(&row.incoming.body),
        letters => updates(bodies(letters)),
    }
}

/// Where an update came from, for answers where a conversation is wider than that.
pub(super) fn place(update: &Update) -> Option<Destination> {
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

/// A letter's input as an operator sees it, and as it can be run again.
pub(super) fn parked(key: &DialogueKey, letters: &[Letter], reason: String, attempts: u32) -> Parked {
    let (kind, body) = match letters {
        [] | [Letter::Expired] => ("expired", String::new()),
        [Letter::Timer(timer)] => ("timer", json!({"name": timer.name, "body": timer.body}).to_string()),
        [Letter::Retry(parked)] => (parked.input(), parked.body.clone()),
        [Letter::Inbox(row)] if matches!(row.incoming.origin, Origin::Outcome(_)) => {
            ("outcome", row.incoming.body.to_string())
        }
        letters => {
            let bodies: Vec<_> = bodies(letters).collect();
            if let [body] = bodies[..] {
                ("update", body.to_owned())
            } else {
                ("album", format!("[{}]", bodies.join(",")))
            }
        }
    };
    Parked::new(key.clone(), kind, body, reason, attempts)
}

/// The same of an input that no handler hears.
pub(super) fn unheard(key: &DialogueKey, letters: &[Letter], reason: String) -> Parked {
    let parked = parked(key, letters, reason, 1);
    Parked { kind: format!("{}{}", Parked::UNHEARD, parked.kind), ..parked }
}

/// Answers to the buttons of a turn that has failed: they must not keep spinning.
pub(super) fn callback_answers(event: &Event) -> Vec<Outgoing> {
    let Event::Update(update) = event else { return Vec::new() };
    let Content::Callback(query) = &update.content else { return Vec::new() };
    vec![callback_answer(&query.id)]
}

/// Answers to presses that cannot be read but for their ids.
pub(super) fn unread_answers(letters: &[Letter]) -> Vec<Outgoing> {
    bodies(letters).filter_map(update::callback_id).map(|id| callback_answer(&id)).collect()
}

fn callback_answer(id: &str) -> Outgoing {
    Outgoing {
        chat: None,
        method: "answerCallbackQuery".into(),
        body: json!({"callback_query_id": id}).to_string().into(),
        uploads: Vec::new(),
        if_unsure: Default::default(),
        label: None,
        edits_label: None,
        secret: false,
    }
}

/// The updates; only they are gathered into albums.
fn bodies(letters: &[Letter]) -> impl Iterator<Item = &str> {
    letters.iter().filter_map(|letter| letter.incoming().map(|incoming| &*incoming.body))
}

fn updates<'a>(bodies: impl Iterator<Item = &'a str>) -> Result<Event, String> {
    let read = |body| Update::read(body).map(Arc::new).map_err(|error| error.to_string());
    let mut updates = bodies.map(read).collect::<Result<Vec<_>, _>>()?;
    match &updates[..] {
        [update] if update.media_group().is_none() => Ok(Event::Update(updates.remove(0))),
        _ => Ok(Event::Album(updates)),
    }
}

fn retried(parked: &Parked) -> Result<Event, String> {
    let unreadable = |error: serde_json::Error| error.to_string();
    match parked.input() {
        "timer" => {
            #[derive(serde::Deserialize)]
            struct Timer {
                name: Box<str>,
                body: Box<str>,
            }
            let Timer { name, body } = serde_json::from_str(&parked.body).map_err(unreadable)?;
            Ok(Event::Timer { name, body })
        }
        "outcome" => Event::outcome(&parked.body),
        "expired" => Ok(Event::Expired),
        "again" => Ok(Event::Again),
        "album" => {
            let items: Vec<&serde_json::value::RawValue> = serde_json::from_str(&parked.body).map_err(unreadable)?;
            updates(items.iter().map(|item| item.get()))
        }
        "state" => Err("a state that was set aside cannot be run; import it once it can be read".to_owned()),
        _ => updates(std::iter::once(parked.body.as_str())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_of_life_that_was_parked_can_be_run_again() {
        let parked = parked(&DialogueKey::private(1, 2), &[Letter::Expired], "a bad day".to_owned(), 3);
        assert!(matches!(event(&[Letter::Retry(parked)]), Ok(Event::Expired)));
    }
}
