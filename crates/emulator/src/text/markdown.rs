//! The old `Markdown` markup: bold, italic, code and links, none inside another.

use super::draft::{Draft, byte_at, char_at, code_block_head};
use super::{EntityExtra, EntityKind, Formatted, links};

pub(super) fn parse(source: &str) -> Result<Formatted, String> {
    let bytes = source.as_bytes();
    let mut draft = Draft::for_source(source);
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if matches!(byte_at(bytes, at + 1), b'_' | b'*' | b'`' | b'[') => {
                draft.push(char::from(bytes[at + 1]));
                at += 2;
            }
            b'_' | b'*' | b'`' | b'[' => at = entity(source, at, &mut draft)?,
            _ => {
                let character = char_at(source, at);
                draft.push(character);
                at += character.len_utf8();
            }
        }
    }
    Ok(draft.finish())
}

/// Reads one entity; returns its end.
fn entity(source: &str, begin: usize, draft: &mut Draft) -> Result<usize, String> {
    let bytes = source.as_bytes();
    let is_block = bytes[begin..].starts_with(b"```");
    let (language, body) = if is_block { code_block_head(source, begin + 3) } else { (None, begin + 1) };
    let closing = match bytes[begin] {
        _ if is_block => "```",
        b'_' => "_",
        b'*' => "*",
        b'[' => "]",
        _ => "`",
    };
    // A head that swallowed the last line break may leave nothing to read.
    let length = source.get(body..).and_then(|rest| rest.find(closing));
    let end = body + length.ok_or_else(|| format!("Can't find end of the entity starting at byte offset {begin}"))?;
    let since = draft.units;
    draft.push_str(&source[body..end]);
    let mut next = end + closing.len();
    if draft.units == since {
        return Ok(next);
    }
    match bytes[begin] {
        b'_' => draft.mark(EntityKind::Italic, since, None),
        b'*' => draft.mark(EntityKind::Bold, since, None),
        b'[' => {
            let url;
            (url, next) = link_target(source, body, end);
            if let Some(extra) = links::target(url) {
                draft.mark_link(since, extra);
            }
        }
        _ if is_block => {
            draft.mark(EntityKind::Pre, since, language.map(|language| EntityExtra::Language(language.into())))
        }
        _ => draft.mark(EntityKind::Code, since, None),
    }
    Ok(next)
}

/// The address in parentheses, or the text in brackets itself; an unclosed address runs to the end.
fn link_target(source: &str, body: usize, end: usize) -> (&str, usize) {
    match source[end + 1..].strip_prefix('(') {
        None => (&source[body..end], end + 1),
        Some(rest) => match rest.find(')') {
            Some(length) => (&rest[..length], end + 2 + length + 1),
            None => (rest, source.len()),
        },
    }
}
