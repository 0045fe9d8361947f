//! Days and durations as people say them.

use chrono::{Datelike, NaiveDate};

use super::Language;
use crate::text;

const ENGLISH_MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A day without its year: `22.11`, or `Nov 22` in English.
pub fn day_and_month(day: NaiveDate, language: Language) -> String {
    match language {
        Language::Ru => day.format("%d.%m").to_string(),
        Language::En => format!("{} {}", ENGLISH_MONTHS[day.month0() as usize], day.day()),
    }
}

/// Hours and minutes, such as `6 h 54 min`. Seconds are left out.
pub fn duration(seconds: i64, language: Language) -> String {
    let minutes = seconds.max(0) / 60;
    match (minutes / 60, minutes % 60) {
        (0, minutes) => text!(language, "duration-minutes", minutes = minutes),
        (hours, 0) => text!(language, "duration-hours", hours = hours),
        (hours, minutes) => text!(language, "duration", hours = hours, minutes = minutes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_follow_the_language() {
        let day = "2026-11-02".parse().unwrap();
        assert_eq!(day_and_month(day, Language::Ru), "02.11");
        assert_eq!(day_and_month(day, Language::En), "Nov 2");
    }

    #[test]
    fn durations_have_hours_and_minutes() {
        let said = |seconds| (duration(seconds, Language::Ru), duration(seconds, Language::En));
        assert_eq!(said(6 * 3600 + 54 * 60 + 59), ("6\u{a0}ч 54\u{a0}мин".into(), "6\u{a0}h 54\u{a0}min".into()));
        assert_eq!(said(2 * 3600), ("2\u{a0}ч".into(), "2\u{a0}h".into()));
        assert_eq!(said(59), ("0\u{a0}мин".into(), "0\u{a0}min".into()));
        assert_eq!(said(-5).1, "0\u{a0}min");
    }
}
