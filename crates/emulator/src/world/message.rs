//! A stored message: small, with references by id.
//!
//! Two million of these fit into a gigabyte, so rare data lies behind one pointer. [`super::render`] makes the JSON.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::content::Content;
use super::keyboard::Markup;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Message {
    pub id: i32,
    pub from: i64,
    pub date: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit_date: Option<i64>,
    /// The revision of the chat when the message was posted, and when it was last changed.
    pub said_at: u32,
    pub changed_at: u32,
    pub content: Content,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub markup: Option<Box<Markup>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Box<Extra>>,
}

/// Data that few messages have.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Extra {
    pub thread: Option<i32>,
    pub reply_to: Option<i32>,
    pub quote: Option<Quote>,
    pub forwarded: Option<Origin>,
    pub media_group: Option<Box<str>>,
    pub protected: bool,
    pub effect_id: Option<Box<str>>,
    /// One entry for each user who reacted.
    pub reactions: Vec<Reaction>,
    pub link_preview: Option<Box<RawValue>>,
}

/// The origin of a forwarded message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Origin {
    pub user: i64,
    pub date: i64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Quote {
    pub text: Box<str>,
    pub position: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reaction {
    pub user: i64,
    /// An array of `ReactionType`.
    pub kinds: Box<RawValue>,
}

impl Message {
    pub fn thread(&self) -> Option<i32> {
        self.extra.as_ref()?.thread
    }

    pub fn extra_mut(&mut self) -> &mut Extra {
        self.extra.get_or_insert_default()
    }
}
