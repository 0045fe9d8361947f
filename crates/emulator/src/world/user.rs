//! People, and the bot itself, as the Bot API shows them.

use serde::{Deserialize, Serialize};

/// A user as Telegram describes it. Private chats have the id of their user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    pub id: i64,
    pub is_bot: bool,
    pub first_name: Box<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_name: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language_code: Option<Box<str>>,
}

/// What `getMe` adds to the bot's own user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Abilities {
    pub can_join_groups: bool,
    /// True by default: privacy mode is off, so that all messages of a test in a group reach the bot.
    pub can_read_all_group_messages: bool,
    pub supports_guest_queries: bool,
    pub supports_inline_queries: bool,
    pub can_connect_to_business: bool,
    pub has_main_web_app: bool,
    pub has_topics_enabled: bool,
    pub allows_users_to_create_topics: bool,
    pub can_manage_bots: bool,
    pub supports_join_request_queries: bool,
}

impl Default for Abilities {
    fn default() -> Self {
        Self {
            can_join_groups: true,
            can_read_all_group_messages: true,
            supports_guest_queries: false,
            supports_inline_queries: false,
            can_connect_to_business: false,
            has_main_web_app: false,
            has_topics_enabled: false,
            allows_users_to_create_topics: false,
            can_manage_bots: false,
            supports_join_request_queries: false,
        }
    }
}

impl User {
    /// A bot that has no name yet.
    pub fn unnamed_bot(id: i64) -> Self {
        Self {
            id,
            is_bot: true,
            first_name: format!("Bot {id}").into(),
            last_name: None,
            username: Some(format!("emulated_{id}_bot").into()),
            language_code: None,
        }
    }
}
