//! Telegram's limits on sending: 30 a second over all, 1 a second in a chat, 20 a minute in a group.
//!
//! As with Telegram, a chat accepts a burst of three messages before the limit of one a second applies. A refused send
//! returns the number of seconds to wait, and does not count.

/// Whether the limits apply.
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

/// A limit on the number of messages.
#[derive(Clone, Copy, Debug)]
pub enum RateLimit {
    /// One message per interval, and a burst after a pause.
    Steady { interval_ms: i64, burst: i64 },
    /// A number of messages in each minute, which begins with the first one.
    PerMinute(u32),
}

pub const OVERALL: RateLimit = RateLimit::Steady { interval_ms: 33, burst: 30 };
pub const IN_CHAT: RateLimit = RateLimit::Steady { interval_ms: 1000, burst: 3 };
pub const IN_GROUP: RateLimit = RateLimit::PerMinute(20);

const MINUTE_MS: i64 = 60_000;

/// How much of a limit is used.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateUsage {
    /// Steady: the theoretical arrival time of the generic cell rate algorithm. Per minute: when the minute ends.
    until_ms: i64,
    in_minute: u32,
}

impl RateUsage {
    /// How long to wait before the next message; zero if it may be sent now.
    pub fn wait_ms(&self, limit: RateLimit, now_ms: i64) -> i64 {
        match limit {
            RateLimit::Steady { interval_ms, burst } => (self.until_ms - (burst - 1) * interval_ms - now_ms).max(0),
            RateLimit::PerMinute(most) if self.in_minute >= most => (self.until_ms - now_ms).max(0),
            RateLimit::PerMinute(_) => 0,
        }
    }

    pub fn spend(&mut self, limit: RateLimit, now_ms: i64) {
        match limit {
            RateLimit::Steady { interval_ms, .. } => self.until_ms = self.until_ms.max(now_ms) + interval_ms,
            RateLimit::PerMinute(_) if now_ms < self.until_ms => self.in_minute += 1,
            RateLimit::PerMinute(_) => *self = Self { until_ms: now_ms + MINUTE_MS, in_minute: 1 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many messages at these times pass.
    fn passed(limit: RateLimit, moments_ms: impl Iterator<Item = i64>) -> usize {
        let mut rate_usage = RateUsage::default();
        let fits = |now_ms: &i64| {
            let fits = rate_usage.wait_ms(limit, *now_ms) == 0;
            if fits {
                rate_usage.spend(limit, *now_ms);
            }
            fits
        };
        moments_ms.filter(fits).count()
    }

    #[test]
    fn after_a_burst_the_interval_applies() {
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
