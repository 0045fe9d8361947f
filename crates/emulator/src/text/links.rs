//! Links in a markup: web addresses, and `tg:` links for people, emoji and times.
//!
//! An address is completed as Telegram does it: with a scheme, a lower-case host and a path. Nothing is resolved.

use std::net::Ipv6Addr;

use super::EntityExtra;

/// What a link in a text means: a mention, an address, or none if it is not a link.
pub(super) fn target(link: &str) -> Option<EntityExtra> {
    match user_id(link) {
        Some(id) => Some(EntityExtra::User(id)),
        None => checked(link).ok().map(|url| EntityExtra::Url(url.into())),
    }
}

/// The user id in `tg://user?id=…`.
pub(super) fn user_id(link: &str) -> Option<i64> {
    const LARGEST_USER_ID: i64 = (1 << 40) - 1;
    let link = link.to_ascii_lowercase();
    let id = parameters(tg_query(&link, "user")?).find(|(key, _)| *key == "id")?.1;
    whole_number(id).filter(|id| (1..=LARGEST_USER_ID).contains(id))
}

/// The emoji id in `tg://emoji?id=…`.
pub(super) fn custom_emoji_id(link: &str) -> Option<i64> {
    let id = parameters(tg_query(link, "emoji")?).find(|(key, _)| *key == "id")?.1;
    whole_number(id).filter(|id| *id != 0)
}

/// The time and the format in `tg://time?unix=…&format=…`.
pub(super) fn moment(link: &str) -> Option<(i32, &str)> {
    let mut unix_time = None;
    let mut format = "";
    for (key, value) in parameters(tg_query(link, "time")?) {
        match key {
            "unix" => unix_time = Some(whole_number(value).and_then(|time| i32::try_from(time).ok())?),
            "format" => format = value,
            _ => {}
        }
    }
    unix_time.filter(|time| *time > 0).map(|time| (time, format))
}

/// A date format with its letters in the usual order, or `None` if it has an unknown letter.
pub(super) fn date_format(given: &str) -> Option<Box<str>> {
    if matches!(given, "r" | "R") {
        return Some("r".into());
    }
    if !given.bytes().all(|letter| b"tTdDwW".contains(&letter)) {
        return None;
    }
    let first_of = |letters: [char; 2]| letters.into_iter().find(|letter| given.contains(*letter));
    let weekday = given.contains(['w', 'W']).then_some('w');
    Some([weekday, first_of(['d', 'D']), first_of(['t', 'T'])].into_iter().flatten().collect::<String>().into())
}

/// A number without a plus sign or leading zeros.
pub(super) fn whole_number(text: &str) -> Option<i64> {
    text.parse().ok().filter(|number: &i64| number.to_string() == text)
}

/// Completes a web, `tg:` or `ton:` address, or says what is wrong with it.
pub(super) fn checked(link: &str) -> Result<String, &'static str> {
    for scheme in ["tg", "ton", "tonsite"] {
        if let Some(rest) = after_scheme(link, scheme) {
            return checked_inner(scheme, rest.strip_prefix("//").unwrap_or(rest));
        }
    }
    let url = WebAddress::parse(link)?;
    if !url.host.contains('.') && !url.is_ipv6 {
        return Err("Wrong HTTP URL");
    }
    let scheme = if url.is_https { "https" } else { "http" };
    let at = if url.userinfo.is_empty() { "" } else { "@" };
    let port = if url.port == 0 { String::new() } else { format!(":{}", url.port) };
    Ok(format!("{scheme}://{}{at}{}{port}{}", url.userinfo, url.host, url.path))
}

fn checked_inner(scheme: &str, link: &str) -> Result<String, &'static str> {
    let url = WebAddress::parse(link)?;
    let names_web = after_scheme(link, "http").is_some_and(|rest| rest.starts_with("//")) || url.is_https;
    if names_web || !url.userinfo.is_empty() || url.port != 0 || url.is_ipv6 {
        return Err(if scheme == "tg" { "Wrong tg URL" } else { "Wrong ton URL" });
    }
    let allowed =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') || (scheme == "tonsite" && byte == b'.');
    if !url.host.bytes().all(allowed) {
        return Err("Unallowed characters in URL host");
    }
    let path = url.path.strip_prefix('/').filter(|path| path.starts_with('?')).unwrap_or(&url.path);
    Ok(format!("{scheme}://{}{path}", url.host))
}

