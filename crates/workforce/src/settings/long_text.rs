//! Settings with several lines of text, such as the consent to the processing of personal data.

use super::{AnySetting, ValueKind};
use crate::domain::user_text;
use crate::texts::Language;

/// Maximum length in UTF-16 units. A message of Telegram has 4,096, and the bot adds a line of its own.
pub const MAX_TEXT_UNITS: usize = 3500;

/// A text that an owner may replace. The default is a text of the product in the same language.
#[derive(Clone, Copy, Debug)]
pub struct TextSetting {
    pub name: &'static str,
    pub language: Language,
    pub default_key: &'static str,
}

impl AnySetting for TextSetting {
    fn name(&self) -> &'static str {
        self.name
    }

    fn kind(&self) -> ValueKind {
        ValueKind::Text
    }

    fn default_text(&self) -> String {
        self.language.text(self.default_key)
    }

    /// The cleaned text. Browsers send line breaks as CR LF; only LF is stored.
    fn normalize(&self, text: &str) -> Option<String> {
        let text = user_text::lines(&text.replace("\r\n", "\n"));
        let units = text.encode_utf16().count();
        (1..=MAX_TEXT_UNITS).contains(&units).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CONSENT_TEXT_EN, CONSENT_TEXT_RU};
    use super::*;

    #[test]
    fn texts_are_cleaned_and_limited() {
        assert_eq!(CONSENT_TEXT_RU.normalize(" one\r\n\r\ntwo\u{202e} ").as_deref(), Some("one\n\ntwo"));
        assert_eq!(CONSENT_TEXT_RU.normalize(" \r\n "), None);
        assert!(CONSENT_TEXT_RU.normalize(&"я".repeat(MAX_TEXT_UNITS)).is_some());
        assert_eq!(CONSENT_TEXT_RU.normalize(&"я".repeat(MAX_TEXT_UNITS + 1)), None);
    }

    #[test]
    fn each_language_has_its_own_default() {
        assert!(CONSENT_TEXT_RU.default_text().contains("персональных данных"));
        assert!(CONSENT_TEXT_EN.default_text().contains("personal data"));
        for setting in [CONSENT_TEXT_RU, CONSENT_TEXT_EN] {
            assert_eq!(setting.normalize(&setting.default_text()), Some(setting.default_text()));
        }
    }
}
