//! The cookies: session, guest, and known device.
//!
//! Scripts cannot read them, other sites cannot make a browser send them with a form, and with HTTPS they are never
//! sent without it.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};

/// A cookie of the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cookie {
    Session,
    Guest,
    /// Marks a browser in which a person has signed in before. It grants nothing.
    Device,
    /// A toast for the next page, signed.
    Toast,
}

impl Cookie {
    /// The cookie's name. Browsers enforce the prefix `__Host-`: only this host, only HTTPS.
    const fn name(self, is_https: bool) -> &'static str {
        match (self, is_https) {
            (Self::Session, true) => "__Host-opora_session",
            (Self::Session, false) => "opora_session",
            (Self::Guest, true) => "__Host-opora_guest",
            (Self::Guest, false) => "opora_guest",
            (Self::Device, true) => "__Host-opora_device",
            (Self::Device, false) => "opora_device",
            (Self::Toast, true) => "__Host-opora_toast",
            (Self::Toast, false) => "opora_toast",
        }
    }

    /// The cookie's value, if it has the right form.
    pub fn read(self, headers: &HeaderMap, is_https: bool) -> Option<String> {
        let has_form = |value: &str| if self == Self::Toast { !value.is_empty() } else { is_token(value) };
        value_of(headers, self.name(is_https), has_form)
    }

    /// The `Set-Cookie` header; a duration of zero deletes the cookie.
    pub fn set(self, value: &str, max_age: Duration, is_https: bool) -> Option<HeaderValue> {
        let (name, seconds) = (self.name(is_https), max_age.as_secs());
        let secure = if is_https { "; Secure" } else { "" };
        let line = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}");
        HeaderValue::from_str(&line).ok()
    }
}

/// Whether the script has remembered that the sidebar is collapsed. This cookie is the script's own: it only changes
/// how a page looks.
pub fn is_sidebar_collapsed(headers: &HeaderMap) -> bool {
    value_of(headers, "opora_sidebar", |value| value == "collapsed").is_some()
}

fn value_of(headers: &HeaderMap, name: &str, has_form: impl Fn(&str) -> bool) -> Option<String> {
    let pairs = headers.get_all(header::COOKIE).into_iter().filter_map(|line| line.to_str().ok());
    let mut pairs = pairs.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = pairs.find(|(known, value)| *known == name && has_form(value))?;
    Some(value.to_owned())
}

fn is_token(value: &str) -> bool {
    value.len() == 43 && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_well_formed_cookies_are_read() {
        let token = "a".repeat(43);
        let mut headers = HeaderMap::new();
        let line = format!("theme=dark; opora_session={token}; opora_guest=short");
        headers.insert(header::COOKIE, HeaderValue::from_str(&line).unwrap());
        assert_eq!(Cookie::Session.read(&headers, false), Some(token));
        assert_eq!((Cookie::Guest.read(&headers, false), Cookie::Session.read(&headers, true)), (None, None));
    }

    #[test]
    fn with_https_cookies_are_secure() {
        let set = |is_https| Cookie::Session.set("x", Duration::from_secs(5), is_https).unwrap();
        assert_eq!(set(false), "opora_session=x; Path=/; HttpOnly; SameSite=Lax; Max-Age=5");
        assert_eq!(set(true), "__Host-opora_session=x; Path=/; HttpOnly; SameSite=Lax; Max-Age=5; Secure");
    }
}
