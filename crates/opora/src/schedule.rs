//! Time: timers, ends of lives, and parked turns to run again; and what is done from time to time, in `upkeep`.
//!
//! What is due enters a conversation by its mailbox like any other input. Everything is in the store, so a timer that
//! came due while the bot was down fires at its next start.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::clock::{Clock, Millis};
use crate::failpoints;
use crate::key::DialogueKey;
use crate::mailbox::{Letter, Mailboxes};
use crate::store::{ParkedId, Store, StoreResult, TimerId};

pub(crate) use self::upkeep::Upkeep;

mod upkeep;

/// How long things are kept that are needed for a time only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Marks of updates taken: longer than Telegram keeps an update for delivery.
    pub marks: Duration,
    /// Transitions, failed sends, ended conversations, and labels of messages.
    pub records: Duration,
    /// How often it is cleaned.
    pub every: Duration,
}

impl Default for Retention {
    fn default() -> Self {
        let hours = |hours: u64| Duration::from_secs(hours * 3600);
        Self { marks: hours(72), records: hours(30 * 24), every: hours(1) }
    }
}

/// How often the store is looked at when nothing is known to be due: an operator's wish must be seen soon.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How many due rows are read at once, beside those that are under way.
const PAGE: usize = 500;
/// How many pages of a kind are read before the others have their turn.
const PAGES_MOST: usize = 20;
/// Lets turns tell the schedule of timers, and of inputs that are done. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wakeup(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    next: AtomicI64,
    changed: Notify,
    under_way: Mutex<HashSet<Due>>,
}

/// Something due that was delivered and is not done yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Due {
    Timer(TimerId),
    Life(DialogueKey),
    Parked(ParkedId),
}

impl Due {
    fn is_timer(&self) -> bool {
        matches!(self, Self::Timer(_))
    }

    fn is_life(&self) -> bool {
        matches!(self, Self::Life(_))
    }

    fn is_parked(&self) -> bool {
        matches!(self, Self::Parked(_))
    }
}

impl Default for Shared {
    fn default() -> Self {
        Self { next: AtomicI64::new(i64::MAX), changed: Notify::new(), under_way: Mutex::default() }
    }
}

impl Wakeup {
    /// Something is due at that time.
    pub(crate) fn at(&self, due: Millis) {
        if self.0.next.fetch_min(due.0, Ordering::AcqRel) > due.0 {
            self.0.changed.notify_one();
        }
    }

    /// Something may be due now.
    pub(crate) fn now(&self) {
        self.at(Millis(i64::MIN));
    }

    /// These are done, whatever came of them.
    pub(crate) fn done(&self, key: &DialogueKey, letters: &[Letter]) {
        for letter in letters {
            let due = match letter {
                Letter::Timer(timer) => Due::Timer(timer.id),
                Letter::Expired => Due::Life(key.clone()),
                Letter::Retry(parked) => Due::Parked(parked.id),
                Letter::Inbox(_) | Letter::Fresh(_) => continue,
            };
            self.0.under_way.lock().remove(&due);
        }
    }
}

/// Delivers what is due.
pub(crate) struct Schedule {
    pub(crate) bot: i64,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Clock,
    pub(crate) mailboxes: Mailboxes,
    pub(crate) wakeup: Wakeup,
}

impl Schedule {
    /// Works until told to stop.
    pub(crate) async fn run(self, stop: CancellationToken) {
        loop {
            let mut pause = LOOK_EVERY;
            match self.tick().await {
                Ok(next) => {
                    if let Some(next) = next {
                        self.wakeup.0.next.fetch_min(next.0, Ordering::AcqRel);
                        // What is due already has been delivered: it is seen again only if its turn takes long.
                        let wait = next.since(self.clock.now());
                        pause = if wait.is_zero() { pause } else { pause.min(wait) };
                    }
                }
                Err(error) => tracing::warn!(%error, "cannot see what is due; trying again"),
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.wakeup.0.changed.notified() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Delivers everything that is due now, as far as the mailboxes have room, and answers when the next is.
    pub(crate) async fn tick(&self) -> StoreResult<Option<Millis>> {
        self.wakeup.0.next.store(i64::MAX, Ordering::Release);
        let now = self.clock.now();
        for _ in self.pages() {
            let rows = self.store.due_timers(self.bot, now, self.page(Due::is_timer)).await?;
            let letters = rows.into_iter().map(|row| (Due::Timer(row.id), row.key.clone(), Letter::Timer(row)));
            if self.deliver(letters).await < PAGE {
                break;
            }
        }
        for _ in self.pages() {
            let keys = self.store.expired(self.bot, now, self.page(Due::is_life)).await?;
            let letters = keys.into_iter().map(|key| (Due::Life(key.clone()), key, Letter::Expired));
            if self.deliver(letters).await < PAGE {
                break;
            }
        }
        for _ in self.pages() {
            let rows = self.store.parked_to_retry(self.bot, self.page(Due::is_parked)).await?;
            let letters = rows.into_iter().map(|row| (Due::Parked(row.id), row.key.clone(), Letter::Retry(row)));
            if self.deliver(letters).await < PAGE {
                break;
            }
        }
        self.store.next_due(self.bot).await
    }

    /// Pages, while the mailboxes have room for more.
    fn pages(&self) -> impl Iterator<Item = usize> {
        (0..PAGES_MOST).take_while(|_| !self.mailboxes.is_full())
    }

    /// How many rows of a kind to read so that a page of new ones is among them: those under way are still in the
    /// store, and come first. That they are no more than the mailboxes hold bounds this.
    fn page(&self, is_of_kind: fn(&Due) -> bool) -> usize {
        PAGE + self.wakeup.0.under_way.lock().iter().filter(|due| is_of_kind(due)).count()
    }

    /// Delivers what is not under way, and answers how much that was.
    async fn deliver(&self, letters: impl Iterator<Item = (Due, DialogueKey, Letter)>) -> usize {
        let mut delivered = 0;
        for (due, key, letter) in letters {
            if self.wakeup.0.under_way.lock().insert(due) {
                failpoints::hit(failpoints::SCHEDULE_BEFORE_FIRE).await;
                self.mailboxes.deliver(key, letter);
                delivered += 1;
            }
        }
        delivered
    }
}

#[cfg(test)]
mod tests;
