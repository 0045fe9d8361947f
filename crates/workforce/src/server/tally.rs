//! Counts refused and aborted connections, and logs them at most once a minute: an attack does not fill the log.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

const WARNING_INTERVAL: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The address has all of its slots.
    AddressFull,
    /// All slots are taken by busy connections.
    AllFull,
    /// A waiting connection was evicted.
    Evicted,
    SlowHead,
    SlowBody,
    UnreadResponse,
    SilentSocket,
    /// The system did not accept a connection.
    NotAccepted,
    /// Not logged.
    Expected,
}

const COUNTED: usize = Event::Expected as usize;

#[derive(Debug, Default)]
pub(super) struct Tally {
    counts: [AtomicU64; COUNTED],
    logged_at: Mutex<Option<Instant>>,
}

impl Tally {
    pub(super) fn count(&self, event: Event) {
        if let Some(count) = self.counts.get(event as usize) {
            count.fetch_add(1, Ordering::Relaxed);
            self.log();
        }
    }

    /// Logs the counts since the last time, at most once per interval.
    pub(super) fn log(&self) {
        {
            let mut logged_at = self.logged_at.lock();
            let is_early = logged_at.is_some_and(|at| at.elapsed() < WARNING_INTERVAL);
            if is_early || self.counts.iter().all(|count| count.load(Ordering::Relaxed) == 0) {
                return;
            }
            *logged_at = Some(Instant::now());
        }
        let take_count = |event: Event| self.counts[event as usize].swap(0, Ordering::Relaxed);
        tracing::warn!(
            address_full = take_count(Event::AddressFull),
            all_full = take_count(Event::AllFull),
            evicted = take_count(Event::Evicted),
            slow_heads = take_count(Event::SlowHead),
            slow_bodies = take_count(Event::SlowBody),
            unread_responses = take_count(Event::UnreadResponse),
            silent_sockets = take_count(Event::SilentSocket),
            not_accepted = take_count(Event::NotAccepted),
            "connections to the pages were refused or cut"
        );
    }
}
