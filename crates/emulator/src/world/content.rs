//! The content of a message: a text, a file with a caption, a location, a poll, a service message and so on.

use serde::{Deserialize, Serialize};

use super::file::FileNo;
use crate::text::{Entity, Formatted};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Content {
    Text(TextWithEntities),
    Media(Box<Media>),
    Location(Box<Location>),
    Venue(Box<Venue>),
    Contact(Box<Contact>),
    Dice(Box<Dice>),
    Poll(Box<Poll>),
    Service(Box<Service>),
}

/// A parsed text with its entities, in a compact form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextWithEntities {
    pub text: Box<str>,
    #[serde(default, skip_serializing_if = "<[Entity]>::is_empty")]
    pub entities: Box<[Entity]>,
}

impl From<Formatted> for TextWithEntities {
    fn from(formatted: Formatted) -> Self {
        Self { text: formatted.text.into(), entities: formatted.entities.into() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaKind {
    Photo,
    Document,
    Video,
    Audio,
    Voice,
    Animation,
    VideoNote,
}

impl MediaKind {
    /// The name of the field in a `Message`, which is also the name of the parameter for an upload.
    pub fn name(self) -> &'static str {
        match self {
            Self::Photo => "photo",
            Self::Document => "document",
            Self::Video => "video",
            Self::Audio => "audio",
            Self::Voice => "voice",
            Self::Animation => "animation",
            Self::VideoNote => "video_note",
        }
    }
}

/// A file with a caption. A photo has several sizes, smallest first; everything else one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Media {
    pub kind: MediaKind,
    pub files: Box<[FileNo]>,
    pub caption: TextWithEntities,
    pub caption_above: bool,
    pub spoiler: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Location {
    pub latitude: f64,
    pub longitude: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub horizontal_accuracy: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_period: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heading: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proximity_alert_radius: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Venue {
    pub location: Location,
    pub title: String,
    pub address: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foursquare_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foursquare_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub google_place_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub google_place_type: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contact {
    pub phone_number: String,
    pub first_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vcard: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dice {
    pub emoji: String,
    pub value: u8,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Poll {
    pub id: String,
    pub question: TextWithEntities,
    pub options: Vec<PollOption>,
    pub closed: bool,
    pub anonymous: bool,
    pub quiz: bool,
    pub several_answers: bool,
    pub revoting: bool,
    pub members_only: bool,
    pub correct: Vec<usize>,
    pub explanation: Option<TextWithEntities>,
    pub description: Option<TextWithEntities>,
    pub open_period: Option<u32>,
    pub close_date: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PollOption {
    pub id: String,
    pub text: TextWithEntities,
    pub voters: Vec<i64>,
}

/// A service message of Telegram in a chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Service {
    GroupCreated { supergroup: bool },
    Joined(Vec<i64>),
    Left(i64),
    TopicCreated { name: String, icon_color: u32 },
    Pinned(i32),
    MigratedTo(i64),
    MigratedFrom(i64),
}

impl Poll {
    /// Whether the poll was stopped or its time is over.
    pub fn is_closed(&self, now: i64) -> bool {
        self.closed || self.close_date.is_some_and(|date| date <= now)
    }

    /// A new poll with the same questions: without votes, and with the full time to vote.
    pub fn asked_again(self, now: i64) -> Self {
        let options = self.options.into_iter().map(|option| PollOption { voters: Vec::new(), ..option }).collect();
        Self { id: Self::new_id(), options, closed: false, close_date: closing(self.open_period, now), ..self }
    }

    pub fn new_id() -> String {
        fastrand::u64(1 << 60..1 << 62).to_string()
    }
}

/// When a poll closes that is open for `open_period` seconds.
pub fn closing(open_period: Option<u32>, now: i64) -> Option<i64> {
    open_period.map(|seconds| now + i64::from(seconds))
}

impl Content {
    /// The text or the caption.
    pub fn text(&self) -> Option<&TextWithEntities> {
        match self {
            Self::Text(text) => Some(text),
            Self::Media(media) => Some(&media.caption),
            _ => None,
        }
    }
}
