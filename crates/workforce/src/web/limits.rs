//! How often somebody may ask for pages, and of the bot.
//!
//! Counted in this process; what guards the sign-in is counted in the database, by [`super::sign_in`]. Each key has one
//! number: the time at which it would be idle again; so nothing has to be reset, and what is over can be dropped.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use opora::clock::Millis;
use parking_lot::Mutex;

use super::oops::Oops;
use crate::person::{OWNERS, Person};

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Asker {
    Address(IpAddr),
    Person(i64),
    /// Somebody in the chat, known or not.
    Account(i64),
}

/// All limits of the pages and of the bot.
#[derive(Debug)]
pub struct Limits {
    guests: Limit,
    pages: ByRole,
    /// What pages load by themselves, in counters of their own: whatever happens in the firm costs nobody a click.
    live: ByRole,
    /// Pictures and films, of which a page may have dozens.
    pictures: Limit,
    /// What is asked of the bot, by anybody.
    pub in_chat: Limit,
    /// What owners may ask of the bot.
    pub owners_in_chat: Limit,
    /// How often somebody is told to wait.
    pub told_in_chat: Limit,
}

/// How much somebody may who is signed in: owners more than others.
#[derive(Debug)]
struct ByRole {
    members: Limit,
    owners: Limit,
}

/// So many in so long, at once or spread.
#[derive(Debug)]
pub struct Limit {
    most: i64,
    within_ms: i64,
    idle_at: Mutex<HashMap<Asker, i64>>,
}

/// More askers than this are not remembered: memory is bounded, whoever asks.
const MOST_ASKERS: usize = 50_000;
const MINUTE: Duration = Duration::from_secs(60);

impl Default for Limits {
    fn default() -> Self {
        Self {
            guests: Limit::new(100, MINUTE),
            pages: ByRole::default(),
            live: ByRole::default(),
            pictures: Limit::new(1200, MINUTE),
            in_chat: Limit::new(100, MINUTE),
            owners_in_chat: Limit::new(200, MINUTE),
            told_in_chat: Limit::new(1, MINUTE),
        }
    }
}

impl Limits {
    /// Counts a page that somebody asks for.
    pub fn page(&self, person: Option<&Person>, address: IpAddr, now: Millis) -> Result<(), Oops> {
        match person {
            Some(person) => self.pages.take(person, now),
            None => self.guests.take(Asker::Address(address), now),
        }
    }

    /// Counts a page that somebody's page asks for by itself. Whoever says so of other loads has as many of these, and
    /// no more.
    pub fn live_part(&self, person: &Person, now: Millis) -> Result<(), Oops> {
        self.live.take(person, now)
    }

    /// Counts a picture that somebody's page shows.
    pub fn picture(&self, person: &Person, now: Millis) -> Result<(), Oops> {
        self.pictures.take(Asker::Person(person.id), now)
    }
}

impl Default for ByRole {
    fn default() -> Self {
        Self { members: Limit::new(100, MINUTE), owners: Limit::new(200, MINUTE) }
    }
}

impl ByRole {
    fn take(&self, person: &Person, now: Millis) -> Result<(), Oops> {
        let is_owner = person.roles.has_any(OWNERS);
        let limit = if is_owner { &self.owners } else { &self.members };
        limit.take(Asker::Person(person.id), now)
    }
}

impl Limit {
    fn new(most: i64, within: Duration) -> Self {
        let within_ms = i64::try_from(within.as_millis()).unwrap_or(i64::MAX);
        Self { most, within_ms, idle_at: Mutex::default() }
    }

    /// Counts one, or says how long to wait.
    pub fn take(&self, asker: Asker, now: Millis) -> Result<(), Oops> {
        let mut idle_at = self.idle_at.lock();
        if idle_at.len() >= MOST_ASKERS {
            idle_at.retain(|_, at| *at > now.0);
            if idle_at.len() >= MOST_ASKERS {
                idle_at.clear();
            }
        }
        let at = idle_at.entry(asker).or_insert(now.0);
        let next = (*at).max(now.0) + self.within_ms / self.most;
        let too_early_ms = next - now.0 - self.within_ms;
        if too_early_ms > 0 {
            return Err(Oops::TooMany { retry_after_s: too_early_ms.unsigned_abs().div_ceil(1000) });
        }
        *at = next;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_pass_at_once_and_then_one_at_a_time() {
        let limit = Limit::new(3, Duration::from_secs(30));
        let take = |at| limit.take(Asker::Person(1), Millis(at)).map_err(|oops| oops.retry_after_s());
        assert_eq!([take(0), take(0), take(0)], [Ok(()), Ok(()), Ok(())]);
        assert_eq!(take(0), Err(Some(10)));
        assert_eq!(take(9_001), Err(Some(1)), "what was refused is not counted");
        assert_eq!((take(10_000), take(10_000)), (Ok(()), Err(Some(10))));
        assert!(limit.take(Asker::Person(2), Millis(0)).is_ok(), "another one has not asked yet");
    }
}
