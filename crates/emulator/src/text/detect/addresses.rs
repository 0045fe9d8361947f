//! Links, with or without a scheme, and mail addresses.
//!
//! A link may be wherever a dot has a character on both sides. From the dot the link is read backwards to its beginning
//! and forwards to its end. It counts if its host is an IPv4 address or ends in an existing top-level domain.

use super::super::EntityKind;
use super::Match;
use super::characters::{
    is_domain_character, is_loose_end, is_path_character, is_scheme_character, is_userinfo_character, is_word,
    run_begin, run_end,
};
use super::top_level_domain;

/// Links of the schemes `tg`, `ton` and `tonsite`, which need no dot.
pub(super) fn inner_links(text: &str, finds: &mut Vec<Match>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(colon) = text[at..].find("://").map(|ahead| at + ahead) {
        at = colon + 3;
        let begins = ["tg", "ton", "tonsite"].into_iter().filter_map(|scheme| {
            let begin = colon.checked_sub(scheme.len())?;
            bytes[begin..colon].eq_ignore_ascii_case(scheme.as_bytes()).then_some(begin)
        });
        let Some(begin) = begins.min() else { continue };
        let host_length = bytes[at..].iter().take(253).take_while(|byte| is_host_byte(**byte)).count();
        if host_length > 0 {
            let end = path_end(text, at + host_length);
            finds.push(Match { kind: EntityKind::Url, begin, end });
            at = end;
        }
    }
}

pub(super) fn links_and_emails(text: &str, finds: &mut Vec<Match>) {
    let bytes = text.as_bytes();
    // Everything before the floor belongs to an earlier match, or cannot be part of one.
    let mut floor = 0;
    while let Some(dot) = text[floor..].find('.').map(|ahead| floor + ahead) {
        match bytes.get(dot + 1) {
            None => break,
            Some(b' ') => floor = dot + 2,
            Some(_) => {
                let candidate = Candidate::around(text, floor, dot);
                floor = candidate.end;
                if candidate.stands_free {
                    if candidate.end > dot + 1 {
                        finds.extend(judge(text, candidate.begin, candidate.end));
                    }
                    floor += bytes[floor..].iter().take_while(|&&byte| byte == b'.').count();
                } else {
                    // The part after the last dot may still belong to another match.
                    floor = text[dot..candidate.end].rfind('.').map_or(dot, |ahead| dot + ahead) + 1;
                }
            }
        }
    }
}

struct Candidate {
    begin: usize,
    end: usize,
    /// Whether no word character before it makes it a part of another word.
    stands_free: bool,
}

impl Candidate {
    fn around(text: &str, floor: usize, dot: usize) -> Self {
        let bytes = text.as_bytes();
        let mut begin = run_begin(text, floor, dot, is_domain_character);
        let domain_end = run_end(text, dot, |character| character == '@' || is_domain_character(character));
        let has_at = bytes[dot..domain_end].contains(&b'@');
        if has_at {
            begin = run_begin(text, floor, begin, is_userinfo_character);
        }
        let mut end = path_end(text, port_end(bytes, domain_end));
        while end > dot + 1 && bytes[end - 1] == b'.' {
            end -= 1;
        }
        let mut stands_free = true;
        if begin > floor && bytes[begin - 1] == b'@' {
            let user_begin = run_begin(text, floor, begin - 1, is_userinfo_character);
            stands_free = !has_at && user_begin != begin - 1;
            begin = user_begin;
        }
        let head = &text[floor..begin];
        if head.len() >= 6 && head.ends_with("://") {
            match scheme_length(head) {
                Some(length) => begin -= length,
                None => stands_free = false,
            }
        } else if head.ends_with(|last| is_word(last) || matches!(last, '/' | '#' | '@')) {
            stands_free = false;
        }
        Self { begin, end, stands_free }
    }
}

/// The length of the scheme before a host, if Telegram accepts it.
fn scheme_length(head: &str) -> Option<usize> {
    let name_end = head.len() - 3;
    let scheme = head[run_begin(head, 0, name_end, is_scheme_character)..name_end].to_ascii_lowercase();
    let length = match scheme.as_str() {
        "shttp" | "tftp" | "sftp" => return None,
        scheme if scheme.ends_with("http") => 4,
        scheme if scheme.ends_with("https") => 5,
        scheme if scheme.ends_with("ftp") => 3,
        scheme if scheme.ends_with("tonsite") => 7,
        _ => return None,
    };
    Some(length + 3)
}

/// The end of a port that begins at `at`; `at` itself if there is none.
fn port_end(bytes: &[u8], at: usize) -> usize {
    if bytes.get(at) != Some(&b':') {
        return at;
    }
    let digits: Vec<u8> = bytes[at + 1..].iter().copied().take_while(u8::is_ascii_digit).collect();
    let significant = digits.iter().position(|&digit| digit != b'0').map_or(&[][..], |first| &digits[first..]);
    let is_port = match significant.len() {
        1..=4 => true,
        5 => significant <= b"65535".as_slice(),
        _ => false,
    };
    if is_port { at + 1 + digits.len() } else { at }
}

