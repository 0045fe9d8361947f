//! Builds and parses aiogram's keys in Redis, as its `DefaultKeyBuilder` does.
//!
//! `prefix:[bot:][business:]chat:[thread:]user:[destiny:]state|data|lock`. The parts have no names, so some keys
//! can be parsed in two ways. Such a key is reported, never guessed. One assumption is made: if topics are parts,
//! business connections and destinies do not begin with a number. Otherwise no key with both could be parsed.

use super::Strategy;

#[cfg(test)]
mod tests;

/// aiogram's default destiny.
pub const DEFAULT_DESTINY: &str = "default";
/// Longer keys are not aiogram's.
const NAME_BYTES_MAX: usize = 1_024;

/// The options of `DefaultKeyBuilder`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyBuilder {
    /// The first part of all keys, `fsm` by default.
    pub prefix: String,
    /// The separator of the parts, `:` by default.
    pub separator: String,
    /// Whether the bot's id is a part.
    pub with_bot_id: bool,
    /// Whether the business connection is a part, where there is one.
    pub with_business_connection_id: bool,
    /// Whether the destiny is a part.
    pub with_destiny: bool,
}

/// aiogram's `StorageKey`, after the strategy was applied.
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

/// What a key holds: its last part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The state's name.
    State,
    /// The data as JSON.
    Data,
    /// The lock of `RedisEventIsolation`, while an update is handled.
    Lock,
}

/// Why a key cannot be built or parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The options have no destiny. aiogram would refuse it too.
    #[error("the destiny is `{0}`, and keys are built without one")]
    DestinyNotInKey(Box<str>),
    /// The options and the strategy do not build such a key.
    #[error("this key is not built by these options and this strategy")]
    NoMatch,
    /// It can be parsed in more than one way.
    #[error("the key can be parsed in more than one way: {0} or {1}")]
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

    /// Its name in a key.
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
    /// Builds a key.
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
            return Err(KeyError::DestinyNotInKey(key.destiny.clone()));
        }
        parts.push(part.name().to_owned());
        Ok(parts.join(&self.separator))
    }

    /// Parses a key. `bot` is the bot of keys without a bot id.
    pub fn parse(&self, name: &str, strategy: Strategy, bot: i64) -> Result<(StorageKey, Part), KeyError> {
        let (base_name, part) = self.split_part(name).ok_or(KeyError::NoMatch)?;
        let rest = base_name.strip_prefix(&*self.prefix).and_then(|rest| rest.strip_prefix(&*self.separator));
        let rest = rest.filter(|_| name.len() <= NAME_BYTES_MAX).ok_or(KeyError::NoMatch)?;
        let mut readings = Readings { builder: self, strategy, bot, found: Vec::new() };
        readings.read_bot(rest);
        let mut found = readings.found.into_iter();
        match (found.next(), found.next()) {
            (Some(key), None) => Ok((key, part)),
            (Some(one), Some(other)) => Err(KeyError::Ambiguous(one.describe(), other.describe())),
            (None, _) => Err(KeyError::NoMatch),
        }
    }

    /// The key without its last part, and that part.
    pub(super) fn split_part<'a>(&self, name: &'a str) -> Option<(&'a str, Part)> {
        Part::ALL.into_iter().find_map(|part| {
            let base_name = name.strip_suffix(part.name())?.strip_suffix(&*self.separator)?;
            Some((base_name, part))
        })
    }

    /// The pattern for `SCAN` that matches all keys of these options.
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
    fn describe(&self) -> String {
        let mut description = format!("chat {}, user {}", self.chat, self.user);
        if self.thread != 0 {
            description = format!("{description}, topic {}", self.thread);
        }
        if !self.business.is_empty() {
            description = format!("{description}, business {}", self.business);
        }
        if &*self.destiny != DEFAULT_DESTINY {
            description = format!("{description}, destiny {}", self.destiny);
        }
        description
    }
}

/// The ways to parse a key. It stops at two, because the key is ambiguous then.
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
        for (part, rest) in self.splits(rest) {
            if let Some(bot) = number(part).filter(|bot| *bot > 0) {
                self.read_business(rest, bot);
            }
        }
    }

    fn read_business(&mut self, rest: &str, bot: i64) {
        self.read_chat(rest, bot, "");
        if self.builder.with_business_connection_id {
            for (part, rest) in self.splits(rest) {
                if !part.is_empty() && self.may_be_text(part) {
                    self.read_chat(rest, bot, part);
                }
            }
        }
    }

    fn read_chat(&mut self, rest: &str, bot: i64, business: &str) {
        for (part, rest) in self.splits(rest) {
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
            for (part, rest) in self.splits(rest) {
                // Telegram's topics start at one.
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
        for (part, destiny) in self.splits(rest) {
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
        if self.found.len() < 2 && self.strategy.is_valid_key(key.chat, user, key.thread) {
            self.found.push(StorageKey { user, ..key });
        }
    }

    /// All ways to split a text in two at a separator.
    fn splits<'t>(&self, text: &'t str) -> Vec<(&'t str, &'t str)> {
        let separator = &*self.builder.separator;
        if self.found.len() > 1 {
            return Vec::new();
        }
        let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
        let ends = ends.filter(|at| text[*at..].starts_with(separator));
        ends.map(|at| (&text[..at], &text[at + separator.len()..])).collect()
    }
}

/// Parses a number exactly as Python writes it.
fn number(text: &str) -> Option<i64> {
    text.parse::<i64>().ok().filter(|number| number.to_string() == text)
}
