//! Validated parameters of links: a day, and a page of a list.
//!
//! Every route reads days and pages by these types, so no typed value leaves the range that the product can calculate
//! with.

use std::fmt;

use chrono::NaiveDate;
use serde::{Deserialize, Deserializer, de};

use super::form::Fields;
use super::page_error::PageError;
use crate::domain::days;

/// No list has more pages.
const LAST_PAGE: u64 = 1_000_000;

/// A day in a link or a form; may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct DayParam(String);

impl DayParam {
    pub const fn of_text(text: String) -> Self {
        Self(text)
    }

    /// The value of a form field.
    pub fn from_field(typed: &Fields, name: &str) -> Self {
        Self(typed.get(name).cloned().unwrap_or_default())
    }

    /// The value if it is a day, else empty.
    #[must_use]
    pub fn or_empty(self) -> Self {
        if self.day().is_ok() { self } else { Self::default() }
    }

    /// The day, or `default` if the parameter is empty. Fails if it is no day or too far away.
    pub fn day_or(&self, default: NaiveDate) -> Result<NaiveDate, PageError> {
        if self.0.is_empty() { Ok(default) } else { self.day() }
    }

    /// The day, as links write it or as people type it. Fails if the parameter is empty.
    pub fn day(&self) -> Result<NaiveDate, PageError> {
        days::typed_day(&self.0).ok_or(PageError::BadDay)
    }
}

impl fmt::Display for DayParam {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A typed day may have characters that no link has.
        match days::typed_day(&self.0) {
            Some(day) => day.fmt(f),
            None => f.write_str(&self.0),
        }
    }
}

/// A page of a list, counted from one. A value beyond `LAST_PAGE` is that page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageNumber(u64);

impl PageNumber {
    pub const FIRST: Self = Self(1);

    /// Counted from one, for people.
    pub const fn number(self) -> u64 {
        self.0
    }

    /// Counted from zero, for queries.
    pub const fn index(self) -> u64 {
        self.0 - 1
    }

    /// The page within a list of `pages` pages, at most the last one.
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
        // A number that does not fit is beyond the last page, too.
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
    fn a_day_out_of_bounds_is_an_error() {
        let usual: NaiveDate = "2026-01-31".parse().unwrap();
        assert_eq!(DayParam::default().day_or(usual).ok(), Some(usual));
        assert!(matches!(DayParam("-262143-01-01".into()).day_or(usual), Err(PageError::BadDay)));
        assert!(matches!(DayParam::default().day(), Err(PageError::BadDay)));
    }

    #[test]
    fn a_day_may_be_written_as_people_write_it() {
        for typed in ["31.01.2026", "Jan 31, 2026", "2026-01-31"] {
            assert_eq!(DayParam(typed.into()).to_string(), "2026-01-31");
            assert_eq!(DayParam(typed.into()).day().map(|day| day.to_string()).ok().as_deref(), Some("2026-01-31"));
        }
    }
}
