//! Times as people type them in the chat: a day and hours.

use chrono::{Datelike, Days, NaiveDate, NaiveDateTime, NaiveTime, Timelike};
use chrono_tz::Tz;

use crate::domain::days::typed_day;
use crate::sites::{Hours, Period};

/// A single time means so many minutes.
const USUAL_MINUTES: i64 = 120;
const DAY_MINUTES: i64 = 24 * 60;

/// Reads `31.12 10:00-14:00`, `Dec 31 10-14`, `tomorrow 15:00`, or only hours for today. `now` is local.
pub fn window(typed: &str, now: NaiveDateTime, zone: Tz) -> Option<Period> {
    let typed = typed.to_lowercase().replace(['–', '—'], "-").replace(" - ", "-");
    let mut words: Vec<&str> = typed.split_whitespace().collect();
    let hours = hours(words.pop()?)?;
    // "tomorrow at 15:00"
    words.retain(|word| !["at", "в", "с"].contains(word));
    hours.on(day(&words.join(" "), now.date())?, zone)
}

/// Reads a day. One without a year is not past.
pub fn day(typed: &str, today: NaiveDate) -> Option<NaiveDate> {
    let typed = typed.trim().trim_end_matches(',');
    let after = match typed.to_lowercase().as_str() {
        "" | "today" | "сегодня" => Some(0),
        "tomorrow" | "завтра" => Some(1),
        "послезавтра" => Some(2),
        _ => None,
    };
    if let Some(days) = after {
        return today.checked_add_days(Days::new(days));
    }
    let of_year = |year: i32| {
        let plain = typed.trim_end_matches('.');
        typed_day(&format!("{plain}.{year}")).or_else(|| typed_day(&format!("{plain}, {year}")))
    };
    let this_year = typed_day(typed).or_else(|| of_year(today.year()));
    let is_past_without_year = this_year.is_some_and(|day| day < today) && typed_day(typed).is_none();
    // The 29th of February is only in some years.
    if this_year.is_none() || is_past_without_year { of_year(today.year() + 1) } else { this_year }
}

/// Reads a time of the day: `15:30`, or `15`.
pub fn time(typed: &str) -> Option<NaiveTime> {
    let typed = typed.trim().replace('.', ":");
    let full = if typed.contains(':') { typed } else { format!("{typed}:00") };
    NaiveTime::parse_from_str(&full, "%H:%M").ok()
}

fn hours(typed: &str) -> Option<Hours> {
    let minute = |text: &str| Some(i64::from(time(text)?.num_seconds_from_midnight()) / 60);
    match typed.split_once('-') {
        Some((from, to)) => Some(Hours::new(minute(from)?, minute(to)?)),
        None => minute(typed).map(|from| Hours::new(from, (from + USUAL_MINUTES) % DAY_MINUTES)),
    }
}

#[cfg(test)]
mod tests {
    use chrono_tz::Europe::Moscow;

    use super::*;

    #[test]
    fn days_and_hours_are_read_as_people_type_them() {
        let now: NaiveDateTime = "2026-06-10T12:00:00".parse().unwrap();
        let read = |typed: &str| {
            let local = window(typed, now, Moscow)?.local(Moscow);
            Some(format!("{} {}", local.from.format("%Y-%m-%d %H:%M"), local.to.format("%m-%d %H:%M")))
        };
        for (typed, expected) in [
            ("31.12 10:00-14:30", "2026-12-31 10:00 12-31 14:30"),
            ("31.12.2026 10:00 – 14:30", "2026-12-31 10:00 12-31 14:30"),
            ("Dec 31 10-14", "2026-12-31 10:00 12-31 14:00"),
            ("Dec 31, 2026 10-14", "2026-12-31 10:00 12-31 14:00"),
            ("09.06 10-14", "2027-06-09 10:00 06-09 14:00"),
            ("09.06.2026 10-14", "2026-06-09 10:00 06-09 14:00"),
            ("tomorrow at 15:00", "2026-06-11 15:00 06-11 17:00"),
            ("Завтра в 15.30", "2026-06-11 15:30 06-11 17:30"),
            ("23", "2026-06-10 23:00 06-11 01:00"),
        ] {
            assert_eq!(read(typed).as_deref(), Some(expected), "{typed}");
        }
        for odd in ["", "soon", "31.12", "32.12 10-14", "31.12 25-26", "31.12 10-", "-1", "31.12 10:60", "1e9 10"] {
            assert_eq!(read(odd), None, "{odd}");
        }
    }
}
