//! Kinds of updates, and which of them a bot wants.

use serde::{Deserialize, Serialize};

/// The kinds that the emulator can make.
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

const DEFAULT_TTL_MS: i64 = 24 * 3600 * 1000;
const CALLBACK_QUERY_TTL_MS: i64 = 150 * 1000;

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

    /// The name of the field in an `Update`.
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

    /// How long an update waits for the bot.
    pub fn ttl_ms(self) -> i64 {
        if self == Self::CallbackQuery { CALLBACK_QUERY_TTL_MS } else { DEFAULT_TTL_MS }
    }

    /// Whether a bot gets this kind only if `allowed_updates` names it.
    fn is_opt_in(self) -> bool {
        matches!(self, Self::ChatMember | Self::MessageReaction)
    }
}

/// The last `allowed_updates`. Names of kinds that are not emulated are kept, because they are returned again.
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
        if self.0.is_empty() { !kind.is_opt_in() } else { self.0.iter().any(|name| name == kind.name()) }
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
