//! The `MarkdownV2` markup: nested styles, links, custom emoji, times, code and quotes.
//!
//! A character with a meaning anywhere must be escaped where it has none. Errors are Telegram's.

use super::draft::{Draft, byte_at, char_at, code_block_head};
use super::{EntityExtra, EntityKind, Formatted, links};

pub(super) fn parse(source: &str) -> Result<Formatted, String> {
    let mut reader = Reader {
        source,
        bytes: source.as_bytes(),
        at: 0,
        draft: Draft::for_source(source),
        open: Vec::new(),
        in_quote: false,
        at_line_start: true,
    };
    while reader.at < source.len() {
        reader.step()?;
    }
    reader.finish()
}

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    Bold,
    Italic,
    Underline,
    Strikethrough,
    Spoiler,
    Link,
    /// `![…](…)`: an emoji or a time, depending on its address.
    Special,
    Code,
    Block,
    /// A code block with a language. Telegram's errors have another name for it.
    LanguageBlock,
    Quote,
}

impl Mark {
    /// The name of the mark in errors.
    fn name(self) -> &'static str {
        match self {
            Self::Bold => "Bold",
            Self::Italic => "Italic",
            Self::Underline => "Underline",
            Self::Strikethrough => "Strikethrough",
            Self::Spoiler => "Spoiler",
            Self::Link => "TextUrl",
            Self::Special => "CustomEmoji",
            Self::Code => "Code",
            Self::Block => "Pre",
            Self::LanguageBlock => "PreCode",
            Self::Quote => "BlockQuote",
        }
    }

    fn is_code(self) -> bool {
        matches!(self, Self::Code | Self::Block | Self::LanguageBlock)
    }
}

struct OpenMark<'a> {
    mark: Mark,
    language: Option<&'a str>,
    /// Where the mark begins: in the draft in UTF-16 units and in bytes, and in the source.
    since: u32,
    text_begin: usize,
    source_begin: usize,
}

struct Reader<'a> {
    source: &'a str,
    bytes: &'a [u8],
    at: usize,
    draft: Draft,
    open: Vec<OpenMark<'a>>,
    in_quote: bool,
    /// Whether a quote may begin here, at the start of a line.
    at_line_start: bool,
}

impl<'a> Reader<'a> {
    fn byte(&self, ahead: usize) -> u8 {
        byte_at(self.bytes, self.at + ahead)
    }

    fn step(&mut self) -> Result<(), String> {
        let byte = self.bytes[self.at];
        if byte == b'\\' && is_escapable(self.byte(1)) {
            let escaped = self.byte(1);
            self.draft.push(char::from(escaped));
            self.at += 2;
            if escaped != b'\r' {
                self.at_line_start = escaped == b'\n';
            }
        } else if !self.is_reserved(byte) {
            let character = char_at(self.source, self.at);
            self.draft.push(character);
            self.at += character.len_utf8();
            if byte != b'\r' {
                self.at_line_start = false;
            }
        } else if byte == b'\n' && self.in_quote && self.byte(1) != b'>' {
            self.end_quote_at_line_end()?;
        } else {
            match self.open.pop_if(|last| closes(last.mark, self.bytes, self.at)) {
                Some(closed) => self.close(closed)?,
                None => self.begin(byte)?,
            }
        }
        Ok(())
    }

    fn is_reserved(&self, byte: u8) -> bool {
        match self.open.last() {
            Some(last) if last.mark.is_code() => byte == b'`',
            _ => b"_*[]()~`>#+-=|{}.!\n".contains(&byte),
        }
    }

    /// Begins a mark, or refuses a character that is not allowed here.
    fn begin(&mut self, byte: u8) -> Result<(), String> {
        let (mark, length) = match byte {
            b'_' if self.byte(1) == b'_' => (Mark::Underline, 2),
            b'_' => (Mark::Italic, 1),
            b'*' => (Mark::Bold, 1),
            b'~' => (Mark::Strikethrough, 1),
            b'|' if self.byte(1) == b'|' => (Mark::Spoiler, 2),
            b'[' => (Mark::Link, 1),
            b'!' if self.byte(1) == b'[' => (Mark::Special, 2),
            b'`' if self.byte(1) == b'`' && self.byte(2) == b'`' => return self.begin_block(),
            b'`' => (Mark::Code, 1),
            b'\n' => {
                self.draft.push('\n');
                self.at_line_start = true;
                self.at += 1;
                return Ok(());
            }
            b'>' if self.at_line_start && self.in_quote => {
                self.at += 1;
                return Ok(());
            }
            b'>' if self.at_line_start => {
                self.in_quote = true;
                (Mark::Quote, 1)
            }
            _ => {
                let character = char::from(byte);
                return Err(format!("Character '{character}' is reserved and must be escaped with the preceding '\\'"));
            }
        };
        self.push_open(mark, None);
        self.at += length;
        Ok(())
    }

    fn begin_block(&mut self) -> Result<(), String> {
        let (language, body) = code_block_head(self.source, self.at + 3);
        self.push_open(if language.is_some() { Mark::LanguageBlock } else { Mark::Block }, language);
        self.at = body;
        Ok(())
    }

    fn push_open(&mut self, mark: Mark, language: Option<&'a str>) {
        let text_begin = self.draft.text.len();
        self.open.push(OpenMark { mark, language, since: self.draft.units, text_begin, source_begin: self.at });
    }

