//! Quiet hours: the time of the day in which notices wait.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Days, NaiveTime, TimeZone, Utc};
use chrono_tz::Tz;
use opora::clock::Millis;

use crate::key;

/// From one full hour to another, over midnight; or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuietHours(Option<(u32, u32)>);

impl QuietHours {
    /// No quiet hours.
    pub const NONE: Self = Self(None);

    /// All values by name, with the text keys of their captions.
    pub const OPTIONS: &[(&str, &str)] = &[
        ("off", key!("quiet-off")),
        ("21-8", key!("quiet-21-8")),
        ("22-7", key!("quiet-22-7")),
        ("22-8", key!("quiet-22-8")),
        ("23-7", key!("quiet-23-7")),
        ("23-9", key!("quiet-23-9")),
    ];

    /// The text key of its caption.
    pub fn caption(self) -> &'static str {
        let name = self.to_string();
        Self::OPTIONS.iter().find(|(known, _)| **known == name).map_or(key!("quiet-off"), |(_, caption)| caption)
    }

    /// When the quiet hours of this moment end, by the clock of a time zone; none outside of them.
    pub fn end(self, now: Millis, zone: Tz) -> Option<Millis> {
        let (from, to) = self.0?;
        let local = DateTime::<Utc>::from_timestamp_millis(now.0)?.with_timezone(&zone);
        let hour = chrono::Timelike::hour(&local);
        let end_day = match hour {
            hour if hour >= from => local.date_naive().checked_add_days(Days::new(1))?,
            hour if hour < to => local.date_naive(),
            _ => return None,
        };
        let end = end_day.and_time(NaiveTime::from_hms_opt(to, 0, 0)?);
        // No clock is changed at these hours of the morning; if one were, its first hour counts.
        let end = zone.from_local_datetime(&end).earliest()?;
        Some(Millis(end.timestamp_millis()))
    }
}

impl FromStr for QuietHours {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = Self::OPTIONS.iter().any(|(known, _)| *known == name);
        let hours = |text: &str| Some((text.split_once('-')?.0.parse().ok()?, text.split_once('-')?.1.parse().ok()?));
        if known { Ok(Self(hours(name))) } else { Err(format!("unknown value `{name}`")) }
    }
}

impl fmt::Display for QuietHours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some((from, to)) => write!(f, "{from}-{to}"),
            None => f.write_str("off"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Millis {
        Millis(text.parse::<DateTime<Utc>>().unwrap().timestamp_millis())
    }

    #[test]
    fn quiet_hours_end_in_the_morning_of_the_place() {
        let hours: QuietHours = "22-8".parse().unwrap();
        let cases = [
            ("2026-01-05T18:59:59Z", None),
            ("2026-01-05T19:00:00Z", Some("2026-01-06T05:00:00Z")),
            ("2026-01-06T04:59:59Z", Some("2026-01-06T05:00:00Z")),
            ("2026-01-06T05:00:00Z", None),
        ];
        for (now, end) in cases {
            assert_eq!(hours.end(at(now), Tz::Europe__Moscow), end.map(at), "{now}");
        }
        // The night in which the clocks of Berlin go forward.
        let end = hours.end(at("2026-03-28T22:00:00Z"), Tz::Europe__Berlin);
        assert_eq!(end, Some(at("2026-03-29T06:00:00Z")));
        assert_eq!(QuietHours::NONE.end(at("2026-01-05T23:00:00Z"), Tz::UTC), None);
    }

    #[test]
    fn every_option_is_read_and_written() {
        for (name, caption) in QuietHours::OPTIONS {
            let hours: QuietHours = name.parse().unwrap();
            assert_eq!((hours.to_string().as_str(), hours.caption()), (*name, *caption));
        }
        assert!("1-2".parse::<QuietHours>().is_err());
    }
}
