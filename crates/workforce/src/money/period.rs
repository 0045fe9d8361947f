//! A month of pay.

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
pub struct Period {
    year: i32,
    month: u32,
}

/// What was named is no month.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a month such as 2026-01")]
pub struct NotAPeriod;

impl Period {
    /// The month that a day lies in.
    pub fn of(day: NaiveDate) -> Self {
        Self { year: day.year(), month: day.month() }
    }

    pub fn next(self) -> Self {
        if self.month == 12 { Self { year: self.year + 1, month: 1 } } else { Self { month: self.month + 1, ..self } }
    }

    pub fn previous(self) -> Self {
        if self.month == 1 { Self { year: self.year - 1, month: 12 } } else { Self { month: self.month - 1, ..self } }
    }

    /// The last month that somebody is paid in while this one is the current: an advance goes no farther ahead.
    pub fn last_payable(self) -> Self {
        self.next()
    }

    /// The same month of the next year: the last one that amounts are planned for.
    pub fn year_ahead(self) -> Self {
        Self { year: self.year + 1, ..self }
    }

    /// Whether there is a month before it that may be named.
    pub fn has_previous(self) -> bool {
        days::is_kept(self.previous().first_day())
    }

    pub fn first_day(self) -> NaiveDate {
        NaiveDate::from_ymd_opt(self.year, self.month, 1).unwrap_or_default()
    }

    pub fn last_day(self) -> NaiveDate {
        self.next().first_day().pred_opt().unwrap_or_default()
    }

    /// As people call it: `January 2026`.
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

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}", self.year, self.month)
    }
}

impl From<Period> for String {
    fn from(period: Period) -> Self {
        period.to_string()
    }
}

impl TryFrom<String> for Period {
    type Error = NotAPeriod;

    fn try_from(text: String) -> Result<Self, NotAPeriod> {
        text.parse()
    }
}

impl FromStr for Period {
    type Err = NotAPeriod;

    /// A month of the years that are kept.
    fn from_str(text: &str) -> Result<Self, NotAPeriod> {
        // Four digits and two, so that months compare as texts do.
        let is_plain = text.len() == 7 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        let day = NaiveDate::parse_from_str(&format!("{text}-01"), "%Y-%m-%d").ok().filter(|_| is_plain);
        day.filter(|day| days::is_kept(*day)).map(Self::of).ok_or(NotAPeriod)
    }
}

/// A day as the tables have it: `2026-01-31`.
pub fn day_of(text: &str) -> Option<NaiveDate> {
    NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().filter(|_| text.len() == 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_follow_one_another_over_the_year() {
        let december: Period = "2025-12".parse().unwrap();
        assert_eq!(december.next().to_string(), "2026-01");
        assert_eq!(december.next().previous(), december);
        assert_eq!("2024-02".parse::<Period>().unwrap().last_day().to_string(), "2024-02-29");
        assert_eq!(december.shown(Language::En), "December 2025");
        assert_eq!(december.shown(Language::Ru), "Декабрь 2025");
    }

    #[test]
    fn nothing_else_is_a_month_or_a_day() {
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
            assert_eq!(text.parse::<Period>(), Err(NotAPeriod), "{text}");
        }
        assert_eq!(day_of("2026-01-31").map(Period::of), "2026-01".parse().ok());
        assert_eq!((day_of("2026-02-30"), day_of("31.01.2026")), (None, None));
    }
}
