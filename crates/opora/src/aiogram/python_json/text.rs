//! Texts as Python holds them: code points, halves of surrogate pairs among them.
//!
//! Kept in the one spelling that `json.dumps` has for each, so that equal texts are equal bytes.

use std::fmt::{self, Write as _};

/// A text in Python's spelling: ASCII, everything else escaped.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(Box<str>);

impl Text {
    /// The spelling of a text of Rust's.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut spelled = String::with_capacity(text.len());
        text.chars().for_each(|character| spell(&mut spelled, character));
        Self(spelled.into())
    }

    /// The text; none if it has half a character, which only Python can hold.
    #[must_use]
    pub fn read(&self) -> Option<String> {
        if !self.0.contains('\\') {
            return Some(self.0.to_string());
        }
        serde_json::from_str(&format!("\"{}\"", self.0)).ok()
    }

    /// Takes what is spelled right already.
    pub(super) fn spelled(text: String) -> Self {
        Self(text.into())
    }
}

/// In Python's spelling, without quotes.
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

/// Adds a character as `json.dumps` spells it.
pub(super) fn spell(to: &mut String, character: char) {
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
            character.encode_utf16(&mut units).iter().for_each(|unit| spell_unit(to, *unit));
        }
    }
}

/// Adds half a pair, or a whole character of two bytes.
pub(super) fn spell_unit(to: &mut String, unit: u16) {
    // Writing to a String does not fail.
    let _ = write!(to, "\\u{unit:04x}");
}
