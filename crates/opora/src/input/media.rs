//! Photos, files, contacts and positions, as far as a dialogue needs them.

use crate::clock::Millis;

/// A photo in its largest size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Photo {
    /// What it is downloaded and sent again by.
    pub file_id: String,
    /// The same for the same photo in every bot; cannot be downloaded by.
    pub unique_id: String,
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// Bytes, where Telegram says so.
    pub size: Option<u64>,
    /// The text under it.
    pub caption: Option<String>,
}

/// A file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// What it is downloaded and sent again by.
    pub file_id: String,
    /// The same for the same file in every bot; cannot be downloaded by.
    pub unique_id: String,
    /// The name that the sender's machine gave it; trust it with nothing.
    pub file_name: Option<String>,
    /// The type that the sender's machine gave it; trust it with nothing.
    pub mime_type: Option<String>,
    /// Bytes, where Telegram says so.
    pub size: Option<u64>,
    /// The text under it.
    pub caption: Option<String>,
}

/// A picture: a photo, or a file that its sender calls an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Image {
    /// Sent as a photo.
    Photo(Photo),
    /// Sent as a file.
    Document(Document),
}

/// A video, an audio, a voice message, a video message, an animation or a sticker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Media {
    /// Telegram's name of its kind: `video`, `audio`, `voice`, `video_note`, `animation`, `sticker`.
    pub kind: &'static str,
    /// What it is downloaded and sent again by.
    pub file_id: String,
    /// The same for the same file in every bot; cannot be downloaded by.
    pub unique_id: String,
    /// How long it plays.
    pub duration_s: Option<u32>,
    /// The type that the sender's machine gave it; trust it with nothing.
    pub mime_type: Option<String>,
    /// Bytes, where Telegram says so.
    pub size: Option<u64>,
    /// The text under it.
    pub caption: Option<String>,
}

/// A contact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contact {
    /// The number as Telegram has it.
    pub phone: String,
    /// It is the sender's own: Telegram vouches for the number.
    pub own: bool,
    /// The first name.
    pub first_name: String,
    /// The last name.
    pub last_name: Option<String>,
    /// The person in Telegram.
    pub user_id: Option<i64>,
}

/// A position.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Location {
    /// Degrees north.
    pub latitude: f64,
    /// Degrees east.
    pub longitude: f64,
    /// How far off it may be, where Telegram says so.
    pub accuracy_m: Option<f64>,
    /// The sender shared it as a position: it was not forwarded, is no venue from a list, and came by no other bot.
    pub own: bool,
    /// For how long it is live, if it is; how it moves on comes as edits of its message, which are not heard as
    /// positions.
    pub live_s: Option<u32>,
    /// When it was sent.
    pub sent_at: Millis,
}

/// Several photos, videos or files sent together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Album {
    /// Telegram's id of the group.
    pub id: String,
    /// What it holds, in the order of sending.
    pub items: Vec<Item>,
    /// These came after the rest of their album had been heard.
    pub late: bool,
}

/// One thing of an album.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A photo.
    Photo(Photo),
    /// A file.
    Document(Document),
    /// A video or an audio.
    Media(Media),
}

impl Image {
    /// What it is downloaded and sent again by.
    #[must_use]
    pub fn file_id(&self) -> &str {
        match self {
            Self::Photo(photo) => &photo.file_id,
            Self::Document(document) => &document.file_id,
        }
    }

    /// Bytes, where Telegram says so.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        match self {
            Self::Photo(photo) => photo.size,
            Self::Document(document) => document.size,
        }
    }
}

impl Item {
    /// What it is downloaded and sent again by.
    #[must_use]
    pub fn file_id(&self) -> &str {
        match self {
            Self::Photo(photo) => &photo.file_id,
            Self::Document(document) => &document.file_id,
            Self::Media(media) => &media.file_id,
        }
    }
}
