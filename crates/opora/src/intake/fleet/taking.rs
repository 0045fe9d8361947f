//! From calls to rows in the inbox.
//!
//! One task takes all calls that wait as one batch, stores it, answers, and takes the next: their order is that of
//! their coming, and many calls cost one write.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::Leading;
use super::announcing::Announcer;
use crate::clock::Clock;
use crate::failpoints;
use crate::intake::door::Line;
use crate::intake::read;
use crate::mailbox::Letter;
use crate::store::{Delivered, InboxRow, Incoming, Store, StoreResult};

/// What takes calls.
pub(super) struct Taking {
    pub(super) bot: i64,
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Clock,
    pub(super) leading: Leading,
    pub(super) announcer: Announcer,
    pub(super) room: Arc<AtomicI64>,
}

impl Taking {
    /// Takes calls until nobody can make one any more.
    pub(super) async fn run(self, mut line: Line) {
        while let Some(calls) = line.next().await {
            let at = self.clock.now();
            let read = |update| read(update, self.bot, &*self.store, at);
            let batch: Vec<_> = calls.updates.iter().filter_map(|update| read(update)).collect();
            let stored = if batch.is_empty() { Ok(()) } else { self.store(batch).await };
            calls.answer(stored);
        }
    }

    async fn store(&self, batch: Vec<Incoming>) -> StoreResult<()> {
        metrics::counter!("opora_updates_total").increment(batch.len() as u64);
        failpoints::hit(failpoints::INTAKE_BEFORE_RECEIVE).await;
        let delivered = self.store.deliver(batch.clone()).await?;
        failpoints::hit(failpoints::INTAKE_AFTER_RECEIVE).await;
        self.tell(batch, delivered);
        Ok(())
    }

    /// Lets whoever works know: this instance, or the others.
    fn tell(&self, batch: Vec<Incoming>, delivered: Vec<Delivered>) {
        let mailboxes = self.leading.mailboxes();
        let mut elsewhere = Vec::new();
        let mut new = 0;
        for (incoming, delivered) in batch.into_iter().zip(delivered) {
            let key = incoming.key.clone();
            match (delivered, &mailboxes) {
                (Delivered::Known, _) => {
                    metrics::counter!("opora_updates_known_total").increment(1);
                    continue;
                }
                // Nothing goes before it, so it need not be read from the store.
                (Delivered::First(seq), Some(here)) => here.deliver(key, Letter::Inbox(InboxRow { seq, incoming })),
                (Delivered::Behind(_), Some(here)) => here.look(&key),
                (_, None) => elsewhere.push(key),
            }
            new += 1;
        }
        self.room.fetch_sub(new, Ordering::Relaxed);
        self.announcer.add(elsewhere);
    }
}
