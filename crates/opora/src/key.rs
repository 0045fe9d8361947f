//! The key of a conversation.
//!
//! Every person in a group has an own conversation, and so has a person in every chat. Dialogues that run side by side
//! in one chat share a key, so that their inputs have one order.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Bot, chat, user, thread and business connection. They identify a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConversationKey {
    /// The bot's own user id.
    pub bot: i64,
    /// The chat. The id of a private chat is the user's id.
    pub chat: i64,
    /// The person. 0 if there is none, as for posts of a channel.
    pub user: i64,
    /// The topic of a forum; 0 outside of topics.
    pub thread: i64,
    /// The business connection; empty without one.
    pub business: Box<str>,
}

impl ConversationKey {
    /// The key of a person in a private chat.
    #[must_use]
    pub fn private(bot: i64, user: i64) -> Self {
        Self { bot, chat: user, user, thread: 0, business: Box::default() }
    }

    /// Whether only the person and the bot see the chat. The owner of a business account reads its chats too.
    #[must_use]
    pub fn is_private(&self) -> bool {
        self.chat == self.user && self.business.is_empty()
    }
}

/// `bot:chat:user`, followed by `:thread` and `:business` if they are set.
impl fmt::Display for ConversationKey {
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

/// A text that is not a conversation key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a conversation key: bot:chat:user[:thread[:business]] was expected")]
pub struct KeyParseError(pub String);

impl FromStr for ConversationKey {
    type Err = KeyParseError;

    fn from_str(text: &str) -> Result<Self, KeyParseError> {
        let mut parts = text.splitn(5, ':');
        let mut number = |default: Option<i64>| match parts.next() {
            Some(part) => part.parse::<i64>().map_err(|_| KeyParseError(text.to_owned())),
            None => default.ok_or_else(|| KeyParseError(text.to_owned())),
        };
        let bot = number(None)?;
        let chat = number(None)?;
        let user = number(None)?;
        let thread = number(Some(0))?;
        Ok(Self { bot, chat, user, thread, business: parts.next().unwrap_or_default().into() })
    }
}

impl Serialize for ConversationKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ConversationKey {
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
        let private = ConversationKey::private(1, 2);
        let topic = ConversationKey { thread: 9, ..private.clone() };
        let business = ConversationKey { business: "a:b".into(), ..private.clone() };
        for (key, text) in [(private, "1:2:2"), (topic, "1:2:2:9"), (business, "1:2:2:0:a:b")] {
            assert_eq!(key.to_string(), text);
            assert_eq!(text.parse(), Ok(key));
        }
        assert_eq!("1:x:2".parse::<ConversationKey>(), Err(KeyParseError("1:x:2".into())));
        assert_eq!("1:2".parse::<ConversationKey>(), Err(KeyParseError("1:2".into())));
    }
}
