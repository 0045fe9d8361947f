//! Telegram's rate limits, respected here so that Telegram need not refuse.
//!
//! At most 30 messages in any second overall, 20 in any minute to a group, and one a second to a chat after a short
//! burst. Messages of low priority use two thirds of that. `retry_after` is not handled here: it always applies.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use tokio::time::Instant;

const OVERALL: (usize, Duration) = (30, Duration::from_secs(1));
/// For messages of low priority, so that others need not wait until a second is over.
const LOW_PRIORITY: (usize, Duration) = (20, Duration::from_secs(1));
const IN_GROUP: (usize, Duration) = (20, Duration::from_secs(60));
const CHAT_INTERVAL: Duration = Duration::from_secs(1);
const CHAT_BURST: u32 = 3;
/// Idle chats are forgotten when at least this many are known.
const SWEEP_AT_MIN: usize = 1024;

/// Which limits the courier respects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SendLimits {
    /// Telegram's.
    #[default]
    Telegram,
    /// No limits, for load tests and servers without limits.
    Off,
}

/// A text is not the name of limits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown limits `{0}`: expected telegram or off")]
pub struct SendLimitsParseError(pub String);

impl FromStr for SendLimits {
    type Err = SendLimitsParseError;

    fn from_str(text: &str) -> Result<Self, SendLimitsParseError> {
        match text {
            "telegram" => Ok(Self::Telegram),
            "off" => Ok(Self::Off),
            _ => Err(SendLimitsParseError(text.to_owned())),
        }
    }
}

impl fmt::Display for SendLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Telegram => "telegram",
            Self::Off => "off",
        })
    }
}

/// Recent sends, for the limits.
#[derive(Debug)]
pub(super) struct Limits {
    limits: SendLimits,
    overall: Window,
    low_priority: Window,
    chats: HashMap<i64, Chat>,
    /// Idle chats are forgotten when this many are known.
    sweep_at: usize,
}

#[derive(Debug)]
struct Chat {
    /// Until when the chat's allowance is used up: one second for each message.
    spent_until: Instant,
    /// Sends of the last minute. Only for groups.
    minute: Window,
}

/// The times of the last sends, at most as many as the limit allows.
#[derive(Debug, Default)]
struct Window(VecDeque<Instant>);

impl Limits {
    pub fn new(limits: SendLimits) -> Self {
        let [overall, low_priority] = [(); 2].map(|()| Window::default());
        Self { limits, overall, low_priority, chats: HashMap::new(), sweep_at: SWEEP_AT_MIN }
    }

    /// When the next message may be sent. None if now.
    pub fn closed_until(&mut self, now: Instant) -> Option<Instant> {
        match self.limits {
            SendLimits::Off => None,
            SendLimits::Telegram => self.overall.closed_until(OVERALL, now),
        }
    }

    /// When the next message of low priority may be sent. None if now.
    pub fn low_priority_closed_until(&mut self, now: Instant) -> Option<Instant> {
        match self.limits {
            SendLimits::Off => None,
            SendLimits::Telegram => self.low_priority.closed_until(LOW_PRIORITY, now),
        }
    }

    /// When the next message to this chat may be sent. None if now.
    pub fn chat_closed_until(&mut self, chat: i64, now: Instant) -> Option<Instant> {
        if self.limits == SendLimits::Off {
            return None;
        }
        let spent = self.chats.get_mut(&chat)?;
        let steady = spent.spent_until.checked_sub(CHAT_INTERVAL * (CHAT_BURST - 1)).filter(|until| *until > now);
        steady.max(spent.minute.closed_until(IN_GROUP, now))
    }

    /// Records a message to this chat.
    pub fn spend(&mut self, chat: i64, now: Instant) {
        if self.limits == SendLimits::Off {
            return;
        }
        self.overall.spend(OVERALL, now);
        if self.chats.len() >= self.sweep_at {
            self.sweep(now);
        }
        let spent = self.chats.entry(chat).or_insert_with(|| Chat { spent_until: now, minute: Window::default() });
        spent.spent_until = spent.spent_until.max(now) + CHAT_INTERVAL;
        // Groups and channels have negative ids.
        if chat < 0 {
            spent.minute.spend(IN_GROUP, now);
        }
    }

    /// Records that the message to be sent now has low priority.
    pub fn spend_low_priority(&mut self, now: Instant) {
        if self.limits == SendLimits::Telegram {
            self.low_priority.spend(LOW_PRIORITY, now);
        }
    }

