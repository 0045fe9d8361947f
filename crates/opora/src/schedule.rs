//! Time: timers, ends of lives, parked turns to run again, and cleaning.
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
use crate::store::{Epoch, ParkedId, Place, PlaceCount, Store, StoreError, StoreResult, TimerId};

/// How long things are kept that are needed for a time only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Marks of updates taken: longer than Telegram keeps an update for delivery.
    pub marks: Duration,
    /// Transitions, failed sends and ended conversations.
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
/// How often the numbers of waiting rows are told to metrics.
const REPORT_EVERY: Duration = Duration::from_secs(15);
/// How many due rows are read at once.
const PAGE: usize = 500;

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
                Letter::Inbox(_) => continue,
            };
            self.0.under_way.lock().remove(&due);
        }
    }
}

/// Delivers what is due.
pub(crate) struct Schedule {
    pub(crate) bot: i64,
    pub(crate) epoch: Epoch,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Clock,
    pub(crate) mailboxes: Mailboxes,
    pub(crate) wakeup: Wakeup,
    pub(crate) retention: Retention,
}

impl Schedule {
    /// Works until told to stop.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let (mut clean_at, mut report_at) = (self.clock.now(), self.clock.now());
        let mut told = HashSet::new();
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
            if self.clock.now() >= clean_at {
                clean_at = self.clock.now().plus(self.retention.every);
                if let Err(error) = self.clean().await {
                    tracing::warn!(%error, "cannot clean old rows; trying again later");
                }
            }
            if self.clock.now() >= report_at {
                report_at = self.clock.now().plus(REPORT_EVERY);
                self.report(&mut told).await;
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.wakeup.0.changed.notified() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Delivers everything that is due now, and answers when the next is.
    pub(crate) async fn tick(&self) -> StoreResult<Option<Millis>> {
        self.wakeup.0.next.store(i64::MAX, Ordering::Release);
        let now = self.clock.now();
        for timer in self.store.due_timers(self.bot, now, PAGE).await? {
            self.deliver(Due::Timer(timer.id), timer.key.clone(), Letter::Timer(timer)).await;
        }
        for key in self.store.expired(self.bot, now, PAGE).await? {
            self.deliver(Due::Life(key.clone()), key, Letter::Expired).await;
        }
        for parked in self.store.parked_to_retry(self.bot, PAGE).await? {
            self.deliver(Due::Parked(parked.id), parked.key.clone(), Letter::Retry(parked)).await;
        }
        self.store.next_due(self.bot).await
    }

    async fn deliver(&self, due: Due, key: DialogueKey, letter: Letter) {
        if self.wakeup.0.under_way.lock().insert(due) {
            failpoints::hit(failpoints::SCHEDULE_BEFORE_FIRE).await;
            self.mailboxes.deliver(key, letter);
        }
    }

    /// Tells metrics how many rows wait. `told` are the places told of before: those that are empty now are told as such.
    async fn report(&self, told: &mut HashSet<Place>) {
        let Ok(numbers) = self.store.statistics(Some(self.bot)).await else { return };
        let gauges = [
            ("opora_active_dialogues", numbers.active),
            ("opora_inbox_rows", numbers.inbox),
            ("opora_outbox_rows", numbers.outbox),
            ("opora_failed_sends", numbers.failed),
            ("opora_timers", numbers.timers),
            ("opora_effects", numbers.effects),
            ("opora_parked_turns", numbers.parked),
        ];
        for (name, value) in gauges {
            metrics::gauge!(name).set(value as f64);
        }
        metrics::gauge!("opora_mailbox_waiting").set(self.mailboxes.waiting() as f64);
        let age = numbers.outbox_oldest.map_or(Duration::ZERO, |oldest| self.clock.now().since(oldest));
        metrics::gauge!("opora_outbox_oldest_seconds").set(age.as_secs_f64());
        let mut empty = std::mem::take(told);
        for PlaceCount { place, conversations } in numbers.by_place {
            empty.remove(&place);
            tell_place(&place, conversations);
            told.insert(place);
        }
        empty.iter().for_each(|place| tell_place(place, 0));
    }

    /// Removes old rows, a bounded number at a time so that turns come between.
    async fn clean(&self) -> Result<(), StoreError> {
        let now = self.clock.now();
        let (marks, records) = (now.minus(self.retention.marks), now.minus(self.retention.records));
        let mut removed = 0;
        loop {
            match self.store.clean(self.epoch, marks, records).await? {
                0 => break,
                rows => removed += rows,
            }
            tokio::task::yield_now().await;
        }
        if removed > 0 {
            tracing::info!(removed, "removed old rows");
        }
        Ok(())
    }
}

fn tell_place(place: &Place, conversations: i64) {
    let (dialogue, state) = (place.dialogue.to_string(), place.state.to_string());
    metrics::gauge!("opora_dialogues", "dialogue" => dialogue, "state" => state).set(conversations as f64);
}
