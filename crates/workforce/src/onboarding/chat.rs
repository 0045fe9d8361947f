//! Questions of people to managers and owners, and the answers, through the bot.
//!
//! A person has one chat at a time. It outlives the states of both sides, so an answer arrives even days later. Texts
//! are stored in the database, and never logged above debug.

use std::time::Duration;

use opora::prelude::*;

use crate::application::App;
use crate::domain::user_text;
use crate::front::navigation::{self, navigation_row};
use crate::front::{self, menu_button};
use crate::people::WriteAs;
use crate::person::{ANSWERERS, Person, QUESTIONED};
use crate::settings::QUESTIONS_GO_TO;
use crate::text;
use crate::texts::Language;

mod records;

/// Data of the button that opens a chat, from anywhere.
pub const OPEN: &str = "chat:open";
/// Closes the chat, for the person who asked.
const CLOSE: &str = "chat:close";
/// With the questioner's id: buttons of the person who answers.
const REPLY: &str = "chat:reply:";
const END: &str = "chat:end:";

/// In UTF-16 units; a message has a heading, too.
const TEXT_MAX_UNITS: usize = 3500;
const EXPIRY: Duration = Duration::from_secs(24 * 60 * 60);

/// The name is that of the bots that it replaces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "ChatStates")]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum ChatStates {
    /// Texts go to the person who answers.
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
        .on(ChatStates::ACTIVE, command("cancel"), leave_chat)
        .ask(ChatStates::REPLYING, ask_answer)
        .on(ChatStates::REPLYING, text(), answer)
        .on(ChatStates::REPLYING, button(REPLY), reply_to_another)
        .on(ChatStates::REPLYING, button(END), end_and_leave)
        .on(ChatStates::REPLYING, button(navigation::BACK), leave_reply)
        .on(ChatStates::REPLYING, command("cancel"), leave_reply_by_command)
        .calls::<ChatStates>()
        .expires_after(EXPIRY)
        .on_expiry(timed_out)
}

async fn allowed_questioner(turn: &mut Turn) -> Result<Option<Person>, BoxError> {
    front::allowed_person(turn, QUESTIONED).await
}

async fn open(turn: &mut Turn, _: Press) -> Step<ChatStates> {
    let Some(_) = allowed_questioner(turn).await? else { return Ok(Next::Stay) };
    Ok(Next::Go(ChatStates::Active))
}

async fn already_open(turn: &mut Turn, _: Press) -> Step<ChatStates> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    turn.toast(text!(language, "chat-write-toast"));
    Ok(Next::Stay)
}

async fn ask_question(turn: &mut Turn) -> Result<(), BoxError> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    let text = text!(language, "chat-open");
    turn.say(Say::text(text).buttons([[close_button(language)], [menu_button(language)]]));
    Ok(())
}

/// `/cancel` of the person who asks: an open question stays open.
async fn leave_chat(turn: &mut Turn, _: Command) -> Step<ChatStates> {
    let app = turn.context::<App>();
    let speaker = app.speaker(turn).await?;
    let language = speaker.language;
    let open = match &speaker.person {
        Some(person) => records::open_chat(app.domain.read(), person.id).await?,
        None => None,
    };
    let text = if open.is_some() { text!(language, "chat-left-open") } else { text!(language, "chat-left") };
    let reopen = Button::raw(text!(language, "chat-open-button"), OPEN);
    turn.say(Say::text(text).buttons([[reopen], [menu_button(language)]]));
    Ok(Next::End)
}

fn close_button(language: Language) -> Button {
    Button::raw(text!(language, "chat-close-button"), CLOSE)
}

/// Passes a question on to the person who answers.
async fn question(turn: &mut Turn, text: String) -> Step<ChatStates> {
    let Some(person) = allowed_questioner(turn).await? else { return Ok(Next::Stay) };
    let Some(text) = checked_text(turn, &text, person.language) else { return Ok(Next::Stay) };
    let app = turn.context::<App>();
    let Some(in_charge) = choose_answerer(&app, &person).await? else {
        turn.say(text!(person.language, "chat-no-one-available"));
        return Ok(Next::Stay);
    };
    tracing::info!(user = person.id, in_charge = in_charge.id, "question passed on");
    tracing::debug!(user = person.id, text = text, "question");
    let heading = text!(in_charge.language, "chat-question", name = person.full_name.as_str());
    let reply = Button::raw(text!(in_charge.language, "chat-reply-button"), format!("{REPLY}{}", person.id));
    let end = Button::raw(text!(in_charge.language, "chat-close-button"), format!("{END}{}", person.id));
    turn.say_to(in_charge.telegram_id, Say::text(format!("{heading}\n\n{text}")).buttons([[reply], [end]]));
    let (at, in_charge_id) = (turn.now(), in_charge.id);
    let user_id = person.id;
    turn.write_as(&person, move |db| Box::pin(records::ask(db, user_id, in_charge_id, text, at)));
    let sent = text!(person.language, "chat-sent", name = in_charge.full_name);
    turn.say(Say::text(sent).buttons([[close_button(person.language)], [menu_button(person.language)]]));
    Ok(Next::Stay)
}

