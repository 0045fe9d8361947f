//! What was refused or cut, counted and told at most once in a minute: an attack does not fill the log.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

const BETWEEN_WARNINGS: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// One address has all of its places.
    AddressFull,
    /// All places are taken by busy connections.
    AllFull,
    /// A waiting connection gave its place to a new one.
    Evicted,
    SlowHead,
    SlowBody,
    UnreadAnswer,
    SilentSocket,
    /// The system would not accept a connection.
    NotAccepted,
    /// Nothing to tell of.
    Expected,
}

const COUNTED: usize = Event::Expected as usize;

#[derive(Debug, Default)]
pub(super) struct Tally {
    counts: [AtomicU64; COUNTED],
    told_at: Mutex<Option<Instant>>,
}

impl Tally {
    pub(super) fn count(&self, event: Event) {
        if let Some(count) = self.counts.get(event as usize) {
            count.fetch_add(1, Ordering::Relaxed);
            self.tell();
        }
    }

    /// Tells what was counted since the last time, unless that was a moment ago.
    pub(super) fn tell(&self) {
        {
            let mut told_at = self.told_at.lock();
            let is_early = told_at.is_some_and(|at| at.elapsed() < BETWEEN_WARNINGS);
            if is_early || self.counts.iter().all(|count| count.load(Ordering::Relaxed) == 0) {
                return;
            }
            *told_at = Some(Instant::now());
        }
        let taken = |event: Event| self.counts[event as usize].swap(0, Ordering::Relaxed);
        tracing::warn!(
            address_full = taken(Event::AddressFull),
            all_full = taken(Event::AllFull),
            evicted = taken(Event::Evicted),
            slow_heads = taken(Event::SlowHead),
            slow_bodies = taken(Event::SlowBody),
            unread_answers = taken(Event::UnreadAnswer),
            silent_sockets = taken(Event::SilentSocket),
            not_accepted = taken(Event::NotAccepted),
            "connections to the pages were refused or cut"
        );
    }
}
