//! Days, times and durations as people read them. The only place that decides how a date looks in a language.
//!
//! | function | Russian | English | for |
//! |---|---|---|---|
//! | [`day`] | 18.11.2026 | Nov 18, 2026 | tables, titles, sentences |
//! | [`short_day`] | 18.11 | Nov 18 | where the year is clear |
//! | [`long_day`] | среда, 18 ноября | Wednesday, November 18 | headings |
//! | [`day_range`] | 16.11 – 22.11.2026 | Nov 16 – Nov 22, 2026 | weeks, periods |
//! | [`day_and_time`] | 18.11.2026, 13:05 | Nov 18, 2026, 13:05 | a moment on a known clock |
//! | [`short_day_and_time`] | 18.11, 13:05 | Nov 18, 13:05 | the same, where the year is clear |
//! | [`LocalPeriod::shown`] | 18.11, 09:00–18:00 | Nov 18, 09:00–18:00 | hours of work |
//! | [`LocalPeriod::shown`] | 18.11, круглосуточно | Nov 18, around the clock | a whole day of work |
//!
//! Times have 24 hours in both languages.

use chrono::{Datelike, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta};
use opora::clock::Millis;
use serde::{Deserialize, Serialize};

use super::Language;
use crate::text;

/// Hours of work by the clock of their site. Notices keep them like this, because the language of the reader is known
/// only when they are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalPeriod {
    pub from: NaiveDateTime,
    pub to: NaiveDateTime,
    /// The instant of the start. Periods of an earlier version have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_at: Option<Millis>,
}

impl LocalPeriod {
    /// The instant of the end, if that of the start is known. A change of the clocks in between is left out.
    pub fn ends_at(self) -> Option<Millis> {
        let length = (self.to - self.from).to_std().unwrap_or_default();
        self.starts_at.map(|start| start.plus(length))
    }

    /// The day of the start, the start and the end.
    pub fn shown(self, language: Language) -> String {
        format!("{}, {}", short_day(self.from.date(), language), self.hours(language))
    }

    /// The start and the end without the day: `09:00–18:00`. A whole day is said in words.
    pub fn hours(self, language: Language) -> String {
        let is_midnight = self.from.time() == NaiveTime::MIN;
        if is_midnight && self.to - self.from == TimeDelta::days(1) {
            return text!(language, "cabinet-around-the-clock");
        }
        format!("{}–{}", self.from.format("%H:%M"), self.to.format("%H:%M"))
    }
}

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

/// A moment on a known clock, without its year.
pub fn short_day_and_time(at: NaiveDateTime, language: Language) -> String {
    format!("{}, {}", short_day(at.date(), language), at.format("%H:%M"))
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
    fn each_kind_of_date_has_one_form_in_a_language() {
        let wednesday: NaiveDate = "2026-11-18".parse().unwrap();
        let first: NaiveDate = "2026-11-03".parse().unwrap();
        let at = wednesday.and_hms_opt(13, 5, 0).unwrap();
        let period = LocalPeriod { from: at, to: first.and_hms_opt(18, 0, 0).unwrap(), starts_at: None };
        let all = |language| {
            [
                day(wednesday, language),
                short_day(first, language),
                long_day(wednesday, language),
                day_range(first, wednesday, language),
                day_and_time(at, language),
                period.shown(language),
            ]
        };
        let russian = [
            "18.11.2026",
            "03.11",
            "среда, 18 ноября",
            "03.11 – 18.11.2026",
            "18.11.2026, 13:05",
            "18.11, 13:05–18:00",
        ];
        assert_eq!(all(Language::Ru), russian);
        let english = [
            "Nov 18, 2026",
            "Nov 3",
            "Wednesday, November 18",
            "Nov 3 – Nov 18, 2026",
            "Nov 18, 2026, 13:05",
            "Nov 18, 13:05–18:00",
        ];
        assert_eq!(all(Language::En), english);
    }

    #[test]
    fn a_whole_day_has_no_hours() {
        let midnight = |text: &str| text.parse::<NaiveDate>().unwrap().and_time(NaiveTime::MIN);
        let period = |from, to| LocalPeriod { from: midnight(from), to: midnight(to), starts_at: None };
        let day = period("2026-11-18", "2026-11-19");
        assert_eq!(day.shown(Language::En), "Nov 18, around the clock");
        assert_eq!(day.shown(Language::Ru), "18.11, круглосуточно");
        assert_eq!(period("2026-11-18", "2026-11-20").hours(Language::En), "00:00–00:00");
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
