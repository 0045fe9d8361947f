//! Delivers due timers, expiries and retried turns; `maintenance` cleans the store and reports metrics.
//!
//! A due row enters its conversation through the mailbox, like any other input. All rows are in the store, so a timer
//! that came due while the bot was down fires at its next start.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::clock::{Clock, Millis};
use crate::failpoints;
use crate::key::ConversationKey;
use crate::mailbox::{Mailboxes, QueuedInput};
use crate::store::{ParkedId, Store, StoreResult, TimerId};

pub(crate) use self::maintenance::Maintenance;

mod gauges;
mod maintenance;

/// How long stored rows are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Marks of processed updates. It must be longer than Telegram keeps an update for delivery.
    pub marks: Duration,
    /// Transitions, failed messages, ended conversations, and labels of messages.
    pub records: Duration,
    /// How often old rows are removed.
    pub cleaning_interval: Duration,
}

impl Default for Retention {
    fn default() -> Self {
        let hours = |hours: u64| Duration::from_secs(hours * 3600);
        Self { marks: hours(72), records: hours(30 * 24), cleaning_interval: hours(1) }
    }
}

/// How often the store is read when nothing is known to be due, so that a retry by the operator starts soon.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How many new due rows are read at once.
const PAGE: usize = 500;
/// How many pages of one kind are read before the next kind.
const MAX_PAGES: usize = 20;

/// Tells the schedule about new timers and finished inputs. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScheduleHandle(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    next: AtomicI64,
    changed: Notify,
    delivered: Mutex<HashSet<Due>>,
}

/// A due row that is delivered and not finished yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Due {
    Timer(TimerId),
    Expiry(ConversationKey),
    Parked(ParkedId),
}

impl Default for Shared {
    fn default() -> Self {
        Self { next: AtomicI64::new(i64::MAX), changed: Notify::new(), delivered: Mutex::default() }
    }
}

impl ScheduleHandle {
    /// Wakes the schedule at the given time.
    pub(crate) fn wake_at(&self, due: Millis) {
        if self.0.next.fetch_min(due.0, Ordering::AcqRel) > due.0 {
            self.0.changed.notify_one();
        }
    }

    /// Wakes the schedule now.
    pub(crate) fn wake_now(&self) {
        self.wake_at(Millis(i64::MIN));
    }

    /// Notes that inputs are finished, with any result.
    pub(crate) fn finished(&self, key: &ConversationKey, inputs: &[QueuedInput]) {
        for input in inputs {
            let due = match input {
                QueuedInput::Timer(timer) => Due::Timer(timer.id),
                QueuedInput::Expired => Due::Expiry(key.clone()),
                QueuedInput::Retry(parked) => Due::Parked(parked.id),
                QueuedInput::Inbox(_) | QueuedInput::Direct(_) => continue,
            };
            self.0.delivered.lock().remove(&due);
        }
    }
}

/// Delivers due rows.
pub(crate) struct Schedule {
    pub(crate) bot: i64,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Clock,
    pub(crate) mailboxes: Mailboxes,
    pub(crate) handle: ScheduleHandle,
}

impl Schedule {
    /// Runs until `stop`.
    pub(crate) async fn run(self, stop: CancellationToken) {
        loop {
            let mut pause = POLL_INTERVAL;
            match self.tick().await {
                Ok(next) => {
                    if let Some(next) = next {
                        self.handle.0.next.fetch_min(next.0, Ordering::AcqRel);
                        // A row that is due already was delivered, so it need not be read again soon.
                        let wait = next.since(self.clock.now());
                        pause = if wait.is_zero() { pause } else { pause.min(wait) };
                    }
                }
                Err(error) => tracing::warn!(%error, "cannot read the due rows; trying again"),
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.handle.0.changed.notified() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Delivers all due rows while the mailboxes have room. Returns the time of the next due row.
    pub(crate) async fn tick(&self) -> StoreResult<Option<Millis>> {
        self.handle.0.next.store(i64::MAX, Ordering::Release);
        let now = self.clock.now();
        for _ in self.pages() {
            let rows = self.store.due_timers(self.bot, now, self.page_size(|due| matches!(due, Due::Timer(_)))).await?;
            let inputs = rows.into_iter().map(|row| (Due::Timer(row.id), row.key.clone(), QueuedInput::Timer(row)));
            if self.deliver(inputs).await < PAGE {
                break;
            }
        }
        for _ in self.pages() {
            let keys = self.store.expired(self.bot, now, self.page_size(|due| matches!(due, Due::Expiry(_)))).await?;
            let inputs = keys.into_iter().map(|key| (Due::Expiry(key.clone()), key, QueuedInput::Expired));
            if self.deliver(inputs).await < PAGE {
                break;
            }
        }
        for _ in self.pages() {
            let rows =
                self.store.parked_to_retry(self.bot, self.page_size(|due| matches!(due, Due::Parked(_)))).await?;
            let inputs = rows.into_iter().map(|row| (Due::Parked(row.id), row.key.clone(), QueuedInput::Retry(row)));
            if self.deliver(inputs).await < PAGE {
                break;
            }
        }
        self.store.next_due(self.bot).await
    }

    /// The pages to read, while the mailboxes have room.
    fn pages(&self) -> impl Iterator<Item = usize> {
        (0..MAX_PAGES).take_while(|_| !self.mailboxes.is_full())
    }

    /// How many rows of a kind to read to get a page of new ones: delivered rows are still in the store and come first.
    /// The mailboxes limit their number.
    fn page_size(&self, is_of_kind: fn(&Due) -> bool) -> usize {
        PAGE + self.handle.0.delivered.lock().iter().filter(|due| is_of_kind(due)).count()
    }

    /// Delivers the rows that are not delivered yet. Returns their number.
    async fn deliver(&self, inputs: impl Iterator<Item = (Due, ConversationKey, QueuedInput)>) -> usize {
        let mut delivered = 0;
        for (due, key, input) in inputs {
            if self.handle.0.delivered.lock().insert(due) {
                failpoints::hit(failpoints::SCHEDULE_BEFORE_FIRE).await;
                self.mailboxes.deliver(key, input);
                delivered += 1;
            }
        }
        delivered
    }
}

#[cfg(test)]
mod tests;