/// The cleaned text; none if it is empty or too long, which is text.
fn checked_text(turn: &mut Turn, text: &str, language: Language) -> Option<String> {
    let text = user_text::lines(text);
    let units = text.encode_utf16().count();
    if units == 0 || units > TEXT_MAX_UNITS {
        turn.say(text!(language, "chat-too-long", count = i64::try_from(TEXT_MAX_UNITS).unwrap_or_default()));
        return None;
    }
    Some(text)
}

/// The person who already answers this one, else the one with the fewest open chats. Never the person themselves.
async fn choose_answerer(app: &App, person: &Person) -> Result<Option<Person>, BoxError> {
    let (open, busy) = tokio::try_join!(
        records::open_chat(app.domain.read(), person.id),
        records::open_chats_per_answerer(app.domain.read())
    )?;
    let mut all = app.people.with_any(ANSWERERS).await?;
    all.retain(|one| one.id != person.id);
    if let Some(same) = open.and_then(|chat| all.iter().position(|one| one.id == chat.in_charge_id)) {
        return Ok(Some(all.swap_remove(same)));
    }
    let in_charge = app.settings.get(&QUESTIONS_GO_TO).await?.choose_from(all);
    Ok(in_charge.into_iter().min_by_key(|one| (busy.get(&one.id).copied().unwrap_or(0), one.id)))
}

/// The questioner closes the chat while in another state.
async fn close(turn: &mut Turn, _: Press) -> Step<ChatStates> {
    let Some(person) = allowed_questioner(turn).await? else { return Ok(Next::Stay) };
    if !close_chat(turn, &person).await? {
        return turn.refuse(text!(person.language, "chat-closed-toast"));
    }
    say_closed(turn, person.language);
    Ok(Next::Stay)
}

async fn close_and_leave(turn: &mut Turn, _: Press) -> Step<ChatStates> {
    let Some(person) = allowed_questioner(turn).await? else { return Ok(Next::End) };
    close_chat(turn, &person).await?;
    say_closed(turn, person.language);
    Ok(Next::End)
}

fn say_closed(turn: &mut Turn, language: Language) {
    turn.say(Say::text(text!(language, "chat-closed")).buttons([[menu_button(language)]]));
}

/// Closes a person's chat and tells the person who answers; false if none is open.
async fn close_chat(turn: &mut Turn, person: &Person) -> Result<bool, BoxError> {
    let app = turn.context::<App>();
    let Some(chat) = records::open_chat(app.domain.read(), person.id).await? else { return Ok(false) };
    if let Some(in_charge) = app.people.by_id(chat.in_charge_id).await? {
        let notice = text!(in_charge.language, "chat-closed-by", name = person.full_name.as_str());
        turn.say_to(in_charge.telegram_id, notice);
    }
    let (at, user_id) = (turn.now(), person.id);
    turn.write_as(person, move |db| Box::pin(records::close(db, user_id, at)));
    Ok(true)
}

/// Starts an answer; what the person was doing waits.
async fn reply(turn: &mut Turn, press: Press) -> Step<ChatStates> {
    let Some((_, questioner)) = answerer_and_questioner(turn, &press).await? else { return Ok(Next::Stay) };
    Ok(Next::call(ChatStates::Replying { user_id: questioner.id }))
}

async fn reply_to_another(turn: &mut Turn, user_id: i64, press: Press) -> Step<ChatStates> {
    let Some((person, questioner)) = answerer_and_questioner(turn, &press).await? else { return Ok(Next::Stay) };
    if questioner.id == user_id {
        return turn.refuse(text!(person.language, "chat-write-answer-toast"));
    }
    Ok(Next::Go(ChatStates::Replying { user_id: questioner.id }))
}

/// The person who pressed, and the questioner of the button's open chat; otherwise that is text, and none is returned.
async fn answerer_and_questioner(turn: &mut Turn, press: &Press) -> Result<Option<(Person, Person)>, BoxError> {
    let Some(person) = front::allowed_person(turn, ANSWERERS).await? else { return Ok(None) };
    let user_id: i64 = press.rest.parse().unwrap_or_default();
    let Some(questioner) = questioner_of(&turn.context::<App>(), &person, user_id).await? else {
        let _: Step<ChatStates> = turn.refuse(text!(person.language, "chat-closed-toast"));
        return Ok(None);
    };
    Ok(Some((person, questioner)))
}

/// The questioner of an open chat that this person may answer; none for other chats.
async fn questioner_of(app: &App, person: &Person, user_id: i64) -> Result<Option<Person>, BoxError> {
    let (chat, questioner) =
        tokio::try_join!(records::open_chat(app.domain.read(), user_id), app.people.by_id(user_id))?;
    let may_answer = chat.is_some_and(|chat| records::may_answer(&chat, person));
    Ok(questioner.filter(|_| may_answer))
}

