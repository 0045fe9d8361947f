//! A kept file as an answer: its type is the one that was found in it, and no browser guesses another.
//!
//! It is kept by no browser and no proxy. What browsers do not show is saved, and never opened as a page.

use std::ops::Range;

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::oops::Oops;
use crate::application::App;
use crate::files::MediaType;

/// A file to be shown.
#[derive(Clone, Debug)]
pub struct ShownFile {
    pub name: String,
    pub media_type: MediaType,
    /// As its row says.
    pub size_bytes: i64,
}

/// Whether a path is that of a picture or film within a page.
pub fn is_path(path: &str) -> bool {
    let is_document = path.starts_with("/documents/") && path.ends_with("/file");
    is_document || path.contains("/media/") || path.ends_with("/photo")
}

/// This file. With the headers of whoever asks, a part of it if they want one: players do, again and again.
pub async fn file(app: &App, shown: ShownFile, asked: Option<&HeaderMap>) -> Result<Response, Oops> {
    let ShownFile { name, media_type, size_bytes } = shown;
    let disposition = if media_type.is_image() || media_type.is_video() { "inline" } else { "attachment" };
    let headers = [
        (header::CONTENT_TYPE, media_type.name()),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_DISPOSITION, disposition),
        (header::ACCEPT_RANGES, "bytes"),
    ];
    let wanted = asked.and_then(|headers| headers.get(header::RANGE)?.to_str().ok());
    let length = u64::try_from(size_bytes).unwrap_or_default();
    let Some(range) = wanted.and_then(|wanted| part(wanted, length)) else {
        let read = app.files.read(name).await.map_err(anyhow::Error::from)?;
        return Ok((headers, read.ok_or(Oops::NotFound)?).into_response());
    };
    let read = app.files.read_part(name, range.clone()).await.map_err(anyhow::Error::from)?;
    let bytes = read.ok_or(Oops::NotFound)?;
    if bytes.len() as u64 != range.end - range.start {
        return Err(anyhow::anyhow!("a file is shorter than its row says").into());
    }
    let told = format!("bytes {}-{}/{length}", range.start, range.end - 1);
    Ok((StatusCode::PARTIAL_CONTENT, headers, [(header::CONTENT_RANGE, told)], bytes).into_response())
}

/// One range that lies within; for everything else the whole is a good answer.
fn part(wanted: &str, length: u64) -> Option<Range<u64>> {
    let (from, to) = wanted.strip_prefix("bytes=")?.split_once('-')?;
    let range = match (from, to) {
        ("", last) => length.checked_sub(last.parse().ok()?)?..length,
        (from, "") => from.parse().ok()?..length,
        (from, to) => from.parse().ok()?..to.parse::<u64>().ok()?.checked_add(1)?.min(length),
    };
    (range.start < range.end && range.end <= length).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_of_documents_count_as_pictures_and_their_pages_as_pages() {
        for picture in ["/documents/ab/file", "/shifts/1/media/2", "/cancellations/3/photo"] {
            assert!(is_path(picture), "{picture}");
        }
        for page in ["/documents/ab", "/registrations", "/people/1/file"] {
            assert!(!is_path(page), "{page}");
        }
    }

    #[test]
    fn a_part_lies_within_the_whole() {
        for (wanted, meant) in [
            ("bytes=0-1", Some(0..2)),
            ("bytes=2-", Some(2..10)),
            ("bytes=-3", Some(7..10)),
            ("bytes=5-99", Some(5..10)),
            ("bytes=10-", None),
            ("bytes=-11", None),
            ("bytes=4-3", None),
            ("bytes=0-1,4-5", None),
            ("bytes=0-18446744073709551615", None),
            ("pages=0-1", None),
        ] {
            assert_eq!(part(wanted, 10), meant, "{wanted}");
        }
    }
}
