//! The multipart form of a call with files. Files are streamed, never loaded into memory.

use std::collections::BTreeMap;

use reqwest::Body;
use reqwest::multipart::{Form, Part};
use serde_json::value::RawValue;
use tokio::fs::File;

use super::error::{ApiError, RefusalKind};
use crate::store::Upload;

/// A form of the parameters and the files.
pub(super) async fn build(body: &str, uploads: &[Upload]) -> Result<Form, ApiError> {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(body)
        .map_err(|error| refused(format!("the parameters are not a JSON object: {error}"), RefusalKind::Other))?;
    let mut form = Form::new();
    for (name, value) in fields {
        // A string is sent without quotes, anything else as JSON.
        let text = serde_json::from_str::<String>(value.get()).unwrap_or_else(|_| value.get().to_owned());
        form = form.text(name, text);
    }
    for upload in uploads {
        let part = part(upload).await.map_err(|error| {
            refused(format!("the file {} cannot be read: {error}", upload.file_name), RefusalKind::FileUnreadable)
        })?;
        form = form.part(upload.name.to_string(), part);
    }
    Ok(form)
}

async fn part(upload: &Upload) -> std::io::Result<Part> {
    let file = File::open(&upload.path).await?;
    let length = file.metadata().await?.len();
    Ok(Part::stream_with_length(Body::from(file), length).file_name(upload.file_name.to_string()))
}

fn refused(description: String, kind: RefusalKind) -> ApiError {
    ApiError::Refused { code: 0, description: description.into(), kind }
}
