//! Texts of Python: code points, including lone surrogates.
//!
//! Kept escaped exactly as `json.dumps` does, so that equal texts are equal bytes.

use std::fmt::{self, Write as _};

/// A text with Python's escapes: ASCII only.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(Box<str>);

impl Text {
    /// Escapes a Rust text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut escaped = String::with_capacity(text.len());
        text.chars().for_each(|character| push_escaped(&mut escaped, character));
        Self(escaped.into())
    }

    /// The text. None if it contains a lone surrogate, which Rust cannot represent.
    #[must_use]
    pub fn decode(&self) -> Option<String> {
        if !self.0.contains('\\') {
            return Some(self.0.to_string());
        }
        serde_json::from_str(&format!("\"{}\"", self.0)).ok()
    }

    /// A text that is already escaped.
    pub(super) fn from_escaped(text: String) -> Self {
        Self(text.into())
    }
}

/// Escaped, without quotes.
impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0)
    }
}

/// Adds a character, escaped as `json.dumps` does.
pub(super) fn push_escaped(to: &mut String, character: char) {
    match character {
        '"' => to.push_str("\\\""),
        '\\' => to.push_str("\\\\"),
        '\n' => to.push_str("\\n"),
        '\r' => to.push_str("\\r"),
        '\t' => to.push_str("\\t"),
        '\u{8}' => to.push_str("\\b"),
        '\u{c}' => to.push_str("\\f"),
        ' '..='~' => to.push(character),
        _ => {
            let mut units = [0; 2];
            character.encode_utf16(&mut units).iter().for_each(|unit| push_escaped_unit(to, *unit));
        }
    }
}

/// Adds a UTF-16 unit as an escape.
pub(super) fn push_escaped_unit(to: &mut String, unit: u16) {
    // Writing to a String does not fail.
    let _ = write!(to, "\\u{unit:04x}");
}
