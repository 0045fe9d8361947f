//! Rate limits of pages and of the bot, per process.
//!
//! Sign-in attempts are counted in the database by [`super::sign_in`]. Each key has one number, the time at which it is
//! idle again (GCRA), so nothing has to be reset, and idle keys can be dropped.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use opora::clock::Millis;
use parking_lot::Mutex;

use super::page_error::PageError;
use crate::person::{OWNERS, Person};

/// The source of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RequestSource {
    Address(IpAddr),
    Person(i64),
    /// A Telegram account in the chat, known or not.
    Account(i64),
}

/// All rate limits of the pages and of the bot.
#[derive(Debug)]
pub struct Limits {
    guests: Limit,
    pages: ByRole,
    /// Automatic reloads, counted apart, so that they cost the person no clicks.
    live: ByRole,
    /// Pictures and videos, of which a page may have dozens.
    pictures: Limit,
    /// Messages to the bot.
    pub in_chat: Limit,
    /// Messages of owners to the bot.
    pub owners_in_chat: Limit,
    /// Replies that ask a person to wait.
    pub wait_replies: Limit,
}

/// Limits of signed-in people; owners have higher ones.
#[derive(Debug)]
struct ByRole {
    members: Limit,
    owners: Limit,
}

/// At most `max_requests` within `period_ms`, at once or spread.
#[derive(Debug)]
pub struct Limit {
    max_requests: i64,
    period_ms: i64,
    idle_at: Mutex<HashMap<RequestSource, i64>>,
}

/// Maximum number of sources to remember, to bound the memory.
const MAX_SOURCES: usize = 50_000;
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
            wait_replies: Limit::new(1, MINUTE),
        }
    }
}

impl Limits {
    /// Counts a page request.
    pub fn page(&self, person: Option<&Person>, address: IpAddr, now: Millis) -> Result<(), PageError> {
        match person {
            Some(person) => self.pages.take(person, now),
            None => self.guests.take(RequestSource::Address(address), now),
        }
    }

    /// Counts an automatic reload. A client that declares other requests as reloads gains only this limit.
    pub fn live_part(&self, person: &Person, now: Millis) -> Result<(), PageError> {
        self.live.take(person, now)
    }

    /// Counts a picture on a page.
    pub fn picture(&self, person: &Person, now: Millis) -> Result<(), PageError> {
        self.pictures.take(RequestSource::Person(person.id), now)
    }
}

impl Default for ByRole {
    fn default() -> Self {
        Self { members: Limit::new(100, MINUTE), owners: Limit::new(200, MINUTE) }
    }
}

impl ByRole {
    fn take(&self, person: &Person, now: Millis) -> Result<(), PageError> {
        let is_owner = person.roles.has_any(OWNERS);
        let limit = if is_owner { &self.owners } else { &self.members };
        limit.take(RequestSource::Person(person.id), now)
    }
}

impl Limit {
    fn new(max_requests: i64, period: Duration) -> Self {
        let period_ms = i64::try_from(period.as_millis()).unwrap_or(i64::MAX);
        Self { max_requests, period_ms, idle_at: Mutex::default() }
    }

    /// Counts one request, or fails with the time to wait.
    pub fn take(&self, source: RequestSource, now: Millis) -> Result<(), PageError> {
        let mut idle_at = self.idle_at.lock();
        if idle_at.len() >= MAX_SOURCES {
            idle_at.retain(|_, at| *at > now.0);
            if idle_at.len() >= MAX_SOURCES {
                idle_at.clear();
            }
        }
        let at = idle_at.entry(source).or_insert(now.0);
        let next = (*at).max(now.0) + self.period_ms / self.max_requests;
        let too_early_ms = next - now.0 - self.period_ms;
        if too_early_ms > 0 {
            return Err(PageError::TooMany { retry_after_s: too_early_ms.unsigned_abs().div_ceil(1000) });
        }
        *at = next;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_then_one_at_a_time() {
        let limit = Limit::new(3, Duration::from_secs(30));
        let take = |at| limit.take(RequestSource::Person(1), Millis(at)).map_err(|error| error.retry_after_s());
        assert_eq!([take(0), take(0), take(0)], [Ok(()), Ok(()), Ok(())]);
        assert_eq!(take(0), Err(Some(10)));
        assert_eq!(take(9_001), Err(Some(1)), "what was refused is not counted");
        assert_eq!((take(10_000), take(10_000)), (Ok(()), Err(Some(10))));
        assert!(limit.take(RequestSource::Person(2), Millis(0)).is_ok(), "another source has its own count");
    }
}
