//! Questions to whoever is in charge, and the answers, through the bot.
//!
//! A person has one conversation at a time; it outlives the state of either side, so an answer reaches its person days
//! later. Texts are kept in the database and are in no log above debug.

use std::time::Duration;

use opora::prelude::*;

use crate::application::App;
use crate::domain::typed;
use crate::front::{self, menu_button};
use crate::people::WriteAs;
use crate::person::{ANSWERERS, Person, QUESTIONED};
use crate::settings::QUESTIONS_GO_TO;
use crate::text;
use crate::texts::Language;

mod records;

/// The data of the button that opens a conversation, from anywhere.
pub const OPEN: &str = "chat:open";
/// The asker's own end of it.
const CLOSE: &str = "chat:close";
/// With the asker's number behind them: the side of whoever is in charge.
const REPLY: &str = "chat:reply:";
const END: &str = "chat:end:";

/// In UTF-16 units; a message has a heading too.
const TEXT_MAX_UNITS: usize = 3500;
const LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// Its name is that of the bots that it takes over from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "ChatStates")]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum ChatStates {
    /// Texts go to whoever is in charge.
    Active,
    /// The next text is the answer to this person.
    Replying { user_id: i64 },
}

pub fn dialogue() -> Dialogue<ChatStates> {
    Dialogue::new()
        .start(button(OPEN), open)
        .start(button(CLOSE), close)
        .start(button(REPLY), reply)
        .start(button(END), end)
        .ask(ChatStates::ACTIVE, ask_question)
        .on(ChatStates::ACTIVE, text(), question)
        .on(ChatStates::ACTIVE, button(OPEN), already_open)
        .on(ChatStates::ACTIVE, button(CLOSE), close_and_leave)
        .ask(ChatStates::REPLYING, ask_answer)
        .on(ChatStates::REPLYING, text(), answer)
        .on(ChatStates::REPLYING, button(REPLY), reply_to_another)
        .on(ChatStates::REPLYING, button(END), end_and_leave)
        .calls::<ChatStates>()
        .life(LIFE)
        .timeout(timed_out)
}

async fn asking(turn: &mut Turn) -> Result<Option<Person>, BoxError> {
    front::allowed(turn, QUESTIONED).await
}

async fn open(turn: &mut Turn, _: Press) -> Step<ChatStates> {
    let Some(_) = asking(turn).await? else { return Ok(Next::Stay) };
    Ok(Next::Go(ChatStates::Active))
}

async fn already_open(turn: &mut Turn, _: Press) -> Step<ChatStates> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    turn.toast(text!(language, "chat-write-toast"));
    Ok(Next::Stay)
}

async fn ask_question(turn: &mut Turn) -> Result<(), BoxError> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    turn.say(Say::text(text!(language, "chat-open")).buttons([[close_button(language)]]));
    Ok(())
}

fn close_button(language: Language) -> Button {
    Button::raw(text!(language, "chat-close-button"), CLOSE)
}

/// A question goes to whoever is in charge.
async fn question(turn: &mut Turn, said: String) -> Step<ChatStates> {
    let Some(person) = asking(turn).await? else { return Ok(Next::Stay) };
    let Some(said) = fitting(turn, &said, person.language) else { return Ok(Next::Stay) };
    let app = turn.context::<App>();
    let Some(in_charge) = whom_to_ask(&app, &person).await? else {
        turn.say(text!(person.language, "chat-nobody"));
        return Ok(Next::Stay);
    };
    tracing::info!(user = person.id, in_charge = in_charge.id, "a question is passed on");
    tracing::debug!(user = person.id, text = said, "the question");
    let heading = text!(in_charge.language, "chat-question", name = person.full_name.as_str());
    let reply = Button::raw(text!(in_charge.language, "chat-reply-button"), format!("{REPLY}{}", person.id));
    let end = Button::raw(text!(in_charge.language, "chat-close-button"), format!("{END}{}", person.id));
    turn.say_to(in_charge.telegram_id, Say::text(format!("{heading}\n\n{said}")).buttons([[reply], [end]]));
    let (at, in_charge_id) = (turn.now(), in_charge.id);
    let user_id = person.id;
    turn.write_as(&person, move |db| Box::pin(records::ask(db, user_id, in_charge_id, said, at)));
    let sent = text!(person.language, "chat-sent", name = in_charge.full_name);
    turn.say(Say::text(sent).buttons([[close_button(person.language)]]));
    Ok(Next::Stay)
}

