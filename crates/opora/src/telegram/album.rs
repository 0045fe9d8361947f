//! Media that are sent as one album.

use frankenstein::ParseMode;
use serde::Serialize;

use super::file::FileRef;
use super::say::{SayError, check_length};
use super::text::MAX_CAPTION_UNITS;
use crate::store::Upload;

/// An item of an album.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct AlbumItem {
    kind: &'static str,
    file: FileRef,
    caption: Option<String>,
    mode: Option<ParseMode>,
}

impl AlbumItem {
    /// A photo.
    pub fn photo(file: FileRef) -> Self {
        Self { kind: "photo", file, caption: None, mode: None }
    }

    /// A video.
    pub fn video(file: FileRef) -> Self {
        Self { kind: "video", ..Self::photo(file) }
    }

    /// Any file. An album of files has only files.
    pub fn document(file: FileRef) -> Self {
        Self { kind: "document", ..Self::photo(file) }
    }

    /// Music. An album of music has only music.
    pub fn audio(file: FileRef) -> Self {
        Self { kind: "audio", ..Self::photo(file) }
    }

    /// Sets the caption.
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = Some(caption.into());
        self
    }

    /// The caption is Telegram's HTML.
    pub fn html(mut self) -> Self {
        self.mode = Some(ParseMode::Html);
        self
    }

    pub(super) fn parameter(self, uploads: &mut Vec<Upload>) -> Result<AlbumParameter, SayError> {
        let Self { kind, file, caption, mode } = self;
        check_length(caption.as_deref().unwrap_or_default(), mode, MAX_CAPTION_UNITS)?;
        Ok(AlbumParameter { kind, media: file.parameter(uploads), caption, parse_mode: mode })
    }
}

/// An item as Telegram's parameters have it.
#[derive(Serialize)]
pub(super) struct AlbumParameter {
    #[serde(rename = "type")]
    kind: &'static str,
    media: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    caption: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parse_mode: Option<ParseMode>,
}
