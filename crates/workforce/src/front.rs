//! The front: the main menu by role, and what everybody can ask.
//!
//! `/start` is a way out of every dialogue, and the way in for those who are not known yet: a room that has a
//! [welcome](crate::rooms::Room::welcome) takes them on. Everything else here disturbs no dialogue that is open.
//! What nobody else hears ends here.

use futures_util::future::BoxFuture;
use opora::prelude::*;
use serde_json::json;

use crate::application::{App, Speaker};
use crate::domain::InTurn;
use crate::people;
use crate::person::{OWNERS, Person, Role, Status, role_name};
use crate::rooms::Rooms;
pub use crate::texts::menu_button;
use crate::texts::{Language, MENU};
use crate::web::{self, Asker};
use crate::{jobs, key, text};

const LANGUAGE: &str = "language:";
const CABINET: &str = "cabinet";

pub mod fitting;
pub mod ways;

/// The front's own dialogue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "front")]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum Front {
    /// Waits for the dialogue that a newcomer was led to.
    Newcomer,
}

/// The front, and the timers of all jobs. It belongs at the end of a script: its last word is for what nobody heard.
pub fn dialogue(rooms: &Rooms) -> Dialogue<Front> {
    let front = Dialogue::new()
        .start(command("start"), start)
        .start(command("language"), ask_language)
        .start(command("me"), me)
        .start(command("help"), help)
        .start(command("cabinet"), cabinet)
        .start(button(CABINET), cabinet_pressed)
        .start(button(MENU), back_to_menu)
        .start(button(LANGUAGE), choose_language)
        .returned(Front::NEWCOMER, newcomer_is_done)
        .restore(not_understood);
    jobs::hear(front, rooms)
}

/// Who speaks, if the person may act in any of these roles and talks to the bot alone; otherwise that is said, and there
/// is nobody. So no room tells a group what is for one person: names, documents, pay.
pub async fn allowed(turn: &mut Turn, roles: &[Role]) -> Result<Option<Person>, BoxError> {
    let speaker = meet(turn).await?;
    if !is_private(turn) {
        lead_out(turn, speaker.language, None);
        return Ok(None);
    }
    let allowed = speaker.person.filter(|person| person.may(roles));
    if allowed.is_none() {
        let words = text!(speaker.language, "not-allowed-toast");
        let _: Step<Front> = turn.refuse(words);
    }
    Ok(allowed)
}

/// Who speaks. People sign in by their usernames, which Telegram lets them change: one that is not the known one is noted.
async fn meet(turn: &mut Turn) -> Result<Speaker, BoxError> {
    let speaker = turn.context::<App>().speaker(turn).await?;
    if let (Some(person), Some(account)) = (&speaker.person, turn.person())
        && person.telegram_id == account.id
        && person.username != account.username
    {
        let (id, username, at) = (person.id, account.username, turn.now());
        turn.write(move |db| Box::pin(people::set_username(db, id, username, at)));
    }
    Ok(speaker)
}

/// Whether a person talks to the bot alone. In a group everybody reads what is answered, and in a chat of a business
/// account its owner does.
fn is_private(turn: &Turn) -> bool {
    turn.key().is_private()
}

/// Asks somebody in a group to come to the bot's own chat, by a link where its name is known.
fn lead_out(turn: &mut Turn, language: Language, bot: Option<&str>) {
    let words = text!(language, "front-privately-toast");
    let Some(bot) = bot else {
        let _: Step<Front> = turn.refuse(words);
        return;
    };
    let way = Button::url(text!(language, "front-privately-button"), format!("https://t.me/{bot}"));
    turn.say(Say::text(words).buttons([[way]]));
}

/// Holds those back who ask too often: they are told once, and then nothing of theirs is heard until their time comes.
/// In a group people talk to each other, and only commands are counted.
pub fn guard<'t>(turn: &'t mut Turn, input: &'t Input) -> BoxFuture<'t, Result<bool, BoxError>> {
    Box::pin(async move {
        // The product has no business in chats of others, so nothing is said there and nothing is done.
        if !turn.key().business.is_empty() {
            return Ok(false);
        }
        let (app, asker) = (turn.context::<App>(), Asker::Account(turn.key().user));
        let is_private = is_private(turn);
        if !is_private && !matches!(input, Input::Command(_)) {
            return Ok(true);
        }
        // Not the turn's time, which stands still while a turn is tried again.
        let (limits, now) = (&app.limits, app.clock.now());
        let as_owner = limits.owners_in_chat.take(asker.clone(), now).is_ok();
        let Err(too_many) = limits.in_chat.take(asker.clone(), now) else { return Ok(true) };
        // Only who is beyond what anybody may is looked up.
        let speaker = app.speaker(turn).await?;
        if as_owner && speaker.person.is_some_and(|person| person.may(OWNERS)) {
            return Ok(true);
        }
        tracing::debug!(user = turn.key().user, "somebody asks too often");
        let words = text!(speaker.language, "front-too-many-toast", seconds = too_many.retry_after_s().unwrap_or(1));
        if matches!(input, Input::Press(_)) {
            turn.toast(words);
        } else if is_private && limits.told_in_chat.take(asker, now).is_ok() {
            turn.say(words);
        }
        Ok(false)
    })
}

