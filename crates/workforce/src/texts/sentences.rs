//! The few sentences that the library says itself, in the words of the product.

use opora::dialogue::{Text, Texts};
use opora::telegram::Button;

use super::Language;
use crate::text;

/// The data of the button that leads to the main menu from anywhere.
pub const MENU: &str = "menu";

/// The library's own sentences, from the Fluent files.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sentences;

impl Texts for Sentences {
    fn stale_button(&self, language: &str) -> Text {
        said(language, |language| text!(language, "stale-button-toast"))
    }

    fn not_understood(&self, language: &str) -> Text {
        said(language, |language| text!(language, "does-not-fit"))
    }

    fn failed(&self, language: &str) -> Text {
        said(language, |language| text!(language, "failed-and-kept"))
    }

    fn failed_and_ended(&self, language: &str) -> Text {
        said(language, |language| text!(language, "failed-and-ended"))
    }

    fn try_again(&self, language: &str) -> Text {
        said(language, |language| text!(language, "try-again-button"))
    }

    fn cancel(&self, language: &str) -> Text {
        said(language, |language| text!(language, "cancel-button"))
    }

    fn go_on(&self, language: &str) -> Text {
        said(language, |language| text!(language, "go-on"))
    }

    fn cancelled(&self, language: &str) -> Text {
        said(language, |language| text!(language, "cancelled"))
    }

    fn nothing_to_cancel(&self, language: &str) -> Text {
        said(language, |language| text!(language, "nothing-to-cancel"))
    }

    fn timed_out(&self, language: &str, command: Option<&str>) -> Text {
        let said = said(language, |language| text!(language, "timed-out"));
        self.with_beginning(said, language, command)
    }

    fn unreadable(&self, language: &str, command: Option<&str>) -> Text {
        let said = said(language, |language| text!(language, "unreadable"));
        self.with_beginning(said, language, command)
    }

    fn begin_with(&self, language: &str, command: &str) -> Text {
        said(language, |language| text!(language, "begin-with", command = format!("/{command}")))
    }

    fn way_on(&self, language: &str) -> Option<Button> {
        Some(menu_button(Language::of_code(language)))
    }

    fn one_moment(&self, language: &str) -> Text {
        said(language, |language| text!(language, "one-moment"))
    }

    fn not_shown(&self, language: &str) -> Text {
        said(language, |language| text!(language, "not-shown"))
    }

    fn restart(&self, language: &str) -> Text {
        said(language, |language| text!(language, "restart"))
    }
}

impl Sentences {
    fn with_beginning(self, said: Text, language: &str, command: Option<&str>) -> Text {
        match command {
            Some(command) => format!("{said} {}", self.begin_with(language, command)).into(),
            None => said,
        }
    }
}

fn said(language: &str, text: impl Fn(Language) -> String) -> Text {
    text(Language::of_code(language)).into()
}

/// The button that every final message has.
pub fn menu_button(language: Language) -> Button {
    Button::raw(text!(language, "main-menu-button"), MENU)
}
