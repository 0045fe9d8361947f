//! The payroll month.

use std::fmt;
use std::str::FromStr;

use chrono::{Datelike, NaiveDate};
use serde::{Deserialize, Serialize};

use crate::domain::days;
use crate::key;
use crate::texts::Language;

/// A calendar month: `2026-01`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PayrollMonth {
    year: i32,
    month: u32,
}

/// The text is not a month.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a month such as 2026-01")]
pub struct InvalidMonth;

impl PayrollMonth {
    /// The month of a day.
    pub fn containing(day: NaiveDate) -> Self {
        Self { year: day.year(), month: day.month() }
    }

    pub fn next(self) -> Self {
        if self.month == 12 { Self { year: self.year + 1, month: 1 } } else { Self { month: self.month + 1, ..self } }
    }

    pub fn previous(self) -> Self {
        if self.month == 1 { Self { year: self.year - 1, month: 12 } } else { Self { month: self.month - 1, ..self } }
    }

    /// The last month in which payments can be marked while this one is current.
    pub fn last_payable(self) -> Self {
        self.next()
    }

    /// The same month of the next year, the last one for manual adjustments.
    pub fn year_ahead(self) -> Self {
        Self { year: self.year + 1, ..self }
    }

    /// Whether the month before it lies in the supported years.
    pub fn has_previous(self) -> bool {
        days::is_kept(self.previous().first_day())
    }

    pub fn first_day(self) -> NaiveDate {
        NaiveDate::from_ymd_opt(self.year, self.month, 1).unwrap_or_default()
    }

    pub fn last_day(self) -> NaiveDate {
        self.next().first_day().pred_opt().unwrap_or_default()
    }

    /// As people read it: `January 2026`.
    pub fn shown(self, language: Language) -> String {
        const MONTHS: [&str; 12] = [
            key!("payroll-month-1"),
            key!("payroll-month-2"),
            key!("payroll-month-3"),
            key!("payroll-month-4"),
            key!("payroll-month-5"),
            key!("payroll-month-6"),
            key!("payroll-month-7"),
            key!("payroll-month-8"),
            key!("payroll-month-9"),
            key!("payroll-month-10"),
            key!("payroll-month-11"),
            key!("payroll-month-12"),
        ];
        let month = usize::try_from(self.month.saturating_sub(1)).ok().and_then(|at| MONTHS.get(at));
        format!("{} {}", month.map(|key| language.text(key)).unwrap_or_default(), self.year)
    }
}

impl fmt::Display for PayrollMonth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}", self.year, self.month)
    }
}

impl From<PayrollMonth> for String {
    fn from(period: PayrollMonth) -> Self {
        period.to_string()
    }
}

impl TryFrom<String> for PayrollMonth {
    type Error = InvalidMonth;

    fn try_from(text: String) -> Result<Self, InvalidMonth> {
        text.parse()
    }
}

impl FromStr for PayrollMonth {
    type Err = InvalidMonth;

    /// Parses a month within the supported years.
    fn from_str(text: &str) -> Result<Self, InvalidMonth> {
        // Fixed width, so months sort as text.
        let is_plain = text.len() == 7 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        let day = NaiveDate::parse_from_str(&format!("{text}-01"), "%Y-%m-%d").ok().filter(|_| is_plain);
        day.filter(|day| days::is_kept(*day)).map(Self::containing).ok_or(InvalidMonth)
    }
}

/// Parses a stored day: `2026-01-31`.
pub fn day_of(text: &str) -> Option<NaiveDate> {
    NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().filter(|_| text.len() == 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_continue_over_the_year() {
        let december: PayrollMonth = "2025-12".parse().unwrap();
        assert_eq!(december.next().to_string(), "2026-01");
        assert_eq!(december.next().previous(), december);
        assert_eq!("2024-02".parse::<PayrollMonth>().unwrap().last_day().to_string(), "2024-02-29");
        assert_eq!(december.shown(Language::En), "December 2025");
        assert_eq!(december.shown(Language::Ru), "Декабрь 2025");
    }

    #[test]
    fn other_texts_are_no_month_and_no_day() {
        for text in [
            "",
            "2026",
            "2026-13",
            "2026-1",
            "26-01",
            "+026-01",
            "2026-01-01",
            "' OR 1",
            "1999-12",
            "2101-01",
            "9999-12",
        ] {
            assert_eq!(text.parse::<PayrollMonth>(), Err(InvalidMonth), "{text}");
        }
        assert_eq!(day_of("2026-01-31").map(PayrollMonth::containing), "2026-01".parse().ok());
        assert_eq!((day_of("2026-02-30"), day_of("31.01.2026")), (None, None));
    }
}
