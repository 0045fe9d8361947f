//! From Telegram into the inbox.
//!
//! A batch is acknowledged once it is durable: by the next `getUpdates`, or by the answer 200. Turns of idle
//! conversations begin at once, and their commits make their updates durable; the rest is stored in the inbox in one
//! step. Each update is read alone, so one that nobody understands holds up no other. While too much waits, polling
//! pauses and a webhook is answered 503.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::clock::{Clock, Millis};
use crate::failpoints;
use crate::mailbox::{Arrivals, Fresh, Letter, Mailboxes};
use crate::store::{Epoch, InboxRow, Incoming, Mark, Origin, Receipt, Seq, Store, StoreResult};
use crate::update::{self, Route};

pub(crate) use self::arriving::Arriving;
use self::arriving::OnTheirWay;
pub(crate) use self::door::Door;
pub(crate) use self::fleet::{Fleet, Hearing};
pub(crate) use self::haste::Haste;
pub(crate) use self::peeking::Peeking;
pub use self::polling::PollingSettings;
pub use self::webhook::{Instances, Webhook, WebhookSettings};

mod arriving;
mod door;
mod fleet;
mod haste;
mod peeking;
pub(crate) mod polling;
mod webhook;

/// How long the turns of fresh updates may take before they are stored: then Telegram waits no longer.
const PATIENCE: Duration = Duration::from_millis(25);
/// How long whatever a handler is at is waited for before it is looked at, and then again. Two such looks at the same
/// handler, and its update is stored: it may hang, and nobody else is to wait for it.
const A_LOOK: Duration = Duration::from_millis(1);
/// How many inputs of a conversation are looked through at once.
const PAGE: usize = 500;

/// The way of an update into the inbox and the mailboxes.
#[derive(Clone)]
pub(crate) struct Intake {
    pub(crate) bot: i64,
    pub(crate) epoch: Epoch,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Clock,
    pub(crate) mailboxes: Mailboxes,
    /// Updates that may be in the inbox although the store has not said so.
    pub(crate) unsure: Arc<Mutex<HashSet<Mark>>>,
    /// Whether turns are begun before the inbox.
    pub(crate) haste: Arc<Haste>,
    /// What is being stored now.
    pub(crate) arriving: Arriving,
}

/// Updates that were handed over before they were stored.
#[derive(Default)]
struct FreshBatch {
    all: Vec<Fresh>,
    arrivals: Arc<Arrivals>,
}

/// Updates that are stored, or whose turns have begun.
struct TakenIn {
    highest: Option<i64>,
    fresh: FreshBatch,
}

/// An update that has to be stored.
enum Pending {
    New(Incoming),
    /// Its turn has begun.
    Begun(Fresh),
}

impl Pending {
    fn incoming(&self) -> &Incoming {
        match self {
            Self::New(incoming) => incoming,
            Self::Begun(fresh) => &fresh.incoming,
        }
    }

    fn not_begun(self) -> Option<Incoming> {
        match self {
            Self::New(incoming) => Some(incoming),
            Self::Begun(_) => None,
        }
    }
}

