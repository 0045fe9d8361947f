//! From Telegram into the inbox.
//!
//! A batch is stored in one durable step, and only then is it acknowledged: by the next `getUpdates`, or by the answer
//! 200. Each update is read alone, so one that nobody understands holds up no other. While too much waits, polling
//! pauses and a webhook is answered 503.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::clock::Clock;
use crate::failpoints;
use crate::mailbox::{Letter, Mailboxes};
use crate::store::{Epoch, InboxRow, Incoming, Mark, Origin, Receipt, Seq, Store, StoreResult};
use crate::update::Route;

pub use self::polling::PollingSettings;
pub use self::webhook::{Webhook, WebhookSettings};

pub(crate) mod polling;
mod webhook;

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
}

impl Intake {
    /// Stores updates; when this answers, they are durable. Gives the highest `update_id` among them.
    pub(crate) async fn receive<'a>(&self, updates: impl Iterator<Item = &'a str>) -> StoreResult<Option<i64>> {
        let at = self.clock.now();
        let (mut batch, mut highest) = (Vec::new(), None);
        for raw in updates {
            match Route::of(raw, self.bot) {
                Ok(Route { key, mark }) => {
                    highest = highest.max(Some(mark.update_id));
                    batch.push(Incoming { key, origin: Origin::Update(mark), body: raw.into(), at });
                }
                // Without an id it can be neither stored nor acknowledged.
                Err(error) => tracing::error!(%error, "something that is not an update was received and is ignored"),
            }
        }
        if batch.is_empty() {
            return Ok(highest);
        }
        metrics::counter!("opora_updates_total").increment(batch.len() as u64);
        failpoints::hit(failpoints::INTAKE_BEFORE_RECEIVE).await;
        let receipts = match self.store.receive(self.epoch, batch.clone()).await {
            Ok(receipts) => receipts,
            Err(error) => {
                self.unsure.lock().extend(batch.into_iter().filter_map(mark));
                return Err(error);
            }
        };
        failpoints::hit(failpoints::INTAKE_AFTER_RECEIVE).await;
        for (incoming, receipt) in batch.into_iter().zip(receipts) {
            match receipt {
                Receipt::New(seq) => {
                    self.sure(&incoming);
                    self.mailboxes.deliver(incoming.key.clone(), Letter::Inbox(InboxRow { seq, incoming }));
                }
                Receipt::Known => self.known(incoming).await?,
            }
        }
        Ok(highest)
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

fn mark(incoming: Incoming) -> Option<Mark> {
    match incoming.origin {
        Origin::Update(mark) => Some(mark),
        Origin::Outcome(_) => None,
    }
}
