//! Whom somebody means who types a name.

/// Nobody is called by more.
pub const LONGEST_NAME: usize = 64;

/// Whom somebody means: a Telegram number, a username or a phone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// A Telegram number, or a phone without its plus.
    Number(i64),
    /// A phone as it is stored.
    Phone(String),
    /// A username in small letters.
    Username(String),
}

impl Who {
    /// What somebody typed; nobody is called by anything else.
    pub fn parse(typed: &str) -> Option<Self> {
        let typed = typed.trim();
        if typed.is_empty() || typed.len() > LONGEST_NAME {
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

    /// What was typed in one form: a number is a phone without its plus, whether or not anybody has either.
    pub fn name(&self) -> String {
        match self {
            Self::Number(number) => stored_phone(&number.to_string()),
            Self::Phone(phone) => phone.clone(),
            Self::Username(name) => format!("@{name}"),
        }
    }
}

/// A phone as it is stored: at home an eight stands for the country's code.
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
    fn people_are_called_by_number_phone_or_username() {
        let phone = |phone: &str| Some(Who::Phone(phone.to_owned()));
        assert_eq!(Who::parse(" 1001 "), Some(Who::Number(1001)));
        assert_eq!(Who::parse("@Anna_P"), Some(Who::Username("anna_p".into())));
        assert_eq!(Who::parse("anna"), Some(Who::Username("anna".into())));
        assert_eq!(Who::parse("+7 (900) 123-45-67"), phone("+79001234567"));
        assert_eq!(Who::parse("8 900 123-45-67"), phone("+79001234567"));
        for typed in ["+7 (900) 123-45-67", "8 900 123-45-67", "89001234567", "79001234567"] {
            assert_eq!(Who::parse(typed).unwrap().name(), "+79001234567", "{typed}");
        }
        for odd in ["", "@", "Anna Peters", "<b>", "+", "'; --", &"9".repeat(70), &"9".repeat(30)] {
            assert_eq!(Who::parse(odd), None, "{odd}");
        }
    }
}