impl Intake {
    /// Stores updates; when this answers, they are durable. Gives the highest `update_id` among them.
    pub(crate) async fn receive<'a>(&self, updates: impl Iterator<Item = &'a str>) -> StoreResult<Option<i64>> {
        let taken = self.take_in(updates).await?;
        self.see_durable(taken).await
    }

    /// Begins the turns of updates that can begin and stores the others. Whoever waits for this with one batch before
    /// the next keeps their order.
    async fn take_in<'a>(&self, updates: impl Iterator<Item = &'a str>) -> StoreResult<TakenIn> {
        let at = self.clock.now();
        let mut batch = Vec::new();
        let mut highest = None;
        for raw in updates {
            if let Some(incoming) = read(raw, self.bot, &*self.store, at) {
                if let Origin::Update(mark) = &incoming.origin {
                    highest = highest.max(Some(mark.update_id));
                }
                batch.push(incoming);
            }
        }
        if batch.is_empty() {
            return Ok(TakenIn { highest, fresh: FreshBatch::default() });
        }
        metrics::counter!("opora_updates_total").increment(batch.len() as u64);
        failpoints::hit(failpoints::INTAKE_BEFORE_RECEIVE).await;
        let (fresh, rest, on_their_way) = self.hand_over(batch);
        if !rest.is_empty() {
            self.store_all(rest).await?;
        }
        drop(on_their_way);
        Ok(TakenIn { highest, fresh })
    }

    /// Sees to it that all of it is durable. Gives the highest `update_id`.
    async fn see_durable(&self, TakenIn { highest, fresh }: TakenIn) -> StoreResult<Option<i64>> {
        self.wait_for(fresh).await?;
        if highest.is_some() {
            failpoints::hit(failpoints::INTAKE_AFTER_RECEIVE).await;
        }
        Ok(highest)
    }

    /// Starts the turns of conversations that are idle. The rest has to be stored first, behind what it waits for.
    fn hand_over(&self, batch: Vec<Incoming>) -> (FreshBatch, Vec<Pending>, OnTheirWay) {
        let mut handed = FreshBatch::default();
        let mut rest = Vec::new();
        let mut arriving = self.arriving.look();
        let at_once = self.haste.is_on();
        for incoming in batch {
            let arrivals = &handed.arrivals;
            // Items of an album wait for each other; and what stands behind another goes behind it.
            if !at_once || arriving.has(&incoming.key) || update::media_group(&incoming.body).is_some() {
                arriving.add(&incoming.key);
                rest.push(Pending::New(incoming));
                continue;
            }
            match self.mailboxes.deliver_fresh(&incoming.key, || Fresh::new(incoming.clone(), arrivals)) {
                Ok(fresh) => handed.all.push(fresh),
                Err(before) => {
                    rest.extend(before.map(Pending::Begun));
                    arriving.add(&incoming.key);
                    rest.push(Pending::New(incoming));
                }
            }
        }
        let on_their_way = arriving.done();
        (handed, rest, on_their_way)
    }

    /// Waits a moment for the turns of fresh updates, and stores those that have not committed by then.
    async fn wait_for(&self, handed: FreshBatch) -> StoreResult<()> {
        if handed.all.is_empty() {
            return Ok(());
        }
        if handed.arrivals.all_durable(A_LOOK).await {
            self.haste.learn(true);
            return Ok(());
        }
        let hanging = self.store_what_hangs(&handed).await?;
        let in_time = handed.arrivals.all_durable(PATIENCE).await;
        if hanging.is_empty() || !in_time {
            self.haste.learn(in_time);
        } else {
            self.haste.watch(hanging);
        }
        if in_time {
            return Ok(());
        }
        let slow = handed.all.into_iter().filter(|fresh| !fresh.is_durable());
        self.store_all(slow.map(Pending::Begun).collect()).await
    }

    /// Stores what handlers are at for longer than between two looks; answers what that is.
    async fn store_what_hangs(&self, handed: &FreshBatch) -> StoreResult<Vec<Fresh>> {
        let mut hanging: Vec<Fresh> = handed.all.iter().filter(|fresh| fresh.is_in_hand()).cloned().collect();
        if hanging.is_empty() || handed.arrivals.all_durable(A_LOOK).await {
            return Ok(Vec::new());
        }
        hanging.retain(Fresh::is_in_hand);
        if !hanging.is_empty() {
            self.store_all(hanging.iter().cloned().map(Pending::Begun).collect()).await?;
        }
        Ok(hanging)
    }

    /// Stores updates in their order, and delivers those whose turns have not begun.
    async fn store_all(&self, all: Vec<Pending>) -> StoreResult<()> {
        let batch = all.iter().map(|pending| pending.incoming().clone()).collect();
        let receipts = match self.store.receive(self.epoch, batch).await {
            Ok(receipts) => receipts,
            Err(error) => {
                self.unsure.lock().extend(all.into_iter().filter_map(Pending::not_begun).filter_map(mark));
                return Err(error);
            }
        };
        for (pending, receipt) in all.into_iter().zip(receipts) {
            match (pending, receipt) {
                (Pending::Begun(fresh), _) => fresh.durable(),
                (Pending::New(incoming), Receipt::New(seq)) => {
                    self.sure(&incoming);
                    self.mailboxes.deliver(incoming.key.clone(), Letter::Inbox(InboxRow { seq, incoming }));
                }
                (Pending::New(incoming), Receipt::Known) => self.known(incoming).await?,
            }
        }
        Ok(())
    }

    /// The store has said what became of an update; true if it was not sure before.
    fn sure(&self, incoming: &Incoming) -> bool {
        let mut unsure = self.unsure.lock();
        // Nearly always there are none: then nothing is hashed.
        !unsure.is_empty() && matches!(&incoming.origin, Origin::Update(mark) if unsure.remove(mark))
    }

    /// An update that was received before. If that was by a call whose answer was lost, nobody has begun its turn.
    async fn known(&self, incoming: Incoming) -> StoreResult<()> {
        metrics::counter!("opora_updates_known_total").increment(1);
        if !self.sure(&incoming) {
            return Ok(());
        }
        let mut after = Seq(i64::MIN);
        loop {
            let rows = match self.store.waiting_for(&incoming.key, after, PAGE).await {
                Ok(rows) => rows,
                Err(error) => {
                    self.unsure.lock().extend(mark(incoming));
                    return Err(error);
                }
            };
            let Some(last) = rows.last() else { return Ok(()) };
            after = last.seq;
            if let Some(row) = rows.into_iter().find(|row| row.incoming.origin == incoming.origin) {
                self.mailboxes.deliver(incoming.key.clone(), Letter::Inbox(row));
                return Ok(());
            }
        }
    }
}

/// An update on its way into the inbox; what is none is told.
fn read(raw: &str, bot: i64, store: &dyn Store, at: Millis) -> Option<Incoming> {
    match Route::of(raw, bot) {
        Ok(Route { key, mark }) => {
            Some(Incoming { key: store.conversation_of(key), origin: Origin::Update(mark), body: raw.into(), at })
        }
        // Without an id it can be neither stored nor acknowledged.
        Err(error) => {
            metrics::counter!("opora_updates_unreadable_total").increment(1);
            tracing::error!(%error, "something that is not an update was received and is ignored");
            None
        }
    }
}

fn mark(incoming: Incoming) -> Option<Mark> {
    match incoming.origin {
        Origin::Update(mark) => Some(mark),
        Origin::Outcome(_) => None,
    }
}

#[cfg(test)]
mod tests;
