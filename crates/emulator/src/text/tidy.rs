//! Cleans a text before it is stored: removes control characters and blanks around it, and empties an invisible text.

use super::{Formatted, arrange, utf16_len};

/// Trims the text and removes forbidden characters, moving the entities along. A text without a visible character
/// becomes empty, and entities beyond Telegram's limit are dropped. A text that is clean already is not touched.
pub fn tidy(formatted: &mut Formatted) {
    if formatted.text.chars().all(is_invisible) {
        formatted.text.clear();
        formatted.entities.clear();
        return;
    }
    if let Some(first) = first_offence(&formatted.text) {
        clean(formatted, first);
    }
    trim_end(formatted);
    trim_start(formatted);
    arrange::keep_allowed(&mut formatted.entities);
    // After cleaning there may be no visible character left.
    if formatted.text.chars().all(is_invisible) {
        formatted.text.clear();
        formatted.entities.clear();
    }
}

/// The position of the first character to remove or replace.
fn first_offence(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    (0..bytes.len()).find(|&at| match bytes[at] {
        b'\n' => false,
        0..=0x1F => true,
        // Every other such character begins with one of these two bytes, so only those are decoded.
        0xE2 | 0xCC => {
            text[at..].chars().next().is_some_and(|character| is_removed(character) || is_direction(character))
        }
        _ => false,
    })
}

fn is_removed(character: char) -> bool {
    matches!(character, '\r' | '\u{2028}'..='\u{202E}' | '\u{333}' | '\u{33F}' | '\u{30A}')
}

/// A mark of writing direction. Of several in a row only the last one counts; the others become joiners.
fn is_direction(character: char) -> bool {
    matches!(character, '\u{200E}' | '\u{200F}')
}

fn is_invisible(character: char) -> bool {
    matches!(
        character,
        ' ' | '\n' | '\t' | '\r' | '\0'..='\u{1F}' | '\u{A0}' | '\u{1680}' | '\u{180E}' | '\u{2000}'..='\u{200F}'
            | '\u{2028}'..='\u{202F}' | '\u{205F}'..='\u{206F}' | '\u{2800}' | '\u{3000}' | '\u{FEFF}' | '\u{FFFC}'
            | '\u{E0000}'..='\u{E007F}'
    )
}

fn clean(formatted: &mut Formatted, first: usize) {
    let (before, rest) = formatted.text.split_at(first);
    let mut text = String::with_capacity(formatted.text.len());
    text.push_str(before);
    // Positions of removed characters in UTF-16 units; each was one unit wide.
    let mut removed: Vec<u32> = Vec::new();
    let mut place = utf16_len(before) as u32;
    for character in rest.chars() {
        if is_removed(character) {
            removed.push(place);
        } else if character < ' ' && character != '\n' {
            text.push(' ');
        } else {
            if is_direction(character) && text.ends_with(is_direction) {
                text.pop();
                text.push('\u{200C}');
            }
            text.push(character);
        }
        place += if character.len_utf16() == 2 { 2 } else { 1 };
    }
    formatted.text = text;
    if removed.is_empty() {
        return;
    }
    let moved = |place: u32| place - removed.partition_point(|&gone| gone < place) as u32;
    for entity in &mut formatted.entities {
        let end = moved(entity.end());
        entity.offset = moved(entity.offset);
        entity.length = end - entity.offset;
    }
    arrange::settle(&mut formatted.entities);
}

fn trim_end(formatted: &mut Formatted) {
    let kept = formatted.text.trim_end_matches([' ', '\n']).len();
    if kept == formatted.text.len() {
        return;
    }
    formatted.text.truncate(kept);
    if formatted.entities.is_empty() {
        return;
    }
    let end = utf16_len(&formatted.text) as u32;
    formatted.entities.retain(|entity| entity.offset < end);
    for entity in &mut formatted.entities {
        entity.length = entity.length.min(end - entity.offset);
    }
    arrange::sort(&mut formatted.entities);
}

/// Blanks that an entity begins with stay.
fn trim_start(formatted: &mut Formatted) {
    let blanks = formatted.text.len() - formatted.text.trim_start_matches([' ', '\n']).len();
    let limit = formatted.entities.first().map_or(blanks, |entity| entity.offset as usize);
    let cut = blanks.min(limit);
    if cut == 0 {
        return;
    }
    formatted.text.drain(..cut);
    for entity in &mut formatted.entities {
        entity.offset -= cut as u32;
    }
}
