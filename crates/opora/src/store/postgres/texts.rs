//! Encodes texts for PostgreSQL.
//!
//! PostgreSQL texts cannot hold NUL, and people can send anything. So NUL is stored as a substitute character and `0`,
//! and a substitute character as itself and `1`.

use std::borrow::Cow;

use crate::store::sql::rows::Rows;

const SUBSTITUTE: char = '\u{1a}';

pub(super) fn encode(text: String) -> String {
    if !text.contains(['\0', SUBSTITUTE]) {
        return text;
    }
    text.replace(SUBSTITUTE, "\u{1a}1").replace('\0', "\u{1a}0")
}

pub(super) fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains(SUBSTITUTE) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace("\u{1a}0", "\0").replace("\u{1a}1", "\u{1a}"))
}

/// Rows as JSON with encoded texts.
pub(super) fn json(rows: Rows) -> String {
    let json = rows.into_json();
    if !json.contains(r"\u0000") && !json.contains(r"\u001a") {
        return json;
    }
    let mut cleaned = String::with_capacity(json.len() + 16);
    let mut rest = json.as_str();
    // Every backslash starts an escape; an escaped backslash is skipped as a pair.
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        cleaned.push_str(before);
        let (length, stored) = match escape.get(..6) {
            Some(r"\u0000") => (6, r"\u001a0"),
            Some(r"\u001a") => (6, r"\u001a1"),
            _ => (2, escape.get(..2).unwrap_or(escape)),
        };
        cleaned.push_str(stored);
        rest = escape.get(length..).unwrap_or_default();
    }
    cleaned.push_str(rest);
    cleaned
}

/// An SQL literal, where nothing can be bound. The session has standard_conforming_strings on.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 8] =
        ["", "plain", "a\0b", "\0\u{1a}0\u{1a}\u{1a}1", r"\u0000", r"\\u001a", "\\\0\"'\u{1a}", "ю\0ю"];

    #[test]
    fn texts_round_trip_without_nul() {
        for text in TEXTS {
            let stored = encode(text.to_owned());
            assert!(!stored.contains('\0'), "{text:?}");
            assert_eq!(decode(&stored), text);
        }
    }

    #[test]
    fn rows_hold_encoded_texts() {
        let mut rows = Rows::default();
        rows.add(&TEXTS).unwrap();
        let stored: Vec<Vec<String>> = serde_json::from_str(&json(rows)).unwrap();
        assert_eq!(stored, [TEXTS.map(|text| encode(text.to_owned()))]);
    }
}
