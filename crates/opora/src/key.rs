//! Who talks where: the key under which a conversation is kept.
//!
//! People in a group do not share a conversation, and one person's chats are apart. Dialogues that run side by side in
//! one place are kept under one key, because which of them hears a text is decided in the same order as everything
//! else.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Bot, chat, user, thread and business connection: one conversation, one order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DialogueKey {
    /// The bot's own user id.
    pub bot: i64,
    /// The chat; of a private one the user's id.
    pub chat: i64,
    /// The person; 0 where there is none, as for posts of a channel.
    pub user: i64,
    /// The topic of a forum; 0 outside of topics.
    pub thread: i64,
    /// The business connection; empty without one.
    pub business: Box<str>,
}

impl DialogueKey {
    /// The key of a person in a private chat.
    #[must_use]
    pub fn private(bot: i64, user: i64) -> Self {
        Self { bot, chat: user, user, thread: 0, business: Box::default() }
    }

    /// Whether a person talks to the bot alone. In a group others read along; in a chat of a business account its owner
    /// does.
    #[must_use]
    pub fn is_private(&self) -> bool {
        self.chat == self.user && self.business.is_empty()
    }
}

/// `bot:chat:user`, then `:thread` and `:business` where there is one.
impl fmt::Display for DialogueKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.bot, self.chat, self.user)?;
        if self.thread != 0 || !self.business.is_empty() {
            write!(f, ":{}", self.thread)?;
        }
        if !self.business.is_empty() {
            write!(f, ":{}", self.business)?;
        }
        Ok(())
    }
}

/// Why a text is not a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a dialogue's key: bot:chat:user[:thread[:business]] was expected")]
pub struct NotAKey(pub String);

impl FromStr for DialogueKey {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<Self, NotAKey> {
        let mut parts = text.splitn(5, ':');
        let mut number = |default: Option<i64>| match parts.next() {
            Some(part) => part.parse::<i64>().map_err(|_| NotAKey(text.to_owned())),
            None => default.ok_or_else(|| NotAKey(text.to_owned())),
        };
        let bot = number(None)?;
        let chat = number(None)?;
        let user = number(None)?;
        let thread = number(Some(0))?;
        Ok(Self { bot, chat, user, thread, business: parts.next().unwrap_or_default().into() })
    }
}

impl Serialize for DialogueKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DialogueKey {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_reads_back_from_its_text() {
        let private = DialogueKey::private(1, 2);
        let topic = DialogueKey { thread: 9, ..private.clone() };
        let business = DialogueKey { business: "a:b".into(), ..private.clone() };
        for (key, text) in [(private, "1:2:2"), (topic, "1:2:2:9"), (business, "1:2:2:0:a:b")] {
            assert_eq!(key.to_string(), text);
            assert_eq!(text.parse(), Ok(key));
        }
        assert_eq!("1:x:2".parse::<DialogueKey>(), Err(NotAKey("1:x:2".into())));
        assert_eq!("1:2".parse::<DialogueKey>(), Err(NotAKey("1:2".into())));
    }
}
