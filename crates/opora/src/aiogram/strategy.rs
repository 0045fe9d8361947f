//! Who shares a state: aiogram's five strategies, and what each means for a conversation here.
//!
//! Here a conversation is always a person in a chat and topic. A state that belongs to a whole group has no person and
//! so becomes nobody's.

use std::fmt;
use std::str::FromStr;

use super::keys::{DEFAULT_DESTINY, StorageKey};
use crate::key::DialogueKey;

/// `FSMStrategy` of aiogram 3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// `USER_IN_CHAT`: a person in a chat, whatever the topic.
    #[default]
    UserInChat,
    /// `CHAT`: everybody in a chat.
    Chat,
    /// `GLOBAL_USER`: a person, whatever the chat.
    GlobalUser,
    /// `USER_IN_TOPIC`: a person in a chat and topic.
    UserInTopic,
    /// `CHAT_TOPIC`: everybody in a topic.
    ChatTopic,
}

/// Why a state of aiogram's is no conversation here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoConversation {
    /// It belongs to everybody in a group.
    #[error("it belongs to a whole group, and a conversation here has one person")]
    Shared,
    /// It is one of several beside one another.
    #[error("its destiny is `{0}`, and only that of `default` becomes a conversation")]
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
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        ALL.into_iter().map(|(strategy, _)| strategy)
    }

    /// The key under which aiogram keeps the state of a conversation.
    #[must_use]
    pub fn storage_key(self, key: &DialogueKey) -> StorageKey {
        let (chat, user, thread) = match self {
            Self::UserInChat => (key.chat, key.user, 0),
            Self::Chat => (key.chat, key.chat, 0),
            Self::GlobalUser => (key.user, key.user, 0),
            Self::UserInTopic => (key.chat, key.user, key.thread),
            Self::ChatTopic => (key.chat, key.chat, key.thread),
        };
        StorageKey { bot: key.bot, chat, user, thread, business: key.business.clone(), destiny: DEFAULT_DESTINY.into() }
    }

    /// The conversation that a state of aiogram's becomes. A person's own state for all chats goes to the private one.
    pub fn dialogue_key(self, key: &StorageKey) -> Result<DialogueKey, NoConversation> {
        if &*key.destiny != DEFAULT_DESTINY {
            return Err(NoConversation::OtherDestiny(key.destiny.clone()));
        }
        // Groups have negative ids; a private chat has the id of its person.
        if matches!(self, Self::Chat | Self::ChatTopic) && key.chat < 0 {
            return Err(NoConversation::Shared);
        }
        let StorageKey { bot, chat, user, thread, ref business, .. } = *key;
        Ok(DialogueKey { bot, chat, user, thread, business: business.clone() })
    }

    /// Whether topics are parts of its keys.
    pub(super) fn has_topics(self) -> bool {
        matches!(self, Self::UserInTopic | Self::ChatTopic)
    }

    /// Whether aiogram makes such keys under this strategy.
    pub(super) fn makes(self, chat: i64, user: i64, thread: i64) -> bool {
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

/// Why a text names no strategy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no strategy: user-in-chat, chat, global-user, user-in-topic or chat-topic was expected")]
pub struct NotAStrategy(pub String);

/// Also aiogram's own spelling, `USER_IN_CHAT`.
impl FromStr for Strategy {
    type Err = NotAStrategy;

    fn from_str(text: &str) -> Result<Self, NotAStrategy> {
        let small = text.to_ascii_lowercase().replace('_', "-");
        let found = ALL.iter().find(|(_, name)| *name == small);
        found.map(|(strategy, _)| *strategy).ok_or_else(|| NotAStrategy(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_strategy_takes_its_parts_of_a_conversation() {
        let key = DialogueKey { bot: 1, chat: -100, user: 5, thread: 9, business: "b".into() };
        for (strategy, parts) in
            Strategy::all().zip([(-100, 5, 0), (-100, -100, 0), (5, 5, 0), (-100, 5, 9), (-100, -100, 9)])
        {
            let made = strategy.storage_key(&key);
            assert_eq!((made.chat, made.user, made.thread), parts, "{strategy}");
            assert!(strategy.makes(made.chat, made.user, made.thread));
            assert_eq!((made.bot, &*made.business, &*made.destiny), (1, "b", "default"));
        }
    }

    #[test]
    fn a_private_chat_comes_back_under_every_strategy_and_a_group_only_with_its_people() {
        let private = DialogueKey::private(1, 5);
        let group = DialogueKey { chat: -100, ..private.clone() };
        for strategy in Strategy::all() {
            assert_eq!(strategy.dialogue_key(&strategy.storage_key(&private)), Ok(private.clone()), "{strategy}");
            let back = strategy.dialogue_key(&strategy.storage_key(&group));
            match strategy {
                Strategy::Chat | Strategy::ChatTopic => assert_eq!(back, Err(NoConversation::Shared)),
                Strategy::GlobalUser => assert_eq!(back, Ok(private.clone())),
                Strategy::UserInChat | Strategy::UserInTopic => assert_eq!(back, Ok(group.clone())),
            }
        }
        let other = StorageKey { destiny: "menu".into(), ..Strategy::Chat.storage_key(&private) };
        assert_eq!(Strategy::Chat.dialogue_key(&other), Err(NoConversation::OtherDestiny("menu".into())));
    }

    #[test]
    fn a_strategy_reads_back_from_its_name() {
        for strategy in Strategy::all() {
            assert_eq!(strategy.to_string().parse(), Ok(strategy));
            assert_eq!(strategy.to_string().to_uppercase().replace('-', "_").parse(), Ok(strategy));
        }
        assert!("user".parse::<Strategy>().is_err());
    }
}
