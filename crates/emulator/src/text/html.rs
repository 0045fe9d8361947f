//! The `HTML` markup: the few tags and character references that Telegram knows.

mod start_tag;

use super::draft::{Draft, byte_at, is_blank};
use super::{EntityExtra, EntityKind, Formatted, links};
use start_tag::{StartTag, TagKind};

pub(super) fn parse(source: &str) -> Result<Formatted, String> {
    if source.contains('\0') {
        return Err("Text must not contain null bytes".to_owned());
    }
    let mut reader =
        Reader { source, at: 0, draft: Draft::for_source(source), open: Vec::new(), has_lone_surrogate: false };
    while reader.at < source.len() {
        reader.step()?;
    }
    reader.finish()
}

struct OpenTag {
    tag: StartTag,
    /// Where the text of the tag begins, in UTF-16 units and in bytes.
    since: u32,
    text_begin: usize,
}

struct Reader<'a> {
    source: &'a str,
    at: usize,
    draft: Draft,
    open: Vec<OpenTag>,
    has_lone_surrogate: bool,
}

impl Reader<'_> {
    fn step(&mut self) -> Result<(), String> {
        let bytes = self.source.as_bytes();
        match bytes[self.at] {
            b'<' if byte_at(bytes, self.at + 1) == b'/' => self.end_tag(),
            b'<' => {
                let (tag, next) = start_tag::read(self.source, self.at)?;
                self.open.push(OpenTag { tag, since: self.draft.units, text_begin: self.draft.text.len() });
                self.at = next;
                Ok(())
            }
            b'&' => {
                self.reference();
                Ok(())
            }
            _ => {
                let rest = &self.source[self.at..];
                let plain = &rest[..rest.find(['<', '&']).unwrap_or(rest.len())];
                self.draft.push_str(plain);
                self.at += plain.len();
                Ok(())
            }
        }
    }

    fn reference(&mut self) {
        match decode_reference(self.source.as_bytes(), self.at) {
            Some((code, next)) => {
                let decoded = char::from_u32(code);
                self.has_lone_surrogate |= decoded.is_none();
                self.draft.push(decoded.unwrap_or(char::REPLACEMENT_CHARACTER));
                self.at = next;
            }
            None => {
                self.draft.push('&');
                self.at += 1;
            }
        }
    }

    fn end_tag(&mut self) -> Result<(), String> {
        let (bytes, begin) = (self.source.as_bytes(), self.at);
        if self.open.is_empty() {
            return Err(format!("Unexpected end tag at byte offset {begin}"));
        }
        let mut at = begin + 2;
        while !is_blank(byte_at(bytes, at)) && bytes[at] != b'>' {
            at += 1;
        }
        let name = self.source[begin + 2..at].to_ascii_lowercase();
        while at < bytes.len() && is_blank(bytes[at]) {
            at += 1;
        }
        if byte_at(bytes, at) != b'>' {
            return Err(format!("Unclosed end tag at byte offset {begin}"));
        }
        self.at = at + 1;
        // The list was not empty above.
        let Some(closed) = self.open.pop() else { return Ok(()) };
        let expected = closed.tag.name;
        if !name.is_empty() && name != expected {
            return Err(format!(
                "Unmatched end tag at byte offset {begin}, expected \"</{expected}>\", found \"</{name}>\""
            ));
        }
        if self.draft.units > closed.since { self.close(closed) } else { Ok(()) }
    }

    fn close(&mut self, OpenTag { tag, since, text_begin }: OpenTag) -> Result<(), String> {
        match tag.meaning {
            TagKind::Style(kind) => self.draft.mark(kind, since, None),
            TagKind::Emoji => {
                let id = links::whole_number(&tag.argument).filter(|id| *id != 0);
                let id = id.ok_or("Invalid custom emoji identifier specified")?;
                let extra = EntityExtra::CustomEmojiId(id.to_string().into());
                self.draft.mark(EntityKind::CustomEmoji, since, Some(extra));
            }
            TagKind::Time => {
                let format = links::date_format(&tag.argument).ok_or("Invalid date format used")?;
                if tag.unix_time > 0 {
                    let extra = EntityExtra::DateTime { unix_time: tag.unix_time.into(), format };
                    self.draft.mark(EntityKind::DateTime, since, Some(extra));
                }
            }
            TagKind::Link => {
                let own_text = &self.draft.text[text_begin..];
                let url = if tag.argument.is_empty() { own_text } else { &tag.argument };
                if let Some(target) = links::target(url) {
                    self.draft.mark_link(since, target);
                }
            }
            TagKind::Pre => self.close_pre(since),
            TagKind::Code => self.close_code(since, tag.argument),
            TagKind::Quote if tag.argument.is_empty() => self.draft.mark(EntityKind::Blockquote, since, None),
            TagKind::Quote => self.draft.mark(EntityKind::ExpandableBlockquote, since, None),
        }
        Ok(())
    }

    /// `<pre>` around exactly one `<code>` with a language is one block in that language.
    fn close_pre(&mut self, since: u32) {
        let end = self.draft.units;
        match self.draft.entities.last_mut() {
            Some(last)
                if last.kind == EntityKind::Code
                    && (last.offset, last.end()) == (since, end)
                    && last.language().is_some() =>
            {
                last.kind = EntityKind::Pre;
            }
            _ => self.draft.mark(EntityKind::Pre, since, None),
        }
    }

    /// `<code>` with a language around exactly one `<pre>` is the same block. Any other `<code>` keeps its language, in
    /// case a `<pre>` around it follows.
    fn close_code(&mut self, since: u32, language: String) {
        let end = self.draft.units;
        let language = (!language.is_empty()).then(|| EntityExtra::Language(language.into()));
        match self.draft.entities.last_mut() {
            Some(last)
                if last.kind == EntityKind::Pre
                    && last.extra.is_none()
                    && (last.offset, last.end()) == (since, end)
                    && language.is_some() =>
            {
                last.extra = language.map(Box::new);
            }
            _ => self.draft.mark(EntityKind::Code, since, language),
        }
    }

    fn finish(mut self) -> Result<Formatted, String> {
        if let Some(last) = self.open.last() {
            return Err(format!("Can't find end tag corresponding to start tag \"{}\"", last.tag.name));
        }
        if self.has_lone_surrogate {
            let complaint = "Text contains invalid Unicode characters after decoding HTML entities, check for \
                             unmatched surrogate code units";
            return Err(complaint.to_owned());
        }
        for entity in self.draft.entities.iter_mut().filter(|entity| entity.kind == EntityKind::Code) {
            entity.extra = None;
        }
        Ok(self.draft.finish())
    }
}