    fn close(&mut self, closed: OpenMark<'a>) -> Result<(), String> {
        let (kind, length) = match closed.mark {
            Mark::Bold => (EntityKind::Bold, 1),
            Mark::Italic => (EntityKind::Italic, 1),
            Mark::Strikethrough => (EntityKind::Strikethrough, 1),
            Mark::Code => (EntityKind::Code, 1),
            Mark::Underline => (EntityKind::Underline, 2),
            Mark::Spoiler => (EntityKind::Spoiler, 2),
            Mark::Block | Mark::LanguageBlock => (EntityKind::Pre, 3),
            Mark::Link => return self.close_link(&closed),
            Mark::Special => return self.close_special(&closed),
            // A quote ends with its line, never with a mark.
            Mark::Quote => return Ok(()),
        };
        self.at += length;
        self.draft.mark(kind, closed.since, closed.language.map(|language| EntityExtra::Language(language.into())));
        Ok(())
    }

    fn close_link(&mut self, closed: &OpenMark) -> Result<(), String> {
        let url = match self.address()? {
            Some(url) => url,
            None => self.draft.text[closed.text_begin..].to_owned(),
        };
        if let Some(target) = links::target(&url) {
            self.draft.mark_link(closed.since, target);
        }
        Ok(())
    }

    fn close_special(&mut self, closed: &OpenMark) -> Result<(), String> {
        let Some(url) = self.address()? else {
            return Err("The entity must contain a tg://emoji or tg://time URL".to_owned());
        };
        if let Some(id) = links::custom_emoji_id(&url) {
            let extra = EntityExtra::CustomEmojiId(id.to_string().into());
            self.draft.mark(EntityKind::CustomEmoji, closed.since, Some(extra));
        } else if let Some((unix_time, format)) = links::moment(&url) {
            let format = links::date_format(format).ok_or("Invalid date format used")?;
            let extra = EntityExtra::DateTime { unix_time: unix_time.into(), format };
            self.draft.mark(EntityKind::DateTime, closed.since, Some(extra));
        } else {
            return Err("Invalid tg://emoji or tg://time URL specified".to_owned());
        }
        Ok(())
    }

    /// Skips the bracket, and reads the address in parentheses after it, if there is one.
    fn address(&mut self) -> Result<Option<String>, String> {
        self.at += 1;
        if self.byte(0) != b'(' {
            return Ok(None);
        }
        self.at += 1;
        let begin = self.at;
        let mut url = String::new();
        while self.at < self.bytes.len() && self.byte(0) != b')' {
            if self.byte(0) == b'\\' && is_escapable(self.byte(1)) {
                self.at += 1;
            }
            let character = char_at(self.source, self.at);
            url.push(character);
            self.at += character.len_utf8();
        }
        if self.byte(0) != b')' {
            return Err(format!("Can't find end of a URL at byte offset {begin}"));
        }
        self.at += 1;
        Ok(Some(url))
    }

    /// Ends a quote at a line break after which it does not continue. A single spoiler mark before the line break makes
    /// the quote expandable.
    fn end_quote_at_line_end(&mut self) -> Result<(), String> {
        let carriage_returns = usize::from(self.draft.text.ends_with('\r'));
        let kind = self.quote_kind(&[self.at, self.at - carriage_returns.min(self.at)]);
        let closed = self.open.pop_if(|last| last.mark == Mark::Quote);
        let Some(closed) = closed else {
            return Err(self.complaint());
        };
        self.in_quote = false;
        self.at_line_start = true;
        self.at += 1;
        self.draft.push('\n');
        self.draft.mark(kind, closed.since, None);
        Ok(())
    }

    /// Removes an empty spoiler that ends at one of the positions: it marks the quote as expandable.
    fn quote_kind(&mut self, ends: &[usize]) -> EntityKind {
        let is_sign = |last: &mut OpenMark| last.mark == Mark::Spoiler && ends.contains(&(last.source_begin + 2));
        match self.open.pop_if(is_sign) {
            Some(_) => EntityKind::ExpandableBlockquote,
            None => EntityKind::Blockquote,
        }
    }

    fn finish(mut self) -> Result<Formatted, String> {
        if self.in_quote {
            let kind = self.quote_kind(&[self.bytes.len()]);
            if let Some(closed) = self.open.pop_if(|last| last.mark == Mark::Quote) {
                self.draft.mark(kind, closed.since, None);
            }
        }
        if self.open.is_empty() { Ok(self.draft.finish()) } else { Err(self.complaint()) }
    }

    /// The error about the innermost mark without an end.
    fn complaint(&self) -> String {
        match self.open.last() {
            Some(last) => {
                format!("Can't find end of {} entity at byte offset {}", last.mark.name(), last.source_begin)
            }
            None => "Can't find end of an entity".to_owned(),
        }
    }
}

fn is_escapable(byte: u8) -> bool {
    (1..=126).contains(&byte)
}

/// Whether the characters at a position end the innermost open mark.
fn closes(mark: Mark, bytes: &[u8], at: usize) -> bool {
    let rest = &bytes[at..];
    match mark {
        Mark::Bold => rest.starts_with(b"*"),
        Mark::Italic => rest.starts_with(b"_") && !rest.starts_with(b"__"),
        Mark::Underline => rest.starts_with(b"__"),
        Mark::Strikethrough => rest.starts_with(b"~"),
        Mark::Spoiler => rest.starts_with(b"||"),
        Mark::Link | Mark::Special => rest.starts_with(b"]"),
        Mark::Code => rest.starts_with(b"`"),
        Mark::Block | Mark::LanguageBlock => rest.starts_with(b"```"),
        Mark::Quote => false,
    }
}
