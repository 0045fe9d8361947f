//! The cookies: of a session, of a browser which is not signed in yet, and of a known device.
//!
//! Scripts cannot read them, other sites cannot make a browser send them with a form, and where pages are reached by
//! HTTPS they never travel without it.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};

/// Which cookie is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cookie {
    Session,
    Guest,
    /// Tells that a person has signed in here before. It opens nothing.
    Device,
}

impl Cookie {
    /// Its name. Browsers hold the longer one to its promises: only this host, only HTTPS.
    const fn name(self, is_https: bool) -> &'static str {
        match (self, is_https) {
            (Self::Session, true) => "__Host-opora_session",
            (Self::Session, false) => "opora_session",
            (Self::Guest, true) => "__Host-opora_guest",
            (Self::Guest, false) => "opora_guest",
            (Self::Device, true) => "__Host-opora_device",
            (Self::Device, false) => "opora_device",
        }
    }

    /// What the browser has kept, if it has the form of ours.
    pub fn read(self, headers: &HeaderMap, is_https: bool) -> Option<String> {
        let name = self.name(is_https);
        let pairs = headers.get_all(header::COOKIE).into_iter().filter_map(|line| line.to_str().ok());
        let mut pairs = pairs.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let (_, value) = pairs.find(|(known, value)| *known == name && is_token(value))?;
        Some(value.to_owned())
    }

    /// Gives it to the browser for so long; for no time at all takes it away.
    pub fn set(self, value: &str, lasts: Duration, is_https: bool) -> Option<HeaderValue> {
        let (name, seconds) = (self.name(is_https), lasts.as_secs());
        let secure = if is_https { "; Secure" } else { "" };
        let line = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}");
        HeaderValue::from_str(&line).ok()
    }
}

fn is_token(value: &str) -> bool {
    value.len() == 43 && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_found_among_others_and_only_in_its_form() {
        let token = "a".repeat(43);
        let mut headers = HeaderMap::new();
        let line = format!("theme=dark; opora_session={token}; opora_guest=short");
        headers.insert(header::COOKIE, HeaderValue::from_str(&line).unwrap());
        assert_eq!(Cookie::Session.read(&headers, false), Some(token));
        assert_eq!((Cookie::Guest.read(&headers, false), Cookie::Session.read(&headers, true)), (None, None));
    }

    #[test]
    fn by_https_a_cookie_never_travels_without_it() {
        let set = |is_https| Cookie::Session.set("x", Duration::from_secs(5), is_https).unwrap();
        assert_eq!(set(false), "opora_session=x; Path=/; HttpOnly; SameSite=Lax; Max-Age=5");
        assert_eq!(set(true), "__Host-opora_session=x; Path=/; HttpOnly; SameSite=Lax; Max-Age=5; Secure");
    }
}
