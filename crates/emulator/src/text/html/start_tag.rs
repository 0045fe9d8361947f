//! One start tag of the `HTML` markup: its name and the attributes that Telegram reads.

use super::super::EntityKind;
use super::super::draft::{byte_at, char_at, is_blank};
use super::decode_reference;

pub(super) struct StartTag {
    pub(super) name: &'static str,
    pub(super) meaning: TagKind,
    /// The attribute of this kind of tag: address, language, emoji or format; for quotes whether it is expandable.
    pub(super) argument: String,
    pub(super) unix_time: i32,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum TagKind {
    Style(EntityKind),
    Link,
    Emoji,
    Time,
    Pre,
    Code,
    Quote,
}

const TAGS: [(&str, TagKind); 17] = [
    ("a", TagKind::Link),
    ("b", TagKind::Style(EntityKind::Bold)),
    ("strong", TagKind::Style(EntityKind::Bold)),
    ("i", TagKind::Style(EntityKind::Italic)),
    ("em", TagKind::Style(EntityKind::Italic)),
    ("s", TagKind::Style(EntityKind::Strikethrough)),
    ("strike", TagKind::Style(EntityKind::Strikethrough)),
    ("del", TagKind::Style(EntityKind::Strikethrough)),
    ("u", TagKind::Style(EntityKind::Underline)),
    ("ins", TagKind::Style(EntityKind::Underline)),
    ("tg-spoiler", TagKind::Style(EntityKind::Spoiler)),
    ("span", TagKind::Style(EntityKind::Spoiler)),
    ("tg-emoji", TagKind::Emoji),
    ("tg-time", TagKind::Time),
    ("pre", TagKind::Pre),
    ("code", TagKind::Code),
    ("blockquote", TagKind::Quote),
];

/// Reads the tag that begins at a position; returns the tag and its end.
pub(super) fn read(source: &str, begin: usize) -> Result<(StartTag, usize), String> {
    let bytes = source.as_bytes();
    let mut at = begin + 1;
    while !is_blank(byte_at(bytes, at)) && bytes[at] != b'>' {
        at += 1;
    }
    if at >= bytes.len() {
        return Err(format!("Unclosed start tag at byte offset {begin}"));
    }
    let given = source[begin + 1..at].to_ascii_lowercase();
    let Some(&(name, meaning)) = TAGS.iter().find(|(name, _)| *name == given) else {
        return Err(format!("Unsupported start tag \"{given}\" at byte offset {begin}"));
    };
    let mut reader = Attributes { source, bytes, begin, name, at };
    let mut tag = StartTag { name, meaning, argument: String::new(), unix_time: 0 };
    while let Some((attribute, value)) = reader.next()? {
        tag.take(attribute, value);
    }
    if name == "span" && tag.argument != "spoiler" {
        return Err(format!("Tag \"span\" must have class \"tg-spoiler\" at byte offset {begin}"));
    }
    Ok((tag, reader.at + 1))
}

impl StartTag {
    fn take(&mut self, attribute: &str, value: Option<String>) {
        match (self.name, attribute, value) {
            ("blockquote", "expandable", _) => self.argument = "1".to_owned(),
            ("a", "href", Some(value)) | ("tg-emoji", "emoji-id", Some(value)) | ("tg-time", "format", Some(value)) => {
                self.argument = value;
            }
            ("code", "class", Some(value)) => self.take_rest(&value, "language-"),
            ("span", "class", Some(value)) => self.take_rest(&value, "tg-"),
            ("tg-time", "unix", Some(value)) => self.unix_time = leading_number(&value),
            _ => {}
        }
    }

    fn take_rest(&mut self, value: &str, prefix: &str) {
        if let Some(rest) = value.strip_prefix(prefix) {
            self.argument = rest.to_owned();
        }
    }
}

struct Attributes<'a> {
    source: &'a str,
    bytes: &'a [u8],
    begin: usize,
    name: &'static str,
    at: usize,
}

impl<'a> Attributes<'a> {
    fn byte(&self) -> u8 {
        byte_at(self.bytes, self.at)
    }

    /// The next attribute with its value, if it has one; `None` at the end of the tag.
    fn next(&mut self) -> Result<Option<(&'a str, Option<String>)>, String> {
        let (name, begin) = (self.name, self.begin);
        self.skip_blanks();
        if self.byte() == b'>' {
            return Ok(None);
        }
        let attribute_begin = self.at;
        while !is_blank(self.byte()) && !b"=>/\"'".contains(&self.byte()) {
            self.at += 1;
        }
        let attribute = &self.source[attribute_begin..self.at];
        if attribute.is_empty() {
            return Err(format!("Empty attribute name in the tag \"{name}\" at byte offset {begin}"));
        }
        let unclosed = || format!("Unclosed start tag \"{name}\" at byte offset {begin}");
        self.skip_blanks();
        if self.byte() != b'=' {
            return if self.byte() == 0 { Err(unclosed()) } else { Ok(Some((attribute, None))) };
        }
        self.at += 1;
        self.skip_blanks();
        let value = match self.byte() {
            0 => return Err(unclosed()),
            quote @ (b'"' | b'\'') => self.literal(quote),
            _ => self.token()?,
        };
        if self.byte() == 0 {
            return Err(format!("Unclosed start tag at byte offset {begin}"));
        }
        Ok(Some((attribute, Some(value))))
    }

    fn skip_blanks(&mut self) {
        while self.at < self.bytes.len() && is_blank(self.byte()) {
            self.at += 1;
        }
    }

    /// A value without quotes: letters, digits, dots and hyphens, in lower case.
    fn token(&mut self) -> Result<String, String> {
        let begin = self.at;
        while self.byte().is_ascii_alphanumeric() || matches!(self.byte(), b'.' | b'-') {
            self.at += 1;
        }
        if !is_blank(self.byte()) && self.byte() != b'>' {
            return Err(format!("Unexpected end of name token at byte offset {begin}"));
        }
        Ok(self.source[begin..self.at].to_ascii_lowercase())
    }

    fn literal(&mut self, quote: u8) -> String {
        self.at += 1;
        let mut value = String::new();
        while self.at < self.bytes.len() && self.byte() != quote {
            let reference = if self.byte() == b'&' { decode_reference(self.bytes, self.at) } else { None };
            if let Some((code, next)) = reference {
                value.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                self.at = next;
            } else {
                let character = char_at(self.source, self.at);
                value.push(character);
                self.at += character.len_utf8();
            }
        }
        if self.at < self.bytes.len() {
            self.at += 1;
        }
        value
    }
}

/// The number at the start of a value. The rest is ignored, and a number that is too large is no time.
fn leading_number(value: &str) -> i32 {
    let digits = value.bytes().take_while(u8::is_ascii_digit).count();
    value[..digits].parse().unwrap_or(0)
}
