//! A kept file as an answer: its type is the one that was found in it, and no browser guesses another.
//!
//! It is kept by no browser and no proxy. What browsers do not show is saved, and never opened as a page. It is sent piece by
//! piece as it is read, so a client that reads nothing costs no more memory than a piece, and only so many
//! ([`Downloads`]) go to one person at once.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use futures_util::TryStreamExt;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::guards::Visitor;
use super::oops::Oops;
use crate::files::MediaType;

/// As many as a browser asks for at once by HTTP/1.1.
const FILES_AT_ONCE: usize = 6;
/// A proxy that speaks HTTP/2 with browsers asks for all pictures of a page at once: those wait for their turn.
const FILES_WAITING: usize = 64;
const LONGEST_WAIT: Duration = Duration::from_secs(20);
/// Whoever was refused may ask again when files that are not read have been cut.
const RETRY_AFTER_S: u64 = 30;

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

/// The files that are on their way to people.
#[derive(Debug)]
pub struct Downloads {
    /// Whoever was sent a file: as many as there are people.
    people: Mutex<HashMap<i64, Arc<Places>>>,
    patience: Duration,
}

/// The files of one person.
#[derive(Debug)]
struct Places {
    at_once: Arc<Semaphore>,
    waiting: Semaphore,
}

impl Default for Downloads {
    fn default() -> Self {
        Self { people: Mutex::default(), patience: LONGEST_WAIT }
    }
}

impl Downloads {
    /// A place for one more file; it is free again when the permit is dropped.
    async fn take(&self, person_id: i64) -> Result<OwnedSemaphorePermit, Oops> {
        const TOO_MANY: Oops = Oops::TooMany { retry_after_s: RETRY_AFTER_S };
        let places = Arc::clone(self.people.lock().entry(person_id).or_insert_with(|| {
            let at_once = Arc::new(Semaphore::new(FILES_AT_ONCE));
            Arc::new(Places { at_once, waiting: Semaphore::new(FILES_WAITING) })
        }));
        if let Ok(permit) = Arc::clone(&places.at_once).try_acquire_owned() {
            return Ok(permit);
        }
        let _waiting = places.waiting.try_acquire().map_err(|_| TOO_MANY)?;
        let permit = timeout(self.patience, Arc::clone(&places.at_once).acquire_owned()).await;
        permit.ok().and_then(Result::ok).ok_or(TOO_MANY)
    }
}

/// This file. With the headers of whoever asks, a part of it if they want one: players do, again and again.
pub async fn file(visitor: &Visitor, shown: ShownFile, asked: Option<&HeaderMap>) -> Result<Response, Oops> {
    let app = visitor.visit.app();
    let permit = app.downloads.take(visitor.person.id).await?;
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
    let range = wanted.and_then(|wanted| part(wanted, length));
    let bytes = range.clone().unwrap_or(0..length);
    let size = [(header::CONTENT_LENGTH, (bytes.end - bytes.start).to_string())];
    let pieces = app.files.pieces(name.clone(), bytes).await.map_err(anyhow::Error::from)?.ok_or(Oops::NotFound)?;
    // The error ends the connection before the promised length is reached: so the client knows that a part is missing.
    let pieces = pieces.inspect_err(move |error| {
        let _on_its_way = &permit;
        tracing::error!(file = name, %error, "a file could not be sent whole");
    });
    let body = Body::from_stream(pieces);
    Ok(match range {
        None => (headers, size, body).into_response(),
        Some(range) => {
            let told = [(header::CONTENT_RANGE, format!("bytes {}-{}/{length}", range.start, range.end - 1))];
            (StatusCode::PARTIAL_CONTENT, headers, size, told, body).into_response()
        }
    })
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

    #[tokio::test]
    async fn one_person_gets_six_files_at_once_and_others_wait() {
        let downloads = Downloads { patience: Duration::from_millis(50), ..Downloads::default() };
        let mut permits = Vec::new();
        for _ in 0..FILES_AT_ONCE {
            permits.push(downloads.take(1).await.unwrap());
        }
        assert_eq!(downloads.take(1).await.unwrap_err().retry_after_s(), Some(RETRY_AFTER_S));
        assert!(downloads.take(2).await.is_ok(), "another person has places of their own");
        let patient = Downloads { patience: Duration::from_secs(30), ..downloads };
        let (waited, ()) = tokio::join!(patient.take(1), async { drop(permits.pop()) });
        assert!(waited.is_ok(), "a free place goes to whoever waits");
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