/// Reads a character reference; returns its code, which may be half of a surrogate pair, and where it ends. None if it
/// is plain text.
fn decode_reference(bytes: &[u8], begin: usize) -> Option<(u32, usize)> {
    let (code, end) = match (byte_at(bytes, begin + 1), byte_at(bytes, begin + 2)) {
        (b'#', b'x') => number(bytes, begin, begin + 3, 16)?,
        (b'#', _) => number(bytes, begin, begin + 2, 10)?,
        _ => {
            let letters = bytes[begin + 1..].iter().take_while(|byte| byte.is_ascii_alphabetic()).take(5).count();
            let end = begin + 1 + letters;
            let code = match &bytes[begin + 1..end] {
                b"lt" => '<',
                b"gt" => '>',
                b"amp" => '&',
                b"quot" => '"',
                _ => return None,
            };
            (code.into(), end)
        }
    };
    Some((code, if byte_at(bytes, end) == b';' { end + 1 } else { end }))
}

fn number(bytes: &[u8], begin: usize, digits_begin: usize, radix: u32) -> Option<(u32, usize)> {
    const LONGEST: usize = 9;
    let mut code: u32 = 0;
    let mut end = digits_begin;
    while let Some(digit) = char::from(byte_at(bytes, end)).to_digit(radix) {
        code = code.checked_mul(radix)?.checked_add(digit)?;
        end += 1;
    }
    (code != 0 && code < 0x0010_FFFF && end - begin <= LONGEST).then_some((code, end))
}
