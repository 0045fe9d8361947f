//! Escaping for Telegram's parse modes, and its limits on lengths.
//!
//! Lengths are in UTF-16 units without markup, as Telegram counts them.

use frankenstein::ParseMode;

/// The longest text of a message, in UTF-16 units.
pub const MAX_TEXT_UNITS: usize = 4096;
/// The longest caption, in UTF-16 units.
pub const MAX_CAPTION_UNITS: usize = 1024;
/// The longest data of a button, in bytes.
pub const MAX_CALLBACK_BYTES: usize = 64;
/// The longest answer to a pressed button, in characters.
pub const MAX_CALLBACK_ANSWER_CHARS: usize = 200;
/// The largest number of media in an album. The smallest is two.
pub const MAX_ALBUM: usize = 10;

/// Telegram's HTML.
pub mod html {
    /// Escapes a text.
    #[must_use]
    pub fn escape(text: &str) -> String {
        let mut escaped = String::with_capacity(text.len() + text.len() / 8);
        for letter in text.chars() {
            match letter {
                '&' => escaped.push_str("&amp;"),
                '<' => escaped.push_str("&lt;"),
                '>' => escaped.push_str("&gt;"),
                '"' => escaped.push_str("&quot;"),
                letter => escaped.push(letter),
            }
        }
        escaped
    }

    /// Functions that put a text into an element.
    macro_rules! elements {
        ($($(#[$about:meta])* $name:ident: $tag:literal;)*) => {
            $($(#[$about])* #[must_use] pub fn $name(text: &str) -> String {
                format!(concat!("<", $tag, ">{}</", $tag, ">"), escape(text))
            })*
        };
    }

    elements! {
        /// Bold, escaped.
        bold: "b";
        /// Italic, escaped.
        italic: "i";
        /// Underlined, escaped.
        underline: "u";
        /// Struck through, escaped.
        strike: "s";
        /// Hidden until it is tapped, escaped.
        spoiler: "tg-spoiler";
        /// Monospace, escaped; a tap copies it.
        code: "code";
        /// A monospace block, escaped.
        pre: "pre";
        /// A quotation, escaped.
        quote: "blockquote";
    }

    /// A link; text and URL are escaped.
    #[must_use]
    pub fn link(text: &str, url: &str) -> String {
        format!("<a href=\"{}\">{}</a>", escape(url), escape(text))
    }

    /// A mention of a person, who may have no username.
    #[must_use]
    pub fn mention(text: &str, user: i64) -> String {
        format!("<a href=\"tg://user?id={user}\">{}</a>", escape(text))
    }
}

/// Telegram's MarkdownV2.
pub mod markdown {
    /// Escapes a text.
    #[must_use]
    pub fn escape(text: &str) -> String {
        escape_chars(text, r"_*[]()~`>#+-=|{}.!\")
    }

    /// Bold, escaped.
    #[must_use]
    pub fn bold(text: &str) -> String {
        format!("*{}*", escape(text))
    }

    /// Italic, escaped.
    #[must_use]
    pub fn italic(text: &str) -> String {
        format!("_{}_", escape(text))
    }

    /// Struck through, escaped.
    #[must_use]
    pub fn strike(text: &str) -> String {
        format!("~{}~", escape(text))
    }

    /// Monospace. Only two characters need escapes in it.
    #[must_use]
    pub fn code(text: &str) -> String {
        format!("`{}`", escape_chars(text, r"`\"))
    }

    /// A link; text and URL are escaped.
    #[must_use]
    pub fn link(text: &str, url: &str) -> String {
        format!("[{}]({})", escape(text), escape_chars(url, r")\"))
    }

    fn escape_chars(text: &str, special: &str) -> String {
        let mut escaped = String::with_capacity(text.len() + text.len() / 4);
        for letter in text.chars() {
            if special.contains(letter) {
                escaped.push('\\');
            }
            escaped.push(letter);
        }
        escaped
    }
}

/// Whether Telegram would certainly refuse the text as too long. The length without markup is an estimate, never too
/// high.
pub(super) fn is_over(text: &str, mode: Option<ParseMode>, max_units: usize) -> bool {
    // A text has at most as many UTF-16 units as bytes, so most texts need no counting.
    text.len() > max_units && visible_units(text, mode) > max_units
}

fn visible_units(text: &str, mode: Option<ParseMode>) -> usize {
    match mode {
        None => text.encode_utf16().count(),
        Some(ParseMode::Html) => html_units(text),
        Some(_) => markdown_units(text),
    }
}

/// Tags do not count, and an entity counts as one.
fn html_units(text: &str) -> usize {
    let mut units = 0;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '<' => skip_past(&mut letters, '>'),
            '&' => {
                skip_past(&mut letters, ';');
                units += 1;
            }
            letter => units += letter.len_utf16(),
        }
    }
    units
}

/// Possible markup and the URLs of links do not count.
fn markdown_units(text: &str) -> usize {
    let mut units = 0;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '(' => skip_past(&mut letters, ')'),
            '_' | '*' | '[' | ']' | '~' | '`' | '>' | '|' | '\\' | '!' => {}
            letter => units += letter.len_utf16(),
        }
    }
    units
}

fn skip_past(letters: &mut std::str::Chars<'_>, end: char) {
    let _ = letters.find(|letter| *letter == end);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_are_escaped() {
        assert_eq!(html::bold("<b>&\"x\""), "<b>&lt;b&gt;&amp;&quot;x&quot;</b>");
        assert_eq!(
            html::link("a<b", "https://a/?b=1&c=\"2\""),
            "<a href=\"https://a/?b=1&amp;c=&quot;2&quot;\">a&lt;b</a>"
        );
        assert_eq!(markdown::escape("1.5 (a_b)! \\"), r"1\.5 \(a\_b\)\! \\");
        assert_eq!(markdown::code("a`b_c"), r"`a\`b_c`");
    }

    #[test]
    fn lengths_are_utf16_units_without_markup() {
        let faces = "🙂".repeat(2048);
        assert!(!is_over(&faces, None, MAX_TEXT_UNITS));
        assert!(is_over(&format!("{faces}a"), None, MAX_TEXT_UNITS));
        let bold = format!("<b>{}</b>", "&amp;".repeat(4096));
        assert!(!is_over(&bold, Some(ParseMode::Html), MAX_TEXT_UNITS));
        assert!(is_over(&bold, None, MAX_TEXT_UNITS));
        assert!(is_over(&format!("{bold}a"), Some(ParseMode::Html), MAX_TEXT_UNITS));
        assert!(!is_over(&r"\.".repeat(4096), Some(ParseMode::MarkdownV2), MAX_TEXT_UNITS));
        assert!(is_over(&"a".repeat(4097), Some(ParseMode::MarkdownV2), MAX_TEXT_UNITS));
    }
}
