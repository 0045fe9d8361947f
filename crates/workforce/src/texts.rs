//! What people read, from the Fluent files in `locales/`.
//!
//! Every sentence has a key that both languages know; a test compares them. Nothing that a person reads is written in
//! the code.

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
        // The marks around what is put in would show up in buttons and be counted in limits.
        customise: |bundle| bundle.set_use_isolating(false),
    };
}

pub use self::sentences::{MENU, Sentences, menu_button};

mod sentences;
#[cfg(test)]
mod tests;

static RUSSIAN: LanguageIdentifier = fluent_templates::langid!("ru");
static ENGLISH: LanguageIdentifier = fluent_templates::langid!("en");

/// The languages that the product speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// Russian.
    #[default]
    Ru,
    /// English.
    En,
}

/// What is put into a sentence, by name.
pub type Values<'a> = HashMap<Cow<'static, str>, FluentValue<'a>>;

impl Language {
    /// Both, for tests and menus.
    pub const ALL: [Self; 2] = [Self::Ru, Self::En];

    /// The language for a code that Telegram gives; English for those that are not spoken here.
    pub fn of_code(code: &str) -> Self {
        let spoken = code.split(['-', '_']).next().unwrap_or_default();
        if spoken.is_empty() || spoken.eq_ignore_ascii_case("ru") { Self::Ru } else { Self::En }
    }

    /// Its code.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Ru => "ru",
            Self::En => "en",
        }
    }

    /// What it calls itself.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ru => "Русский",
            Self::En => "English",
        }
    }

    /// A sentence with nothing put in.
    pub fn text(self, key: &str) -> String {
        SENTENCES.lookup(self.identifier(), key)
    }

    /// A sentence; see [`text!`](crate::text).
    pub fn text_with(self, key: &str, values: &Values<'_>) -> String {
        SENTENCES.lookup_with_args(self.identifier(), key, values)
    }

    /// A sentence, if there is one and everything is there that is put in.
    pub fn find_text(self, key: &str, values: &Values<'_>) -> Option<String> {
        SENTENCES.try_lookup_with_args(self.identifier(), key, values)
    }

    /// Whether there is such a sentence.
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

/// The key of a sentence that is looked up elsewhere; a test checks that there is one, as it does for [`text!`](crate::text).
#[macro_export]
macro_rules! key {
    ($key:literal) => {
        $key
    };
}

/// A sentence in a language: `text!(language, "greeting", name = "Anna", count = 3)`.
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
