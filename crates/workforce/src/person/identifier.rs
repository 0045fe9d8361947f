//! What people type to name a person.

/// Longer input names no person.
pub const MAX_IDENTIFIER_LENGTH: usize = 64;

/// What names a person: a Telegram id, a username or a phone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PersonIdentifier {
    /// A Telegram id, or a phone without its plus.
    Number(i64),
    /// A phone in its stored form.
    Phone(String),
    /// A username in lower case.
    Username(String),
}

impl PersonIdentifier {
    /// Parses what a person typed; none if it cannot be an identifier.
    pub fn parse(typed: &str) -> Option<Self> {
        let typed = typed.trim();
        if typed.is_empty() || typed.len() > MAX_IDENTIFIER_LENGTH {
            return None;
        }
        let is_phone = |c: char| c.is_ascii_digit() || " +-()".contains(c);
        if !typed.chars().all(is_phone) {
            let name = typed.trim_start_matches('@');
            let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            return is_name.then(|| Self::Username(name.to_ascii_lowercase()));
        }
        let digits: String = typed.chars().filter(char::is_ascii_digit).collect();
        if digits.len() == typed.len() {
            return digits.parse().ok().map(Self::Number);
        }
        (!digits.is_empty()).then(|| Self::Phone(stored_phone(&digits)))
    }

    /// One form for all spellings. A number becomes a phone, whether or not a person has it.
    pub fn canonical(&self) -> String {
        match self {
            Self::Number(number) => stored_phone(&number.to_string()),
            Self::Phone(phone) => phone.clone(),
            Self::Username(name) => format!("@{name}"),
        }
    }
}

/// A phone in its stored form. In Russia a leading 8 stands for the country code 7.
pub fn stored_phone(digits: &str) -> String {
    match digits.strip_prefix('8') {
        Some(rest) if digits.len() == 11 => format!("+7{rest}"),
        _ => format!("+{digits}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_numbers_phones_or_usernames() {
        let phone = |phone: &str| Some(PersonIdentifier::Phone(phone.to_owned()));
        assert_eq!(PersonIdentifier::parse(" 1001 "), Some(PersonIdentifier::Number(1001)));
        assert_eq!(PersonIdentifier::parse("@Anna_P"), Some(PersonIdentifier::Username("anna_p".into())));
        assert_eq!(PersonIdentifier::parse("anna"), Some(PersonIdentifier::Username("anna".into())));
        assert_eq!(PersonIdentifier::parse("+7 (900) 123-45-67"), phone("+79001234567"));
        assert_eq!(PersonIdentifier::parse("8 900 123-45-67"), phone("+79001234567"));
        for typed in ["+7 (900) 123-45-67", "8 900 123-45-67", "89001234567", "79001234567"] {
            assert_eq!(PersonIdentifier::parse(typed).unwrap().canonical(), "+79001234567", "{typed}");
        }
        for odd in ["", "@", "Anna Peters", "<b>", "+", "'; --", &"9".repeat(70), &"9".repeat(30)] {
            assert_eq!(PersonIdentifier::parse(odd), None, "{odd}");
        }
    }
}
