//! Mentions, commands, hashtags and cashtags: a sign, a name, and nothing word-like on either side.

use super::super::EntityKind;
use super::Match;
use super::characters::{is_hashtag_character, is_letter, is_name_byte, is_word};

/// Shorter names do not exist, except for a few of Telegram's own bots.
const SHORTEST_USERNAME: usize = 4;
const SHORT_USERNAMES: [&str; 5] = ["gif", "nft", "pic", "ufc", "vid"];

pub(super) fn mentions(text: &str, finds: &mut Vec<Match>) {
    each_sign(text, b'@', |begin| {
        if char_before(text, begin).is_some_and(is_word) {
            return begin + 1;
        }
        let end = name_end(text, begin + 1);
        let name = &text[begin + 1..end];
        let is_taken = match name.len() {
            SHORTEST_USERNAME..=32 => true,
            _ => SHORT_USERNAMES.iter().any(|short| name.eq_ignore_ascii_case(short)),
        };
        if is_taken && !char_after(text, end).is_some_and(is_word) {
            finds.push(Match { kind: EntityKind::Mention, begin, end });
        }
        end
    });
}

pub(super) fn commands(text: &str, finds: &mut Vec<Match>) {
    let sticks = |character: char| is_word(character) || matches!(character, '/' | '<' | '>');
    each_sign(text, b'/', |begin| {
        if char_before(text, begin).is_some_and(sticks) {
            return begin + 1;
        }
        let mut end = name_end(text, begin + 1);
        if !(1..=64).contains(&(end - begin - 1)) {
            return end;
        }
        if text.as_bytes().get(end) == Some(&b'@') {
            let bot = end + 1;
            end = name_end(text, bot);
            if !(3..=32).contains(&(end - bot)) {
                return end;
            }
        }
        if !char_after(text, end).is_some_and(sticks) {
            finds.push(Match { kind: EntityKind::BotCommand, begin, end });
        }
        end
    });
}

pub(super) fn hashtags(text: &str, finds: &mut Vec<Match>) {
    const LONGEST: usize = 256;
    each_sign(text, b'#', |begin| {
        if char_before(text, begin).is_some_and(is_hashtag_character) {
            return begin + 1;
        }
        // The tag itself is cut at the longest length, yet the run is read to its end.
        let (mut count, mut has_letter) = (0, false);
        let (mut end, mut run_end) = (begin + 1, begin + 1);
        for character in text[begin + 1..].chars().take_while(|&character| is_hashtag_character(character)) {
            run_end += character.len_utf8();
            if count < LONGEST {
                count += 1;
                has_letter |= is_letter(character);
                end = run_end;
            }
        }
        if count == 0 {
            return run_end;
        }
        if end == run_end && text.as_bytes().get(end) == Some(&b'@') {
            let chat_end = name_end(text, end + 1).min(end + 33);
            if chat_end - end > 3 {
                (end, run_end) = (chat_end, chat_end);
            }
        }
        if has_letter && text.as_bytes().get(run_end) != Some(&b'#') {
            finds.push(Match { kind: EntityKind::Hashtag, begin, end });
        }
        run_end
    });
}

pub(super) fn cashtags(text: &str, finds: &mut Vec<Match>) {
    let sticks = |character: char| is_hashtag_character(character) || character == '$';
    each_sign(text, b'$', |begin| {
        if char_before(text, begin).is_some_and(sticks) {
            return begin + 1;
        }
        let name = &text[begin + 1..];
        let length = match name.starts_with("1INCH") {
            true => 5,
            false => name.bytes().take_while(u8::is_ascii_uppercase).count(),
        };
        let mut end = begin + 1 + length;
        if !(1..=8).contains(&length) {
            return end;
        }
        if text.as_bytes().get(end) == Some(&b'@') {
            let chat_end = name_end(text, end + 1);
            if (3..=32).contains(&(chat_end - end - 1)) {
                end = chat_end;
            }
        }
        if !char_after(text, end).is_some_and(sticks) {
            finds.push(Match { kind: EntityKind::Cashtag, begin, end });
        }
        end
    });
}

/// Calls `look` for each position of a sign. It returns the position to continue from.
fn each_sign(text: &str, sign: u8, mut look: impl FnMut(usize) -> usize) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(ahead) = bytes[at..].iter().position(|&byte| byte == sign) {
        at = look(at + ahead);
    }
}

fn name_end(text: &str, begin: usize) -> usize {
    begin + text.as_bytes()[begin..].iter().take_while(|&&byte| is_name_byte(byte)).count()
}

fn char_before(text: &str, at: usize) -> Option<char> {
    text[..at].chars().next_back()
}

fn char_after(text: &str, at: usize) -> Option<char> {
    text[at..].chars().next()
}
