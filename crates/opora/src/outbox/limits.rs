//! How fast messages may go: Telegram's limits, kept on our side so that it need not refuse.
//!
//! Not more than 30 in any second over all, not more than 20 in any minute to a group, and one a second to a chat,
//! where a short burst may go ahead. `retry_after` is not kept here: it stands above all of this, whatever is set.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use tokio::time::Instant;

const OVERALL: (usize, Duration) = (30, Duration::from_secs(1));
const IN_GROUP: (usize, Duration) = (20, Duration::from_secs(60));
const IN_CHAT_EACH: Duration = Duration::from_secs(1);
const IN_CHAT_BURST: u32 = 3;
/// So many chats are remembered before the idle ones are looked for.
const CHATS: usize = 1024;

/// Which limits are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SendLimits {
    /// Telegram's.
    #[default]
    Telegram,
    /// None; for load tests, and for servers that have none.
    Off,
}

/// A text that names no limits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no limits: telegram or off was expected")]
pub struct NoSuchLimits(pub String);

impl FromStr for SendLimits {
    type Err = NoSuchLimits;

    fn from_str(text: &str) -> Result<Self, NoSuchLimits> {
        match text {
            "telegram" => Ok(Self::Telegram),
            "off" => Ok(Self::Off),
            _ => Err(NoSuchLimits(text.to_owned())),
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

/// What was sent lately.
#[derive(Debug)]
pub(super) struct Limits {
    kept: SendLimits,
    overall: Window,
    chats: HashMap<i64, Chat>,
    /// When so many chats are remembered, the idle ones go.
    sweep_at: usize,
}

#[derive(Debug)]
struct Chat {
    /// Until when the chat's allowance is spent, one second for each message.
    spent_until: Instant,
    /// For groups.
    minute: Window,
}

/// The moments of the last sends, as many as the limit counts.
#[derive(Debug, Default)]
struct Window(VecDeque<Instant>);

impl Limits {
    pub fn new(kept: SendLimits) -> Self {
        Self { kept, overall: Window::default(), chats: HashMap::new(), sweep_at: CHATS }
    }

    /// When anything at all may go; none if now.
    pub fn closed_until(&mut self, now: Instant) -> Option<Instant> {
        match self.kept {
            SendLimits::Off => None,
            SendLimits::Telegram => self.overall.closed_until(OVERALL, now),
        }
    }

    /// When this chat may get a message; none if now.
    pub fn chat_closed_until(&mut self, chat: i64, now: Instant) -> Option<Instant> {
        if self.kept == SendLimits::Off {
            return None;
        }
        let spent = self.chats.get_mut(&chat)?;
        let steady = spent.spent_until.checked_sub(IN_CHAT_EACH * (IN_CHAT_BURST - 1)).filter(|until| *until > now);
        steady.max(spent.minute.closed_until(IN_GROUP, now))
    }

    /// A message goes to this chat now.
    pub fn spend(&mut self, chat: i64, now: Instant) {
        if self.kept == SendLimits::Off {
            return;
        }
        self.overall.spend(OVERALL, now);
        if self.chats.len() >= self.sweep_at {
            self.sweep(now);
        }
        let spent = self.chats.entry(chat).or_insert_with(|| Chat { spent_until: now, minute: Window::default() });
        spent.spent_until = spent.spent_until.max(now) + IN_CHAT_EACH;
        // Groups and channels have negative ids.
        if chat < 0 {
            spent.minute.spend(IN_GROUP, now);
        }
    }

    /// A message that went at that time was answered now. Telegram counts it from when it came there, which is nowhere
    /// later than this: so no delay on the way brings two of them closer together than they may be.
    pub fn answered(&mut self, chat: i64, went_at: Instant, now: Instant) {
        if self.kept == SendLimits::Off {
            return;
        }
        self.overall.answered(went_at, now);
        if let Some(spent) = self.chats.get_mut(&chat) {
            spent.spent_until = spent.spent_until.max(now + IN_CHAT_EACH);
            spent.minute.answered(went_at, now);
        }
    }

    /// Forgets chats whose allowance is whole again.
    fn sweep(&mut self, now: Instant) {
        self.chats.retain(|_, chat| chat.spent_until > now || !chat.minute.is_idle(IN_GROUP, now));
        self.sweep_at = CHATS.max(self.chats.len() * 2);
    }
}

impl Window {
    fn closed_until(&mut self, (most, period): (usize, Duration), now: Instant) -> Option<Instant> {
        let oldest = *self.0.front().filter(|_| self.0.len() >= most)?;
        Some(oldest + period).filter(|until| *until > now)
    }

    fn spend(&mut self, (most, _): (usize, Duration), now: Instant) {
        if self.0.len() >= most {
            self.0.pop_front();
        }
        self.0.push_back(now);
    }

    /// What went at that time counts from now on.
    fn answered(&mut self, went_at: Instant, now: Instant) {
        if let Some(place) = self.0.iter().position(|at| *at == went_at) {
            self.0.remove(place);
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
    fn limits_are_named_in_settings() {
        assert_eq!("telegram".parse(), Ok(SendLimits::Telegram));
        assert_eq!("off".parse(), Ok(SendLimits::Off));
        assert_eq!("none".parse::<SendLimits>(), Err(NoSuchLimits("none".into())));
        assert_eq!(SendLimits::Off.to_string(), "off");
    }

    #[test]
    fn idle_chats_are_forgotten() {
        let mut limits = Limits::new(SendLimits::Telegram);
        let start = timer_now();
        for chat in 0..100_000 {
            limits.spend(chat, start + Duration::from_millis(10) * u32::try_from(chat).unwrap());
        }
        assert!(limits.chats.len() <= 2 * CHATS, "{}", limits.chats.len());
    }

    #[test]
    fn a_message_that_was_slow_on_its_way_counts_from_its_answer() {
        let mut limits = Limits::new(SendLimits::Telegram);
        let start = timer_now();
        let slow = Duration::from_millis(200);
        for chat in 1..=30 {
            limits.spend(chat, start);
            limits.answered(chat, start, start + slow);
        }
        assert_eq!(limits.closed_until(start + OVERALL.1), Some(start + OVERALL.1 + slow));
        for _ in 0..IN_CHAT_BURST {
            limits.spend(50, start);
            limits.answered(50, start, start + slow);
        }
        limits.answered(50, start, start + 5 * IN_CHAT_EACH);
        limits.spend(50, start + 5 * IN_CHAT_EACH);
        limits.spend(50, start + 5 * IN_CHAT_EACH);
        assert_eq!(limits.chat_closed_until(50, start + 5 * IN_CHAT_EACH), Some(start + 6 * IN_CHAT_EACH));
    }

    #[test]
    fn no_second_has_more_than_thirty_and_no_minute_of_a_group_more_than_twenty() {
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
