//! From Telegram into the inbox.
//!
//! A batch is stored in one durable step, and only then is it acknowledged: by the next `getUpdates`, or by the answer
//! 200. Each update is read alone, so one that nobody understands holds up no other. While too much waits, polling
//! pauses and a webhook is answered 503.

use std::sync::Arc;

use crate::clock::Clock;
use crate::failpoints;
use crate::mailbox::{Letter, Mailboxes};
use crate::store::{Epoch, InboxRow, Incoming, Origin, Receipt, Store, StoreResult};
use crate::update::Route;

pub use self::webhook::{Webhook, WebhookSettings};

pub(crate) mod polling;
mod webhook;

/// The way of an update into the inbox and the mailboxes.
#[derive(Clone)]
pub(crate) struct Intake {
    pub(crate) bot: i64,
    pub(crate) epoch: Epoch,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Clock,
    pub(crate) mailboxes: Mailboxes,
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
        let receipts = self.store.receive(self.epoch, batch.clone()).await?;
        failpoints::hit(failpoints::INTAKE_AFTER_RECEIVE).await;
        for (incoming, receipt) in batch.into_iter().zip(receipts) {
            match receipt {
                Receipt::New(seq) => {
                    self.mailboxes.deliver(incoming.key.clone(), Letter::Inbox(InboxRow { seq, incoming }));
                }
                Receipt::Known => metrics::counter!("opora_updates_known_total").increment(1),
            }
        }
        Ok(highest)
    }
}
