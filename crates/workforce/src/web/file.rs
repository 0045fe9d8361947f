//! Serves a stored file. Its content type is the detected one, and no browser guesses another.
//!
//! No browser and no proxy caches it. A type that browsers do not show is downloaded, and never opened as a page. The
//! body is streamed, so a client that does not read costs little memory, and [`Downloads`] limits the files that go to
//! one person at the same time.

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
use super::page_error::PageError;
use crate::files::MediaType;

/// As many as a browser requests at once over HTTP/1.1.
const MAX_CONCURRENT_FILES: usize = 6;
/// A proxy that speaks HTTP/2 with browsers requests all pictures of a page at once; the rest wait.
const MAX_WAITING_FILES: usize = 64;
const MAX_WAIT: Duration = Duration::from_secs(20);
/// Files that the client does not read are cut off by then.
const RETRY_AFTER_S: u64 = 30;

/// A file to serve.
#[derive(Clone, Debug)]
pub struct ShownFile {
    pub name: String,
    pub media_type: MediaType,
    /// The size in its row.
    pub size_bytes: i64,
}

/// Whether a path serves a picture or video within a page.
pub fn is_media_path(path: &str) -> bool {
    let is_document = path.starts_with("/documents/") && path.ends_with("/file");
    is_document || path.contains("/media/") || path.ends_with("/photo")
}

/// Limits concurrent downloads per person.
#[derive(Debug)]
pub struct Downloads {
    /// People who were sent a file: at most the number of people.
    people: Mutex<HashMap<i64, Arc<DownloadSlots>>>,
    max_wait: Duration,
}

/// The limits of one person.
#[derive(Debug)]
struct DownloadSlots {
    running: Arc<Semaphore>,
    waiting: Semaphore,
}

impl Default for Downloads {
    fn default() -> Self {
        Self { people: Mutex::default(), max_wait: MAX_WAIT }
    }
}

impl Downloads {
    /// Waits for a free download slot; dropping the permit frees it.
    async fn acquire(&self, person_id: i64) -> Result<OwnedSemaphorePermit, PageError> {
        const TOO_MANY: PageError = PageError::TooMany { retry_after_s: RETRY_AFTER_S };
        let places = Arc::clone(self.people.lock().entry(person_id).or_insert_with(|| {
            let running = Arc::new(Semaphore::new(MAX_CONCURRENT_FILES));
            Arc::new(DownloadSlots { running, waiting: Semaphore::new(MAX_WAITING_FILES) })
        }));
        if let Ok(permit) = Arc::clone(&places.running).try_acquire_owned() {
            return Ok(permit);
        }
        let _waiting = places.waiting.try_acquire().map_err(|_| TOO_MANY)?;
        let permit = timeout(self.max_wait, Arc::clone(&places.running).acquire_owned()).await;
        permit.ok().and_then(Result::ok).ok_or(TOO_MANY)
    }
}

/// The response with this file. With the request's headers, a part of it if asked for, as media players do.
pub async fn file(
    visitor: &Visitor,
    shown: ShownFile,
    request_headers: Option<&HeaderMap>,
) -> Result<Response, PageError> {
    let app = visitor.visit.app();
    let permit = app.downloads.acquire(visitor.person.id).await?;
    let ShownFile { name, media_type, size_bytes } = shown;
    let disposition = if media_type.is_image() || media_type.is_video() { "inline" } else { "attachment" };
    let headers = [
        (header::CONTENT_TYPE, media_type.name()),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_DISPOSITION, disposition),
        (header::ACCEPT_RANGES, "bytes"),
    ];
    let wanted = request_headers.and_then(|headers| headers.get(header::RANGE)?.to_str().ok());
    let length = u64::try_from(size_bytes).unwrap_or_default();
    let range = wanted.and_then(|wanted| parse_range(wanted, length));
    let bytes = range.clone().unwrap_or(0..length);
    let size = [(header::CONTENT_LENGTH, (bytes.end - bytes.start).to_string())];
    let pieces =
        app.files.stream(name.clone(), bytes).await.map_err(anyhow::Error::from)?.ok_or(PageError::NotFound)?;
    // An error ends the connection before the promised length, so the client notices the missing part.
    let pieces = pieces.inspect_err(move |error| {
        let _permit = &permit;
        tracing::error!(file = name, %error, "a file could not be sent completely");
    });
    let body = Body::from_stream(pieces);
    Ok(match range {
        None => (headers, size, body).into_response(),
        Some(range) => {
            let content_range = [(header::CONTENT_RANGE, format!("bytes {}-{}/{length}", range.start, range.end - 1))];
            (StatusCode::PARTIAL_CONTENT, headers, size, content_range, body).into_response()
        }
    })
}

/// Parses a single range within the file; for anything else the whole file is a valid answer.
fn parse_range(wanted: &str, length: u64) -> Option<Range<u64>> {
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
    fn only_paths_of_pictures_are_media_paths() {
        for picture in ["/documents/ab/file", "/shifts/1/media/2", "/cancellations/3/photo"] {
            assert!(is_media_path(picture), "{picture}");
        }
        for page in ["/documents/ab", "/registrations", "/people/1/file"] {
            assert!(!is_media_path(page), "{page}");
        }
    }

    #[tokio::test]
    async fn a_person_downloads_six_files_at_once() {
        let downloads = Downloads { max_wait: Duration::from_millis(50), ..Downloads::default() };
        let mut permits = Vec::new();
        for _ in 0..MAX_CONCURRENT_FILES {
            permits.push(downloads.acquire(1).await.unwrap());
        }
        assert_eq!(downloads.acquire(1).await.unwrap_err().retry_after_s(), Some(RETRY_AFTER_S));
        assert!(downloads.acquire(2).await.is_ok(), "another person has places of their own");
        let patient = Downloads { max_wait: Duration::from_secs(30), ..downloads };
        let (waited, ()) = tokio::join!(patient.acquire(1), async { drop(permits.pop()) });
        assert!(waited.is_ok(), "a freed place goes to the waiting request");
    }

    #[test]
    fn ranges_are_parsed_within_the_file() {
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
            assert_eq!(parse_range(wanted, 10), meant, "{wanted}");
        }
    }
}
