//! A text while a markup is being read: what is written so far and where it stands in UTF-16 units.

use super::{Entity, EntityKind, Extra, Formatted, arrange, utf16_len};

#[derive(Default)]
pub(super) struct Draft {
    pub(super) text: String,
    pub(super) units: u32,
    pub(super) entities: Vec<Entity>,
}

impl Draft {
    /// A draft with room for a text that is at most as long as its source.
    pub(super) fn for_source(source: &str) -> Self {
        Self { text: String::with_capacity(source.len()), ..Self::default() }
    }

    pub(super) fn push(&mut self, character: char) {
        self.text.push(character);
        self.units += if character.len_utf16() == 2 { 2 } else { 1 };
    }

    pub(super) fn push_str(&mut self, text: &str) {
        self.text.push_str(text);
        // A request is far smaller than what would not fit.
        self.units += utf16_len(text) as u32;
    }

    /// Marks everything written since a place.
    pub(super) fn mark(&mut self, kind: EntityKind, since: u32, extra: Option<Extra>) {
        let length = self.units - since;
        self.entities.push(Entity { kind, offset: since, length, extra: extra.map(Box::new) });
    }

    /// Marks a link or a mention, whichever its target says.
    pub(super) fn mark_link(&mut self, since: u32, target: Extra) {
        let kind = if matches!(target, Extra::User(_)) { EntityKind::TextMention } else { EntityKind::TextLink };
        self.mark(kind, since, Some(target));
    }

    pub(super) fn finish(mut self) -> Formatted {
        arrange::settle(&mut self.entities);
        Formatted { text: self.text, entities: self.entities }
    }
}

/// The byte at a place, and zero after the end, which the markups treat as a blank.
pub(super) fn byte_at(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

/// What separates words in a markup; the end of the text counts, hence the zero.
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0 | 0x0B)
}

/// The character at a place inside the text, which must be a boundary.
pub(super) fn char_at(text: &str, at: usize) -> char {
    text[at..].chars().next().unwrap_or('\0')
}

/// Reads what follows the three backticks of a code block: the language, if any, and where the code begins.
pub(super) fn code_block_head(source: &str, at: usize) -> (Option<&str>, usize) {
    let bytes = source.as_bytes();
    let mut end = at;
    while !is_blank(byte_at(bytes, end)) && bytes[end] != b'`' {
        end += 1;
    }
    let named = end != at && end < bytes.len() && bytes[end] != b'`';
    let (language, mut body) = if named { (Some(&source[at..end]), end) } else { (None, at) };
    // One line break after the opening belongs to the markup, whichever way it is written.
    let is_break = |byte| matches!(byte, b'\n' | b'\r');
    let (first, second) = (byte_at(bytes, body), byte_at(bytes, body + 1));
    if is_break(first) {
        body += if is_break(second) && first != second { 2 } else { 1 };
    }
    (language, body)
}
