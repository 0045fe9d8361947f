//! aiogram's strategies: who shares a state.
//!
//! Here a conversation belongs to a person in a chat and topic. A state of a whole group has no person, so it cannot be
//! imported.

use std::fmt;
use std::str::FromStr;

use super::keys::{DEFAULT_DESTINY, StorageKey};
use crate::key::ConversationKey;

/// `FSMStrategy` of aiogram 3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// `USER_IN_CHAT`: a person in a chat, whatever the topic.
    #[default]
    UserInChat,
    /// `CHAT`: all people in a chat.
    Chat,
    /// `GLOBAL_USER`: a person, whatever the chat.
    GlobalUser,
    /// `USER_IN_TOPIC`: a person in a chat and topic.
    UserInTopic,
    /// `CHAT_TOPIC`: all people in a topic.
    ChatTopic,
}

/// Why a key of aiogram is not a conversation here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnsupportedKey {
    /// It belongs to a whole group.
    #[error("it belongs to a whole group, and a conversation here has one person")]
    Shared,
    /// It has a destiny other than the default one.
    #[error("its destiny is `{0}`, and only `default` becomes a conversation")]
    OtherDestiny(Box<str>),
}

const ALL: [(Strategy, &str); 5] = [
    (Strategy::UserInChat, "user-in-chat"),
    (Strategy::Chat, "chat"),
    (Strategy::GlobalUser, "global-user"),
    (Strategy::UserInTopic, "user-in-topic"),
    (Strategy::ChatTopic, "chat-topic"),
];

impl Strategy {
    /// All strategies.
    pub fn all() -> impl Iterator<Item = Self> {
        ALL.into_iter().map(|(strategy, _)| strategy)
    }

    /// aiogram's key of a conversation.
    #[must_use]
    pub fn storage_key(self, key: &ConversationKey) -> StorageKey {
        let (chat, user, thread) = match self {
            Self::UserInChat => (key.chat, key.user, 0),
            Self::Chat => (key.chat, key.chat, 0),
            Self::GlobalUser => (key.user, key.user, 0),
            Self::UserInTopic => (key.chat, key.user, key.thread),
            Self::ChatTopic => (key.chat, key.chat, key.thread),
        };
        StorageKey { bot: key.bot, chat, user, thread, business: key.business.clone(), destiny: DEFAULT_DESTINY.into() }
    }

    /// The conversation of a key of aiogram. A person's state for all chats becomes that of the private chat.
    pub fn conversation_key(self, key: &StorageKey) -> Result<ConversationKey, UnsupportedKey> {
        if &*key.destiny != DEFAULT_DESTINY {
            return Err(UnsupportedKey::OtherDestiny(key.destiny.clone()));
        }
        // Groups have negative ids; a private chat has the id of its person.
        if matches!(self, Self::Chat | Self::ChatTopic) && key.chat < 0 {
            return Err(UnsupportedKey::Shared);
        }
        let StorageKey { bot, chat, user, thread, ref business, .. } = *key;
        Ok(ConversationKey { bot, chat, user, thread, business: business.clone() })
    }

    /// Whether the topic is a part of the keys.
    pub(super) fn has_topics(self) -> bool {
        matches!(self, Self::UserInTopic | Self::ChatTopic)
    }

    /// Whether aiogram uses such a key with this strategy.
    pub(super) fn is_valid_key(self, chat: i64, user: i64, thread: i64) -> bool {
        match self {
            Self::UserInChat => thread == 0,
            Self::Chat | Self::GlobalUser => thread == 0 && chat == user,
            Self::UserInTopic => true,
            Self::ChatTopic => chat == user,
        }
    }
}

/// `user-in-chat` and so on.
impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = ALL.iter().find(|(strategy, _)| strategy == self).map_or("", |(_, name)| name);
        f.pad(name)
    }
}

/// A text is not the name of a strategy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown strategy `{0}`: expected user-in-chat, chat, global-user, user-in-topic or chat-topic")]
pub struct StrategyParseError(pub String);

/// Accepts also aiogram's spelling, `USER_IN_CHAT`.
impl FromStr for Strategy {
    type Err = StrategyParseError;

    fn from_str(text: &str) -> Result<Self, StrategyParseError> {
        let name = text.to_ascii_lowercase().replace('_', "-");
        let found = ALL.iter().find(|(_, known)| *known == name);
        found.map(|(strategy, _)| *strategy).ok_or_else(|| StrategyParseError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_strategy_uses_its_parts_of_the_key() {
        let key = ConversationKey { bot: 1, chat: -100, user: 5, thread: 9, business: "b".into() };
        for (strategy, parts) in
            Strategy::all().zip([(-100, 5, 0), (-100, -100, 0), (5, 5, 0), (-100, 5, 9), (-100, -100, 9)])
        {
            let made = strategy.storage_key(&key);
            assert_eq!((made.chat, made.user, made.thread), parts, "{strategy}");
            assert!(strategy.is_valid_key(made.chat, made.user, made.thread));
            assert_eq!((made.bot, &*made.business, &*made.destiny), (1, "b", "default"));
        }
    }

    #[test]
    fn private_chats_convert_back_and_groups_only_per_person() {
        let private = ConversationKey::private(1, 5);
        let group = ConversationKey { chat: -100, ..private.clone() };
        for strategy in Strategy::all() {
            assert_eq!(strategy.conversation_key(&strategy.storage_key(&private)), Ok(private.clone()), "{strategy}");
            let back = strategy.conversation_key(&strategy.storage_key(&group));
            match strategy {
                Strategy::Chat | Strategy::ChatTopic => assert_eq!(back, Err(UnsupportedKey::Shared)),
                Strategy::GlobalUser => assert_eq!(back, Ok(private.clone())),
                Strategy::UserInChat | Strategy::UserInTopic => assert_eq!(back, Ok(group.clone())),
            }
        }
        let other = StorageKey { destiny: "menu".into(), ..Strategy::Chat.storage_key(&private) };
        assert_eq!(Strategy::Chat.conversation_key(&other), Err(UnsupportedKey::OtherDestiny("menu".into())));
    }

    #[test]
    fn a_strategy_is_parsed_from_its_name() {
        for strategy in Strategy::all() {
            assert_eq!(strategy.to_string().parse(), Ok(strategy));
            assert_eq!(strategy.to_string().to_uppercase().replace('-', "_").parse(), Ok(strategy));
        }
        assert!("user".parse::<Strategy>().is_err());
    }
}
