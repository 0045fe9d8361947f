//! The content of a message, and the method that sends it.

use frankenstein::ParseMode;

use super::SayError;
use crate::store::Upload;
use crate::telegram::album::AlbumItem;
use crate::telegram::file::FileRef;
use crate::telegram::params::Params;
use crate::telegram::text::MAX_ALBUM;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Content {
    Text,
    /// The method and the name of its parameter.
    Media(&'static str, &'static str, FileRef),
    Album(Vec<AlbumItem>),
    Location {
        latitude: f64,
        longitude: f64,
    },
    Contact {
        phone: String,
        first_name: String,
    },
}

impl Content {
    pub(super) fn write(
        self,
        params: Params,
        text: &str,
        mode: Option<ParseMode>,
        uploads: &mut Vec<Upload>,
    ) -> Result<(Params, &'static str), SayError> {
        let mode = mode.filter(|_| !text.is_empty());
        let written = match self {
            Self::Text => (params.put("text", text).put_some("parse_mode", mode.as_ref()), "sendMessage"),
            Self::Media(method, parameter, file) => {
                let caption = (!text.is_empty()).then_some(text);
                let params = params.put(parameter, &file.parameter(uploads));
                (params.put_some("caption", caption).put_some("parse_mode", mode.as_ref()), method)
            }
            Self::Album(items) if !(2..=MAX_ALBUM).contains(&items.len()) => return Err(SayError::Album(items.len())),
            Self::Album(items) => {
                let media: Result<Vec<_>, _> = items.into_iter().map(|item| item.parameter(uploads)).collect();
                (params.put("media", &media?), "sendMediaGroup")
            }
            Self::Location { latitude, longitude } => {
                (params.put("latitude", &latitude).put("longitude", &longitude), "sendLocation")
            }
            Self::Contact { phone, first_name } => {
                (params.put("phone_number", &phone).put("first_name", &first_name), "sendContact")
            }
        };
        Ok(written)
    }
}
