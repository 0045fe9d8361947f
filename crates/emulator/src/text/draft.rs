//! The text built by a markup parser, with its length in UTF-16 units.

use super::{Entity, EntityExtra, EntityKind, Formatted, arrange, utf16_len};

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
        // The size limit of requests keeps the length far below the maximum.
        self.units += utf16_len(text) as u32;
    }

    /// Adds an entity for everything written since a position.
    pub(super) fn mark(&mut self, kind: EntityKind, since: u32, extra: Option<EntityExtra>) {
        let length = self.units - since;
        self.entities.push(Entity { kind, offset: since, length, extra: extra.map(Box::new) });
    }

    /// Adds a link or a mention, depending on the target.
    pub(super) fn mark_link(&mut self, since: u32, target: EntityExtra) {
        let kind = if matches!(target, EntityExtra::User(_)) { EntityKind::TextMention } else { EntityKind::TextLink };
        self.mark(kind, since, Some(target));
    }

    pub(super) fn finish(mut self) -> Formatted {
        arrange::settle(&mut self.entities);
        Formatted { text: self.text, entities: self.entities }
    }
}

/// The byte at a position, or zero after the end. The markups treat zero as a blank.
pub(super) fn byte_at(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

/// Whether a byte separates words in a markup. Zero is the end of the text.
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0 | 0x0B)
}

/// The character at a position, which must be a character boundary inside the text.
pub(super) fn char_at(text: &str, at: usize) -> char {
    text[at..].chars().next().unwrap_or('\0')
}

/// Reads the head of a code block after the three backticks: the language, if any, and where the code begins.
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
