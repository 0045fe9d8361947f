//! The days that the product accepts.
//!
//! A day outside these years is a typing error or an attack. The bounds keep date arithmetic (a week before, a month
//! after) within the range of `NaiveDate`.

use std::ops::RangeInclusive;

use chrono::{Datelike, NaiveDate, NaiveDateTime, NaiveTime};

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

/// Parses a day as people type it: `31.12.2026`, `Dec 31, 2026` or `2026-12-31`.
pub fn typed_day(text: &str) -> Option<NaiveDate> {
    let written = ["%d.%m.%Y", "%B %d, %Y"].iter().find_map(|form| NaiveDate::parse_from_str(text, form).ok());
    day_of(text).or_else(|| written.filter(|day| is_kept(*day)))
}

/// Parses a moment as people type it and as form fields send it: a day, then `18:00`.
pub fn typed_moment(text: &str) -> Option<NaiveDateTime> {
    let (day, time) = text.rsplit_once(['T', ' '])?;
    let time = ["%H:%M", "%H:%M:%S"].iter().find_map(|form| NaiveTime::parse_from_str(time, form).ok())?;
    Some(typed_day(day.trim_end_matches([',', ' ']))?.and_time(time))
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

    #[test]
    fn days_and_moments_are_read_as_people_type_them() {
        let day: NaiveDate = "2026-12-31".parse().unwrap();
        for typed in ["31.12.2026", "Dec 31, 2026", "December 31, 2026", "2026-12-31"] {
            assert_eq!(typed_day(typed), Some(day), "{typed}");
            for at in [format!("{typed} 18:00"), format!("{typed}, 18:00")] {
                assert_eq!(typed_moment(&at), day.and_hms_opt(18, 0, 0), "{at}");
            }
        }
        assert_eq!(typed_moment("2026-12-31T18:00"), day.and_hms_opt(18, 0, 0));
        for odd in ["", "31/12/2026", "Dec 32, 2026", "Dec 31, 1999", "tomorrow"] {
            assert_eq!((typed_day(odd), typed_moment(odd)), (None, None), "{odd}");
        }
        for odd in ["2026-12-31", "2026-12-31 25:00", "18:00"] {
            assert_eq!(typed_moment(odd), None, "{odd}");
        }
    }
}
