//! Limits of open sockets, and what the sockets of one browser share.
//!
//! A person has at most [`MAX_PER_PERSON`]. One more closes the person's oldest, so the newest page is always live; the
//! closed page reconnects when it is looked at. In total there are at most [`MAX_SOCKETS`], and one more is refused.
//!
//! The listener is looked up once per session and event, however many pages of that browser are open.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use sea_orm::DbErr;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Listener;
use crate::application::App;

/// Maximum number of sockets of one person, in all browsers.
pub const MAX_PER_PERSON: usize = 20;
/// Maximum number of sockets: below the server's connection limit, so that pages still get an answer.
pub const MAX_SOCKETS: usize = 1_000;
/// How many topics of a page are counted. Pages have a few.
const MAX_TOPICS: usize = 32;
/// Maximum age of a lookup without an event.
const LOOKUP_MAX_AGE: Duration = Duration::from_secs(10);

/// All open sockets. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Sockets(Arc<Mutex<OpenSockets>>);

#[derive(Debug, Default)]
struct OpenSockets {
    last_number: u64,
    count: usize,
    /// Sockets by person, the oldest first.
    of_person: HashMap<i64, VecDeque<(u64, CancellationToken)>>,
    of_session: HashMap<i64, SessionSockets>,
    /// How many sockets follow a topic.
    of_topic: HashMap<String, usize>,
}

/// What the sockets of one session share, and their number.
#[derive(Debug, Default)]
struct SessionSockets {
    sockets: usize,
    lookup: Arc<tokio::sync::Mutex<ListenerLookup>>,
}

/// The latest lookup of a listener.
#[derive(Debug, Default)]
struct ListenerLookup {
    /// It began after this event was published.
    event: u64,
    at: Option<Instant>,
    listener: Option<Arc<Listener>>,
}

/// An open socket; dropping it frees its place.
#[derive(Debug)]
pub struct OpenSocket {
    sockets: Sockets,
    number: u64,
    person: i64,
    session: i64,
    topics: Vec<String>,
    /// Cancelled when a newer socket takes the place.
    pub evicted: CancellationToken,
    lookup: Arc<tokio::sync::Mutex<ListenerLookup>>,
}

impl Sockets {
    /// Adds a socket of a page with these topics, separated by spaces; closes the person's oldest if there are too
    /// many. None if all places are taken.
    pub fn take(&self, person: i64, session: i64, topics: &str) -> Option<OpenSocket> {
        let mut open = self.0.lock();
        let is_full_of_own = open.of_person.get(&person).is_some_and(|own| own.len() >= MAX_PER_PERSON);
        if open.count >= MAX_SOCKETS && !is_full_of_own {
            return None;
        }
        open.last_number += 1;
        open.count += 1;
        let (number, evicted) = (open.last_number, CancellationToken::new());
        let own = open.of_person.entry(person).or_default();
        own.push_back((number, evicted.clone()));
        if own.len() > MAX_PER_PERSON
            && let Some((_, oldest)) = own.pop_front()
        {
            oldest.cancel();
        }
        let shared = open.of_session.entry(session).or_default();
        shared.sockets += 1;
        let lookup = shared.lookup.clone();
        let topics: Vec<String> = topics.split_whitespace().take(MAX_TOPICS).map(str::to_owned).collect();
        for topic in &topics {
            *open.of_topic.entry(topic.clone()).or_default() += 1;
        }
        Some(OpenSocket { sockets: self.clone(), number, person, session, topics, evicted, lookup })
    }

    /// Whether an open page names this topic.
    pub fn follow(&self, topic: &str) -> bool {
        self.0.lock().of_topic.contains_key(topic)
    }

    /// Number of open sockets.
    pub fn count(&self) -> usize {
        self.0.lock().count
    }
}

impl OpenSocket {
    /// The listener, as of the event with this number or later.
    pub async fn listener_since(&self, app: &App, event: u64) -> Result<Option<Arc<Listener>>, DbErr> {
        self.listener_if(app, |lookup| lookup.event >= event).await
    }

