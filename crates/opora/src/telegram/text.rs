//! Texts as Telegram reads them: escaping for its parse modes, and its limits.
//!
//! Lengths are counted in UTF-16 units, as Telegram does, and after the markup is gone.

use frankenstein::ParseMode;

/// The longest text of a message, in UTF-16 units.
pub const MAX_TEXT_UNITS: usize = 4096;
/// The longest caption, in UTF-16 units.
pub const MAX_CAPTION_UNITS: usize = 1024;
/// The longest data of a button, in bytes.
pub const MAX_CALLBACK_BYTES: usize = 64;
/// The longest answer to a pressed button, in characters.
pub const MAX_CALLBACK_ANSWER_CHARS: usize = 200;
/// The most media in an album; the least are two.
pub const MAX_ALBUM: usize = 10;

/// Telegram's HTML.
pub mod html {
    /// Text that shows as it is.
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

    /// Bold, escaped.
    #[must_use]
    pub fn bold(text: &str) -> String {
        within("b", text)
    }

    /// Italic, escaped.
    #[must_use]
    pub fn italic(text: &str) -> String {
        within("i", text)
    }

    /// Underlined, escaped.
    #[must_use]
    pub fn underline(text: &str) -> String {
        within("u", text)
    }

    /// Struck through, escaped.
    #[must_use]
    pub fn strike(text: &str) -> String {
        within("s", text)
    }

    /// Hidden until it is touched, escaped.
    #[must_use]
    pub fn spoiler(text: &str) -> String {
        within("tg-spoiler", text)
    }

    /// Of fixed width, escaped; a touch copies it.
    #[must_use]
    pub fn code(text: &str) -> String {
        within("code", text)
    }

    /// A block of fixed width, escaped.
    #[must_use]
    pub fn pre(text: &str) -> String {
        within("pre", text)
    }

    /// A quotation, escaped.
    #[must_use]
    pub fn quote(text: &str) -> String {
        within("blockquote", text)
    }

    /// A link with its words, both escaped.
    #[must_use]
    pub fn link(text: &str, url: &str) -> String {
        format!("<a href=\"{}\">{}</a>", escape(url), escape(text))
    }

    /// Names a person who may have no @name.
    #[must_use]
    pub fn mention(text: &str, user: i64) -> String {
        format!("<a href=\"tg://user?id={user}\">{}</a>", escape(text))
    }

    fn within(tag: &str, text: &str) -> String {
        format!("<{tag}>{}</{tag}>", escape(text))
    }
}

/// Telegram's MarkdownV2.
pub mod markdown {
    /// Text that shows as it is.
    #[must_use]
    pub fn escape(text: &str) -> String {
        escape_those(text, r"_*[]()~`>#+-=|{}.!\")
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

    /// Of fixed width; within it only two characters mean anything.
    #[must_use]
    pub fn code(text: &str) -> String {
        format!("`{}`", escape_those(text, r"`\"))
    }

    /// A link with its words, both escaped.
    #[must_use]
    pub fn link(text: &str, url: &str) -> String {
        format!("[{}]({})", escape(text), escape_those(url, r")\"))
    }

    fn escape_those(text: &str, those: &str) -> String {
        let mut escaped = String::with_capacity(text.len() + text.len() / 4);
        for letter in text.chars() {
            if those.contains(letter) {
                escaped.push('\\');
            }
            escaped.push(letter);
        }
        escaped
    }
}

/// A text that Telegram would surely refuse as too long; what its markup makes of it is estimated, never too high.
pub(super) fn is_over(text: &str, mode: Option<ParseMode>, most_units: usize) -> bool {
    // No text has more UTF-16 units than bytes, so most texts are not even looked at.
    text.len() > most_units && visible_units(text, mode) > most_units
}

fn visible_units(text: &str, mode: Option<ParseMode>) -> usize {
    match mode {
        None => text.encode_utf16().count(),
        Some(ParseMode::Html) => html_units(text),
        Some(_) => markdown_units(text),
    }
}

/// Tags count nothing, and a named character counts one.
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

/// Anything that may be markup counts nothing, nor does the address of a link.
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
    fn what_a_person_wrote_shows_as_it_is() {
        assert_eq!(html::bold("<b>&\"x\""), "<b>&lt;b&gt;&amp;&quot;x&quot;</b>");
        assert_eq!(
            html::link("a<b", "https://a/?b=1&c=\"2\""),
            "<a href=\"https://a/?b=1&amp;c=&quot;2&quot;\">a&lt;b</a>"
        );
        assert_eq!(markdown::escape("1.5 (a_b)! \\"), r"1\.5 \(a\_b\)\! \\");
        assert_eq!(markdown::code("a`b_c"), r"`a\`b_c`");
    }

    #[test]
    fn lengths_are_utf16_units_without_the_markup() {
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