/// The part after `scheme:`, whose case does not matter.
fn after_scheme<'a>(link: &'a str, scheme: &str) -> Option<&'a str> {
    let (head, rest) = link.split_at_checked(scheme.len())?;
    rest.strip_prefix(':').filter(|_| head.eq_ignore_ascii_case(scheme))
}

/// The parameters of `tg://host?…`, if the link is of that host.
fn tg_query<'a>(link: &'a str, host: &str) -> Option<&'a str> {
    let rest = after_scheme(link, "tg")?;
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let (head, rest) = rest.split_at_checked(host.len())?;
    if !head.eq_ignore_ascii_case(host) {
        return None;
    }
    let query = rest.strip_prefix('/').unwrap_or(rest).strip_prefix('?')?;
    query.split('#').next()
}

fn parameters(query: &str) -> impl Iterator<Item = (&str, &str)> {
    query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

struct WebAddress<'a> {
    is_https: bool,
    userinfo: &'a str,
    host: String,
    is_ipv6: bool,
    /// Zero if the link has none.
    port: u16,
    path: String,
}

impl<'a> WebAddress<'a> {
    fn parse(link: &'a str) -> Result<Self, &'static str> {
        let scheme_end = link.find([':', '/', '?', '#', '@', '[', ']']).unwrap_or(link.len());
        let (scheme, after) = link.split_at(scheme_end);
        let (is_https, rest) = match after.strip_prefix("://") {
            Some(rest) if scheme.eq_ignore_ascii_case("http") => (false, rest),
            Some(rest) if scheme.eq_ignore_ascii_case("https") => (true, rest),
            Some(_) => return Err("Unsupported URL protocol"),
            None => (false, link),
        };
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let (userinfo_host, port) = split_port(authority)?;
        let (userinfo, host) = userinfo_host.rsplit_once('@').unwrap_or(("", userinfo_host));
        let is_ipv6 = host.starts_with('[') && host.ends_with(']');
        check_host(host, is_ipv6)?;
        Ok(Self { is_https, userinfo, host: host.to_ascii_lowercase(), is_ipv6, port, path: written_path(path) })
    }
}

fn split_port(authority: &str) -> Result<(&str, u16), &'static str> {
    match authority.rfind([':', ']', '@']) {
        Some(colon) if colon > 0 && authority.as_bytes()[colon] == b':' => {
            let digits = authority[colon + 1..].trim_start_matches('0');
            let port = whole_number(digits).and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0);
            Ok((&authority[..colon], port.ok_or("Wrong port number specified in the URL")?))
        }
        _ => Ok((authority, 0)),
    }
}

fn check_host(host: &str, is_ipv6: bool) -> Result<(), &'static str> {
    if is_ipv6 {
        let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        return inner.parse::<Ipv6Addr>().map(drop).map_err(|_| "Wrong IPv6 address specified in the URL");
    }
    match host {
        "" => return Err("URL host is empty"),
        "." => return Err("Host is invalid"),
        _ => {}
    }
    let bytes = host.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'%' => {
                let code = bytes.get(at + 1..at + 3).unwrap_or_default();
                if code.len() != 2 || !code.iter().all(u8::is_ascii_hexdigit) {
                    return Err("Wrong percent-encoded symbol in URL host");
                }
                at += 3;
            }
            byte if byte.is_ascii_alphanumeric() || byte >= 0x80 || b".-_!$,~*'();&+=".contains(&byte) => at += 1,
            _ => return Err("Wrong URL host"),
        }
    }
    Ok(())
}

/// A path that is never empty, with blanks and control characters encoded.
fn written_path(path: &str) -> String {
    use std::fmt::Write;

    let path = path.trim_end_matches([' ', '\t', '\r', '\n', '\0', '\x0B']);
    let mut written = String::with_capacity(path.len() + 1);
    if !path.starts_with('/') {
        written.push('/');
    }
    for character in path.chars() {
        if character <= ' ' {
            // Writing to a string never fails.
            let _ = write!(written, "%{:02X}", u32::from(character));
        } else {
            written.push(character);
        }
    }
    written
}
