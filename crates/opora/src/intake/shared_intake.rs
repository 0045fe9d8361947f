//! A webhook that several instances serve.
//!
//! Every instance stores updates in the shared inbox and then answers 200. The leader is notified at once, and also
//! reads the inbox every second in case a notification is lost. Calls to one instance are stored in their order. A call
//! that was answered comes before every later call, to any instance.
//!
//! Nothing here runs a turn or needs the lease.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use parking_lot::RwLock;
use tokio::task::JoinHandle;

use self::announcer::Announcer;
use self::writer::InboxWriter;
use super::webhook_queue::{Limit, WebhookQueue};
use crate::clock::Clock;
use crate::mailbox::Mailboxes;
use crate::store::Store;

pub(crate) use self::listener::InboxListener;

mod announcer;
mod listener;
mod writer;

/// How often the inputs in the inbox are counted.
const COUNT_INTERVAL: Duration = Duration::from_secs(1);
/// How long queued calls may take to finish when the instance stops.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The part of the shared intake on this instance.
pub(crate) struct SharedIntake {
    queue: WebhookQueue,
    leader_mailboxes: LeaderMailboxes,
    writer: JoinHandle<()>,
    background: [JoinHandle<()>; 2],
}

/// The mailboxes of this instance while it leads. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct LeaderMailboxes(Arc<RwLock<Option<Mailboxes>>>);

impl LeaderMailboxes {
    /// Call it when this instance becomes the leader, or stops being it.
    pub(crate) fn set(&self, mailboxes: Option<Mailboxes>) {
        *self.0.write() = mailboxes;
    }

    fn get(&self) -> Option<Mailboxes> {
        self.0.read().clone()
    }
}

impl SharedIntake {
    /// Accepts calls. If `limit` inputs wait in the inbox, further calls are answered 503.
    pub(crate) fn open(bot: i64, store: &Arc<dyn Store>, clock: &Clock, limit: usize) -> Self {
        let leader_mailboxes = LeaderMailboxes::default();
        let announcer = Announcer::default();
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let room = Arc::new(AtomicI64::new(limit));
        let (queue, calls) = WebhookQueue::open(Limit::InboxRoom(Arc::clone(&room)));
        let writer = InboxWriter {
            bot,
            store: Arc::clone(store),
            clock: clock.clone(),
            leader_mailboxes: leader_mailboxes.clone(),
            announcer: announcer.clone(),
            room: Arc::clone(&room),
        };
        let announcing = announcer.run(bot, Arc::clone(store));
        let counting = count(bot, Arc::clone(store), room, limit);
        Self {
            queue,
            leader_mailboxes,
            writer: tokio::spawn(writer.run(calls)),
            background: [tokio::spawn(announcing), tokio::spawn(counting)],
        }
    }

    pub(crate) fn queue(&self) -> WebhookQueue {
        self.queue.clone()
    }

    pub(crate) fn leader_mailboxes(&self) -> &LeaderMailboxes {
        &self.leader_mailboxes
    }

    /// Finishes the queued calls. All clones of the queue must be dropped before.
    pub(crate) async fn close(self) {
        drop(self.queue);
        let mut writer = self.writer;
        if tokio::time::timeout(CLOSE_TIMEOUT, &mut writer).await.is_err() {
            // Unanswered calls are repeated by Telegram.
            writer.abort();
            tracing::warn!("some webhook calls were not finished; Telegram repeats them");
        }
        self.background.iter().for_each(JoinHandle::abort);
    }
}

/// Counts the waiting inputs now and then, because all instances fill the same inbox.
async fn count(bot: i64, store: Arc<dyn Store>, room: Arc<AtomicI64>, limit: i64) {
    let most_rows = usize::try_from(limit).unwrap_or(usize::MAX);
    loop {
        match store.backlog(bot, most_rows).await {
            Ok(waiting) => room.store(limit - i64::try_from(waiting).unwrap_or(i64::MAX), Ordering::Relaxed),
            // Only debug: storing an update fails too, and that is logged as an error.
            Err(error) => tracing::debug!(%error, "cannot count the waiting inputs"),
        }
        tokio::time::sleep(COUNT_INTERVAL).await;
    }
}

#[cfg(test)]
mod tests;