/// The commands that Telegram offers, for both languages: calls of the Bot API.
pub fn commands(default: Language) -> Vec<serde_json::Value> {
    let offered = |language: Language| {
        let described = [
            ("start", text!(language, "front-start-command")),
            ("cabinet", text!(language, "front-cabinet-command")),
            ("language", text!(language, "front-language-command")),
            ("cancel", text!(language, "front-cancel-command")),
            ("me", text!(language, "front-me-command")),
            ("help", text!(language, "front-help-command")),
        ];
        described.map(|(command, description)| json!({"command": command, "description": description}))
    };
    let own = |language: Language| json!({"commands": offered(language), "language_code": language.code()});
    let mut calls: Vec<_> = Language::ALL.into_iter().map(own).collect();
    calls.push(json!({ "commands": offered(default) }));
    calls
}

async fn start(turn: &mut Turn, command: Command) -> Step<Front> {
    let (app, speaker) = (turn.context::<App>(), meet(turn).await?);
    if !is_private(turn) {
        // Whom a command of a group is for stands behind it, and a command for others does not come here.
        lead_out(turn, speaker.language, command.mention.as_deref());
        return Ok(Next::End);
    }
    let standing = speaker.person.as_ref().map(|person| person.status);
    if !matches!(standing, Some(Status::Verified | Status::Blocked))
        && let Some(welcome) = app.rooms.welcome()
        && let Some(child) = welcome(turn, speaker.person.clone()).await?
    {
        return Ok(Next::Call(Some(Front::Newcomer), child));
    }
    greet(turn, &app, &speaker);
    Ok(Next::End)
}

async fn newcomer_is_done(_: &mut Turn, _: Returned) -> Step<Front> {
    // Whoever led the newcomer has said how it ended.
    Ok(Next::End)
}

async fn back_to_menu(turn: &mut Turn, _: Press) -> Step<Front> {
    show_menu(turn).await?;
    Ok(Next::End)
}

/// Shows the main menu as its button does, where somebody leaves a dialogue by another way.
pub async fn show_menu(turn: &mut Turn) -> Result<(), BoxError> {
    let (app, speaker) = (turn.context::<App>(), meet(turn).await?);
    if is_private(turn) {
        greet(turn, &app, &speaker);
    } else {
        lead_out(turn, speaker.language, None);
    }
    Ok(())
}

/// The menu, or a word on why there is none.
fn greet(turn: &mut Turn, app: &App, speaker: &Speaker) {
    let language = speaker.language;
    let Some(person) = &speaker.person else {
        if app.rooms.welcome().is_some() {
            turn.say(text!(language, "front-newcomer-may-register"));
            return;
        }
        let id = turn.key().user.to_string();
        turn.say(text!(language, "front-newcomer", id = id));
        return;
    };
    match person.status {
        Status::Pending => turn.say(text!(language, "front-pending")),
        Status::Rejected => turn.say(text!(language, "front-rejected")),
        Status::Blocked => turn.say(text!(language, "front-blocked")),
        Status::Verified => say_menu(turn, app, person),
    }
}

fn say_menu(turn: &mut Turn, app: &App, person: &Person) {
    let language = person.language;
    let items = app.rooms.menu_of(person);
    let has_pages = app.rooms.links().next().is_some();
    let cabinet = has_pages.then(|| [Button::raw(text!(language, "front-cabinet-button"), CABINET)]);
    let words = if items.is_empty() {
        text!(language, "front-menu-empty", name = person.full_name.as_str())
    } else {
        text!(language, "front-menu", name = person.full_name.as_str())
    };
    let rooms = items.iter().map(|item| [Button::new(language.text(item.caption), item.data)]);
    turn.say(Say::text(words).buttons(rooms.chain(cabinet)));
}

