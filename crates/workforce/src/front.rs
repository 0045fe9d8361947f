//! The front: the main menu by role, and the commands for everybody.
//!
//! `/start` leaves every dialogue. For unknown people it leads to the room with a
//! [welcome](crate::rooms::Room::welcome). Everything else here leaves open dialogues alone. Inputs that no other
//! dialogue handles end here.

use futures_util::future::BoxFuture;
use opora::prelude::*;
use serde_json::json;

use crate::application::{App, Speaker};
use crate::domain::WriteInTurn;
use crate::people;
use crate::person::{OWNERS, Person, Role, Status, role_name};
use crate::rooms::MenuButton;
pub use crate::texts::menu_button;
use crate::texts::{Language, MENU};
use crate::web::{self, RequestSource};
use crate::{key, text};

const LANGUAGE: &str = "language:";
const CABINET: &str = "cabinet";
/// Captions up to this length may share a row. Longer ones would be cut on a phone.
const SHORT_CAPTION_CHARS: usize = 18;

pub mod navigation;
pub mod reply;
pub mod text_limits;

/// The front's own dialogue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "front")]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum Front {
    /// Waits for the dialogue of a newcomer to end.
    Newcomer,
}

/// The front. It must be last in a script: it also answers unhandled inputs.
pub fn dialogue() -> Dialogue<Front> {
    Dialogue::new()
        .start(command("start"), start)
        .start(command("language"), ask_language)
        .start(command("me"), me)
        .start(command("help"), help)
        .start(command("cabinet"), cabinet)
        .start(button(CABINET), cabinet_button)
        .start(button(MENU), back_to_menu)
        .start(button(LANGUAGE), choose_language)
        .on_returned(Front::NEWCOMER, newcomer_returned)
        .restore(not_understood)
}

/// The speaker, if the person has one of these roles and the chat is private; otherwise a refusal is said. So no room
/// tells a group what is for one person: names, documents, pay.
pub async fn allowed_person(turn: &mut Turn, roles: &[Role]) -> Result<Option<Person>, BoxError> {
    let speaker = identify_speaker(turn).await?;
    if !is_private(turn) {
        ask_to_private_chat(turn, speaker.language, None);
        return Ok(None);
    }
    let allowed = speaker.person.filter(|person| person.may(roles));
    if allowed.is_none() {
        let text = text!(speaker.language, "not-allowed-toast");
        let _: Step<Front> = turn.refuse(text);
    }
    Ok(allowed)
}

