//! Pure functions about place and time: distances, time zones, hours of a day, days of a week.
//!
//! Nothing here reads a clock or a table. A change to or from summer time moves instants, never the local hours.

use chrono::{Datelike, Days, LocalResult, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone, Weekday};
use chrono_tz::Tz;
use opora::clock::Millis;
use serde::{Deserialize, Serialize};

use crate::texts::LocalPeriod;

const DAY_MINUTES: i64 = 24 * 60;
const MINUTE_MS: i64 = 60_000;
/// The longest day: 25 hours, when clocks go back.
pub const LONGEST_DAY_MS: i64 = 25 * 60 * MINUTE_MS;
const EARTH_RADIUS_M: f64 = 6_371_008.8;

/// A position on the earth, in degrees.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Position {
    pub latitude: f64,
    pub longitude: f64,
}

/// Hours of a day, in minutes since midnight. An end that is not after the start lies on the next day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hours {
    pub from_minute: i64,
    pub to_minute: i64,
}

/// Days of the week as bits; Monday is the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkingDays(pub u8);

/// A time range without its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Period {
    pub from: Millis,
    pub to: Millis,
}

impl Position {
    pub fn is_on_earth(self) -> bool {
        self.latitude.abs() <= 90.0 && self.longitude.abs() <= 180.0
    }

    /// The distance along the surface, in whole metres.
    pub fn distance_m(self, other: Self) -> i64 {
        let (here, there) = (self.latitude.to_radians(), other.latitude.to_radians());
        let north = ((there - here) / 2.0).sin();
        let east = ((other.longitude - self.longitude).to_radians() / 2.0).sin();
        let chord = north * north + here.cos() * there.cos() * east * east;
        let metres = 2.0 * EARTH_RADIUS_M * chord.sqrt().min(1.0).asin();
        // At most half the earth's circumference. NaN would become zero, but invalid positions are refused earlier.
        #[allow(clippy::cast_possible_truncation, reason = "at most twenty million")]
        let whole = metres.round() as i64;
        whole
    }
}

impl Hours {
    pub const fn new(from_minute: i64, to_minute: i64) -> Self {
        Self { from_minute, to_minute }
    }

    pub fn are_valid(self) -> bool {
        let day = 0..DAY_MINUTES;
        day.contains(&self.from_minute) && day.contains(&self.to_minute)
    }

    /// Whether the hours end on the next day.
    pub fn is_overnight(self) -> bool {
        self.to_minute <= self.from_minute
    }

    /// The length on a day without a clock change.
    pub fn minutes(self) -> i64 {
        (self.to_minute - self.from_minute - 1).rem_euclid(DAY_MINUTES) + 1
    }

    /// The time range of these hours on a day in a time zone. A local time that is skipped moves forward by an hour; of
    /// an ambiguous local time the first instant counts.
    pub fn on(self, day: NaiveDate, zone: Tz) -> Option<Period> {
        let last = if self.is_overnight() { day.checked_add_days(Days::new(1))? } else { day };
        let (from, to) = (instant(day, self.from_minute, zone)?, instant(last, self.to_minute, zone)?);
        // A clock change may skip the whole range.
        let to = if to > from { to } else { Millis(from.0 + self.minutes() * MINUTE_MS) };
        Some(Period { from, to })
    }
}

impl WorkingDays {
    pub const EVERY: Self = Self(0b111_1111);
    pub const MONDAY_TO_FRIDAY: Self = Self(0b001_1111);

    pub fn has(self, day: Weekday) -> bool {
        self.0 & (1 << day.num_days_from_monday()) != 0
    }
}

impl Period {
    pub fn overlaps(self, other: Self) -> bool {
        self.from < other.to && other.from < self.to
    }

    /// Whether the instant lies within the range.
    pub fn is_on(self, at: Millis) -> bool {
        self.from <= at && at < self.to
    }

    /// From a day before the instant to a day after it, including days with a clock change.
    pub fn around(at: Millis) -> Self {
        Self { from: Millis(at.0 - LONGEST_DAY_MS), to: Millis(at.0 + LONGEST_DAY_MS) }
    }

    /// The same by a clock.
    pub fn local(self, zone: Tz) -> LocalPeriod {
        LocalPeriod { from: local(self.from, zone), to: local(self.to, zone), starts_at: Some(self.from) }
    }

    pub fn minutes(self) -> i64 {
        (self.to.0 - self.from.0) / MINUTE_MS
    }

    /// Several days in a time zone.
    pub fn of_days(first: NaiveDate, days: u64, zone: Tz) -> Option<Self> {
        let after = first.checked_add_days(Days::new(days))?;
        Some(Self { from: instant(first, 0, zone)?, to: instant(after, 0, zone)? })
    }
}

