//! What a bot has set for itself: commands, names, descriptions, menu button, webhook.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Profile {
    /// By [`Scope::key`], which contains the language.
    pub commands: BTreeMap<String, Vec<BotCommand>>,
    /// By language; the empty one is the default.
    pub names: BTreeMap<String, String>,
    pub descriptions: BTreeMap<String, String>,
    pub short_descriptions: BTreeMap<String, String>,
    /// By chat; 0 is the default.
    pub menu_buttons: BTreeMap<i64, Box<RawValue>>,
    pub webhook: Option<Webhook>,
    pub logged_out_until: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BotCommand {
    pub command: String,
    pub description: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Webhook {
    pub url: String,
    pub secret_token: Option<String>,
    pub max_connections: u32,
    pub ip_address: Option<String>,
    pub has_custom_certificate: bool,
    pub last_error: Option<(i64, String)>,
}

/// The scope of a list of commands.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Scope {
    #[default]
    Default,
    AllPrivateChats,
    AllGroupChats,
    AllChatAdministrators,
    Chat {
        chat_id: i64,
    },
    ChatAdministrators {
        chat_id: i64,
    },
    ChatMember {
        chat_id: i64,
        user_id: i64,
    },
}

impl Scope {
    pub fn key(&self, language: &str) -> String {
        match self {
            Self::Default => format!("default/{language}"),
            Self::AllPrivateChats => format!("private/{language}"),
            Self::AllGroupChats => format!("groups/{language}"),
            Self::AllChatAdministrators => format!("administrators/{language}"),
            Self::Chat { chat_id } => format!("chat/{chat_id}/{language}"),
            Self::ChatAdministrators { chat_id } => format!("administrators/{chat_id}/{language}"),
            Self::ChatMember { chat_id, user_id } => format!("member/{chat_id}/{user_id}/{language}"),
        }
    }
}

/// The text for a language, or the default one.
pub fn in_language<'a>(texts: &'a BTreeMap<String, String>, language: &str) -> Option<&'a str> {
    texts.get(language).or_else(|| texts.get("")).map(String::as_str)
}
