//! Files that people send: in JSON as base64, or as parts of a multipart body.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Deserialize;

use super::Refusal;
use crate::bot_api::call::Upload;

#[derive(Deserialize)]
pub(super) struct FileIn {
    #[serde(default)]
    name: String,
    base64: String,
    mime_type: Option<String>,
}

impl FileIn {
    pub(super) fn upload(self, field: &str) -> Result<Upload, Refusal> {
        let bytes = STANDARD.decode(self.base64.as_bytes());
        let bytes: Bytes = bytes.map_err(|error| Refusal::bad(format!("{field}.base64: {error}")))?.into();
        if bytes.is_empty() {
            return Err(Refusal::bad(format!("{field} is empty")));
        }
        Ok(Upload { field: field.to_owned(), name: self.name, mime_type: self.mime_type, bytes })
    }
}
