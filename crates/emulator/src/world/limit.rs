//! Telegram's limits on sending: 30 a second over all, 1 a second in a chat, 20 a minute in a group.
//!
//! A chat may send a burst of three before the second counts, as Telegram lets short bursts pass. A refused send says
//! after how many whole seconds it may be tried again, and costs nothing.

/// Whether the limits are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limits {
    Telegram,
    #[default]
    Off,
}

impl Limits {
    pub fn name(self) -> &'static str {
        match self {
            Self::Telegram => "telegram",
            Self::Off => "off",
        }
    }
}

/// What may be sent where.
#[derive(Clone, Copy, Debug)]
pub enum Pace {
    /// One each so many milliseconds, with so many at once after a silence.
    Steady { interval_ms: i64, burst: i64 },
    /// So many in each minute that begins with a send.
    PerMinute(u32),
}

pub const OVERALL: Pace = Pace::Steady { interval_ms: 33, burst: 30 };
pub const IN_CHAT: Pace = Pace::Steady { interval_ms: 1000, burst: 3 };
pub const IN_GROUP: Pace = Pace::PerMinute(20);

const MINUTE_MS: i64 = 60_000;

/// What has been spent of an allowance.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gauge {
    /// Steady: until when the allowance is spent (the generic cell rate algorithm). Per minute: when the minute ends.
    until_ms: i64,
    in_minute: u32,
}

impl Gauge {
    /// How long until one more fits; zero if it fits now.
    pub fn wait_ms(&self, pace: Pace, now_ms: i64) -> i64 {
        match pace {
            Pace::Steady { interval_ms, burst } => (self.until_ms - (burst - 1) * interval_ms - now_ms).max(0),
            Pace::PerMinute(most) if self.in_minute >= most => (self.until_ms - now_ms).max(0),
            Pace::PerMinute(_) => 0,
        }
    }

    pub fn spend(&mut self, pace: Pace, now_ms: i64) {
        match pace {
            Pace::Steady { interval_ms, .. } => self.until_ms = self.until_ms.max(now_ms) + interval_ms,
            Pace::PerMinute(_) if now_ms < self.until_ms => self.in_minute += 1,
            Pace::PerMinute(_) => *self = Self { until_ms: now_ms + MINUTE_MS, in_minute: 1 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of the sends at these moments pass.
    fn passed(pace: Pace, moments_ms: impl Iterator<Item = i64>) -> usize {
        let mut gauge = Gauge::default();
        let fits = |now_ms: &i64| {
            let fits = gauge.wait_ms(pace, *now_ms) == 0;
            if fits {
                gauge.spend(pace, *now_ms);
            }
            fits
        };
        moments_ms.filter(fits).count()
    }

    #[test]
    fn a_burst_passes_and_then_the_pace_holds() {
        assert_eq!(passed(IN_CHAT, [10_000; 10].into_iter()), 3);
        assert_eq!(passed(IN_CHAT, (0..10).map(|tenth| 10_000 + tenth * 500)), 3 + 4);
        assert_eq!(passed(OVERALL, [10_000; 100].into_iter()), 30);
    }

    #[test]
    fn a_group_takes_twenty_a_minute() {
        assert_eq!(passed(IN_GROUP, (0..590).map(|tenth| 10_000 + tenth * 100)), 20);
        assert_eq!(passed(IN_GROUP, (0..1190).map(|tenth| 10_000 + tenth * 100)), 40);
    }
}