async fn ask_answer(turn: &mut Turn, user_id: i64) -> Result<(), BoxError> {
    let Some(person) = front::allowed_person(turn, ANSWERERS).await? else { return Ok(()) };
    match questioner_of(&turn.context::<App>(), &person, user_id).await? {
        Some(questioner) => {
            let text = text!(person.language, "chat-answer", name = questioner.full_name);
            turn.say(Say::text(text).buttons([navigation_row(person.language)]));
        }
        None => turn.say(text!(person.language, "chat-closed-toast")),
    }
    Ok(())
}

async fn leave_reply(turn: &mut Turn, user_id: i64, _: Press) -> Step<ChatStates> {
    leave_unanswered(turn, user_id).await
}

async fn leave_reply_by_command(turn: &mut Turn, user_id: i64, _: Command) -> Step<ChatStates> {
    leave_unanswered(turn, user_id).await
}

/// The person who answers stops: the question stays open.
async fn leave_unanswered(turn: &mut Turn, user_id: i64) -> Step<ChatStates> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    let reply = Button::raw(text!(language, "chat-reply-button"), format!("{REPLY}{user_id}"));
    turn.say(navigation::final_message_with(text!(language, "chat-answer-timed-out"), [reply], language));
    Ok(Next::End)
}

/// Passes an answer back to the questioner.
async fn answer(turn: &mut Turn, user_id: i64, text: String) -> Step<ChatStates> {
    let Some(person) = front::allowed_person(turn, ANSWERERS).await? else { return Ok(Next::End) };
    let questioner = questioner_of(&turn.context::<App>(), &person, user_id).await?;
    let Some(questioner) = questioner.filter(|_| turn.refusal().is_none()) else {
        turn.say(navigation::final_message(text!(person.language, "chat-closed-toast"), person.language));
        return Ok(Next::End);
    };
    let Some(text) = checked_text(turn, &text, person.language) else { return Ok(Next::Stay) };
    tracing::info!(user = questioner.id, by = person.id, "answer passed on");
    tracing::debug!(user = questioner.id, text = text, "answer");
    let heading = text!(questioner.language, "chat-answer-from", name = person.full_name.as_str());
    let more = Button::raw(text!(questioner.language, "chat-open-button"), OPEN);
    let message = Say::text(format!("{heading}\n\n{text}")).buttons([[more], [close_button(questioner.language)]]);
    turn.say_to(questioner.telegram_id, message);
    let at = turn.now();
    let sent = text!(person.language, "chat-sent", name = questioner.full_name);
    turn.say(navigation::final_message(sent, person.language));
    let by = person.clone();
    turn.write_as(&person, move |db| Box::pin(records::answer(db, user_id, by, text, at)));
    Ok(Next::End)
}

/// The person who answers closes a chat.
async fn end(turn: &mut Turn, press: Press) -> Step<ChatStates> {
    end_chat(turn, &press).await?;
    Ok(Next::Stay)
}

async fn end_and_leave(turn: &mut Turn, user_id: i64, press: Press) -> Step<ChatStates> {
    let ended = end_chat(turn, &press).await?;
    Ok(if ended == Some(user_id) { Next::End } else { Next::Stay })
}

/// Closes the chat of a button; returns its questioner.
async fn end_chat(turn: &mut Turn, press: &Press) -> Result<Option<i64>, BoxError> {
    let Some((person, questioner)) = answerer_and_questioner(turn, press).await? else { return Ok(None) };
    let (at, user_id, by) = (turn.now(), questioner.id, person.clone());
    turn.write_as(&person, move |db| Box::pin(records::close_by(db, user_id, by, at)));
    let notice = text!(questioner.language, "chat-closed-by", name = person.full_name.as_str());
    let reopen = Button::raw(text!(questioner.language, "chat-open-button"), OPEN);
    turn.say_to(questioner.telegram_id, Say::text(notice).buttons([[reopen]]));
    turn.say(navigation::final_message(text!(person.language, "chat-closed"), person.language));
    Ok(Some(user_id))
}

async fn timed_out(turn: &mut Turn, state: ChatStates) -> Step<ChatStates> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    match state {
        ChatStates::Active => {
            let reopen = Button::raw(text!(language, "chat-open-button"), OPEN);
            turn.say(navigation::final_message_with(text!(language, "chat-timed-out"), [reopen], language));
        }
        ChatStates::Replying { user_id } => {
            let reply = Button::raw(text!(language, "chat-reply-button"), format!("{REPLY}{user_id}"));
            turn.say(navigation::final_message_with(text!(language, "chat-answer-timed-out"), [reply], language));
        }
    }
    Ok(Next::End)
}