/// The speaker. Stores a changed username, because people sign in by it.
async fn identify_speaker(turn: &mut Turn) -> Result<Speaker, BoxError> {
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

/// Whether the person talks to the bot alone. A group reads the answers, and so does the owner of a business account.
fn is_private(turn: &Turn) -> bool {
    turn.key().is_private()
}

/// Asks a person in a group to come to the bot's private chat, by a link if the bot's name is known.
fn ask_to_private_chat(turn: &mut Turn, language: Language, bot: Option<&str>) {
    let text = text!(language, "front-privately-toast");
    let Some(bot) = bot else {
        let _: Step<Front> = turn.refuse(text);
        return;
    };
    let chat_page = turn.context::<App>().chat_page.clone();
    let url = chat_page.unwrap_or_else(|| format!("https://t.me/{bot}"));
    let way = Button::url(text!(language, "front-privately-button"), url);
    turn.say(Say::text(text).buttons([[way]]));
}

/// Rate limit of the chat: a person who sends too much is told once, and then ignored until the limit allows more. In
/// groups people talk to each other, so only commands count.
pub fn guard<'t>(turn: &'t mut Turn, input: &'t Input) -> BoxFuture<'t, Result<bool, BoxError>> {
    Box::pin(async move {
        // The product does not act in chats of business accounts.
        if !turn.key().business.is_empty() {
            return Ok(false);
        }
        let (app, source) = (turn.context::<App>(), RequestSource::Account(turn.key().user));
        let is_private = is_private(turn);
        if !is_private && !matches!(input, Input::Command(_)) {
            return Ok(true);
        }
        // Not the turn's time, which stands still while a turn is retried.
        let (limits, now) = (&app.limits, app.clock.now());
        let as_owner = limits.owners_in_chat.take(source.clone(), now).is_ok();
        let Err(too_many) = limits.in_chat.take(source.clone(), now) else { return Ok(true) };
        // The person is looked up only beyond the general limit.
        let speaker = app.speaker(turn).await?;
        if as_owner && speaker.person.is_some_and(|person| person.may(OWNERS)) {
            return Ok(true);
        }
        tracing::debug!(user = turn.key().user, "rate limit of the chat exceeded");
        let text = text!(speaker.language, "front-too-many-toast", seconds = too_many.retry_after_s().unwrap_or(1));
        if matches!(input, Input::Press(_)) {
            turn.toast(text);
        } else if is_private && limits.wait_replies.take(source, now).is_ok() {
            turn.say(text);
        }
        Ok(false)
    })
}

/// Calls of the Bot API that set the list of commands, for each language and by default.
pub fn commands(default: Language) -> Vec<serde_json::Value> {
    let offered = |language: Language| {
        let described = [
            ("start", text!(language, "front-start-command")),
            ("cabinet", text!(language, "front-cabinet-command")),
            ("language", text!(language, "front-language-command")),
            ("quiet", text!(language, "front-quiet-command")),
            ("summary", text!(language, "front-summary-command")),
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
    let (app, speaker) = (turn.context::<App>(), identify_speaker(turn).await?);
    if !is_private(turn) {
        // In a group the command mentions this bot.
        ask_to_private_chat(turn, speaker.language, command.mention.as_deref());
        return Ok(Next::End);
    }
    let status = speaker.person.as_ref().map(|person| person.status);
    if !matches!(status, Some(Status::Verified | Status::Blocked))
        && let Some(welcome) = app.rooms.welcome()
        && let Some(child) = welcome(turn, speaker.person.clone()).await?
    {
        return Ok(Next::Call(Some(Front::Newcomer), child));
    }
    remove_keyboard(turn, &app, speaker.language);
    greet(turn, &app, &speaker).await?;
    Ok(Next::End)
}

/// Removes the keyboard of the dialogue that the menu replaces. A message cannot do that and have buttons.
fn remove_keyboard(turn: &mut Turn, app: &App, language: Language) {
    if app.rooms.iter().any(|room| room.shows_keyboard(turn)) {
        turn.say(Say::text(text!(language, "front-keys-away")).remove_keyboard());
    }
}

async fn newcomer_returned(_: &mut Turn, _: Returned) -> Step<Front> {
    // The child dialogue has said how it ended.
    Ok(Next::End)
}

async fn back_to_menu(turn: &mut Turn, _: Press) -> Step<Front> {
    let (app, speaker) = (turn.context::<App>(), identify_speaker(turn).await?);
    remove_keyboard(turn, &app, speaker.language);
    show_menu(turn).await?;
    Ok(Next::End)
}

/// Shows the main menu, for dialogues that are left in another way than by its button.
pub async fn show_menu(turn: &mut Turn) -> Result<(), BoxError> {
    let (app, speaker) = (turn.context::<App>(), identify_speaker(turn).await?);
    if is_private(turn) {
        return greet(turn, &app, &speaker).await;
    }
    ask_to_private_chat(turn, speaker.language, None);
    Ok(())
}

/// Shows the menu, or says why there is none.
async fn greet(turn: &mut Turn, app: &App, speaker: &Speaker) -> Result<(), BoxError> {
    let language = speaker.language;
    let Some(person) = &speaker.person else {
        if app.rooms.welcome().is_some() {
            turn.say(text!(language, "front-newcomer-may-register"));
            return Ok(());
        }
        let id = turn.key().user.to_string();
        turn.say(text!(language, "front-newcomer", id = id));
        return Ok(());
    };
    match person.status {
        Status::Pending => turn.say(text!(language, "front-pending")),
        Status::Rejected => turn.say(text!(language, "front-rejected")),
        Status::Blocked => turn.say(text!(language, "front-blocked")),
        Status::Verified => menu(turn, app, person).await?,
    }
    Ok(())
}

/// Shows the menu: what the person should know now, and what the person can do, urgent things first.
async fn menu(turn: &mut Turn, app: &App, person: &Person) -> Result<(), BoxError> {
    let language = person.language;
    let menu = app.rooms.menu_of(app, person, turn.now()).await?;
    let question = if menu.buttons.is_empty() {
        text!(language, "front-menu-empty", name = person.full_name.as_str())
    } else {
        text!(language, "front-menu", name = person.full_name.as_str())
    };
    let text = if menu.lines.is_empty() { question } else { format!("{}\n\n{question}", menu.lines.join("\n")) };
    let mut rows = menu_rows(menu.buttons);
    if app.rooms.demo_links().next().is_some() {
        rows.push(vec![Button::raw(text!(language, "front-cabinet-button"), CABINET)]);
    }
    reply::show(turn, text, rows);
    Ok(())
}

/// Rows of at most two buttons. Only short captions share a row, and urgent buttons only with urgent ones.
fn menu_rows(buttons: Vec<MenuButton>) -> Vec<Vec<Button>> {
    let is_short = |button: &MenuButton| button.caption.chars().count() <= SHORT_CAPTION_CHARS;
    let mut rows: Vec<Vec<MenuButton>> = Vec::new();
    for button in buttons {
        match rows.last_mut().map(Vec::as_mut_slice) {
            Some([left]) if left.is_urgent == button.is_urgent && is_short(left) && is_short(&button) => {
                if let Some(row) = rows.last_mut() {
                    row.push(button);
                }
            }
            _ => rows.push(vec![button]),
        }
    }
    let tagged = |button: MenuButton| Button::new(button.caption, button.data);
    rows.into_iter().map(|row| row.into_iter().map(tagged).collect()).collect()
}

async fn ask_language(turn: &mut Turn, _: Command) -> Step<Front> {
    let speaker = turn.context::<App>().speaker(turn).await?;
    // Each language is offered by its own name.
    let choice = |language: Language| vec![Button::raw(language.name(), format!("{LANGUAGE}{language}"))];
    let mut buttons: Vec<_> = Language::ALL.into_iter().map(choice).collect();
    // People without access have no menu.
    if speaker.person.as_ref().is_some_and(|person| person.status == Status::Verified) {
        buttons.push(vec![navigation::menu_of_question(speaker.language)]);
    }
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

async fn cabinet_button(turn: &mut Turn, _: Press) -> Step<Front> {
    offer_cabinet(turn, None).await
}

/// Sends a sign-in link. Not in a group, where others would read it.
async fn offer_cabinet(turn: &mut Turn, bot: Option<&str>) -> Step<Front> {
    let (app, speaker) = (turn.context::<App>(), identify_speaker(turn).await?);
    if !is_private(turn) {
        ask_to_private_chat(turn, speaker.language, bot);
        return Ok(Next::Stay);
    }
    match speaker.person.as_ref().filter(|person| person.status == Status::Verified) {
        Some(person) => web::offer_link(turn, &app, person)?,
        None => greet(turn, &app, &speaker).await?,
    }
    Ok(Next::Stay)
}

async fn me(turn: &mut Turn, command: Command) -> Step<Front> {
    let Speaker { person, language } = identify_speaker(turn).await?;
    if !is_private(turn) {
        ask_to_private_chat(turn, language, command.mention.as_deref());
        return Ok(Next::Stay);
    }
    let id = turn.key().user.to_string();
    let Some(person) = person else {
        turn.say(text!(language, "front-me", id = id));
        return Ok(Next::Stay);
    };
    let names: Vec<_> = person.roles.iter().map(|role| role_name(role, language)).collect();
    let roles = if names.is_empty() { text!(language, "front-no-roles") } else { names.join(", ") };
    let mut lines = vec![text!(language, "front-me-known", name = person.full_name.as_str(), id = id, roles = roles)];
    if person.may(OWNERS) {
        lines.push(text!(language, "front-me-owner"));
    }
    turn.say(lines.join("\n"));
    Ok(Next::Stay)
}

async fn help(turn: &mut Turn, _: Command) -> Step<Front> {
    let speaker = turn.context::<App>().speaker(turn).await?;
    turn.say(Say::text(text!(speaker.language, "front-help")).buttons([[menu_button(speaker.language)]]));
    Ok(Next::Stay)
}

/// Answers an unhandled input. In groups people talk to each other.
async fn not_understood(turn: &mut Turn, input: Input) -> Step<Front> {
    if !is_private(turn) {
        return Ok(Next::Stay);
    }
    let (app, speaker) = (turn.context::<App>(), identify_speaker(turn).await?);
    if is_old_key(&input) {
        turn.say(Say::text(text!(speaker.language, "front-keys-away")).remove_keyboard());
        greet(turn, &app, &speaker).await?;
        return Ok(Next::Stay);
    }
    if speaker.person.as_ref().is_some_and(|person| person.status == Status::Verified) {
        let text = text!(speaker.language, "front-not-understood");
        turn.say(Say::text(text).buttons([[menu_button(speaker.language)]]));
    } else {
        greet(turn, &app, &speaker).await?;
    }
    Ok(Next::Stay)
}

/// Whether this is a key of an old keyboard that Telegram still shows, because its question was left in another way.
fn is_old_key(input: &Input) -> bool {
    let keys = [key!("main-menu-button"), key!("back-button")];
    matches!(input, Input::Text(text) if keys.iter().any(|key| is_key(text, key)))
}

/// Whether a text is this key of a keyboard, in any language: the keyboard may be older than a change of language.
pub fn is_key(text: &str, key: &'static str) -> bool {
    Language::ALL.iter().any(|language| language.text(key) == text.trim())
}
