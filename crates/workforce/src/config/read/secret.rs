//! Secrets, and what makes a good one.

use std::fmt;

use super::SettingsReader;
use crate::config::layers::SettingValue;

pub(super) const MAKE_SECRET: &str = "`openssl rand -hex 32` makes one";
/// Too long to guess, and at most as long as Telegram accepts.
const SECRET_LENGTHS: std::ops::RangeInclusive<usize> = 32..=256;

/// A string that is never logged.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

impl SettingsReader<'_> {
    /// Adds a mistake if a secret is too short to be safe.
    pub(super) fn check_secret(&mut self, name: &str, SettingValue { value, origin }: SettingValue<'_>) {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        if !SECRET_LENGTHS.contains(&value.len()) || !value.bytes().all(is_plain) {
            let rule = "is not 32 to 256 characters of A-Z, a-z, 0-9, _ and -";
            self.mistakes.push(format!("{name} in {origin} {rule}; {MAKE_SECRET}"));
        }
    }
}