/// The text as it is passed on; none if it is too long, which is said.
fn fitting(turn: &mut Turn, text: &str, language: Language) -> Option<String> {
    let text = typed::lines(text);
    let units = text.encode_utf16().count();
    if units == 0 || units > TEXT_MAX_UNITS {
        turn.say(text!(language, "chat-too-long", count = i64::try_from(TEXT_MAX_UNITS).unwrap_or_default()));
        return None;
    }
    Some(text)
}

/// Whoever answers this person already, else the one with the fewest conversations. Nobody answers themselves.
async fn whom_to_ask(app: &App, person: &Person) -> Result<Option<Person>, BoxError> {
    let (open, busy) =
        tokio::try_join!(records::open_chat(app.domain.read(), person.id), records::open_by_charge(app.domain.read()))?;
    let mut all = app.people.with_any(ANSWERERS).await?;
    all.retain(|one| one.id != person.id);
    if let Some(same) = open.and_then(|chat| all.iter().position(|one| one.id == chat.in_charge_id)) {
        return Ok(Some(all.swap_remove(same)));
    }
    let in_charge = app.settings.get(&QUESTIONS_GO_TO).await?.among(all);
    Ok(in_charge.into_iter().min_by_key(|one| (busy.get(&one.id).copied().unwrap_or(0), one.id)))
}

/// The asker has no more questions, and is at something else by now.
async fn close(turn: &mut Turn, _: Press) -> Step<ChatStates> {
    let Some(person) = asking(turn).await? else { return Ok(Next::Stay) };
    if !close_of(turn, &person).await? {
        return turn.refuse(text!(person.language, "chat-closed-toast"));
    }
    say_closed(turn, person.language);
    Ok(Next::Stay)
}

async fn close_and_leave(turn: &mut Turn, _: Press) -> Step<ChatStates> {
    let Some(person) = asking(turn).await? else { return Ok(Next::End) };
    close_of(turn, &person).await?;
    say_closed(turn, person.language);
    Ok(Next::End)
}

fn say_closed(turn: &mut Turn, language: Language) {
    turn.say(Say::text(text!(language, "chat-closed")).buttons([[menu_button(language)]]));
}

/// Closes a person's conversation and tells who is in charge; false if none is open.
async fn close_of(turn: &mut Turn, person: &Person) -> Result<bool, BoxError> {
    let app = turn.context::<App>();
    let Some(chat) = records::open_chat(app.domain.read(), person.id).await? else { return Ok(false) };
    if let Some(in_charge) = app.people.by_id(chat.in_charge_id).await? {
        let told = text!(in_charge.language, "chat-closed-by", name = person.full_name.as_str());
        turn.say_to(in_charge.telegram_id, told);
    }
    let (at, user_id) = (turn.now(), person.id);
    turn.write_as(person, move |db| Box::pin(records::close(db, user_id, at)));
    Ok(true)
}

/// Who is in charge answers; what that person was at waits.
async fn reply(turn: &mut Turn, press: Press) -> Step<ChatStates> {
    let Some((_, asker)) = charged_with(turn, &press).await? else { return Ok(Next::Stay) };
    Ok(Next::call(ChatStates::Replying { user_id: asker.id }))
}

async fn reply_to_another(turn: &mut Turn, user_id: i64, press: Press) -> Step<ChatStates> {
    let Some((person, asker)) = charged_with(turn, &press).await? else { return Ok(Next::Stay) };
    if asker.id == user_id {
        return turn.refuse(text!(person.language, "chat-write-answer-toast"));
    }
    Ok(Next::Go(ChatStates::Replying { user_id: asker.id }))
}

/// Who presses, and whose open conversation the button is about; otherwise that is said, and there is nobody.
async fn charged_with(turn: &mut Turn, press: &Press) -> Result<Option<(Person, Person)>, BoxError> {
    let Some(person) = front::allowed(turn, ANSWERERS).await? else { return Ok(None) };
    let user_id: i64 = press.rest.parse().unwrap_or_default();
    let Some(asker) = asker_of(&turn.context::<App>(), &person, user_id).await? else {
        let _: Step<ChatStates> = turn.refuse(text!(person.language, "chat-closed-toast"));
        return Ok(None);
    };
    Ok(Some((person, asker)))
}

