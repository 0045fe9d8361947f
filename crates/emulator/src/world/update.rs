//! Kinds of updates, and which of them a bot asked for.

use serde::{Deserialize, Serialize};

/// Every kind the emulator can make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpdateKind {
    Message,
    EditedMessage,
    CallbackQuery,
    Poll,
    PollAnswer,
    MyChatMember,
    ChatMember,
    MessageReaction,
}

const DAY_MS: i64 = 24 * 3600 * 1000;
const PRESS_MS: i64 = 150 * 1000;

impl UpdateKind {
    pub const ALL: [Self; 8] = [
        Self::Message,
        Self::EditedMessage,
        Self::CallbackQuery,
        Self::Poll,
        Self::PollAnswer,
        Self::MyChatMember,
        Self::ChatMember,
        Self::MessageReaction,
    ];

    /// The name of its field in an `Update`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::EditedMessage => "edited_message",
            Self::CallbackQuery => "callback_query",
            Self::Poll => "poll",
            Self::PollAnswer => "poll_answer",
            Self::MyChatMember => "my_chat_member",
            Self::ChatMember => "chat_member",
            Self::MessageReaction => "message_reaction",
        }
    }

    /// How long it waits for the bot.
    pub fn life_ms(self) -> i64 {
        if self == Self::CallbackQuery { PRESS_MS } else { DAY_MS }
    }

    /// These two come only when they are named.
    fn by_request(self) -> bool {
        matches!(self, Self::ChatMember | Self::MessageReaction)
    }
}

/// What `allowed_updates` said last. Names of kinds that are not emulated are kept, for they are shown again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllowedUpdates(Vec<String>);

impl AllowedUpdates {
    /// An empty list means the default.
    pub fn new(names: Vec<String>) -> Self {
        Self(names)
    }

    pub fn names(&self) -> &[String] {
        &self.0
    }

    pub fn allows(&self, kind: UpdateKind) -> bool {
        if self.0.is_empty() { !kind.by_request() } else { self.0.iter().any(|name| name == kind.name()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_leaves_out_members_and_reactions() {
        let default = AllowedUpdates::default();
        assert!(default.allows(UpdateKind::Message) && default.allows(UpdateKind::MyChatMember));
        assert!(!default.allows(UpdateKind::ChatMember) && !default.allows(UpdateKind::MessageReaction));
        let named = AllowedUpdates::new(vec!["message_reaction".into()]);
        assert!(named.allows(UpdateKind::MessageReaction) && !named.allows(UpdateKind::Message));
    }
}
