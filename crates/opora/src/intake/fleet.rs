//! A webhook that several instances serve at once.
//!
//! Every instance answers calls from its start to its stop: an update is stored in the inbox that all share, then 200
//! is answered. One instance, the leader, works on what is stored; it hears of it at once, and looks through the inbox
//! each second for what it has not heard of. Calls that come to one instance are stored in the order of their coming,
//! and a call that was answered stands before every later one, whichever instance gets it.
//!
//! Nothing here runs a turn, and nothing here needs the lease.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use parking_lot::RwLock;
use tokio::task::JoinHandle;

use self::announcing::Announcer;
use self::taking::Taking;
use super::door::{Door, Limit};
use crate::clock::Clock;
use crate::mailbox::Mailboxes;
use crate::store::Store;

pub(crate) use self::hearing::Hearing;

mod announcing;
mod hearing;
mod taking;

/// How often what waits is counted.
const COUNT_EVERY: Duration = Duration::from_secs(1);
/// How long the calls under way may take to finish when the instance stops.
const CLOSES_WITHIN: Duration = Duration::from_secs(5);

/// This instance's part in taking updates.
pub(crate) struct Fleet {
    door: Door,
    leading: Leading,
    taking: JoinHandle<()>,
    beside: [JoinHandle<()>; 2],
}

/// The mailboxes of this instance while it leads. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Leading(Arc<RwLock<Option<Mailboxes>>>);

impl Leading {
    /// From now on this instance works, or works no more.
    pub(crate) fn set(&self, mailboxes: Option<Mailboxes>) {
        *self.0.write() = mailboxes;
    }

    fn mailboxes(&self) -> Option<Mailboxes> {
        self.0.read().clone()
    }
}

impl Fleet {
    /// Begins to take calls. `most` is how many inputs may wait in the inbox before callers are asked to come again.
    pub(crate) fn open(bot: i64, store: &Arc<dyn Store>, clock: &Clock, most: usize) -> Self {
        let leading = Leading::default();
        let announcer = Announcer::default();
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let room = Arc::new(AtomicI64::new(most));
        let (door, line) = Door::open(Limit::Room(Arc::clone(&room)));
        let taking = Taking {
            bot,
            store: Arc::clone(store),
            clock: clock.clone(),
            leading: leading.clone(),
            announcer: announcer.clone(),
            room: Arc::clone(&room),
        };
        let announcing = announcer.run(bot, Arc::clone(store));
        let counting = count(bot, Arc::clone(store), room, most);
        Self {
            door,
            leading,
            taking: tokio::spawn(taking.run(line)),
            beside: [tokio::spawn(announcing), tokio::spawn(counting)],
        }
    }

    pub(crate) fn door(&self) -> Door {
        self.door.clone()
    }

    pub(crate) fn leading(&self) -> &Leading {
        &self.leading
    }

    /// Finishes the calls under way. Whoever holds a door to it must have let it go.
    pub(crate) async fn close(self) {
        drop(self.door);
        let mut taking = self.taking;
        if tokio::time::timeout(CLOSES_WITHIN, &mut taking).await.is_err() {
            // They were not answered: whoever made them comes again.
            taking.abort();
            tracing::warn!("some calls of the webhook could not be finished; they are made again");
        }
        self.beside.iter().for_each(JoinHandle::abort);
    }
}

/// Counts what waits, for all instances fill the same inbox.
async fn count(bot: i64, store: Arc<dyn Store>, room: Arc<AtomicI64>, most: i64) {
    let limit = usize::try_from(most).unwrap_or(usize::MAX);
    loop {
        match store.backlog(bot, limit).await {
            Ok(waiting) => room.store(most - i64::try_from(waiting).unwrap_or(i64::MAX), Ordering::Relaxed),
            // Nothing can be stored either, and that is told.
            Err(error) => tracing::debug!(%error, "cannot count what waits"),
        }
        tokio::time::sleep(COUNT_EVERY).await;
    }
}

#[cfg(test)]
mod tests;
