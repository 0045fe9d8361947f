//! A person's name, phone and e-mail address, as people type them.

use crate::domain::user_text;

/// Maximum length of a name, in UTF-16 units as Telegram counts.
const MAX_NAME_UNITS: usize = 100;
/// Maximum length of an e-mail address.
const MAX_EMAIL_BYTES: usize = 254;

/// Why a name is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadName {
    TooShort,
    TooLong,
}

/// A cleaned name with at least two letters.
pub fn name(text: &str) -> Result<String, BadName> {
    let name = user_text::line(text);
    if name.encode_utf16().count() > MAX_NAME_UNITS {
        return Err(BadName::TooLong);
    }
    if name.chars().filter(|character| character.is_alphabetic()).count() < 2 {
        return Err(BadName::TooShort);
    }
    Ok(name)
}

/// A typed phone number, as `+` and digits. Without a country code it is Russian.
pub fn phone(text: &str) -> Option<String> {
    let text = text.trim();
    let plain = |character: char| character.is_ascii_digit() || "+ ()-–.\u{a0}".contains(character);
    if !text.chars().all(plain) || text.rfind('+').is_some_and(|at| at > 0) {
        return None;
    }
    let digits = digits(text);
    let local = |rest: &str| rest.len() == 10 && !rest.starts_with(['0', '1', '2', '6']);
    if text.starts_with('+') {
        return international(&digits);
    }
    match digits.as_bytes().first()? {
        b'7' | b'8' if digits.len() == 11 => local(&digits[1..]).then(|| format!("+7{}", &digits[1..])),
        b'9' if digits.len() == 10 => Some(format!("+7{digits}")),
        b'0' if digits.starts_with("00") => international(&digits[2..]),
        _ => None,
    }
}

/// A number from Telegram, which always has the country code.
pub fn own_phone(text: &str) -> Option<String> {
    international(&digits(text))
}

/// A plausible e-mail address; only a message to it would prove it.
pub fn email(text: &str) -> Option<String> {
    let text = text.trim();
    let (local, domain) = text.rsplit_once('@')?;
    let is_plain = |part: &str| part.chars().all(|c| c.is_alphanumeric() || "!#$%&'*+-/=?^_`{|}~.".contains(c));
    let has_shape =
        |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with('.') && !part.contains("..");
    let fits = text.len() <= MAX_EMAIL_BYTES && is_plain(local) && is_plain(domain);
    (fits && has_shape(local) && has_shape(domain) && domain.contains('.')).then(|| text.to_owned())
}

fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

fn international(digits: &str) -> Option<String> {
    ((8..=15).contains(&digits.len()) && !digits.starts_with('0')).then(|| format!("+{digits}"))
}
