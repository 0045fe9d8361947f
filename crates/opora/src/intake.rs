//! Receives updates and makes them durable.
//!
//! A batch is acknowledged after it is durable: by the next `getUpdates`, or by the answer 200. Turns of idle
//! conversations start at once, and their commits make their updates durable. The other updates are stored in the inbox
//! in one write. An update that cannot be read delays no other. While too many inputs wait, polling pauses and a
//! webhook answers 503.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::clock::{Clock, Millis};
use crate::failpoints;
use crate::mailbox::{DirectUpdate, DurabilityLatch, Mailboxes, QueuedInput};
use crate::store::{Epoch, InboxRow, Incoming, Mark, Origin, Receipt, Seq, Store, StoreResult};
use crate::update::{self, Route};

use self::inbox_writes::InboxWriteGuard;
pub(crate) use self::inbox_writes::InboxWrites;
pub(crate) use self::outage_notifier::OutageNotifier;
pub use self::polling::PollingSettings;
pub(crate) use self::shared_intake::{InboxListener, SharedIntake};
pub(crate) use self::start_early::StartEarly;
pub use self::webhook::{Instances, Webhook, WebhookSettings};
pub(crate) use self::webhook_queue::WebhookQueue;

mod inbox_writes;
mod outage_notifier;
pub(crate) mod polling;
mod shared_intake;
mod start_early;
mod webhook;
mod webhook_queue;

/// How long direct updates may wait for their commits. Those that have not committed are then stored in the inbox.
const COMMIT_TIMEOUT: Duration = Duration::from_millis(25);
/// Poll interval for a running handler. After two polls its update is stored in the inbox, so that a handler that hangs
/// does not delay the batch.
const HANDLER_POLL_INTERVAL: Duration = Duration::from_millis(1);
/// How many stored inputs of a conversation are read at once.
const PAGE: usize = 500;

/// Brings updates into the inbox and the mailboxes.
#[derive(Clone)]
pub(crate) struct Intake {
    pub(crate) bot: i64,
    pub(crate) epoch: Epoch,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Clock,
    pub(crate) mailboxes: Mailboxes,
    /// Updates that may be in the inbox, because a write failed without a clear result.
    pub(crate) unsure: Arc<Mutex<HashSet<Mark>>>,
    /// Decides whether turns start before their updates are stored.
    pub(crate) start_early: Arc<StartEarly>,
    /// Conversations whose updates are being stored now.
    pub(crate) inbox_writes: InboxWrites,
}

/// The direct updates of a batch.
#[derive(Default)]
struct DirectBatch {
    updates: Vec<DirectUpdate>,
    latch: Arc<DurabilityLatch>,
}

/// A batch whose updates are stored, or whose turns have started.
struct StartedBatch {
    highest_id: Option<i64>,
    direct: DirectBatch,
}

/// An update that has to be stored.
enum Pending {
    New(Incoming),
    /// Its turn has started.
    Started(DirectUpdate),
}

impl Pending {
    fn incoming(&self) -> &Incoming {
        match self {
            Self::New(incoming) => incoming,
            Self::Started(direct) => &direct.incoming,
        }
    }

    fn not_started(&self) -> Option<&Incoming> {
        match self {
            Self::New(incoming) => Some(incoming),
            Self::Started(_) => None,
        }
    }
}

