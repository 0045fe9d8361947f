//! An entity: a formatted part of a text, and its stored form.
//!
//! An entity has 24 bytes: data of rare kinds lies behind one pointer. The stored form has the fields of the Bot API,
//! except that `user` is only the id. The caller adds the full user.

use serde::{Deserialize, Serialize};

/// A part of a text with a meaning. `offset` and `length` count UTF-16 units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Entity {
    pub kind: EntityKind,
    pub offset: u32,
    pub length: u32,
    pub extra: Option<Box<EntityExtra>>,
}

/// Additional data of a few kinds of entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntityExtra {
    /// The address of a text link.
    Url(Box<str>),
    /// The user of a text mention.
    User(i64),
    /// The language of a code block.
    Language(Box<str>),
    /// The id of a custom emoji.
    CustomEmojiId(Box<str>),
    /// A date and time. With an empty format the text is shown unchanged.
    DateTime { unix_time: i64, format: Box<str> },
}

/// The kinds of entity that the Bot API names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntityKind {
    Mention,
    Hashtag,
    Cashtag,
    BotCommand,
    Url,
    Email,
    PhoneNumber,
    Bold,
    Italic,
    Underline,
    Strikethrough,
    Spoiler,
    Blockquote,
    ExpandableBlockquote,
    Code,
    Pre,
    TextLink,
    TextMention,
    CustomEmoji,
    DateTime,
}

impl Entity {
    pub fn new(kind: EntityKind, offset: u32, length: u32) -> Self {
        Self { kind, offset, length, extra: None }
    }

    pub fn with(kind: EntityKind, offset: u32, length: u32, extra: EntityExtra) -> Self {
        Self { kind, offset, length, extra: Some(Box::new(extra)) }
    }

    /// The first UTF-16 unit after the entity.
    pub fn end(&self) -> u32 {
        self.offset + self.length
    }

    pub fn url(&self) -> Option<&str> {
        match self.extra.as_deref() {
            Some(EntityExtra::Url(url)) => Some(url),
            _ => None,
        }
    }

    pub fn user(&self) -> Option<i64> {
        match self.extra.as_deref() {
            Some(EntityExtra::User(id)) => Some(*id),
            _ => None,
        }
    }

    pub fn language(&self) -> Option<&str> {
        match self.extra.as_deref() {
            Some(EntityExtra::Language(language)) => Some(language),
            _ => None,
        }
    }

    pub fn custom_emoji_id(&self) -> Option<&str> {
        match self.extra.as_deref() {
            Some(EntityExtra::CustomEmojiId(id)) => Some(id),
            _ => None,
        }
    }

    /// The time and its format.
    pub fn date_time(&self) -> Option<(i64, &str)> {
        match self.extra.as_deref() {
            Some(EntityExtra::DateTime { unix_time, format }) => Some((*unix_time, format)),
            _ => None,
        }
    }
}

impl EntityKind {
    /// The name in `MessageEntity.type`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mention => "mention",
            Self::Hashtag => "hashtag",
            Self::Cashtag => "cashtag",
            Self::BotCommand => "bot_command",
            Self::Url => "url",
            Self::Email => "email",
            Self::PhoneNumber => "phone_number",
            Self::Bold => "bold",
            Self::Italic => "italic",
            Self::Underline => "underline",
            Self::Strikethrough => "strikethrough",
            Self::Spoiler => "spoiler",
            Self::Blockquote => "blockquote",
            Self::ExpandableBlockquote => "expandable_blockquote",
            Self::Code => "code",
            Self::Pre => "pre",
            Self::TextLink => "text_link",
            Self::TextMention => "text_mention",
            Self::CustomEmoji => "custom_emoji",
            Self::DateTime => "date_time",
        }
    }
}

/// The stored form: flat as in the Bot API, without absent fields.
#[derive(Serialize, Deserialize)]
struct Stored {
    #[serde(rename = "type")]
    kind: EntityKind,
    offset: u32,
    length: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    language: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    custom_emoji_id: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unix_time: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    date_time_format: Option<Box<str>>,
}

impl From<Stored> for Entity {
    fn from(stored: Stored) -> Self {
        let extra = None
            .or(stored.url.map(EntityExtra::Url))
            .or(stored.user.map(EntityExtra::User))
            .or(stored.language.map(EntityExtra::Language))
            .or(stored.custom_emoji_id.map(EntityExtra::CustomEmojiId))
            .or(stored.unix_time.map(|unix_time| {
                let format = stored.date_time_format.unwrap_or_default();
                EntityExtra::DateTime { unix_time, format }
            }));
        Self { kind: stored.kind, offset: stored.offset, length: stored.length, extra: extra.map(Box::new) }
    }
}

impl From<Entity> for Stored {
    fn from(entity: Entity) -> Self {
        let mut stored = Self {
            kind: entity.kind,
            offset: entity.offset,
            length: entity.length,
            url: None,
            user: None,
            language: None,
            custom_emoji_id: None,
            unix_time: None,
            date_time_format: None,
        };
        match entity.extra.map(|extra| *extra) {
            Some(EntityExtra::Url(url)) => stored.url = Some(url),
            Some(EntityExtra::User(id)) => stored.user = Some(id),
            Some(EntityExtra::Language(language)) => stored.language = Some(language),
            Some(EntityExtra::CustomEmojiId(id)) => stored.custom_emoji_id = Some(id),
            Some(EntityExtra::DateTime { unix_time, format }) => {
                stored.unix_time = Some(unix_time);
                stored.date_time_format = Some(format).filter(|format| !format.is_empty());
            }
            None => {}
        }
        stored
    }
}