/// The person who asks in an open conversation that this one may answer; nothing is said of other conversations.
async fn asker_of(app: &App, person: &Person, user_id: i64) -> Result<Option<Person>, BoxError> {
    let (chat, asker) = tokio::try_join!(records::open_chat(app.domain.read(), user_id), app.people.by_id(user_id))?;
    let may_answer = chat.is_some_and(|chat| records::may_answer(&chat, person));
    Ok(asker.filter(|_| may_answer))
}

async fn ask_answer(turn: &mut Turn, user_id: i64) -> Result<(), BoxError> {
    let Some(person) = front::allowed(turn, ANSWERERS).await? else { return Ok(()) };
    match asker_of(&turn.context::<App>(), &person, user_id).await? {
        Some(asker) => turn.say(text!(person.language, "chat-answer", name = asker.full_name)),
        None => turn.say(text!(person.language, "chat-closed-toast")),
    }
    Ok(())
}

/// An answer goes back to who asked.
async fn answer(turn: &mut Turn, user_id: i64, said: String) -> Step<ChatStates> {
    let Some(person) = front::allowed(turn, ANSWERERS).await? else { return Ok(Next::End) };
    let asker = asker_of(&turn.context::<App>(), &person, user_id).await?;
    let Some(asker) = asker.filter(|_| turn.refused().is_none()) else {
        turn.say(text!(person.language, "chat-closed-toast"));
        return Ok(Next::End);
    };
    let Some(said) = fitting(turn, &said, person.language) else { return Ok(Next::Stay) };
    tracing::info!(user = asker.id, by = person.id, "an answer is passed on");
    tracing::debug!(user = asker.id, text = said, "the answer");
    let heading = text!(asker.language, "chat-answer-from", name = person.full_name.as_str());
    let more = Button::raw(text!(asker.language, "chat-open-button"), OPEN);
    let message = Say::text(format!("{heading}\n\n{said}")).buttons([[more], [close_button(asker.language)]]);
    turn.say_to(asker.telegram_id, message);
    let at = turn.now();
    turn.say(text!(person.language, "chat-sent", name = asker.full_name));
    let by = person.clone();
    turn.write_as(&person, move |db| Box::pin(records::answer(db, user_id, by, said, at)));
    Ok(Next::End)
}

/// Who is in charge closes a conversation.
async fn end(turn: &mut Turn, press: Press) -> Step<ChatStates> {
    end_of(turn, &press).await?;
    Ok(Next::Stay)
}

async fn end_and_leave(turn: &mut Turn, user_id: i64, press: Press) -> Step<ChatStates> {
    let ended = end_of(turn, &press).await?;
    Ok(if ended == Some(user_id) { Next::End } else { Next::Stay })
}

/// Closes the conversation that a button is about; answers whose it was.
async fn end_of(turn: &mut Turn, press: &Press) -> Result<Option<i64>, BoxError> {
    let Some((person, asker)) = charged_with(turn, press).await? else { return Ok(None) };
    let (at, user_id, by) = (turn.now(), asker.id, person.clone());
    turn.write_as(&person, move |db| Box::pin(records::close_by(db, user_id, by, at)));
    let told = text!(asker.language, "chat-closed-by", name = person.full_name.as_str());
    let again = Button::raw(text!(asker.language, "chat-open-button"), OPEN);
    turn.say_to(asker.telegram_id, Say::text(told).buttons([[again]]));
    turn.say(text!(person.language, "chat-closed"));
    Ok(Some(user_id))
}

async fn timed_out(turn: &mut Turn, state: ChatStates) -> Step<ChatStates> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    match state {
        ChatStates::Active => {
            let again = Button::raw(text!(language, "chat-open-button"), OPEN);
            turn.say(Say::text(text!(language, "chat-timed-out")).buttons([[again]]));
        }
        ChatStates::Replying { user_id } => {
            let reply = Button::raw(text!(language, "chat-reply-button"), format!("{REPLY}{user_id}"));
            turn.say(Say::text(text!(language, "chat-answer-timed-out")).buttons([[reply]]));
        }
    }
    Ok(Next::End)
}
