//! The texts that people read, from the Fluent files in `locales/`.
//!
//! Every text has a key in both languages; a test compares them. No text for people is written in the code.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;
use fluent_templates::fluent_bundle::FluentValue;
use fluent_templates::{LanguageIdentifier, Loader, static_loader};
use serde::{Deserialize, Serialize};

static_loader! {
    static SENTENCES = {
        locales: "./locales",
        fallback_language: "en",
        customise: |bundle| {
            // Isolation marks around inserted values would show up in buttons and count in limits.
            bundle.set_use_isolating(false);
            // `{ CURRENCY() }` is the symbol of the currency. A second function of that name is impossible here.
            let _ = bundle.add_function("CURRENCY", |_, _| FluentValue::from(Currency::current().symbol()));
        },
    };
}

pub use self::currency::Currency;
pub use self::dates::{LocalPeriod, day, day_and_time, day_range, duration, long_day, short_day, short_day_and_time};
pub use self::sentences::{MENU, Sentences, menu_button};

mod currency;
mod dates;
mod sentences;
#[cfg(test)]
mod tests;

static RUSSIAN: LanguageIdentifier = fluent_templates::langid!("ru");
static ENGLISH: LanguageIdentifier = fluent_templates::langid!("en");

/// The languages of the product.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    #[default]
    Ru,
    En,
}

/// Values that are inserted into a text, by name.
pub type Values<'a> = HashMap<Cow<'static, str>, FluentValue<'a>>;

impl Language {
    pub const ALL: [Self; 2] = [Self::Ru, Self::En];

    /// The language for Telegram's language code; English for languages that the product does not have.
    pub fn of_code(code: &str) -> Self {
        let spoken = code.split(['-', '_']).next().unwrap_or_default();
        if spoken.is_empty() || spoken.eq_ignore_ascii_case("ru") { Self::Ru } else { Self::En }
    }

    /// The language code.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Ru => "ru",
            Self::En => "en",
        }
    }

    /// The language's own name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ru => "Русский",
            Self::En => "English",
        }
    }

    /// A text without inserted values.
    pub fn text(self, key: &str) -> String {
        SENTENCES.lookup(self.identifier(), key)
    }

    /// A text with inserted values; see [`text!`](crate::text).
    pub fn text_with(self, key: &str, values: &Values<'_>) -> String {
        SENTENCES.lookup_with_args(self.identifier(), key, values)
    }

    /// A text, if the key exists and all its values are given.
    pub fn find_text(self, key: &str, values: &Values<'_>) -> Option<String> {
        SENTENCES.try_lookup_with_args(self.identifier(), key, values)
    }

    /// Whether the key exists.
    pub fn knows(self, key: &str) -> bool {
        SENTENCES.try_lookup(self.identifier(), key).is_some()
    }

    fn identifier(self) -> &'static LanguageIdentifier {
        match self {
            Self::Ru => &RUSSIAN,
            Self::En => &ENGLISH,
        }
    }
}

impl FromStr for Language {
    type Err = String;

    fn from_str(code: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|language| language.code() == code).ok_or_else(|| format!("no language `{code}`"))
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// A text key that is looked up elsewhere; a test checks that it exists, as for [`text!`](crate::text).
#[macro_export]
macro_rules! key {
    ($key:literal) => {
        $key
    };
}

/// A text in a language: `text!(language, "greeting", name = "Anna", count = 3)`.
#[macro_export]
macro_rules! text {
    ($language:expr, $key:expr) => {
        $language.text($key)
    };
    ($language:expr, $key:expr, $($name:ident = $value:expr),+ $(,)?) => {
        $language.text_with($key, &$crate::texts::Values::from([
            $((::std::borrow::Cow::Borrowed(stringify!($name)), $value.into())),+
        ]))
    };
}
