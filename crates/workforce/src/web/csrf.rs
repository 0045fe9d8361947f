//! Checks that a form was sent from our own pages (CSRF).
//!
//! The token is a hash of the browser's cookie: another site can neither read the cookie nor make the token. Every page
//! gets it under a mask of its own, so the size of a compressed page says nothing about it. The `Origin` header is
//! checked, too.

use axum::body::{Body, HttpBody, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, Method, header};

use super::page_error::PageError;
use super::secrets::{self, Digest};
use super::visit::Visit;

/// The form field of the token.
pub const FIELD: &str = "csrf";
const HEADER: &str = "x-csrf-token";
/// Maximum size of a form.
const MAX_FORM_BYTES: usize = 64 * 1024;
/// Maximum size of a form of a guest: an identifier and a PIN.
const MAX_GUEST_FORM_BYTES: usize = 8 * 1024;

/// The token for a browser with this cookie.
fn token(cookie: &str) -> Digest {
    secrets::digest(&["csrf", cookie])
}

/// The token for the forms of one page: a random mask, and the token under it.
pub fn masked_token(cookie: &str) -> anyhow::Result<String> {
    let mask = secrets::random_bytes()?;
    Ok(secrets::encode(&[mask, xor(token(cookie), mask)].concat()))
}

/// Whether a masked token belongs to the browser with this cookie.
fn is_token_of(masked: &str, cookie: &str) -> bool {
    let Some(bytes) = secrets::decode(masked) else { return false };
    let halves = bytes.split_at_checked(size_of::<Digest>());
    let halves = halves.and_then(|(mask, rest)| Some((Digest::try_from(mask).ok()?, Digest::try_from(rest).ok()?)));
    halves.is_some_and(|(mask, rest)| secrets::is_same_digest(&xor(rest, mask), &token(cookie)))
}

fn xor(one: Digest, other: Digest) -> Digest {
    std::array::from_fn(|at| one[at] ^ other[at])
}

/// Passes a request that changes nothing or comes from our pages.
pub async fn check(visit: &Visit, request: Request) -> Result<Request, PageError> {
    if matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS) {
        return Ok(request);
    }
    if !is_own_origin(visit, request.headers()) {
        return Err(PageError::StaleForm);
    }
    let is_guest = visit.person().is_none();
    let longest = if is_guest { MAX_GUEST_FORM_BYTES } else { MAX_FORM_BYTES };
    let (parts, body) = request.into_parts();
    // A body that is declared too long is not read at all.
    if body.size_hint().lower() > longest as u64 {
        return Err(PageError::BadRequest);
    }
    let body = to_bytes(body, longest).await.map_err(|_| PageError::BadRequest)?;
    let is_ours = match parts.headers.get(HEADER).and_then(|token| token.to_str().ok()) {
        Some(token) => is_token_of(token, visit.cookie()),
        None if is_upload(&parts.headers) => {
            uploaded_token(&body).is_some_and(|token| is_token_of(&token, visit.cookie()))
        }
        None => {
            let mut fields = form_urlencoded::parse(&body);
            fields.any(|(name, token)| name == FIELD && is_token_of(&token, visit.cookie()))
        }
    };
    if is_ours { Ok(Request::from_parts(parts, Body::from(body))) } else { Err(PageError::StaleForm) }
}

fn is_upload(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("multipart/form-data"))
}

/// The token in a form with files. Only the token's own value counts, so it does not matter where it stands.
fn uploaded_token(body: &[u8]) -> Option<String> {
    let start = format!("name=\"{FIELD}\"\r\n\r\n").into_bytes();
    let at = body.windows(start.len()).position(|window| window == start)? + start.len();
    let end = body[at..].windows(2).position(|window| window == b"\r\n")?;
    String::from_utf8(body[at..at + end].to_vec()).ok()
}

/// Whether the `Origin` header is ours. A request without it comes from no browser or an old one; the token decides
/// then.
pub fn is_own_origin(visit: &Visit, headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let Some(origin) = text(header::ORIGIN) else { return true };
    let own = &visit.app().public_url;
    let is_public = own.strip_prefix(origin).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    // Reached by a name other than the public one: the origin is the host of this very request.
    let host = origin.split_once("://").map(|(_, host)| host);
    is_public || (host.is_some() && host == text(header::HOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_looks_different_on_every_page() {
        let (one, other) = (masked_token("cookie").unwrap(), masked_token("cookie").unwrap());
        assert_ne!(one, other);
        assert!(is_token_of(&one, "cookie") && is_token_of(&other, "cookie"));
        assert!(!is_token_of(&one, "another cookie"));
        let unmasked = secrets::encode(&token("cookie"));
        for forged in ["", "abc", "?", &unmasked, &one[..80], &format!("{one}AAAA")] {
            assert!(!is_token_of(forged, "cookie"), "{forged}");
        }
    }

    #[test]
    fn a_form_with_files_has_its_token() {
        let body = "--x\r\nContent-Disposition: form-data; name=\"csrf\"\r\n\r\nabc\r\n--x\r\n\
            Content-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\r\nname\r\n--x--\r\n";
        assert_eq!(uploaded_token(body.as_bytes()).as_deref(), Some("abc"));
        assert_eq!(uploaded_token(b"name=\"csrf\"\r\n\r\nabc"), None, "cut off");
        assert_eq!(uploaded_token(b"csrf=abc"), None);
    }
}
