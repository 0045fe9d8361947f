//! The few texts that the library says itself.
//!
//! They are in English or Russian, by the person's language. An application replaces them by implementing [`Texts`].

use std::borrow::Cow;

use crate::telegram::Button;

/// A text for a person.
pub type Text = Cow<'static, str>;

/// Texts in English and Russian.
macro_rules! texts {
    ($($(#[$about:meta])* $name:ident: $english:literal, $russian:literal;)*) => {
        $($(#[$about])* fn $name(&self, language: &str) -> Text {
            pick(language, $english, $russian)
        })*
    };
}

/// The library's own texts. Each has a default; `language` is a code such as `ru`.
pub trait Texts: Send + Sync + 'static {
    texts! {
        /// The pressed button belongs to an earlier state, or was pressed before.
        stale_button: "This button is no longer in use.", "Эта кнопка больше не действует.";
        /// The open state has no handler for the input.
        not_understood: "Sorry, this does not fit here.", "Извините, здесь это не подходит.";
        /// A turn failed for good; the draft is kept.
        failed:
            "Something went wrong on our side. What you have entered is kept.",
            "У нас что-то пошло не так. Введённое сохранено.";
        /// A turn failed for good, and nothing is kept.
        failed_and_ended:
            "Something went wrong on our side. Please try again later.",
            "У нас что-то пошло не так. Попробуйте ещё раз позже.";
        /// The caption of the button that resumes a draft.
        try_again: "Try again", "Попробовать снова";
        /// The caption of the button that drops a draft.
        cancel: "Cancel", "Отмена";
        /// The dialogue goes back to a state that has no question of its own.
        answer_again: "Let us go on. Please answer once more.", "Продолжим. Ответьте, пожалуйста, ещё раз.";
        /// A dialogue was cancelled.
        cancelled: "Cancelled.", "Отменено.";
        /// There is nothing to cancel.
        nothing_to_cancel: "There is nothing to cancel.", "Отменять нечего.";
        /// The conversation cannot be read at the moment. The answer follows by itself.
        please_wait:
            "One moment, please: I will answer as soon as I can.",
            "Одну минуту, пожалуйста: отвечу, как только смогу.";
        /// Telegram has refused a message for good, so the person does not see it.
        message_refused:
            "Something went wrong on our side, and I could not show you my answer. Please try again later.",
            "У нас что-то пошло не так, и я не смог показать ответ. Попробуйте ещё раз позже.";
        /// The operator has announced a restart of the bot.
        planned_restart:
            "I will be restarted in a moment. Nothing is lost: we go on right after.",
            "Сейчас меня перезапустят. Ничего не потеряется: продолжим сразу после.";
    }

    /// A dialogue has expired. `command` starts it again, if there is one.
    fn expired(&self, language: &str, command: Option<&str>) -> Text {
        let english = "It has been a while, so I have closed this.";
        let russian = "Прошло много времени, поэтому я закрыл этот разговор.";
        with_hint(pick(language, english, russian), command.map(|command| self.restart_hint(language, command)))
    }

    /// The stored state cannot be read any more. `command` starts again, if there is one.
    fn unreadable(&self, language: &str, command: Option<&str>) -> Text {
        let english = "I have been updated and cannot go on from where we were.";
        let russian = "Меня обновили, и я не могу продолжить с того же места.";
        with_hint(pick(language, english, russian), command.map(|command| self.restart_hint(language, command)))
    }

    /// How to start again.
    fn restart_hint(&self, language: &str, command: &str) -> Text {
        if is_russian(language) {
            format!("Чтобы начать заново, отправьте /{command}.").into()
        } else {
            format!("Send /{command} to begin again.").into()
        }
    }

    /// A button below the texts after which nothing is open (cancelled, nothing to cancel, expired, failed and ended,
    /// unreadable), for instance to a main menu. None by default. No state is open, so use a button without a tag
    /// ([`Button::raw`]) that an entry handles.
    fn next_step_button(&self, language: &str) -> Option<Button> {
        let _ = language;
        None
    }
}

/// The default texts, in English and Russian.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuiltInTexts;

impl Texts for BuiltInTexts {}

fn is_russian(language: &str) -> bool {
    language.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("ru"))
}

fn pick(language: &str, english: &'static str, russian: &'static str) -> Text {
    Cow::Borrowed(if is_russian(language) { russian } else { english })
}

fn with_hint(text: Text, hint: Option<Text>) -> Text {
    hint.map_or(text.clone(), |hint| format!("{text} {hint}").into())
}
