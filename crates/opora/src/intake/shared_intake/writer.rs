//! Stores webhook calls in the inbox.
//!
//! One task stores all waiting calls as one batch, answers them, and takes the next batch. So calls keep their order,
//! and many calls cost one write.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::LeaderMailboxes;
use super::announcer::Announcer;
use crate::clock::Clock;
use crate::failpoints;
use crate::intake::read;
use crate::intake::webhook_queue::WebhookCalls;
use crate::mailbox::QueuedInput;
use crate::store::{Delivered, InboxRow, Incoming, Store, StoreResult};

/// Stores calls and notifies the leader.
pub(super) struct InboxWriter {
    pub(super) bot: i64,
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Clock,
    pub(super) leader_mailboxes: LeaderMailboxes,
    pub(super) announcer: Announcer,
    pub(super) room: Arc<AtomicI64>,
}

impl InboxWriter {
    /// Stores calls until the queue is closed.
    pub(super) async fn run(self, mut calls: WebhookCalls) {
        while let Some(batch) = calls.next().await {
            let at = self.clock.now();
            let read = |update| read(update, self.bot, &*self.store, at);
            let updates: Vec<_> = batch.updates.iter().filter_map(|update| read(update)).collect();
            let stored = if updates.is_empty() { Ok(()) } else { self.store(updates).await };
            batch.answer(stored);
        }
    }

    async fn store(&self, batch: Vec<Incoming>) -> StoreResult<()> {
        metrics::counter!("opora_updates_total").increment(batch.len() as u64);
        failpoints::hit(failpoints::INTAKE_BEFORE_RECEIVE).await;
        let delivered = self.store.deliver(batch.clone()).await?;
        failpoints::hit(failpoints::INTAKE_AFTER_RECEIVE).await;
        self.notify_leader(batch, delivered);
        Ok(())
    }

    /// Delivers the updates if this instance leads; otherwise announces them to the leader.
    fn notify_leader(&self, batch: Vec<Incoming>, delivered: Vec<Delivered>) {
        let mailboxes = self.leader_mailboxes.get();
        let mut to_announce = Vec::new();
        let mut new = 0;
        for (incoming, delivered) in batch.into_iter().zip(delivered) {
            let key = incoming.key.clone();
            match (delivered, &mailboxes) {
                (Delivered::Known, _) => {
                    metrics::counter!("opora_updates_known_total").increment(1);
                    continue;
                }
                // It is the first of its conversation, so the mailbox need not read the store.
                (Delivered::First(seq), Some(here)) => {
                    here.deliver(key, QueuedInput::Inbox(InboxRow { seq, incoming }))
                }
                (Delivered::Behind(_), Some(here)) => here.check_inbox(&key),
                (_, None) => to_announce.push(key),
            }
            new += 1;
        }
        self.room.fetch_sub(new, Ordering::Relaxed);
        self.announcer.add(to_announce);
    }
}
