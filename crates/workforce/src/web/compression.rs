//! Compresses pages, so that the first load of a large page is small on a phone.
//!
//! A compressed page that holds a secret beside text that another site chose could leak the secret by its size
//! (BREACH). Two measures prevent this: the form token gets a new mask for each page, see `csrf`, and a page that
//! another site asked for is sent uncompressed.

use std::io::Write;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::page_error::is_html;

/// Browsers say here whether the request comes from one of our own pages.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Below this a page fits one packet anyway.
const MIN_BYTES: usize = 1024;
/// Pages are bounded (`tests/it/web/large_firm.rs`), so they are compressed in one go.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Whether the browser takes a compressed file.
pub fn takes_gzip(headers: &HeaderMap) -> bool {
    let kinds = headers.get(header::ACCEPT_ENCODING).and_then(|kinds| kinds.to_str().ok());
    kinds.is_some_and(|kinds| kinds.contains("gzip"))
}

/// Whether a page may be compressed for this request.
pub fn may_compress_page(headers: &HeaderMap) -> bool {
    let from = headers.get(FETCH_SITE).map(HeaderValue::as_bytes);
    takes_gzip(headers) && matches!(from, None | Some(b"same-origin" | b"none"))
}

/// Compresses a page. Other responses stay as they are.
pub async fn compress_page(response: Response) -> Response {
    if !is_html(&response) || response.headers().contains_key(header::CONTENT_ENCODING) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(plain) = to_bytes(body, MAX_BYTES).await else {
        tracing::error!("a page was too long to compress");
        parts.status = axum::http::StatusCode::INTERNAL_SERVER_ERROR;
        return Response::from_parts(parts, Body::empty());
    };
    // Pages are compressed while a person waits, so speed counts more than the last kilobyte.
    let small = if plain.len() < MIN_BYTES { Bytes::new() } else { gzip(&plain, Compression::fast()) };
    if small.is_empty() {
        return Response::from_parts(parts, Body::from(plain));
    }
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    parts.headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding, Sec-Fetch-Site"));
    Response::from_parts(parts, Body::from(small))
}

/// The compressed content; empty on failure, and then it is sent as it is.
pub fn gzip(plain: &[u8], level: Compression) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), level);
    let written = encoder.write_all(plain);
    written.and_then(|()| encoder.finish()).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;

    use super::*;

    #[test]
    fn only_our_own_pages_and_typed_addresses_are_compressed() {
        let headers = |pairs: &[(&str, &str)]| -> HeaderMap {
            let pair = |(name, value): &(&str, &str)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
            pairs.iter().map(pair).collect()
        };
        let gzip = ("accept-encoding", "gzip, br");
        assert!(may_compress_page(&headers(&[gzip])));
        assert!(may_compress_page(&headers(&[gzip, ("sec-fetch-site", "same-origin")])));
        assert!(may_compress_page(&headers(&[gzip, ("sec-fetch-site", "none")])));
        assert!(!may_compress_page(&headers(&[gzip, ("sec-fetch-site", "cross-site")])));
        assert!(!may_compress_page(&headers(&[gzip, ("sec-fetch-site", "same-site")])));
        assert!(!may_compress_page(&headers(&[("accept-encoding", "br")])));
        assert!(!may_compress_page(&HeaderMap::new()));
    }
}