impl Intake {
    /// Makes updates durable. Returns the highest `update_id` among them.
    pub(crate) async fn receive<'a>(&self, updates: impl Iterator<Item = &'a str>) -> StoreResult<Option<i64>> {
        let batch = self.start_or_store(updates).await?;
        self.wait_until_durable(batch).await
    }

    /// Starts the turns of idle conversations and stores the other updates. To keep the order of updates, call it for
    /// one batch after the other.
    async fn start_or_store<'a>(&self, updates: impl Iterator<Item = &'a str>) -> StoreResult<StartedBatch> {
        let at = self.clock.now();
        let mut batch = Vec::new();
        let mut highest_id = None;
        for raw in updates {
            if let Some(incoming) = read(raw, self.bot, &*self.store, at) {
                highest_id = highest_id.max(incoming.mark().map(|mark| mark.update_id));
                batch.push(incoming);
            }
        }
        if batch.is_empty() {
            return Ok(StartedBatch { highest_id, direct: DirectBatch::default() });
        }
        metrics::counter!("opora_updates_total").increment(batch.len() as u64);
        failpoints::hit(failpoints::INTAKE_BEFORE_RECEIVE).await;
        let (direct, rest, guard) = self.start_direct_turns(batch);
        if !rest.is_empty() {
            self.store_all(rest).await?;
        }
        drop(guard);
        Ok(StartedBatch { highest_id, direct })
    }

    /// Waits until the whole batch is durable. Returns its highest `update_id`.
    async fn wait_until_durable(&self, StartedBatch { highest_id, direct }: StartedBatch) -> StoreResult<Option<i64>> {
        self.wait_or_store(direct).await?;
        if highest_id.is_some() {
            failpoints::hit(failpoints::INTAKE_AFTER_RECEIVE).await;
        }
        Ok(highest_id)
    }

    /// Starts the turns of idle conversations. Returns the updates that have to be stored, each behind the update that
    /// it waits for.
    fn start_direct_turns(&self, batch: Vec<Incoming>) -> (DirectBatch, Vec<Pending>, InboxWriteGuard) {
        let mut direct = DirectBatch::default();
        let mut rest = Vec::new();
        let mut writes = self.inbox_writes.lock();
        let start_early = self.start_early.next_batch();
        for incoming in batch {
            let latch = &direct.latch;
            // Album items wait for each other, and an update waits for an earlier one that is being stored.
            if !start_early || writes.contains(&incoming.key) || update::media_group(&incoming.body).is_some() {
                writes.add(&incoming.key);
                rest.push(Pending::New(incoming));
                continue;
            }
            match self.mailboxes.deliver_direct(&incoming.key, || DirectUpdate::new(incoming.clone(), latch)) {
                Ok(started) => direct.updates.push(started),
                Err(earlier) => {
                    rest.extend(earlier.map(Pending::Started));
                    writes.add(&incoming.key);
                    rest.push(Pending::New(incoming));
                }
            }
        }
        (direct, rest, writes.finish())
    }

    /// Waits a short time for the commits of direct updates, and stores the updates that have not committed.
    async fn wait_or_store(&self, direct: DirectBatch) -> StoreResult<()> {
        if direct.updates.is_empty() {
            return Ok(());
        }
        if direct.latch.wait(HANDLER_POLL_INTERVAL).await {
            self.start_early.record(true);
            return Ok(());
        }
        let slow = self.store_slow_handlers(&direct).await?;
        let in_time = direct.latch.wait(COMMIT_TIMEOUT).await;
        if slow.is_empty() || !in_time {
            self.start_early.record(in_time);
        } else {
            self.start_early.watch(slow);
        }
        if in_time {
            return Ok(());
        }
        let uncommitted = direct.updates.into_iter().filter(|update| !update.is_durable());
        self.store_all(uncommitted.map(Pending::Started).collect()).await
    }

    /// Stores the updates whose handlers are still running at a second poll, and returns these updates.
    async fn store_slow_handlers(&self, direct: &DirectBatch) -> StoreResult<Vec<DirectUpdate>> {
        let running = direct.updates.iter().filter(|update| update.is_handler_running());
        let mut slow: Vec<DirectUpdate> = running.cloned().collect();
        if slow.is_empty() || direct.latch.wait(HANDLER_POLL_INTERVAL).await {
            return Ok(Vec::new());
        }
        slow.retain(DirectUpdate::is_handler_running);
        if !slow.is_empty() {
            self.store_all(slow.iter().cloned().map(Pending::Started).collect()).await?;
        }
        Ok(slow)
    }

    /// Stores updates in their order, and delivers those whose turns have not started.
    async fn store_all(&self, updates: Vec<Pending>) -> StoreResult<()> {
        let batch = updates.iter().map(|pending| pending.incoming().clone()).collect();
        let receipts = match self.store.receive(self.epoch, batch).await {
            Ok(receipts) => receipts,
            Err(error) => {
                let marks = updates.iter().filter_map(Pending::not_started).filter_map(Incoming::mark);
                self.unsure.lock().extend(marks.cloned());
                return Err(error);
            }
        };
        for (pending, receipt) in updates.into_iter().zip(receipts) {
            match (pending, receipt) {
                (Pending::Started(direct), _) => direct.mark_durable(),
                (Pending::New(incoming), Receipt::New(seq)) => {
                    self.clear_unsure(&incoming);
                    self.mailboxes.deliver(incoming.key.clone(), QueuedInput::Inbox(InboxRow { seq, incoming }));
                }
                (Pending::New(incoming), Receipt::Known) => self.deliver_if_unsure(&incoming).await?,
            }
        }
        Ok(())
    }

    /// Notes that the store has an update. True if that was unclear before.
    fn clear_unsure(&self, incoming: &Incoming) -> bool {
        let mut unsure = self.unsure.lock();
        // The set is nearly always empty. Then nothing is hashed.
        !unsure.is_empty() && incoming.mark().is_some_and(|mark| unsure.remove(mark))
    }

    /// Handles an update that the store has already. If the first write had no clear result, the update was never
    /// delivered to its mailbox, so it is delivered now.
    async fn deliver_if_unsure(&self, incoming: &Incoming) -> StoreResult<()> {
        metrics::counter!("opora_updates_known_total").increment(1);
        if !self.clear_unsure(incoming) {
            return Ok(());
        }
        let mut after = Seq(i64::MIN);
        loop {
            let rows = match self.store.waiting_for(&incoming.key, after, PAGE).await {
                Ok(rows) => rows,
                Err(error) => {
                    self.unsure.lock().extend(incoming.mark().cloned());
                    return Err(error);
                }
            };
            let Some(last) = rows.last() else { return Ok(()) };
            after = last.seq;
            if let Some(row) = rows.into_iter().find(|row| row.incoming.origin == incoming.origin) {
                self.mailboxes.deliver(incoming.key.clone(), QueuedInput::Inbox(row));
                return Ok(());
            }
        }
    }
}

/// Reads the route of an update. Anything else is logged.
fn read(raw: &str, bot: i64, store: &dyn Store, at: Millis) -> Option<Incoming> {
    match Route::parse(raw, bot) {
        Ok(Route { key, mark }) => {
            Some(Incoming { key: store.conversation_of(key), origin: Origin::Update(mark), body: raw.into(), at })
        }
        // Without an `update_id` it can be neither stored nor acknowledged.
        Err(error) => {
            metrics::counter!("opora_updates_unreadable_total").increment(1);
            tracing::error!(%error, "received something that is not an update; it is ignored");
            None
        }
    }
}

impl Incoming {
    /// The mark of an update. None for an outcome.
    pub(crate) fn mark(&self) -> Option<&Mark> {
        match &self.origin {
            Origin::Update(mark) => Some(mark),
            Origin::Outcome(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
