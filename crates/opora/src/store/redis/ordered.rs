//! Keys and numbers as texts that sort as they do.
//!
//! Redis keeps lists in the order of bytes. A conversation is named there by its chat, user, thread and business
//! connection, each in a form whose bytes have the order of its values, and no name is the beginning of another.

use crate::key::DialogueKey;

/// Ends a name; no byte of an escaped text is as low.
const END: char = '!';
/// Stands before a character that would be mistaken for the end or for this one.
const ESCAPE: char = '"';
/// How far an escaped character is moved.
const SHIFT: u8 = b'#';

/// The name of a conversation among those of its bot.
pub(super) fn name_of(key: &DialogueKey) -> String {
    let mut name = String::with_capacity(32 + key.business.len());
    for part in [key.chat, key.user, key.thread] {
        push_number(&mut name, part);
    }
    for character in key.business.chars() {
        match u8::try_from(character) {
            Ok(byte) if byte <= ESCAPE as u8 => name.extend([ESCAPE, char::from(byte + SHIFT)]),
            _ => name.push(character),
        }
    }
    name.push(END);
    name
}

/// A number as names spell it.
pub(super) fn number_of(number: i64) -> String {
    let mut text = String::new();
    push_number(&mut text, number);
    text
}

/// The key of a name; none if it is not one.
pub(super) fn key_of(bot: i64, name: &str) -> Option<DialogueKey> {
    let (chat, rest) = split_number(name)?;
    let (user, rest) = split_number(rest)?;
    let (thread, rest) = split_number(rest)?;
    let mut business = String::new();
    let mut characters = rest.strip_suffix(END)?.chars();
    while let Some(character) = characters.next() {
        business.push(match character {
            ESCAPE => char::from(u8::try_from(characters.next()?).ok()?.checked_sub(SHIFT)?),
            plain => plain,
        });
    }
    Some(DialogueKey { bot, chat, user, thread, business: business.into() })
}

/// A row's number: nineteen digits, as many as the largest has. Numbers below zero are nobody's.
pub(super) fn id_of(number: i64) -> String {
    format!("{:019}", number.max(0))
}

/// The number of digits as a letter, then the digits. Below zero the letters are large ones, and everything is turned
/// around.
fn push_number(to: &mut String, number: i64) {
    let digits = number.unsigned_abs().to_string();
    // Nineteen digits at most.
    let length = digits.len() as u8;
    if number >= 0 {
        to.push(char::from(b'a' + length));
        to.push_str(&digits);
    } else {
        to.push(char::from(b'Z' - length));
        to.extend(digits.bytes().map(turned));
    }
}

fn split_number(text: &str) -> Option<(i64, &str)> {
    let letter = *text.as_bytes().first()?;
    let is_negative = letter.is_ascii_uppercase();
    let length = if is_negative { b'Z'.checked_sub(letter)? } else { letter.checked_sub(b'a')? };
    let digits = text.get(1..1 + usize::from(length))?;
    let number = match is_negative {
        false => digits.parse().ok()?,
        true => format!("-{}", digits.bytes().map(turned).collect::<String>()).parse().ok()?,
    };
    Some((number, &text[1 + usize::from(length)..]))
}

fn turned(digit: u8) -> char {
    char::from((b'0' + b'9').saturating_sub(digit))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key() -> impl Strategy<Value = DialogueKey> {
        let number = || prop_oneof![any::<i64>(), -12_i64..12, -2_000_000_000_000_i64..2_000_000_000_000];
        let parts = (number(), number(), number(), "[ -}\\x00а-я]{0,6}");
        parts.prop_map(|(chat, user, thread, business)| DialogueKey {
            bot: 7,
            chat,
            user,
            thread,
            business: business.into(),
        })
    }

    proptest! {
        #[test]
        fn a_name_reads_back(key in key()) {
            prop_assert_eq!(key_of(7, &name_of(&key)), Some(key));
        }

        #[test]
        fn names_sort_as_keys_do(one in key(), other in key()) {
            prop_assert_eq!(name_of(&one).cmp(&name_of(&other)), one.cmp(&other));
        }

        #[test]
        fn what_is_no_name_is_no_key(text in ".{0,12}") {
            if let Some(key) = key_of(7, &text) {
                prop_assert_eq!(key_of(7, &name_of(&key)), Some(key));
            }
        }
    }

    #[test]
    fn a_name_can_be_read_by_people() {
        assert_eq!(name_of(&DialogueKey::private(7, 4_242)), "e4242e4242b0!");
        assert_eq!(id_of(17), "0000000000000000017");
    }
}