/// The local time of an instant.
pub fn local(at: Millis, zone: Tz) -> NaiveDateTime {
    zone.timestamp_millis_opt(at.0)
        .single()
        .unwrap_or_else(|| zone.from_utc_datetime(&NaiveDateTime::default()))
        .naive_local()
}

/// The Monday of the week of a day.
pub fn monday_of(day: NaiveDate) -> NaiveDate {
    day - TimeDelta::days(i64::from(day.weekday().num_days_from_monday()))
}

/// The instant that many minutes after midnight of a day.
fn instant(day: NaiveDate, minute: i64, zone: Tz) -> Option<Millis> {
    let local = day.and_time(NaiveTime::MIN).checked_add_signed(TimeDelta::minutes(minute))?;
    let at = match zone.from_local_datetime(&local) {
        LocalResult::Single(at) | LocalResult::Ambiguous(at, _) => at,
        LocalResult::None => {
            // Use the offset before the clock change, so a skipped hour becomes the following one.
            let before = zone.from_local_datetime(&(local - TimeDelta::hours(3))).earliest()?;
            before + TimeDelta::hours(3)
        }
    };
    Some(Millis(at.timestamp_millis()))
}

#[cfg(test)]
mod tests {
    use chrono_tz::Europe::{Berlin, Moscow};

    use super::*;

    fn day(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    fn hours_on(hours: Hours, text: &str, zone: Tz) -> (String, String, i64) {
        let period = hours.on(day(text), zone).unwrap();
        let shown = |at| local(at, zone).format("%d %H:%M").to_string();
        (shown(period.from), shown(period.to), period.minutes())
    }

    #[test]
    fn a_distance_follows_the_surface() {
        let kremlin = Position { latitude: 55.7520, longitude: 37.6175 };
        let theatre = Position { latitude: 55.7601, longitude: 37.6186 };
        let distance = kremlin.distance_m(theatre);
        assert!((895..=910).contains(&distance), "{distance}");
        assert_eq!(kremlin.distance_m(kremlin), 0);
        let (east, west) =
            (Position { latitude: 0.0, longitude: 179.9995 }, Position { latitude: 0.0, longitude: -179.9995 });
        assert_eq!(east.distance_m(west), 111);
        assert!(!Position { latitude: 91.0, longitude: 0.0 }.is_on_earth());
    }

    #[test]
    fn hours_that_end_before_they_start_end_the_next_day() {
        let night = Hours::new(22 * 60, 6 * 60);
        assert!(night.is_overnight() && night.minutes() == 480);
        assert_eq!(hours_on(night, "2026-01-31", Moscow), ("31 22:00".into(), "01 06:00".into(), 480));
        assert_eq!(Hours::new(540, 540).minutes(), DAY_MINUTES);
        assert_eq!(Hours::new(540, 1080).minutes(), 540);
    }

    #[test]
    fn a_clock_change_changes_the_length_of_hours() {
        let night = Hours::new(22 * 60, 6 * 60);
        // Clocks go forward on 29 March 2026 at 2:00, and back on 25 October 2026 at 3:00.
        assert_eq!(hours_on(night, "2026-03-28", Berlin), ("28 22:00".into(), "29 06:00".into(), 420));
        assert_eq!(hours_on(night, "2026-10-24", Berlin), ("24 22:00".into(), "25 06:00".into(), 540));
        // 2:30 is skipped and becomes 3:30.
        assert_eq!(hours_on(Hours::new(150, 360), "2026-03-29", Berlin), ("29 03:30".into(), "29 06:00".into(), 150));
        // The whole range is skipped; its length stays.
        assert_eq!(hours_on(Hours::new(150, 180), "2026-03-29", Berlin), ("29 03:30".into(), "29 04:00".into(), 30));
        // 2:30 occurs twice; the first one counts.
        assert_eq!(hours_on(Hours::new(120, 150), "2026-10-25", Berlin).2, 30);
    }

    #[test]
    fn periods_that_only_touch_do_not_overlap() {
        let of = |from, to| Period { from: Millis(from), to: Millis(to) };
        assert!(of(0, 10).overlaps(of(9, 12)) && of(0, 10).overlaps(of(2, 3)));
        assert!(!of(0, 10).overlaps(of(10, 12)) && !of(10, 12).overlaps(of(0, 10)));
    }

    #[test]
    fn a_week_starts_on_monday() {
        assert_eq!(monday_of(day("2026-01-04")), day("2025-12-29"));
        assert_eq!(monday_of(day("2026-01-05")), day("2026-01-05"));
        assert!(WorkingDays::MONDAY_TO_FRIDAY.has(Weekday::Fri) && !WorkingDays::MONDAY_TO_FRIDAY.has(Weekday::Sat));
    }
}