    /// The listener, as of a moment ago.
    pub async fn listener(&self, app: &App) -> Result<Option<Arc<Listener>>, DbErr> {
        self.listener_if(app, |_| true).await
    }

    async fn listener_if(
        &self,
        app: &App,
        is_good: impl Fn(&ListenerLookup) -> bool,
    ) -> Result<Option<Arc<Listener>>, DbErr> {
        // The sockets of a session wait here for each other; all but the first find a recent lookup.
        let mut lookup = self.lookup.lock().await;
        let is_fresh = lookup.at.is_some_and(|at| at.elapsed() < LOOKUP_MAX_AGE);
        if !(is_fresh && is_good(&lookup)) {
            let (event, at) = (app.events.last_number(), Instant::now());
            let listener = Listener::for_session(app, self.session).await?.map(Arc::new);
            *lookup = ListenerLookup { event, at: Some(at), listener };
        }
        Ok(lookup.listener.clone())
    }
}

impl Drop for OpenSocket {
    fn drop(&mut self) {
        let mut open = self.sockets.0.lock();
        open.count -= 1;
        if let Some(own) = open.of_person.get_mut(&self.person) {
            own.retain(|(number, _)| *number != self.number);
            if own.is_empty() {
                open.of_person.remove(&self.person);
            }
        }
        for topic in &self.topics {
            if let Some(count) = open.of_topic.get_mut(topic) {
                *count -= 1;
            }
        }
        open.of_topic.retain(|_, count| *count > 0);
        if let Some(shared) = open.of_session.get_mut(&self.session) {
            shared.sockets -= 1;
            if shared.sockets == 0 {
                open.of_session.remove(&self.session);
            }
        }
    }
}

/// Sequence numbers of events.
#[derive(Debug, Default)]
pub struct EventNumbers(AtomicU64);

impl EventNumbers {
    pub fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub fn last(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_socket_closes_the_persons_oldest() {
        let sockets = Sockets::default();
        let other = sockets.take(2, 20, "").unwrap();
        let mut seats: Vec<OpenSocket> = (0..MAX_PER_PERSON).map(|_| sockets.take(1, 10, "").unwrap()).collect();
        assert!(seats.iter().all(|seat| !seat.evicted.is_cancelled()));
        seats.push(sockets.take(1, 11, "").unwrap());
        let closed: Vec<bool> = seats.iter().map(|seat| seat.evicted.is_cancelled()).collect();
        assert!(closed[0] && closed[1..].iter().all(|is_closed| !is_closed), "{closed:?}");
        assert!(!other.evicted.is_cancelled());
        drop((seats, other));
        let open = sockets.0.lock();
        assert_eq!((open.count, open.of_person.len(), open.of_session.len()), (0, 0, 0));
    }

    #[test]
    fn the_total_number_of_sockets_is_limited() {
        let sockets = Sockets::default();
        let mut seats: Vec<OpenSocket> =
            (0..MAX_SOCKETS as i64).map(|at| sockets.take(at / 20, at, "").unwrap()).collect();
        assert!(sockets.take(-1, -1, "").is_none());
        // A person at the limit gives one up for it.
        let again = sockets.take(0, 0, "").unwrap();
        assert!(seats[0].evicted.is_cancelled());
        seats.truncate(1);
        drop(again);
        assert!(sockets.take(-1, -1, "").is_some());
    }

    #[test]
    fn a_topic_is_followed_while_a_page_names_it() {
        let sockets = Sockets::default();
        assert!(!sockets.follow("jobs"));
        let pages = [sockets.take(1, 10, "jobs people").unwrap(), sockets.take(2, 20, "people jobs").unwrap()];
        assert!(sockets.follow("jobs") && sockets.follow("people") && !sockets.follow("job"));
        let [first, second] = pages;
        drop(first);
        assert!(sockets.follow("jobs"));
        drop(second);
        assert!(!sockets.follow("jobs") && sockets.0.lock().of_topic.is_empty());
    }
}
