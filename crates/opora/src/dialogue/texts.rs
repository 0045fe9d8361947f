//! The few sentences that the library says itself.
//!
//! They come in English and Russian by the person's language. An application replaces them by implementing [`Texts`].

use std::borrow::Cow;

use crate::telegram::Button;

/// A sentence.
pub type Text = Cow<'static, str>;

/// The library's own sentences. Every one has a default; `language` is a code such as `ru`.
pub trait Texts: Send + Sync + 'static {
    /// A button was pressed that belongs to an earlier step, or a second time.
    fn stale_button(&self, language: &str) -> Text {
        pick(language, "This button is no longer in use.", "Эта кнопка больше не действует.")
    }

    /// Something was sent that does not fit the step.
    fn not_understood(&self, language: &str) -> Text {
        pick(language, "Sorry, this does not fit here.", "Извините, здесь это не подходит.")
    }

    /// A turn failed for good.
    fn failed(&self, language: &str) -> Text {
        pick(
            language,
            "Something went wrong on our side. What you have entered is kept.",
            "У нас что-то пошло не так. Введённое сохранено.",
        )
    }

    /// A turn failed for good, and nothing is kept.
    fn failed_and_ended(&self, language: &str) -> Text {
        pick(
            language,
            "Something went wrong on our side. Please try again later.",
            "У нас что-то пошло не так. Попробуйте ещё раз позже.",
        )
    }

    /// The caption of the button that takes a kept draft up.
    fn try_again(&self, language: &str) -> Text {
        pick(language, "Try again", "Попробовать снова")
    }

    /// The caption of the button that drops a kept draft.
    fn cancel(&self, language: &str) -> Text {
        pick(language, "Cancel", "Отмена")
    }

    /// The dialogue goes on at an earlier point, and that point has no question of its own.
    fn go_on(&self, language: &str) -> Text {
        pick(language, "Let us go on. Please answer once more.", "Продолжим. Ответьте, пожалуйста, ещё раз.")
    }

    /// A dialogue was cancelled.
    fn cancelled(&self, language: &str) -> Text {
        pick(language, "Cancelled.", "Отменено.")
    }

    /// There is nothing to cancel.
    fn nothing_to_cancel(&self, language: &str) -> Text {
        pick(language, "There is nothing to cancel.", "Отменять нечего.")
    }

    /// A dialogue's life is over. `command` begins it anew, if there is one.
    fn timed_out(&self, language: &str, command: Option<&str>) -> Text {
        let said = pick(
            language,
            "It has been a while, so I have closed this.",
            "Прошло много времени, поэтому я закрыл этот разговор.",
        );
        match command {
            Some(command) => format!("{said} {}", self.begin_with(language, command)).into(),
            None => said,
        }
    }

    /// What is stored cannot be read any more. `command` begins anew, if there is one.
    fn unreadable(&self, language: &str, command: Option<&str>) -> Text {
        let said = pick(
            language,
            "I have been updated and cannot go on from where we were.",
            "Меня обновили, и я не могу продолжить с того же места.",
        );
        match command {
            Some(command) => format!("{said} {}", self.begin_with(language, command)).into(),
            None => said,
        }
    }

    /// How to begin again.
    fn begin_with(&self, language: &str, command: &str) -> Text {
        if is_russian(language) {
            format!("Чтобы начать заново, отправьте /{command}.").into()
        } else {
            format!("Send /{command} to begin again.").into()
        }
    }

    /// A button below the sentences after which nothing is open (cancelled, nothing to cancel, timed out, failed and
    /// ended, unreadable): to a main menu, for instance. There is none by default. Nothing waits for it, so it is one
    /// without a tag ([`Button::raw`]), heard by an entry.
    fn way_on(&self, language: &str) -> Option<Button> {
        let _ = language;
        None
    }

    /// What the person was talking about cannot be looked up at the moment; the answer comes later by itself.
    fn one_moment(&self, language: &str) -> Text {
        pick(
            language,
            "One moment, please: I will answer as soon as I can.",
            "Одну минуту, пожалуйста: отвечу, как только смогу.",
        )
    }

    /// Telegram has refused a message of the conversation for good, so the person does not see it.
    fn not_shown(&self, language: &str) -> Text {
        pick(
            language,
            "Something went wrong on our side, and I could not show you my answer. Please try again later.",
            "У нас что-то пошло не так, и я не смог показать ответ. Попробуйте ещё раз позже.",
        )
    }

    /// The bot will be restarted shortly, as the operator announced.
    fn restart(&self, language: &str) -> Text {
        pick(
            language,
            "I will be restarted in a moment. Nothing is lost: we go on right after.",
            "Сейчас меня перезапустят. Ничего не потеряется: продолжим сразу после.",
        )
    }
}

/// The sentences as they are, in English and Russian.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuiltInTexts;

impl Texts for BuiltInTexts {}

fn is_russian(language: &str) -> bool {
    language.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("ru"))
}

fn pick(language: &str, english: &'static str, russian: &'static str) -> Text {
    Cow::Borrowed(if is_russian(language) { russian } else { english })
}