/// The end of a path, query or fragment that begins at `at`; `at` itself if there is none.
fn path_end(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    if !matches!(bytes.get(at), Some(b'/' | b'?' | b'#')) {
        return at;
    }
    let mut end = run_end(text, at + 1, is_path_character);
    while end > at + 1 && is_loose_end(bytes[end - 1]) {
        end -= 1;
    }
    if bytes[at] == b'/' || end > at + 1 { end } else { at }
}

fn judge(text: &str, begin: usize, end: usize) -> Option<Match> {
    let candidate = &text[begin..end];
    if is_email(candidate) {
        return Some(Match { kind: EntityKind::Email, begin, end });
    }
    if candidate.strip_prefix("mailto:").is_some_and(is_email) {
        return Some(Match { kind: EntityKind::Email, begin: begin + "mailto:".len(), end });
    }
    let length = link_length(candidate)?;
    Some(Match { kind: EntityKind::Url, begin, end: begin + length })
}

fn is_email(text: &str) -> bool {
    let Some((user, domain)) = text.split_once('@') else {
        return false;
    };
    let mut user_parts = user.split(['.', '+']).rev();
    let last_part = user_parts.next().unwrap_or_default();
    let inner_parts = user_parts.try_fold(0, |count, part| (part.len() < 27).then_some(count + 1));
    let is_user = (1..36).contains(&last_part.len())
        && inner_parts.is_some_and(|count| count <= 10)
        && user.bytes().all(|byte| is_host_byte(byte) || matches!(byte, b'.' | b'+'));
    if !is_user {
        return false;
    }
    let Some((inner, top)) = domain.rsplit_once('.') else {
        return false;
    };
    (2..9).contains(&top.len())
        && top.bytes().all(|byte| byte.is_ascii_alphabetic())
        && inner.split('.').count() <= 6
        && inner.split('.').all(is_email_domain_part)
}

fn is_email_domain_part(part: &str) -> bool {
    let bytes = part.as_bytes();
    bytes.len() < 31
        && bytes.iter().all(|&byte| is_host_byte(byte))
        && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
}

fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// The length of the link in a candidate, if it is one.
fn link_length(candidate: &str) -> Option<usize> {
    let schemes = ["http://", "https://", "ftp://", "tonsite://"];
    let scheme = schemes
        .into_iter()
        .find(|scheme| candidate.get(..scheme.len()).is_some_and(|head| head.eq_ignore_ascii_case(scheme)));
    let rest = &candidate[scheme.map_or(0, str::len)..];
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = authority.split_once('@').map_or(authority, |(_, host)| host);
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    if host.eq_ignore_ascii_case("teiegram.org") || !is_host(host, scheme.is_some()) {
        return None;
    }
    Some(candidate.len() - path.len() + balanced_length(path))
}

/// The length of a path up to a closing bracket without an opening one.
fn balanced_length(path: &str) -> usize {
    let mut depths = [0_i32; 3];
    let bytes = path.as_bytes();
    let unbalanced = bytes.iter().position(|byte| {
        let (depth, change) = match byte {
            b'(' => (0, 1),
            b'[' => (1, 1),
            b'{' => (2, 1),
            b')' => (0, -1),
            b']' => (1, -1),
            b'}' => (2, -1),
            _ => return false,
        };
        depths[depth] += change;
        depths[depth] < 0
    });
    let mut length = unbalanced.unwrap_or(bytes.len());
    while length > 0 && is_loose_end(bytes[length - 1]) {
        length -= 1;
    }
    length
}

fn is_host(host: &str, has_scheme: bool) -> bool {
    let parts: Vec<&str> = host.split('.').collect();
    if parts.iter().any(|part| part.is_empty() || part.len() >= 64 || part.ends_with('-')) {
        return false;
    }
    let [.., second, top] = parts.as_slice() else {
        return false;
    };
    if parts.len() == 4 && parts.iter().all(|part| is_ipv4_part(part)) {
        return true;
    }
    if host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') || second.contains('_') {
        return false;
    }
    if let Some(punycode) = top.strip_prefix("xn--") {
        return punycode.len() > 1 && punycode.bytes().all(|byte| byte.is_ascii_alphanumeric());
    }
    top.chars().nth(1).is_some() && !top.contains(['_', '-']) && (has_scheme || top_level_domain::is_known(top))
}

fn is_ipv4_part(part: &str) -> bool {
    part.bytes().all(|byte| byte.is_ascii_digit())
        && (part.len() == 1 || !part.starts_with('0'))
        && part.parse::<u8>().is_ok()
}
