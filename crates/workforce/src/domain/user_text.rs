//! Cleans text that a person types and others read: names, titles, reasons, answers.
//!
//! One rule for pages and bot. Invisible characters that change how the text around them looks are removed: control
//! characters (also NUL, which PostgreSQL cannot store), direction marks, zero-width and blank letters, tags. So names
//! that look alike are equal, and no name can reorder the words beside it.
//!
//! Harmless characters stay. Combining marks stay (`й` and `ё` may be typed in two parts), at most four in a row, so
//! that they do not cover the lines above. The joiner U+200D stays between two emoji, which it joins, and so does the
//! selector for the coloured form of a symbol. Elsewhere both are removed: no Russian or English word needs them.

/// Maximum of combining marks in a row. No spelling needs more.
const MAX_MARKS: usize = 4;

const JOINER: char = '\u{200d}';

/// One line: cleaned, with single spaces.
pub fn line(text: &str) -> String {
    cleaned(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Several lines: cleaned, with line breaks kept.
pub fn lines(text: &str) -> String {
    cleaned(text).trim().to_owned()
}

fn cleaned(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    let mut marks = 0;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        marks = if is_mark(character) { marks + 1 } else { 0 };
        let before = cleaned.chars().next_back();
        let stays = match character {
            '\n' | '\t' | ' ' => true,
            JOINER => {
                let is_emoji_before = before.is_some_and(|before| is_emoji(before) || is_selector(before));
                is_emoji_before && characters.peek().copied().is_some_and(is_emoji)
            }
            selector if is_selector(selector) => before.is_some_and(|before| is_emoji(before) || is_keycap(before)),
            '\u{2028}' | '\u{2029}' => {
                cleaned.push('\n');
                false
            }
            other => !is_invisible(other) && marks <= MAX_MARKS,
        };
        if stays {
            cleaned.push(character);
        }
    }
    cleaned
}

/// Invisible, or changes how other characters look.
fn is_invisible(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}' // soft hyphen
            | '\u{34f}' // joiner of graphemes
            | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' // direction
            | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{2800}' // blank letters
            | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}' // zero width
            | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' // selectors
            | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e007f}' // notes and tags
        )
}

fn is_mark(character: char) -> bool {
    matches!(
        character,
        '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}'
    )
}

fn is_emoji(character: char) -> bool {
    matches!(
        character,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{27ff}'
        | '\u{2900}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}'
    )
}

/// A variation selector: shows a symbol as text or as a picture.
fn is_selector(character: char) -> bool {
    matches!(character, '\u{fe0e}' | '\u{fe0f}')
}

/// Becomes a keycap with a selector and an enclosing frame.
fn is_keycap(character: char) -> bool {
    character.is_ascii_digit() || matches!(character, '#' | '*')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn invisible_characters_are_removed() {
        for (typed, meant) in [
            ("An\u{202e}na\u{0}", "Anna"),
            ("  Анна \n\u{200b} Петрова\u{feff} ", "Анна Петрова"),
            ("Cafe\u{2066} One\u{2069}\u{200f}", "Cafe One"),
            ("\u{3164}\u{2800}\u{ad}", ""),
            ("An\u{200d}na\u{fe0f} \u{e0041}\u{1b}[31m", "Anna [31m"),
            ("One\u{2028}Two\u{a0}Three", "One Two Three"),
        ] {
            assert_eq!(line(typed), meant, "{typed:?}");
        }
        assert_eq!(lines(" one\r\n\ttwo\u{0} \u{202e}\n"), "one\n\ttwo");
    }

    #[test]
    fn harmless_characters_stay() {
        let family = "👩\u{200d}👩\u{200d}👧";
        for text in [
            "Сергеи\u{306} Королёв",
            "Же\u{308}лтая",
            "O'Neil-Kim",
            family,
            "❤\u{fe0f}\u{200d}🔥",
            "1\u{fe0f}\u{20e3}",
            "№ 5",
        ] {
            assert_eq!(line(text), text);
        }
        assert_eq!(line(&format!("z{}", "\u{301}".repeat(400))), format!("z{}", "\u{301}".repeat(4)));
        assert_eq!(line("👩\u{200d}\u{200d}👧"), "👩\u{200d}👧");
    }

    proptest! {
        #[test]
        fn cleaning_is_idempotent(text in "\\PC{0,40}|.{0,40}|[a-я\u{200b}-\u{200f}\u{2028}\u{202e}👩\u{fe0f}\u{301}\0 \n]{0,30}") {
            let once = line(&text);
            prop_assert_eq!(line(&once), once.clone());
            prop_assert!(!once.chars().any(|c| c.is_control()));
            let several = lines(&text);
            prop_assert_eq!(lines(&several), several.clone());
        }
    }
}
