//! The sockets that are open: how many there may be, and what the sockets of one browser share.
//!
//! A person has at most [`OF_A_PERSON`]. One more closes the person's oldest, so the page in front of the person is always
//! live; the closed page connects again when it is looked at. In total there are [`IN_TOTAL`], and one more is refused.
//!
//! Who listens is looked up once for a session and an event, however many pages of that browser are open.

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

/// Sockets of one person, in all browsers.
pub const OF_A_PERSON: usize = 20;
/// Sockets in total: fewer than the server takes connections, so that pages are always answered.
pub const IN_TOTAL: usize = 1_000;
/// A look-up without an event may be as old as this.
const FRESH: Duration = Duration::from_secs(10);

/// Clones are the same ones.
#[derive(Clone, Debug, Default)]
pub struct Sockets(Arc<Mutex<Open>>);

#[derive(Debug, Default)]
struct Open {
    last_number: u64,
    count: usize,
    /// By person, the oldest first.
    of_person: HashMap<i64, VecDeque<(u64, CancellationToken)>>,
    of_session: HashMap<i64, Shared>,
}

/// What the sockets of one session share, and how many they are.
#[derive(Debug, Default)]
struct Shared {
    sockets: usize,
    looked: Arc<tokio::sync::Mutex<Looked>>,
}

/// The latest look-up.
#[derive(Debug, Default)]
struct Looked {
    /// It began after this event had been published.
    event: u64,
    at: Option<Instant>,
    listener: Option<Arc<Listener>>,
}

/// The place of an open socket; free again when it is dropped.
#[derive(Debug)]
pub struct Seat {
    sockets: Sockets,
    number: u64,
    person: i64,
    session: i64,
    /// Cancelled when a newer socket takes the place.
    pub pushed_out: CancellationToken,
    looked: Arc<tokio::sync::Mutex<Looked>>,
}

impl Sockets {
    /// A place for one more, by closing the person's oldest if need be. None where all places are taken.
    pub fn take(&self, person: i64, session: i64) -> Option<Seat> {
        let mut open = self.0.lock();
        let is_full_of_own = open.of_person.get(&person).is_some_and(|own| own.len() >= OF_A_PERSON);
        if open.count >= IN_TOTAL && !is_full_of_own {
            return None;
        }
        open.last_number += 1;
        open.count += 1;
        let (number, pushed_out) = (open.last_number, CancellationToken::new());
        let own = open.of_person.entry(person).or_default();
        own.push_back((number, pushed_out.clone()));
        if own.len() > OF_A_PERSON
            && let Some((_, oldest)) = own.pop_front()
        {
            oldest.cancel();
        }
        let shared = open.of_session.entry(session).or_default();
        shared.sockets += 1;
        let looked = shared.looked.clone();
        Some(Seat { sockets: self.clone(), number, person, session, pushed_out, looked })
    }

    /// How many are open.
    pub fn count(&self) -> usize {
        self.0.lock().count
    }
}

impl Seat {
    /// Who listens, as of the event with this number or later.
    pub async fn listener_since(&self, app: &App, event: u64) -> Result<Option<Arc<Listener>>, DbErr> {
        self.listener_if(app, |looked| looked.event >= event).await
    }

    /// Who listens, as of a moment ago.
    pub async fn listener(&self, app: &App) -> Result<Option<Arc<Listener>>, DbErr> {
        self.listener_if(app, |_| true).await
    }

    async fn listener_if(&self, app: &App, is_good: impl Fn(&Looked) -> bool) -> Result<Option<Arc<Listener>>, DbErr> {
        // The sockets of a session wait here for one another, and all but the first find the answer.
        let mut looked = self.looked.lock().await;
        let is_fresh = looked.at.is_some_and(|at| at.elapsed() < FRESH);
        if !(is_fresh && is_good(&looked)) {
            let (event, at) = (app.events.last_number(), Instant::now());
            let listener = Listener::of(app, self.session).await?.map(Arc::new);
            *looked = Looked { event, at: Some(at), listener };
        }
        Ok(looked.listener.clone())
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut open = self.sockets.0.lock();
        open.count -= 1;
        if let Some(own) = open.of_person.get_mut(&self.person) {
            own.retain(|(number, _)| *number != self.number);
            if own.is_empty() {
                open.of_person.remove(&self.person);
            }
        }
        if let Some(shared) = open.of_session.get_mut(&self.session) {
            shared.sockets -= 1;
            if shared.sockets == 0 {
                open.of_session.remove(&self.session);
            }
        }
    }
}

/// Numbers events in the order in which they are published.
#[derive(Debug, Default)]
pub struct Numbers(AtomicU64);

impl Numbers {
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
    fn one_more_closes_the_oldest_of_the_person() {
        let sockets = Sockets::default();
        let other = sockets.take(2, 20).unwrap();
        let mut seats: Vec<Seat> = (0..OF_A_PERSON).map(|_| sockets.take(1, 10).unwrap()).collect();
        assert!(seats.iter().all(|seat| !seat.pushed_out.is_cancelled()));
        seats.push(sockets.take(1, 11).unwrap());
        let closed: Vec<bool> = seats.iter().map(|seat| seat.pushed_out.is_cancelled()).collect();
        assert!(closed[0] && closed[1..].iter().all(|is_closed| !is_closed), "{closed:?}");
        assert!(!other.pushed_out.is_cancelled());
        drop((seats, other));
        let open = sockets.0.lock();
        assert_eq!((open.count, open.of_person.len(), open.of_session.len()), (0, 0, 0));
    }

    #[test]
    fn in_total_there_are_only_so_many() {
        let sockets = Sockets::default();
        let mut seats: Vec<Seat> = (0..IN_TOTAL as i64).map(|at| sockets.take(at / 20, at).unwrap()).collect();
        assert!(sockets.take(-1, -1).is_none());
        // A person who has all of theirs gives one up for it.
        let again = sockets.take(0, 0).unwrap();
        assert!(seats[0].pushed_out.is_cancelled());
        seats.truncate(1);
        drop(again);
        assert!(sockets.take(-1, -1).is_some());
    }
}
