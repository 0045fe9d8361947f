//! Small elements that many pages show, and one way to write each kind of date.
//!
//! | function | Russian | English | for |
//! |---|---|---|---|
//! | [`day`] | 18.11.2026 | Nov 18, 2026 | tables, titles, sentences |
//! | [`short_day`] | 18.11 | Nov 18 | where the year is clear |
//! | [`long_day`] | среда, 18 ноября | Wednesday, November 18 | headings |
//! | [`day_range`] | 16.11 – 22.11.2026 | Nov 16 – Nov 22, 2026 | weeks, periods |
//! | [`day_and_time`] | 18.11.2026, 13:05 | Nov 18, 2026, 13:05 | a moment on a known clock |
//! | [`moment`] | the same, on the viewer's clock | | a moment of no site |
//!
//! Times have 24 hours in both languages.

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, Utc};
use maud::{Markup, html};
use opora::clock::Millis;

use super::ui::{Tone, badge};
use crate::person::{Role, Status, role_name, status_name};
use crate::text;
use crate::texts::Language;

/// A day with its year.
pub fn day(day: NaiveDate, language: Language) -> String {
    // As text: a year has no thousands separator.
    text!(language, "web-day", day = short_day(day, language), year = day.year().to_string())
}

/// A day without its year.
pub fn short_day(day: NaiveDate, language: Language) -> String {
    match language {
        Language::Ru => day.format("%d.%m").to_string(),
        Language::En => day.format("%b %-d").to_string(),
    }
}

/// A day with its weekday, in words.
pub fn long_day(day: NaiveDate, language: Language) -> String {
    let weekday = day.weekday().number_from_monday();
    text!(language, "web-long-day", weekday = weekday, day = day.day(), month = day.month())
}

/// The days of a week or a period.
pub fn day_range(first: NaiveDate, last: NaiveDate, language: Language) -> String {
    format!("{} – {}", short_day(first, language), self::day(last, language))
}

/// A moment on a known clock, such as a site's.
pub fn day_and_time(at: NaiveDateTime, language: Language) -> String {
    format!("{}, {}", day(at.date(), language), at.format("%H:%M"))
}

/// A point in time. The page's script shows it on the viewer's clock.
pub fn moment(at: Millis) -> Markup {
    let at = DateTime::<Utc>::from_timestamp_millis(at.0).unwrap_or_default();
    html! {
        time datetime=(at.format("%Y-%m-%dT%H:%M:%SZ")) { (at.format("%d.%m.%Y %H:%M UTC")) }
    }
}

/// A role as a chip.
pub fn role_label(role: Role, language: Language) -> Markup {
    html! { span.chip { (role_name(role, language)) } }
}

/// A status as a badge.
pub fn status_label(status: Status, language: Language) -> Markup {
    let tone = match status {
        Status::Verified => Tone::Good,
        Status::Pending => Tone::Wait,
        Status::Rejected | Status::Blocked => Tone::Bad,
    };
    badge(tone, &status_name(status, language))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_date_has_one_form_in_a_language() {
        let wednesday: NaiveDate = "2026-11-18".parse().unwrap();
        let first: NaiveDate = "2026-11-03".parse().unwrap();
        let at = wednesday.and_hms_opt(13, 5, 0).unwrap();
        let all = |language| {
            [
                day(wednesday, language),
                short_day(first, language),
                long_day(wednesday, language),
                day_range(first, wednesday, language),
                day_and_time(at, language),
            ]
        };
        let russian = ["18.11.2026", "03.11", "среда, 18 ноября", "03.11 – 18.11.2026", "18.11.2026, 13:05"];
        assert_eq!(all(Language::Ru), russian);
        let english =
            ["Nov 18, 2026", "Nov 3", "Wednesday, November 18", "Nov 3 – Nov 18, 2026", "Nov 18, 2026, 13:05"];
        assert_eq!(all(Language::En), english);
    }
}
