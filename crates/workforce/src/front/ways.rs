//! Ways out of the questions of a dialogue, and messages that fit what Telegram takes.

use opora::prelude::*;

use crate::application::App;
use crate::front;
use crate::text;
use crate::texts::{Language, menu_button};

/// One step back.
pub const BACK: &str = "shifts:back";
/// A message's text, at most, in UTF-16 units; Telegram takes a little more.
const MESSAGE_MOST: usize = 4000;
/// A button's text, at most; longer ones are cut.
const CAPTION_MOST: usize = 48;

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

/// As much of a text as fits a message: what is too long is better cut than not said.
pub fn fit(text: String) -> String {
    cut(&text, MESSAGE_MOST)
}

/// The same for a list that stands between something: the list is cut, and what comes after it is said all the same.
pub fn fit_between(before: &str, list: &str, after: &str) -> String {
    let units = |text: &str| text.encode_utf16().count();
    // One is for the mark that something is cut.
    let room = MESSAGE_MOST.saturating_sub(units(before) + units(after) + 1);
    format!("{before}{}{after}", cut(list, room))
}

fn cut(text: &str, most_units: usize) -> String {
    let mut units = 0;
    let fits = |character: &char| {
        units += character.len_utf16();
        units <= most_units
    };
    let kept: String = text.chars().take_while(fits).collect();
    if kept.len() == text.len() { kept } else { kept + "…" }
}

/// A text that fits a button.
pub fn caption(text: &str) -> String {
    if text.chars().count() <= CAPTION_MOST {
        return text.to_owned();
    }
    text.chars().take(CAPTION_MOST - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_cut_and_what_fits_is_not() {
        assert_eq!(fit("x".repeat(MESSAGE_MOST)).len(), MESSAGE_MOST);
        let cut = fit("😀".repeat(MESSAGE_MOST));
        assert!(cut.ends_with('…') && cut.encode_utf16().count() == MESSAGE_MOST + 1);
        let list = fit_between("Tasks:\n", &"😀".repeat(MESSAGE_MOST), "\nGo on?");
        assert!(list.starts_with("Tasks:\n😀") && list.ends_with("…\nGo on?"), "{list}");
        assert_eq!(fit(list.clone()), list);
        assert_eq!(fit_between("1", "2", "3"), "123");
        assert_eq!(caption("Sweep"), "Sweep");
        assert_eq!(caption(&"я".repeat(100)).chars().count(), CAPTION_MOST);
    }
}
