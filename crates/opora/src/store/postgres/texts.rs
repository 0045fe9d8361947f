//! Texts on their way into PostgreSQL and back.
//!
//! PostgreSQL's texts cannot hold the character NUL, and people can send anything. So a NUL is stored as a substitute
//! character and a `0`, and a substitute character as itself and a `1`: whatever was said comes back as it was.

use std::borrow::Cow;

use crate::store::sql::rows::Rows;

const SUBSTITUTE: char = '\u{1a}';

/// A text as it is stored.
pub(super) fn kept(text: String) -> String {
    if !text.contains(['\0', SUBSTITUTE]) {
        return text;
    }
    text.replace(SUBSTITUTE, "\u{1a}1").replace('\0', "\u{1a}0")
}

/// A text as it was before it was stored.
pub(super) fn said(text: &str) -> Cow<'_, str> {
    if !text.contains(SUBSTITUTE) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace("\u{1a}0", "\0").replace("\u{1a}1", "\u{1a}"))
}

/// Rows as JSON that PostgreSQL can read; the texts in them are as they are stored.
pub(super) fn json(rows: Rows) -> String {
    let json = rows.into_json();
    if !json.contains(r"\u0000") && !json.contains(r"\u001a") {
        return json;
    }
    let mut kept = String::with_capacity(json.len() + 16);
    let mut rest = json.as_str();
    // An escape is judged from its own backslash on: the one before may be a character that was said.
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        kept.push_str(before);
        let (length, stored) = match escape.get(..6) {
            Some(r"\u0000") => (6, r"\u001a0"),
            Some(r"\u001a") => (6, r"\u001a1"),
            _ => (2, escape.get(..2).unwrap_or(escape)),
        };
        kept.push_str(stored);
        rest = escape.get(length..).unwrap_or_default();
    }
    kept.push_str(rest);
    kept
}

/// A literal of SQL, where nothing can be bound. The session reads backslashes as they are.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 8] =
        ["", "plain", "a\0b", "\0\u{1a}0\u{1a}\u{1a}1", r"\u0000", r"\\u001a", "\\\0\"'\u{1a}", "ю\0ю"];

    #[test]
    fn texts_come_back_as_they_were_and_hold_no_nul() {
        for text in TEXTS {
            let stored = kept(text.to_owned());
            assert!(!stored.contains('\0'), "{text:?}");
            assert_eq!(said(&stored), text);
        }
    }

    #[test]
    fn rows_hold_the_texts_as_they_are_stored() {
        let mut rows = Rows::default();
        rows.add(&TEXTS).unwrap();
        let stored: Vec<Vec<String>> = serde_json::from_str(&json(rows)).unwrap();
        assert_eq!(stored, [TEXTS.map(|text| kept(text.to_owned()))]);
    }
}
