//! What a link asks for, within bounds: a day, and a page of a list.
//!
//! Every route reads days and pages by these types, so no value that a person types can leave what the product reckons with.

use std::fmt;

use chrono::NaiveDate;
use serde::{Deserialize, Deserializer, de};

use super::form::Fields;
use super::oops::Oops;
use crate::domain::days;

/// More pages no list has.
const LAST_PAGE: u64 = 1_000_000;

/// A day that a link or a form names; it may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct AskedDay(String);

impl AskedDay {
    /// What stands in a field of a form.
    pub fn of(typed: &Fields, name: &str) -> Self {
        Self(typed.get(name).cloned().unwrap_or_default())
    }

    /// The same, or empty where it says no day.
    #[must_use]
    pub fn if_good(self) -> Self {
        if self.day().is_ok() { self } else { Self::default() }
    }

    /// The day, or the usual one where none is named. A day that is none, or too far away, is a page that says so.
    pub fn or(&self, usual: NaiveDate) -> Result<NaiveDate, Oops> {
        if self.0.is_empty() { Ok(usual) } else { self.day() }
    }

    /// The day, which has to be named.
    pub fn day(&self) -> Result<NaiveDate, Oops> {
        days::day_of(&self.0).ok_or(Oops::BadDay)
    }
}

impl fmt::Display for AskedDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A page of a list, counted from one. A higher one than any list has is the highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageNumber(u64);

impl PageNumber {
    pub const FIRST: Self = Self(1);

    /// Counted from one, as people read it.
    pub const fn number(self) -> u64 {
        self.0
    }

    /// Counted from zero, as lists are cut.
    pub const fn index(self) -> u64 {
        self.0 - 1
    }

    /// Of a list that has so many pages, its last one where this is beyond it.
    pub fn within(self, pages: usize) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX).clamp(1, pages.max(1))
    }
}

impl Default for PageNumber {
    fn default() -> Self {
        Self::FIRST
    }
}

impl<'de> Deserialize<'de> for PageNumber {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(de::Error::custom("not a page"));
        }
        // More digits than a number has: beyond the last page, too.
        Ok(Self(text.parse().unwrap_or(LAST_PAGE).clamp(1, LAST_PAGE)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> Option<u64> {
        let fields = serde_json::json!(text);
        serde_json::from_value::<PageNumber>(fields).ok().map(PageNumber::number)
    }

    #[test]
    fn pages_are_counted_within_bounds() {
        assert_eq!((page("1"), page("0"), page("007")), (Some(1), Some(1), Some(7)));
        assert_eq!((page("9223372036854775807"), page(&"9".repeat(99))), (Some(LAST_PAGE), Some(LAST_PAGE)));
        for odd in ["", "-1", "+1", "1.5", "x", "１", "1 "] {
            assert_eq!(page(odd), None, "{odd}");
        }
        assert_eq!((PageNumber(9).within(3), PageNumber(2).within(3), PageNumber(2).within(0)), (3, 2, 1));
    }

    #[test]
    fn a_day_out_of_bounds_is_told() {
        let usual: NaiveDate = "2026-01-31".parse().unwrap();
        assert_eq!(AskedDay::default().or(usual).ok(), Some(usual));
        assert!(matches!(AskedDay("-262143-01-01".into()).or(usual), Err(Oops::BadDay)));
        assert!(matches!(AskedDay::default().day(), Err(Oops::BadDay)));
    }
}
