//! Ways out of the questions of a dialogue.

use opora::prelude::*;

use super::fitting::fit;
use crate::application::App;
use crate::front;
use crate::text;
use crate::texts::{Language, menu_button};

/// One step back.
pub const BACK: &str = "shifts:back";

/// The end of a dialogue: words, and the way to the main menu.
pub fn last_words(words: impl Into<String>, language: Language) -> Say {
    Say::text(fit(words.into())).buttons([[menu_button(language)]])
}

/// The same with more ways to go on.
pub fn last_words_and(words: impl Into<String>, more: impl IntoIterator<Item = Button>, language: Language) -> Say {
    let rows = more.into_iter().map(|button| vec![button]).chain([vec![menu_button(language)]]);
    Say::text(fit(words.into())).buttons(rows.collect::<Vec<_>>())
}

/// The last row of every question.
pub fn way_out(language: Language) -> Vec<Button> {
    vec![Button::new(text!(language, "back-button"), BACK), menu_button(language)]
}

/// Back from a first question: to the menu in which it was chosen.
pub async fn back_to_menu<S: States>(turn: &mut Turn, _: Press) -> Step<S> {
    front::show_menu(turn).await?;
    Ok(Next::End)
}

/// A step has waited too long: what is in the database stays, and one button leads back.
pub async fn timed_out<S>(turn: &mut Turn, caption: &'static str, data: impl Into<String>) -> Step<S> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    let again = Button::raw(language.text(caption), data);
    turn.say(Say::text(text!(language, "shifts-timed-out")).remove_keyboard());
    turn.say(last_words_and(text!(language, "shifts-resume"), [again], language));
    Ok(Next::End)
}
