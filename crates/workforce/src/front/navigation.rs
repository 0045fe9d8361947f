//! Navigation in dialogues: back, the main menu, and timeouts.

use opora::prelude::*;

use super::reply;
use super::text_limits::fit;
use crate::application::App;
use crate::front;
use crate::text;
use crate::texts::{Language, MENU, menu_button};

/// Data of the button for one step back.
pub const BACK: &str = "shifts:back";

/// The last message of a dialogue, with the button for the main menu.
pub fn final_message(text: impl Into<String>, language: Language) -> Say {
    Say::text(fit(text.into())).buttons([[menu_button(language)]])
}

/// The last message of a dialogue, with more buttons.
pub fn final_message_with(text: impl Into<String>, more: impl IntoIterator<Item = Button>, language: Language) -> Say {
    let rows = more.into_iter().map(|button| vec![button]).chain([vec![menu_button(language)]]);
    Say::text(fit(text.into())).buttons(rows.collect::<Vec<_>>())
}

/// Shows the last message of a dialogue, in place of the answered question.
pub fn show_final(turn: &mut Turn, text: impl Into<String>, language: Language) {
    show_final_with(turn, text, [], language);
}

/// Shows the last message of a dialogue with more buttons, in place of the answered question.
pub fn show_final_with(
    turn: &mut Turn,
    text: impl Into<String>,
    more: impl IntoIterator<Item = Button>,
    language: Language,
) {
    let rows = more.into_iter().map(|button| vec![button]).chain([vec![menu_button(language)]]);
    reply::show(turn, text, rows.collect());
}

/// The last row of buttons under every question. The menu replaces the question.
pub fn navigation_row(language: Language) -> Vec<Button> {
    vec![Button::new(text!(language, "back-button"), BACK), menu_of_question(language)]
}

/// The button for the main menu below a list or a question, which the menu replaces.
pub fn menu_of_question(language: Language) -> Button {
    Button::new(text!(language, "main-menu-button"), MENU)
}

/// Says what a cancelled dialogue leaves behind, with a button for the menu.
pub async fn say_cancelled(turn: &mut Turn, key: &'static str) -> Result<(), BoxError> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    turn.say(final_message(language.text(key), language));
    Ok(())
}

/// Says what a cancelled dialogue leaves behind, removes its keyboard and shows the menu.
pub async fn say_cancelled_with_keyboard(turn: &mut Turn, key: &'static str) -> Result<(), BoxError> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    turn.say(Say::text(language.text(key)).remove_keyboard());
    front::show_menu(turn).await
}

/// Back from a first question: shows the menu in which it was chosen.
pub async fn back_to_menu<S: States>(turn: &mut Turn, _: Press) -> Step<S> {
    front::show_menu(turn).await?;
    Ok(Next::End)
}

/// Ends a dialogue that timed out. Stored data stays, and one button leads back.
pub async fn timed_out<S>(turn: &mut Turn, caption: &'static str, data: impl Into<String>) -> Step<S> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    let resume = Button::raw(language.text(caption), data);
    turn.say(Say::text(text!(language, "shifts-timed-out")).remove_keyboard());
    turn.say(final_message_with(text!(language, "shifts-resume"), [resume], language));
    Ok(Next::End)
}
