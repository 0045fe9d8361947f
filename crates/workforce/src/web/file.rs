//! A kept file as an answer: its type is the one that was found in it, and no browser guesses another.
//!
//! It is kept by no browser and no proxy. What browsers do not show is saved, and never opened as a page.

use std::ops::Range;

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::oops::Oops;
use crate::application::App;
use crate::files::MediaType;

/// Whether a path is that of a picture or film within a page.
pub fn is_path(path: &str) -> bool {
    path.contains("/media/") || path.ends_with("/photo")
}

/// The file of this name. With the headers of whoever asks, a part of it if they want one: players do.
pub async fn file(app: &App, name: String, media_type: MediaType, asked: Option<&HeaderMap>) -> Result<Response, Oops> {
    let read = app.files.read(name).await.map_err(anyhow::Error::from)?;
    let bytes = read.ok_or(Oops::NotFound)?;
    let disposition = if media_type.is_image() || media_type.is_video() { "inline" } else { "attachment" };
    let headers = [
        (header::CONTENT_TYPE, media_type.name()),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_DISPOSITION, disposition),
        (header::ACCEPT_RANGES, "bytes"),
    ];
    let wanted = asked.and_then(|headers| headers.get(header::RANGE)?.to_str().ok());
    match wanted.and_then(|wanted| part(wanted, bytes.len())) {
        Some(range) => {
            let told = format!("bytes {}-{}/{}", range.start, range.end - 1, bytes.len());
            let bytes = bytes[range].to_vec();
            Ok((StatusCode::PARTIAL_CONTENT, headers, [(header::CONTENT_RANGE, told)], bytes).into_response())
        }
        None => Ok((headers, bytes).into_response()),
    }
}

/// One range that lies within; for everything else the whole is a good answer.
fn part(wanted: &str, length: usize) -> Option<Range<usize>> {
    let (from, to) = wanted.strip_prefix("bytes=")?.split_once('-')?;
    let range = match (from, to) {
        ("", last) => length.checked_sub(last.parse().ok()?)?..length,
        (from, "") => from.parse().ok()?..length,
        (from, to) => from.parse().ok()?..to.parse::<usize>().ok()?.checked_add(1)?.min(length),
    };
    (range.start < range.end && range.end <= length).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

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
