//! Keys and ids as texts that sort in the same order.
//!
//! Redis sorts by bytes. The name of a conversation is its chat, user, thread and business connection, each encoded so
//! that bytes sort like values. No name is the prefix of another.

use crate::key::ConversationKey;

/// Ends a name. No byte of an escaped text is as low.
const END: char = '!';
/// Precedes an escaped character: one that is not above this one.
const ESCAPE: char = '"';
/// The offset of an escaped character.
const SHIFT: u8 = b'#';

/// The name of a conversation within its bot.
pub(super) fn name_of(key: &ConversationKey) -> String {
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

/// A number in the encoding of names.
pub(super) fn number_of(number: i64) -> String {
    let mut text = String::new();
    push_number(&mut text, number);
    text
}

/// The key of a name. `None` if the name is invalid.
pub(super) fn key_of(bot: i64, name: &str) -> Option<ConversationKey> {
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
    Some(ConversationKey { bot, chat, user, thread, business: business.into() })
}

/// A row id as nineteen digits, as many as the largest has. There are no negative ids.
pub(super) fn id_of(number: i64) -> String {
    format!("{:019}", number.max(0))
}

/// The number of digits as a letter, then the digits. Negative numbers have capital letters and inverted digits.
fn push_number(to: &mut String, number: i64) {
    let digits = number.unsigned_abs().to_string();
    // Nineteen digits at most.
    let length = digits.len() as u8;
    if number >= 0 {
        to.push(char::from(b'a' + length));
        to.push_str(&digits);
    } else {
        to.push(char::from(b'Z' - length));
        to.extend(digits.bytes().map(inverted));
    }
}

fn split_number(text: &str) -> Option<(i64, &str)> {
    let letter = *text.as_bytes().first()?;
    let is_negative = letter.is_ascii_uppercase();
    let length = if is_negative { b'Z'.checked_sub(letter)? } else { letter.checked_sub(b'a')? };
    let digits = text.get(1..1 + usize::from(length))?;
    let number = match is_negative {
        false => digits.parse().ok()?,
        true => format!("-{}", digits.bytes().map(inverted).collect::<String>()).parse().ok()?,
    };
    Some((number, &text[1 + usize::from(length)..]))
}

fn inverted(digit: u8) -> char {
    char::from((b'0' + b'9').saturating_sub(digit))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key() -> impl Strategy<Value = ConversationKey> {
        let number = || prop_oneof![any::<i64>(), -12_i64..12, -2_000_000_000_000_i64..2_000_000_000_000];
        let parts = (number(), number(), number(), "[ -}\\x00а-я]{0,6}");
        parts.prop_map(|(chat, user, thread, business)| ConversationKey {
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
        fn an_invalid_name_has_no_key(text in ".{0,12}") {
            if let Some(key) = key_of(7, &text) {
                prop_assert_eq!(key_of(7, &name_of(&key)), Some(key));
            }
        }
    }

    #[test]
    fn names_and_ids_have_a_fixed_format() {
        assert_eq!(name_of(&ConversationKey::private(7, 4_242)), "e4242e4242b0!");
        assert_eq!(id_of(17), "0000000000000000017");
    }
}
