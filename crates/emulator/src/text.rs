//! Message text with its formatting, as Telegram understands it.
//!
//! Parses the three markups of the Bot API or takes entities instead, detects commands, mentions, tags and links, and
//! trims. The usual order is [`parse`] or [`with_entities`], then [`tidy`], then [`detect`]. Offsets count UTF-16
//! units. The entities of a [`Formatted`] are sorted, lie inside its text and never cut a character.
//!
//! Nothing here knows users: a mention by id stays an id. The caller checks the length of a text.

mod arrange;
mod detect;
mod draft;
mod entity;
mod given;
mod html;
mod links;
mod markdown;
mod markdown_v2;
mod tidy;

#[cfg(test)]
mod tests;

pub use detect::detect;
pub use entity::{Entity, EntityExtra, EntityKind};
pub use given::{GivenEntity, GivenUser, with_entities};
pub use tidy::tidy;

/// A text and its entities, sorted the way Telegram shows them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Formatted {
    pub text: String,
    pub entities: Vec<Entity>,
}

/// A markup that `parse_mode` can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseMode {
    Html,
    MarkdownV2,
    Markdown,
}

impl ParseMode {
    /// Reads the value of `parse_mode`; case does not matter. The error is the text after `Bad Request: `.
    ///
    /// The caller handles an empty value and `none`, which mean that there is no markup.
    pub fn from_name(name: &str) -> Result<Self, &'static str> {
        match name.to_ascii_lowercase().as_str() {
            "html" => Ok(Self::Html),
            "markdownv2" => Ok(Self::MarkdownV2),
            "markdown" => Ok(Self::Markdown),
            _ => Err("unsupported parse_mode"),
        }
    }
}

/// Reads a text in the given markup. The error is Telegram's text after `Bad Request: can't parse entities: `.
pub fn parse(text: &str, mode: ParseMode) -> Result<Formatted, String> {
    match mode {
        ParseMode::Html => html::parse(text),
        ParseMode::MarkdownV2 => markdown_v2::parse(text),
        ParseMode::Markdown => markdown::parse(text),
    }
}

/// The length of a text as Telegram counts it.
pub fn utf16_len(text: &str) -> usize {
    // Each character has one byte that is not a continuation, and a second unit exactly if it takes four bytes.
    text.bytes().map(|byte| usize::from(byte & 0xC0 != 0x80) + usize::from(byte >= 0xF0)).sum()
}
