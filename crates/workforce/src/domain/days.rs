//! The days that the product accepts.
//!
//! A day outside these years is a typing error or an attack. The bounds keep date arithmetic (a week before, a month
//! after) within the range of `NaiveDate`.

use std::ops::RangeInclusive;

use chrono::{Datelike, NaiveDate};

/// Years that are accepted.
pub const YEARS: RangeInclusive<i32> = 2000..=2100;

/// Whether a day is within the accepted years.
pub fn is_kept(day: NaiveDate) -> bool {
    YEARS.contains(&day.year())
}

/// Parses a day as links, forms and tables write it: `2026-01-31`.
pub fn day_of(text: &str) -> Option<NaiveDate> {
    let is_plain = text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().filter(|day| is_plain && is_kept(*day))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_days_within_the_years_are_parsed() {
        for good in ["2000-01-01", "2026-02-28", "2100-12-31"] {
            assert_eq!(day_of(good).map(|day| day.to_string()).as_deref(), Some(good));
        }
        let odd =
            ["", "1999-12-31", "2101-01-01", "-262143-01-01", "+262142-12-31", "0000-01-01", "2026-02-30", "2026-1-1"];
        for odd in odd.into_iter().chain(["31.01.2026", "2026-01-01T00:00", " 2026-01-01", "２０２６-01-01", "\0"])
        {
            assert_eq!(day_of(odd), None, "{odd}");
        }
    }
}