    /// Counts the message that was sent at `sent_at` from now on, the time of its answer. Telegram counts it from its
    /// arrival, which is not later. So no delay on the network makes two messages arrive too close together.
    pub fn answered(&mut self, chat: i64, sent_at: Instant, now: Instant) {
        if self.limits == SendLimits::Off {
            return;
        }
        self.overall.answered(sent_at, now);
        if let Some(spent) = self.chats.get_mut(&chat) {
            spent.spent_until = spent.spent_until.max(now + CHAT_INTERVAL);
            spent.minute.answered(sent_at, now);
        }
    }

    /// Forgets idle chats.
    fn sweep(&mut self, now: Instant) {
        self.chats.retain(|_, chat| chat.spent_until > now || !chat.minute.is_idle(IN_GROUP, now));
        self.sweep_at = SWEEP_AT_MIN.max(self.chats.len() * 2);
    }
}

impl Window {
    fn closed_until(&mut self, (max, period): (usize, Duration), now: Instant) -> Option<Instant> {
        let oldest = *self.0.front().filter(|_| self.0.len() >= max)?;
        Some(oldest + period).filter(|until| *until > now)
    }

    fn spend(&mut self, (max, _): (usize, Duration), now: Instant) {
        if self.0.len() >= max {
            self.0.pop_front();
        }
        self.0.push_back(now);
    }

    /// Counts the send at `sent_at` from now on.
    fn answered(&mut self, sent_at: Instant, now: Instant) {
        if let Some(index) = self.0.iter().position(|at| *at == sent_at) {
            self.0.remove(index);
            self.0.push_back(now);
        }
    }

    fn is_idle(&self, (_, period): (usize, Duration), now: Instant) -> bool {
        self.0.back().is_none_or(|last| *last + period <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::timer_now;

    #[test]
    fn limits_are_parsed_from_their_names() {
        assert_eq!("telegram".parse(), Ok(SendLimits::Telegram));
        assert_eq!("off".parse(), Ok(SendLimits::Off));
        assert_eq!("none".parse::<SendLimits>(), Err(SendLimitsParseError("none".into())));
        assert_eq!(SendLimits::Off.to_string(), "off");
    }

    #[test]
    fn idle_chats_are_forgotten() {
        let mut limits = Limits::new(SendLimits::Telegram);
        let start = timer_now();
        for chat in 0..100_000 {
            limits.spend(chat, start + Duration::from_millis(10) * u32::try_from(chat).unwrap());
        }
        assert!(limits.chats.len() <= 2 * SWEEP_AT_MIN, "{}", limits.chats.len());
    }

    #[test]
    fn a_slow_message_counts_from_its_answer() {
        let mut limits = Limits::new(SendLimits::Telegram);
        let start = timer_now();
        let slow = Duration::from_millis(200);
        for chat in 1..=30 {
            limits.spend(chat, start);
            limits.answered(chat, start, start + slow);
        }
        assert_eq!(limits.closed_until(start + OVERALL.1), Some(start + OVERALL.1 + slow));
        for _ in 0..CHAT_BURST {
            limits.spend(50, start);
            limits.answered(50, start, start + slow);
        }
        limits.answered(50, start, start + 5 * CHAT_INTERVAL);
        limits.spend(50, start + 5 * CHAT_INTERVAL);
        limits.spend(50, start + 5 * CHAT_INTERVAL);
        assert_eq!(limits.chat_closed_until(50, start + 5 * CHAT_INTERVAL), Some(start + 6 * CHAT_INTERVAL));
    }

    #[test]
    fn at_most_30_per_second_and_20_per_minute_in_a_group() {
        let mut limits = Limits::new(SendLimits::Telegram);
        let start = timer_now();
        let mut now = start;
        let mut sent = Vec::new();
        while sent.len() < 70 {
            match limits.closed_until(now).max(limits.chat_closed_until(-1, now)) {
                Some(until) => now = until,
                None => {
                    limits.spend(-1, now);
                    sent.push(now);
                }
            }
        }
        assert!(sent.windows(21).all(|some| some[20] - some[0] >= Duration::from_secs(60)));
        let mut limits = Limits::new(SendLimits::Telegram);
        let mut now = start;
        let mut sent = Vec::new();
        for chat in 1..200 {
            if let Some(until) = limits.closed_until(now) {
                now = until;
            }
            limits.spend(chat, now);
            sent.push(now);
        }
        assert!(sent.windows(31).all(|some| some[30] - some[0] >= Duration::from_secs(1)));
        assert_eq!(sent[29], start);
    }
}
