//! Answers in place: a question replaces the message whose button led to it, so old keyboards do not pile up.
//!
//! Buttons of questions and menus have a tag; buttons of final messages and notices have none. So a pressed button
//! tells whether its message may be replaced. What a person may want to read again stays.

use opora::prelude::*;
use opora::telegram::{Tag, Target};
use opora::update::{Content, Update};

use super::text_limits::fit;

/// Shows a text with buttons in place of the question that the person has just answered by a button. Otherwise sends a
/// new message. A turn may call it once: a second call would replace the first text.
pub fn show(turn: &mut Turn, text: impl Into<String>, rows: Vec<Vec<Button>>) {
    let text = fit(text.into());
    match turn.update().and_then(answered_question) {
        Some(message) => turn.edit(Edit::text(message, text).buttons(rows)),
        None => turn.say(Say::text(text).buttons(rows)),
    }
}

/// Removes the buttons of the question that the person has just answered by a button, if the next message cannot
/// replace it.
pub fn drop_buttons(turn: &mut Turn) {
    if let Some(message) = turn.update().and_then(answered_question) {
        turn.edit(Edit::markup(message));
    }
}

/// Shows the answer below its question, in place of the pressed button and its neighbours. The next question is a
/// message of its own.
pub fn show_answer(turn: &mut Turn, question: &str, answer: &str) {
    if let Some(message) = turn.update().and_then(answered_question) {
        turn.edit(Edit::text(message, fit(format!("{question}\n\n{answer}"))));
    }
}

/// Adds what was decided to the card whose button was pressed, and takes its buttons away. If the update has no text of
/// the card, only the buttons go.
pub fn close_card(turn: &mut Turn, verdict: &str) {
    if let Some(edit) = turn.update().and_then(|update| closed_card(update, verdict)) {
        turn.edit(edit);
    }
}

fn closed_card(update: &Update, verdict: &str) -> Option<Edit> {
    let Content::Callback(_) = &update.content else { return None };
    let message = update.message().filter(|message| message.date > 0)?;
    let card = Target::from(message.message_id);
    let closed = |text: &str| fit(format!("{text}\n\n{verdict}"));
    Some(match (&message.text, &message.caption) {
        (Some(text), _) => Edit::text(card, closed(text)),
        (None, Some(caption)) => Edit::caption(card, closed(caption)),
        (None, None) => Edit::markup(card),
    })
}

/// The message under the pressed button, if it is a question or a menu that Telegram still shows.
fn answered_question(update: &Update) -> Option<Target> {
    let Content::Callback(query) = &update.content else { return None };
    Tag::parse(query.data.as_deref()?).version?;
    // Telegram dates a message that is deleted or too old to edit with zero.
    let message = update.message().filter(|message| message.date > 0)?;
    Some(Target::from(message.message_id))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pressed(data: &str, date: i64) -> Update {
        let anna = json!({"id": 5, "is_bot": false, "first_name": "Anna"});
        let message = json!({"message_id": 3, "date": date, "chat": {"id": 5, "type": "private"}});
        let query = json!({"id": "q", "from": anna, "chat_instance": "1", "data": data, "message": message});
        Update::read(&json!({"update_id": 1, "callback_query": query}).to_string()).unwrap()
    }

    #[test]
    fn a_closed_card_says_the_verdict() {
        let closed = |content: serde_json::Value| {
            let mut message = json!({"message_id": 3, "date": 1, "chat": {"id": 5, "type": "private"}});
            message.as_object_mut().unwrap().extend(content.as_object().unwrap().clone());
            let anna = json!({"id": 5, "is_bot": false, "first_name": "Anna"});
            let query = json!({"id": "q", "from": anna, "chat_instance": "1", "data": "yes", "message": message});
            let update = Update::read(&json!({"update_id": 1, "callback_query": query}).to_string()).unwrap();
            format!("{:?}", closed_card(&update, "Approved.").unwrap())
        };
        let same = |edit: Edit| format!("{edit:?}");
        let card = || Target::Message(3);
        assert_eq!(closed(json!({"text": "Boris?"})), same(Edit::text(card(), "Boris?\n\nApproved.")));
        assert_eq!(closed(json!({"caption": "Boris?"})), same(Edit::caption(card(), "Boris?\n\nApproved.")));
        assert_eq!(closed(json!({})), same(Edit::markup(card())));
    }

    #[test]
    fn only_questions_that_telegram_still_shows_are_replaced() {
        assert_eq!(answered_question(&pressed("~1z~plan:begin", 1)), Some(Target::Message(3)));
        assert_eq!(answered_question(&pressed("~1z+~plan:days:20", 1)), Some(Target::Message(3)));
        assert_eq!(answered_question(&pressed("menu", 1)), None, "a notice stays");
        assert_eq!(answered_question(&pressed("~1z~plan:begin", 0)), None, "too old, or deleted");
    }
}
