//! Photos, files, contacts and positions, with the fields that a dialogue needs.

use crate::clock::Millis;

/// A photo in its largest size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Photo {
    /// The id for downloading it and sending it again.
    pub file_id: String,
    /// Identifies the photo for every bot. Not usable for downloads.
    pub unique_id: String,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Size in bytes, if Telegram tells it.
    pub size: Option<u64>,
    /// Its caption.
    pub caption: Option<String>,
}

/// A file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// The id for downloading it and sending it again.
    pub file_id: String,
    /// Identifies the file for every bot. Not usable for downloads.
    pub unique_id: String,
    /// The file name from the sender's device. Do not trust it.
    pub file_name: Option<String>,
    /// The MIME type from the sender's device. Do not trust it.
    pub mime_type: Option<String>,
    /// Size in bytes, if Telegram tells it.
    pub size: Option<u64>,
    /// Its caption.
    pub caption: Option<String>,
}

/// A picture: a photo, or a file whose MIME type is an image.
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
    /// The id for downloading it and sending it again.
    pub file_id: String,
    /// Identifies the file for every bot. Not usable for downloads.
    pub unique_id: String,
    /// Duration in seconds.
    pub duration_s: Option<u32>,
    /// The MIME type from the sender's device. Do not trust it.
    pub mime_type: Option<String>,
    /// Size in bytes, if Telegram tells it.
    pub size: Option<u64>,
    /// Its caption.
    pub caption: Option<String>,
}

/// A contact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contact {
    /// The phone number.
    pub phone: String,
    /// Whether it is the sender's own contact, as Telegram confirms.
    pub own: bool,
    /// The first name.
    pub first_name: String,
    /// The last name.
    pub last_name: Option<String>,
    /// The person's id in Telegram.
    pub user_id: Option<i64>,
}

/// A position.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Location {
    /// Degrees north.
    pub latitude: f64,
    /// Degrees east.
    pub longitude: f64,
    /// Accuracy in metres, if Telegram tells it.
    pub accuracy_m: Option<f64>,
    /// Whether the sender shared it as a position: not forwarded, not a venue, not sent through another bot.
    pub own: bool,
    /// For how long it is live, if it is. Later positions come as edits of the message and are not this input.
    pub live_s: Option<u32>,
    /// When it was sent.
    pub sent_at: Millis,
}

/// Several photos, videos or files sent together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Album {
    /// Telegram's id of the group.
    pub id: String,
    /// Its items, in the order of sending.
    pub items: Vec<Item>,
    /// Whether these items came after the rest of their album was handled.
    pub late: bool,
}

/// One item of an album.
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
    /// The id for downloading it and sending it again.
    #[must_use]
    pub fn file_id(&self) -> &str {
        match self {
            Self::Photo(photo) => &photo.file_id,
            Self::Document(document) => &document.file_id,
        }
    }

    /// Size in bytes, if Telegram tells it.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        match self {
            Self::Photo(photo) => photo.size,
            Self::Document(document) => document.size,
        }
    }
}

impl Item {
    /// The id for downloading it and sending it again.
    #[must_use]
    pub fn file_id(&self) -> &str {
        match self {
            Self::Photo(photo) => &photo.file_id,
            Self::Document(document) => &document.file_id,
            Self::Media(media) => &media.file_id,
        }
    }
}
