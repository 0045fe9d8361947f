//! The texts of the library, from the product's Fluent files.

use opora::dialogue::{Text, Texts};
use opora::telegram::Button;

use super::Language;
use crate::text;

/// Data of the button that leads to the main menu from anywhere.
pub const MENU: &str = "menu";

#[derive(Clone, Copy, Debug, Default)]
pub struct Sentences;

impl Texts for Sentences {
    fn stale_button(&self, language: &str) -> Text {
        translated(language, |language| text!(language, "stale-button-toast"))
    }

    fn not_understood(&self, language: &str) -> Text {
        translated(language, |language| text!(language, "does-not-fit"))
    }

    fn failed(&self, language: &str) -> Text {
        translated(language, |language| text!(language, "failed-and-kept"))
    }

    fn failed_and_ended(&self, language: &str) -> Text {
        translated(language, |language| text!(language, "failed-and-ended"))
    }

    fn try_again(&self, language: &str) -> Text {
        translated(language, |language| text!(language, "try-again-button"))
    }

    fn cancel(&self, language: &str) -> Text {
        translated(language, |language| text!(language, "cancel-button"))
    }

    fn answer_again(&self, language: &str) -> Text {
        translated(language, |language| text!(language, "go-on"))
    }

    fn cancelled(&self, language: &str) -> Text {
        translated(language, |language| text!(language, "cancelled"))
    }

    fn nothing_to_cancel(&self, language: &str) -> Text {
        translated(language, |language| text!(language, "nothing-to-cancel"))
    }

    fn expired(&self, language: &str, command: Option<&str>) -> Text {
        let message = translated(language, |language| text!(language, "timed-out"));
        self.with_beginning(message, language, command)
    }

    fn unreadable(&self, language: &str, command: Option<&str>) -> Text {
        let message = translated(language, |language| text!(language, "unreadable"));
        self.with_beginning(message, language, command)
    }

    fn restart_hint(&self, language: &str, command: &str) -> Text {
        translated(language, |language| text!(language, "begin-with", command = format!("/{command}")))
    }

    fn next_step_button(&self, language: &str) -> Option<Button> {
        Some(menu_button(Language::of_code(language)))
    }

    fn please_wait(&self, language: &str) -> Text {
        translated(language, |language| text!(language, "one-moment"))
    }

    fn message_refused(&self, language: &str) -> Text {
        translated(language, |language| text!(language, "not-shown"))
    }

    fn planned_restart(&self, language: &str) -> Text {
        translated(language, |language| text!(language, "restart"))
    }
}

impl Sentences {
    fn with_beginning(self, message: Text, language: &str, command: Option<&str>) -> Text {
        match command {
            Some(command) => format!("{message} {}", self.restart_hint(language, command)).into(),
            None => message,
        }
    }
}

fn translated(language: &str, text: impl Fn(Language) -> String) -> Text {
    text(Language::of_code(language)).into()
}

/// The button under every final message.
pub fn menu_button(language: Language) -> Button {
    Button::raw(text!(language, "main-menu-button"), MENU)
}
