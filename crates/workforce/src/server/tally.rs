//! Counts refused and aborted connections, and logs them at most once a minute: an attack does not fill the log.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use metrics::Counter;
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

/// The labels of the events that are counted, in the order of `Event`.
pub const CUT_REASONS: [&str; COUNTED] = [
    "address_full",
    "all_full",
    "evicted",
    "slow_head",
    "slow_body",
    "unread_response",
    "silent_socket",
    "not_accepted",
];

#[derive(Debug)]
pub(super) struct Tally {
    /// Since the last log line.
    counts: [AtomicU64; COUNTED],
    /// Since the start.
    totals: [Counter; COUNTED],
    logged_at: Mutex<Option<Instant>>,
}

impl Default for Tally {
    fn default() -> Self {
        let total = |reason| metrics::counter!("opora_http_connections_cut_total", "reason" => reason);
        Self { counts: Default::default(), totals: CUT_REASONS.map(total), logged_at: Mutex::default() }
    }
}

impl Tally {
    pub(super) fn count(&self, event: Event) {
        let index = event as usize;
        if let (Some(count), Some(total)) = (self.counts.get(index), self.totals.get(index)) {
            count.fetch_add(1, Ordering::Relaxed);
            total.increment(1);
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
