//! Which host names the emulator answers to.
//!
//! A page of another site can reach a server on this machine by DNS rebinding: the site's name is made to resolve to
//! this machine, and the browser takes both for one site. Only the `Host` header shows it. So the emulator serves
//! `localhost` and names below it, the names in [`AllowedHosts`], and every IP address. An address needs no list,
//! because a browser that connects to an address did not get it from DNS.

use std::net::{IpAddr, Ipv6Addr};

use axum::extract::{Request, State};
use axum::http::{HeaderName, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router, http::StatusCode};

/// The header in which a browser describes the page that makes a request.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Host names that are served besides `localhost`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedHosts(Vec<Box<str>>);

impl AllowedHosts {
    pub fn new(names: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        Self(names.into_iter().map(|name| plain(name.as_ref()).into()).collect())
    }

    /// Refuses requests to other names, and requests by pages of other sites.
    pub fn guard<S: Clone + Send + Sync + 'static>(&self, router: Router<S>) -> Router<S> {
        router.layer(middleware::from_fn_with_state(self.clone(), guarded))
    }

    /// Why a request is refused, or none if it is served.
    pub fn refusal(&self, request: &Request) -> Option<String> {
        let named = [request.uri().authority().map(|authority| authority.as_str()), text(request, &header::HOST)];
        let mut named = named.into_iter().flatten().peekable();
        if named.peek().is_none() {
            return Some("a request must say which host it is for".to_owned());
        }
        if let Some(host) = named.map(host_of).find(|host| !self.allows(host)) {
            return Some(format!(
                "the host name {host:?} is not served here, as a page of another site may be behind it; \
                 if it is yours, start this server with --allow-host {host}"
            ));
        }
        is_foreign(request).then(|| "pages of other sites may not use this server".to_owned())
    }

    fn allows(&self, host: &str) -> bool {
        let plain = plain(host);
        let is_address = plain.parse::<IpAddr>().is_ok();
        let is_local = plain == "localhost" || plain.ends_with(".localhost");
        is_address || is_local || self.0.iter().any(|name| **name == *plain)
    }
}

/// Reads a host name of the command line: without scheme, port and path.
pub fn parse_name(name: &str) -> Result<String, String> {
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    let uri: Option<Uri> = name.parse().ok().filter(|_| is_name);
    match uri.and_then(|uri| uri.host().map(str::to_owned)) {
        Some(name) => Ok(name),
        None => Err("a host name is like emulator.example: no scheme, port or path".to_owned()),
    }
}

async fn guarded(State(hosts): State<AllowedHosts>, request: Request, next: Next) -> Response {
    match hosts.refusal(&request) {
        Some(error) => (StatusCode::FORBIDDEN, Json(serde_json::json!({ "error": error }))).into_response(),
        None => next.run(request).await,
    }
}

/// Whether a page of another site makes the request. Following a link to the chat page has no `Origin` and is allowed.
fn is_foreign(request: &Request) -> bool {
    let Some(origin) = text(request, &header::ORIGIN) else { return false };
    let site = origin.split_once("://").map_or(origin, |(_, site)| site);
    let host = request.uri().authority().map(|authority| authority.as_str()).or_else(|| text(request, &header::HOST));
    Some(site) != host
}

/// Whether a page of another site makes the request, also without `Origin`, such as for an image.
pub(crate) fn is_cross_site(request: &Request) -> bool {
    matches!(text(request, &SEC_FETCH_SITE), Some("cross-site" | "same-site"))
}

fn text<'a>(request: &'a Request, name: &HeaderName) -> Option<&'a str> {
    // A header value that is not text is in no list.
    request.headers().get(name).map(|value| value.to_str().unwrap_or_default())
}

/// `name` of `name:port`; an IPv6 address without its brackets.
fn host_of(authority: &str) -> &str {
    match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, port)) if address.parse::<Ipv6Addr>().is_ok() && (port.is_empty() || port.starts_with(':')) => {
            address
        }
        _ => authority.split_once(':').map_or(authority, |(name, _)| name),
    }
}

fn plain(host: &str) -> String {
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(host: &str) -> Request {
        Request::builder().uri("/").header(header::HOST, host).body(axum::body::Body::empty()).unwrap()
    }

    #[test]
    fn local_names_and_addresses_are_served() {
        let hosts = AllowedHosts::default();
        for host in ["localhost", "LOCALHOST:8081", "localhost.", "bot.localhost:80", "127.0.0.1:8081", "127.9.9.9"] {
            assert_eq!(hosts.refusal(&to(host)), None, "{host}");
        }
        for host in ["[::1]:8081", "[::1]", "192.168.1.5:8081", "[fe80::1]:80"] {
            assert_eq!(hosts.refusal(&to(host)), None, "{host}");
        }
    }

    #[test]
    fn other_names_are_refused_with_the_flag_to_allow_them() {
        let hosts = AllowedHosts::new(["emulator.example"]);
        for host in
            ["evil.example:8081", "localhost.evil.example", "127.0.0.1.evil.example", "", "[::1]evil", "[evil]:1"]
        {
            assert!(hosts.refusal(&to(host)).is_some(), "{host}");
        }
        let refusal = hosts.refusal(&to("evil.example:8081")).unwrap();
        assert!(refusal.contains("--allow-host evil.example"), "{refusal}");
        assert_eq!(hosts.refusal(&to("Emulator.Example:8081")), None);
    }

    #[test]
    fn an_absolute_address_is_looked_at_too() {
        let builder = Request::builder().uri("http://evil.example/").header(header::HOST, "localhost");
        let request = builder.body(axum::body::Body::empty()).unwrap();
        assert!(AllowedHosts::default().refusal(&request).is_some());
        let request = Request::builder().uri("/").body(axum::body::Body::empty()).unwrap();
        assert!(AllowedHosts::default().refusal(&request).is_some(), "a request without a host");
    }

    #[test]
    fn a_flag_takes_a_name_alone() {
        assert_eq!(parse_name("emulator"), Ok("emulator".to_owned()));
        assert_eq!(parse_name("Emu.Example"), Ok("Emu.Example".to_owned()));
        for bad in ["", "http://emulator", "emulator:8081", "emulator/", "*"] {
            assert!(parse_name(bad).is_err(), "{bad}");
        }
    }
}
