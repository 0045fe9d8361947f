//! Which part of the worked time is paid: from when it counts, and how it is rounded.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::key;

/// From when a planned shift is paid if the person opens it early. A late shift is always paid from its opening.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PayStart {
    #[default]
    Opening,
    PlannedStart,
}

/// Worked time is rounded to whole multiples of this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RoundingStep {
    /// Not rounded.
    #[default]
    None,
    Minutes5,
    Minutes10,
    Minutes15,
    Minutes30,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoundingDirection {
    #[default]
    Down,
    /// Half a step is rounded up.
    Nearest,
}

/// How the worked time of a shift is rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rounding {
    pub step: RoundingStep,
    pub direction: RoundingDirection,
}

/// The rules of paid time: the present settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PaidTimeRules {
    pub pay_start: PayStart,
    pub rounding: Rounding,
}

impl Rounding {
    /// The rounded time. Never negative.
    pub fn round(self, seconds: i64) -> i64 {
        let (seconds, step_seconds) = (seconds.max(0), self.step.minutes() * 60);
        if step_seconds == 0 {
            return seconds;
        }
        let more = match self.direction {
            RoundingDirection::Down => 0,
            RoundingDirection::Nearest => step_seconds / 2,
        };
        seconds.saturating_add(more) / step_seconds * step_seconds
    }
}

impl RoundingStep {
    /// Zero for no rounding.
    pub const fn minutes(self) -> i64 {
        match self {
            Self::None => 0,
            Self::Minutes5 => 5,
            Self::Minutes10 => 10,
            Self::Minutes15 => 15,
            Self::Minutes30 => 30,
        }
    }
}

/// Conversions to and from the stored names, and the options of a choice with their text keys.
macro_rules! choices {
    ($type:ident, $($value:ident = $name:literal $caption:expr),+) => {
        impl $type {
            /// All values by name, with the text keys of their captions.
            pub const OPTIONS: &[(&str, &str)] = &[$(($name, $caption)),+];
        }

        impl FromStr for $type {
            type Err = String;

            fn from_str(name: &str) -> Result<Self, String> {
                match name {
                    $($name => Ok(Self::$value),)+
                    other => Err(format!("unknown value `{other}`")),
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$value => $name,)+
                })
            }
        }
    };
}
choices!(PayStart,
    Opening = "opening" key!("cabinet-pay-from-opening"),
    PlannedStart = "planned_start" key!("cabinet-pay-from-planned-start"));
choices!(RoundingStep,
    None = "none" key!("cabinet-rounding-none"),
    Minutes5 = "5" key!("cabinet-rounding-5"),
    Minutes10 = "10" key!("cabinet-rounding-10"),
    Minutes15 = "15" key!("cabinet-rounding-15"),
    Minutes30 = "30" key!("cabinet-rounding-30"));
choices!(RoundingDirection,
    Down = "down" key!("cabinet-rounding-down"),
    Nearest = "nearest" key!("cabinet-rounding-nearest"));

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rounding(step: RoundingStep, direction: RoundingDirection) -> Rounding {
        Rounding { step, direction }
    }

    #[test]
    fn worked_time_is_rounded_to_whole_steps() {
        use RoundingDirection::{Down, Nearest};
        let cases = [
            (RoundingStep::None, Down, 4321, 4321),
            (RoundingStep::Minutes15, Down, 15 * 60 - 1, 0),
            (RoundingStep::Minutes15, Down, 15 * 60, 900),
            (RoundingStep::Minutes15, Nearest, 7 * 60 + 29, 0),
            (RoundingStep::Minutes15, Nearest, 7 * 60 + 30, 900),
            (RoundingStep::Minutes5, Nearest, 8 * 3600 + 149, 8 * 3600),
            (RoundingStep::Minutes30, Nearest, 8 * 3600 + 900, 8 * 3600 + 1800),
            (RoundingStep::Minutes10, Down, -5, 0),
        ];
        for (step, direction, worked, paid) in cases {
            assert_eq!(rounding(step, direction).round(worked), paid, "{step} {direction} {worked}");
        }
    }

    fn any_step() -> impl Strategy<Value = RoundingStep> {
        proptest::sample::select(RoundingStep::OPTIONS).prop_map(|(name, _)| name.parse().unwrap())
    }

    proptest! {
        #[test]
        fn rounding_moves_time_by_less_than_a_step(step in any_step(), worked in 0i64..200_000) {
            let step_seconds = step.minutes() * 60;
            let down = rounding(step, RoundingDirection::Down).round(worked);
            let nearest = rounding(step, RoundingDirection::Nearest).round(worked);
            prop_assert!(down <= worked && worked - down < step_seconds.max(1));
            prop_assert!((nearest - worked).abs() * 2 <= step_seconds);
            for rounded in [down, nearest] {
                prop_assert!(step_seconds == 0 || rounded % step_seconds == 0);
                prop_assert_eq!(rounding(step, RoundingDirection::Down).round(rounded), rounded);
            }
        }

        #[test]
        fn longer_work_is_never_paid_less(step in any_step(), worked in 0i64..200_000, more in 0i64..10_000) {
            for direction in [RoundingDirection::Down, RoundingDirection::Nearest] {
                let rule = rounding(step, direction);
                prop_assert!(rule.round(worked) <= rule.round(worked + more));
            }
        }
    }
}
