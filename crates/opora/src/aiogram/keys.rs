//! Names of aiogram's keys in Redis: built as its `DefaultKeyBuilder` does, and taken apart again.
//!
//! `prefix:[bot:][business:]chat:[thread:]user:[destiny:]state|data|lock`. The parts bear no names, so some keys can be
//! read in two ways; such a key is reported, never guessed. One thing is taken for granted: where topics are parts,
//! business connections and destinies do not begin with a number, for else no key with both could be read.

use super::Strategy;

#[cfg(test)]
mod tests;

/// The destiny of whatever has none of its own.
pub const DEFAULT_DESTINY: &str = "default";
/// Names longer than this are nobody's.
const NAME_BYTES_MAX: usize = 1_024;

/// How keys are named: the options of `DefaultKeyBuilder`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyBuilder {
    /// The first part of all keys, `fsm` unless told.
    pub prefix: String,
    /// What stands between the parts, `:` unless told.
    pub separator: String,
    /// Whether the bot's id is a part.
    pub with_bot_id: bool,
    /// Whether the business connection is a part, where there is one.
    pub with_business_connection_id: bool,
    /// Whether the destiny is a part.
    pub with_destiny: bool,
}

/// aiogram's `StorageKey`: whose state it is, after the strategy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StorageKey {
    /// The bot's own user id.
    pub bot: i64,
    /// The chat.
    pub chat: i64,
    /// The person; under some strategies the chat again.
    pub user: i64,
    /// The topic; 0 outside of topics.
    pub thread: i64,
    /// The business connection; empty without one.
    pub business: Box<str>,
    /// Which of several states side by side.
    pub destiny: Box<str>,
}

/// What is kept under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The state's name.
    State,
    /// The data as JSON.
    Data,
    /// The lock of `RedisEventIsolation`, while an update is handled.
    Lock,
}

/// Why a key cannot be built or taken apart.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// aiogram would refuse it, too.
    #[error("the destiny is `{0}`, and keys are built without one")]
    DestinyLeftOut(Box<str>),
    /// These options and this strategy make no such name.
    #[error("this name is not built by these options and this strategy")]
    NotOurs,
    /// It can be read in more than one way.
    #[error("the name can be read in more than one way: {0} or {1}")]
    Ambiguous(String, String),
}

impl Default for KeyBuilder {
    fn default() -> Self {
        Self {
            prefix: "fsm".to_owned(),
            separator: ":".to_owned(),
            with_bot_id: false,
            with_business_connection_id: false,
            with_destiny: false,
        }
    }
}

impl Part {
    const ALL: [Self; 3] = [Self::State, Self::Data, Self::Lock];

    /// How it is named in a key.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Data => "data",
            Self::Lock => "lock",
        }
    }
}

impl KeyBuilder {
    /// The name of a key.
    pub fn build(&self, key: &StorageKey, part: Part) -> Result<String, KeyError> {
        let mut parts = vec![self.prefix.clone()];
        if self.with_bot_id {
            parts.push(key.bot.to_string());
        }
        if self.with_business_connection_id && !key.business.is_empty() {
            parts.push(key.business.to_string());
        }
        parts.push(key.chat.to_string());
        if key.thread != 0 {
            parts.push(key.thread.to_string());
        }
        parts.push(key.user.to_string());
        if self.with_destiny {
            parts.push(key.destiny.to_string());
        } else if &*key.destiny != DEFAULT_DESTINY {
            return Err(KeyError::DestinyLeftOut(key.destiny.clone()));
        }
        parts.push(part.name().to_owned());
        Ok(parts.join(&self.separator))
    }

    /// Takes a name apart. The bot of names without one is `bot`.
    pub fn parse(&self, name: &str, strategy: Strategy, bot: i64) -> Result<(StorageKey, Part), KeyError> {
        let (whose, part) = self.split_part(name).ok_or(KeyError::NotOurs)?;
        let rest = whose.strip_prefix(&*self.prefix).and_then(|rest| rest.strip_prefix(&*self.separator));
        let rest = rest.filter(|_| name.len() <= NAME_BYTES_MAX).ok_or(KeyError::NotOurs)?;
        let mut readings = Readings { builder: self, strategy, bot, found: Vec::new() };
        readings.read_bot(rest);
        let mut found = readings.found.into_iter();
        match (found.next(), found.next()) {
            (Some(key), None) => Ok((key, part)),
            (Some(one), Some(other)) => Err(KeyError::Ambiguous(one.in_words(), other.in_words())),
            (None, _) => Err(KeyError::NotOurs),
        }
    }

