//! That a form was sent from one of our pages.
//!
//! The token of a form is a hash of the browser's cookie: another site can neither read the one nor make the other.
//! Where a browser says from where a form comes, that is looked at too.

use axum::body::{Body, HttpBody, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, Method, header};

use super::oops::Oops;
use super::secrets;
use super::visit::Visit;

/// The name of the field.
pub const FIELD: &str = "csrf";
const HEADER: &str = "x-csrf-token";
/// Forms of these pages are short, whatever says that they are ours.
const LONGEST_FORM: usize = 64 * 1024;
/// Whoever is not signed in sends a number and a PIN.
const LONGEST_FORM_OF_A_GUEST: usize = 8 * 1024;

/// The token of all forms that a browser with this cookie is given.
pub fn token(cookie: &str) -> String {
    secrets::hash(&["csrf", cookie])
}

/// Lets a request through that changes nothing, or that comes from our pages.
pub async fn check(visit: &Visit, request: Request) -> Result<Request, Oops> {
    if matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS) {
        return Ok(request);
    }
    if !is_own_origin(visit, request.headers()) {
        return Err(Oops::StaleForm);
    }
    let is_guest = visit.person().is_none();
    let longest = if is_guest { LONGEST_FORM_OF_A_GUEST } else { LONGEST_FORM };
    let (parts, body) = request.into_parts();
    // What says that it is too long is not read at all.
    if body.size_hint().lower() > longest as u64 {
        return Err(Oops::BadRequest);
    }
    let body = to_bytes(body, longest).await.map_err(|_| Oops::BadRequest)?;
    let is_ours = match parts.headers.get(HEADER).and_then(|token| token.to_str().ok()) {
        Some(token) => secrets::same(token, visit.csrf()),
        None => {
            let mut fields = form_urlencoded::parse(&body);
            fields.any(|(name, token)| name == FIELD && secrets::same(&token, visit.csrf()))
        }
    };
    if is_ours { Ok(Request::from_parts(parts, Body::from(body))) } else { Err(Oops::StaleForm) }
}

/// Whether a request comes from our own pages, as far as the browser says. One without a word on it is no browser's, or an
/// old one's; the token decides then.
pub fn is_own_origin(visit: &Visit, headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let Some(origin) = text(header::ORIGIN) else { return true };
    let own = &visit.app().public_url;
    let is_public = own.strip_prefix(origin).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    // Reached by another name than the public one: the browser asks the very host that the page came from.
    let host = origin.split_once("://").map(|(_, host)| host);
    is_public || (host.is_some() && host == text(header::HOST))
}
