//! Parses and normalizes what people type.

use crate::domain::user_text;
pub use crate::person::contact::{BadName, email, name, own_phone, phone};

/// Maximum length of a rejection's reason.
pub const MAX_REASON_UNITS: usize = 300;
/// A cleaned reason; none if it is empty or too long.
pub fn reason(text: &str) -> Option<String> {
    let reason = user_text::line(text);
    (!reason.is_empty() && reason.encode_utf16().count() <= MAX_REASON_UNITS).then_some(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cleaned_and_need_two_letters() {
        assert_eq!(name("  Анна \n Петрова "), Ok("Анна Петрова".into()));
        assert_eq!(name("O'Neil-Kim"), Ok("O'Neil-Kim".into()));
        assert_eq!(name("An\u{202e}na\u{0}"), Ok("Anna".into()));
        for short in ["", "A", "7", "!!!", "Я 1"] {
            assert_eq!(name(short), Err(BadName::TooShort), "{short}");
        }
        assert_eq!(name(&"я".repeat(100)), Ok("я".repeat(100)));
        assert_eq!(name(&"я".repeat(101)), Err(BadName::TooLong));
    }

    #[test]
    fn phones_are_normalized() {
        for (text, meant) in [
            ("+7 (999) 123-45-67", "+79991234567"),
            ("8 999 123 45 67", "+79991234567"),
            ("79991234567", "+79991234567"),
            ("9991234567", "+79991234567"),
            ("+49 170 1234567", "+491701234567"),
            ("0049 170 1234567", "+491701234567"),
        ] {
            assert_eq!(phone(text).as_deref(), Some(meant), "{text}");
        }
        for text in ["", "123", "call me", "+7999123456789012", "999+1234567", "8 000 123 45 67", "+", "7"] {
            assert_eq!(phone(text), None, "{text}");
        }
        assert_eq!(own_phone("79991234567").as_deref(), Some("+79991234567"));
        assert_eq!(own_phone("+88801234567").as_deref(), Some("+88801234567"), "anonymous numbers begin with an eight");
    }

    #[test]
    fn only_plausible_addresses_are_accepted() {
        for good in ["anna@example.com", "a.b+c@mail.example.ru", "анна@почта.рф"] {
            assert_eq!(email(good).as_deref(), Some(good));
        }
        for bad in ["", "anna", "anna@", "@example.com", "a b@example.com", "a@b", "a@.b.c", "a@b..c", "<x>@b.c"] {
            assert_eq!(email(bad), None, "{bad}");
        }
    }
}