    /// The name without its last part, and that part.
    pub(super) fn split_part<'a>(&self, name: &'a str) -> Option<(&'a str, Part)> {
        Part::ALL.into_iter().find_map(|part| {
            let whose = name.strip_suffix(part.name())?.strip_suffix(&*self.separator)?;
            Some((whose, part))
        })
    }

    /// The pattern by which Redis finds all keys of these options.
    pub(crate) fn pattern(&self) -> String {
        let mut pattern = String::new();
        for character in self.prefix.chars().chain(self.separator.chars()) {
            if matches!(character, '*' | '?' | '[' | ']' | '\\') {
                pattern.push('\\');
            }
            pattern.push(character);
        }
        pattern + "*"
    }
}

impl StorageKey {
    fn in_words(&self) -> String {
        let mut words = format!("chat {}, user {}", self.chat, self.user);
        if self.thread != 0 {
            words = format!("{words}, topic {}", self.thread);
        }
        if !self.business.is_empty() {
            words = format!("{words}, business {}", self.business);
        }
        if &*self.destiny != DEFAULT_DESTINY {
            words = format!("{words}, destiny {}", self.destiny);
        }
        words
    }
}

/// All ways to read a name, up to two: more make it no less clear.
struct Readings<'a> {
    builder: &'a KeyBuilder,
    strategy: Strategy,
    bot: i64,
    found: Vec<StorageKey>,
}

impl Readings<'_> {
    fn read_bot(&mut self, rest: &str) {
        if !self.builder.with_bot_id {
            return self.read_business(rest, self.bot);
        }
        for (part, rest) in self.heads(rest) {
            if let Some(bot) = number(part).filter(|bot| *bot > 0) {
                self.read_business(rest, bot);
            }
        }
    }

    fn read_business(&mut self, rest: &str, bot: i64) {
        self.read_chat(rest, bot, "");
        if self.builder.with_business_connection_id {
            for (part, rest) in self.heads(rest) {
                if !part.is_empty() && self.may_be_text(part) {
                    self.read_chat(rest, bot, part);
                }
            }
        }
    }

    fn read_chat(&mut self, rest: &str, bot: i64, business: &str) {
        for (part, rest) in self.heads(rest) {
            let Some(chat) = number(part) else { continue };
            let key = StorageKey {
                bot,
                chat,
                user: 0,
                thread: 0,
                business: business.into(),
                destiny: DEFAULT_DESTINY.into(),
            };
            self.read_user(rest, &key);
            for (part, rest) in self.heads(rest) {
                // Telegram counts topics from one.
                if let Some(thread) = number(part).filter(|thread| *thread > 0) {
                    self.read_user(rest, &StorageKey { thread, ..key.clone() });
                }
            }
        }
    }

    fn read_user(&mut self, rest: &str, key: &StorageKey) {
        if !self.builder.with_destiny {
            return self.note(rest, key.clone());
        }
        for (part, destiny) in self.heads(rest) {
            if self.may_be_text(destiny) {
                self.note(part, StorageKey { destiny: destiny.into(), ..key.clone() });
            }
        }
    }

    fn may_be_text(&self, text: &str) -> bool {
        let separator = &*self.builder.separator;
        let first = text.split(separator).find(|part| !part.is_empty() || !separator.is_empty());
        !self.strategy.has_topics() || first.and_then(number).is_none()
    }

    fn note(&mut self, user: &str, key: StorageKey) {
        let Some(user) = number(user) else { return };
        if self.found.len() < 2 && self.strategy.makes(key.chat, user, key.thread) {
            self.found.push(StorageKey { user, ..key });
        }
    }

    /// All ways to split a text at a separator.
    fn heads<'t>(&self, text: &'t str) -> Vec<(&'t str, &'t str)> {
        let separator = &*self.builder.separator;
        if self.found.len() > 1 {
            return Vec::new();
        }
        let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
        let ends = ends.filter(|at| text[*at..].starts_with(separator));
        ends.map(|at| (&text[..at], &text[at + separator.len()..])).collect()
    }
}

/// A number as Python writes it, in no other spelling.
fn number(text: &str) -> Option<i64> {
    text.parse::<i64>().ok().filter(|number| number.to_string() == text)
}