async fn ask_language(turn: &mut Turn, _: Command) -> Step<Front> {
    let speaker = turn.context::<App>().speaker(turn).await?;
    // Each is offered in its own words, so that everybody finds theirs.
    let buttons = Language::ALL.map(|language| [Button::raw(language.name(), format!("{LANGUAGE}{language}"))]);
    turn.say(Say::text(text!(speaker.language, "front-language")).buttons(buttons));
    Ok(Next::Stay)
}

async fn choose_language(turn: &mut Turn, press: Press) -> Step<Front> {
    let Ok(language) = press.rest.parse::<Language>() else { return Ok(Next::Stay) };
    let (speaker, at) = (turn.context::<App>().speaker(turn).await?, turn.now());
    let Some(person) = speaker.person else {
        turn.say(text!(speaker.language, "front-language-for-now"));
        return Ok(Next::Stay);
    };
    turn.write(move |db| Box::pin(people::set_language(db, person.id, language, at)));
    turn.say(Say::text(text!(language, "front-language-is")).buttons([[menu_button(language)]]));
    Ok(Next::Stay)
}

async fn cabinet(turn: &mut Turn, command: Command) -> Step<Front> {
    offer_cabinet(turn, command.mention.as_deref()).await
}

async fn cabinet_pressed(turn: &mut Turn, _: Press) -> Step<Front> {
    offer_cabinet(turn, None).await
}

/// Gives a link that signs its person in. In a group others would read it.
async fn offer_cabinet(turn: &mut Turn, bot: Option<&str>) -> Step<Front> {
    let (app, speaker) = (turn.context::<App>(), meet(turn).await?);
    if !is_private(turn) {
        lead_out(turn, speaker.language, bot);
        return Ok(Next::Stay);
    }
    match speaker.person.as_ref().filter(|person| person.status == Status::Verified) {
        Some(person) => web::offer_link(turn, &app, person)?,
        None => greet(turn, &app, &speaker),
    }
    Ok(Next::Stay)
}

async fn me(turn: &mut Turn, command: Command) -> Step<Front> {
    let Speaker { person, language } = meet(turn).await?;
    if !is_private(turn) {
        lead_out(turn, language, command.mention.as_deref());
        return Ok(Next::Stay);
    }
    let id = turn.key().user.to_string();
    let Some(person) = person else {
        turn.say(text!(language, "front-me", id = id));
        return Ok(Next::Stay);
    };
    let names: Vec<_> = person.roles.iter().map(|role| role_name(role, language)).collect();
    let roles = if names.is_empty() { text!(language, "front-no-roles") } else { names.join(", ") };
    turn.say(text!(language, "front-me-known", name = person.full_name, id = id, roles = roles));
    Ok(Next::Stay)
}

async fn help(turn: &mut Turn, _: Command) -> Step<Front> {
    let speaker = turn.context::<App>().speaker(turn).await?;
    turn.say(Say::text(text!(speaker.language, "front-help")).buttons([[menu_button(speaker.language)]]));
    Ok(Next::Stay)
}

/// Nothing is open, and no room knows better. In groups people talk to one another.
async fn not_understood(turn: &mut Turn, input: Input) -> Step<Front> {
    if !is_private(turn) {
        return Ok(Next::Stay);
    }
    let (app, speaker) = (turn.context::<App>(), meet(turn).await?);
    if is_left_key(&input) {
        turn.say(Say::text(text!(speaker.language, "front-keys-away")).remove_keyboard());
        greet(turn, &app, &speaker);
        return Ok(Next::Stay);
    }
    if speaker.person.as_ref().is_some_and(|person| person.status == Status::Verified) {
        let words = text!(speaker.language, "front-not-understood");
        turn.say(Say::text(words).buttons([[menu_button(speaker.language)]]));
    } else {
        greet(turn, &app, &speaker);
    }
    Ok(Next::Stay)
}

/// Whether this is a key of a keyboard whose question was left by another way, such as a command: Telegram goes on showing
/// it.
fn is_left_key(input: &Input) -> bool {
    let keys = [key!("main-menu-button"), key!("back-button")];
    matches!(input, Input::Text(text) if keys.iter().any(|key| is_key(text, key)))
}

/// Whether a text is this key of a keyboard, which may have been shown before its person chose another language.
pub fn is_key(text: &str, key: &'static str) -> bool {
    Language::ALL.iter().any(|language| language.text(key) == text.trim())
}
