//! Character classes that decide where a detected entity begins and ends.
//!
//! Letters are the alphabetic characters of the standard library without letter-like numbers. That accepts a few more
//! combining vowels than Telegram.

/// The zero of each script with decimal digits. The other nine digits follow it.
const ZEROS: [u32; 66] = [
    0x30, 0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xDE6, 0xE50, 0xED0,
    0xF20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620,
    0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10, 0x104A0, 0x10D30, 0x11066, 0x110F0, 0x11136, 0x111D0,
    0x112F0, 0x11450, 0x114D0, 0x11650, 0x116C0, 0x11730, 0x118E0, 0x11950, 0x11C50, 0x11D50, 0x11DA0, 0x16A60,
    0x16AC0, 0x16B50, 0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC, 0x1D7F6, 0x1E140, 0x1E2F0, 0x1E950, 0x1FBF0,
];

pub(super) fn is_letter(character: char) -> bool {
    character.is_alphabetic() && !character.is_numeric()
}

/// A character that may not stand beside a mention, a command or a link.
pub(super) fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// A character in names of people, bots and commands.
pub(super) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

pub(super) fn is_hashtag_character(character: char) -> bool {
    match character {
        '_' | '\u{200C}' | '\u{B7}' | '\u{D80}'..='\u{DFF}' => true,
        _ => is_letter(character) || is_decimal(character),
    }
}

fn is_decimal(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_digit();
    }
    let code = u32::from(character);
    let after = ZEROS.partition_point(|&zero| zero <= code);
    after > 0 && code - ZEROS[after - 1] < 10
}

/// A character that is allowed in a link. Each part of a link has its own rules for punctuation.
pub(super) fn is_link_character(character: char) -> bool {
    match character {
        '\u{200C}' | '\u{200D}' | '\u{2010}'..='\u{2015}' => true,
        '\u{2000}'..='\u{206F}' => false,
        _ => !character.is_whitespace() || character.is_control(),
    }
}

pub(super) fn is_path_character(character: char) -> bool {
    !matches!(character, '\n' | '<' | '>' | '"' | '«' | '»') && is_link_character(character)
}

pub(super) fn is_domain_character(character: char) -> bool {
    match character {
        '.' | '_' | '-' | '~' => true,
        '\0'..='\u{BF}' => character.is_ascii_alphanumeric(),
        _ => is_link_character(character),
    }
}

/// A character that is allowed before the `@` of a link.
pub(super) fn is_userinfo_character(character: char) -> bool {
    !matches!(
        character,
        '\n' | '/' | '[' | ']' | '{' | '}' | '(' | ')' | '\'' | '`' | '<' | '>' | '"' | '@' | '«' | '»'
    ) && is_link_character(character)
}

pub(super) fn is_scheme_character(character: char) -> bool {
    if character.is_ascii() {
        character.is_ascii_alphanumeric() || matches!(character, '+' | '-')
    } else {
        !character.is_whitespace()
    }
}

/// Punctuation that does not end a path.
pub(super) fn is_loose_end(byte: u8) -> bool {
    b".:;,('?!`".contains(&byte)
}

/// The beginning of the run of characters before `end`, not below `floor`.
pub(super) fn run_begin(text: &str, floor: usize, end: usize, belongs: fn(char) -> bool) -> usize {
    let head = &text[floor..end];
    floor + head.trim_end_matches(belongs).len()
}

/// The end of the run of characters from `begin` on.
pub(super) fn run_end(text: &str, begin: usize, belongs: fn(char) -> bool) -> usize {
    let tail = &text[begin..];
    text.len() - tail.trim_start_matches(belongs).len()
}
