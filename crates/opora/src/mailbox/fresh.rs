//! Updates whose turns do not wait for the inbox.
//!
//! Most turns commit within a moment, and their commit keeps the mark of the update: a row in the inbox would be
//! written only to be removed. So the intake hands an update to an idle conversation at once and acknowledges it when
//! the turn has committed. What takes longer, or stands behind something, is stored first, as ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

use crate::store::{Incoming, Mark, Origin};

/// An update that is in no inbox, or may have come there since. Clones are the same update.
#[derive(Clone, Debug)]
pub(crate) struct Fresh {
    pub(crate) incoming: Incoming,
    progress: Arc<Progress>,
    arrivals: Arc<Arrivals>,
}

#[derive(Debug, Default)]
struct Progress {
    is_durable: AtomicBool,
    /// A handler is at work on it, which may take any time; a commit is over soon.
    is_in_hand: AtomicBool,
}

/// The fresh updates that an intake waits for together.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    left: AtomicUsize,
    all: Notify,
}

impl Fresh {
    /// An update of these arrivals; an outcome never is one.
    pub(crate) fn new(incoming: Incoming, arrivals: &Arc<Arrivals>) -> Self {
        arrivals.left.fetch_add(1, Ordering::AcqRel);
        Self { incoming, progress: Arc::default(), arrivals: Arc::clone(arrivals) }
    }

    pub(crate) fn mark(&self) -> Option<&Mark> {
        match &self.incoming.origin {
            Origin::Update(mark) => Some(mark),
            Origin::Outcome(_) => None,
        }
    }

    /// It was taken, or is in the inbox: it may be acknowledged.
    pub(crate) fn durable(&self) {
        if !self.progress.is_durable.swap(true, Ordering::AcqRel)
            && self.arrivals.left.fetch_sub(1, Ordering::AcqRel) == 1
        {
            self.arrivals.all.notify_one();
        }
    }

    pub(crate) fn is_durable(&self) -> bool {
        self.progress.is_durable.load(Ordering::Acquire)
    }

    /// A handler begins with it, or is done.
    pub(super) fn in_hand(&self, is_in_hand: bool) {
        self.progress.is_in_hand.store(is_in_hand, Ordering::Release);
    }

    pub(crate) fn is_in_hand(&self) -> bool {
        self.progress.is_in_hand.load(Ordering::Acquire)
    }
}

impl Arrivals {
    /// Waits until all are durable, for as long as given; false if some are not.
    pub(crate) async fn all_durable(&self, patience: Duration) -> bool {
        let all = async {
            loop {
                // Asked for before the look; and a notice may be left from a time when fewer had arrived.
                let notice = self.all.notified();
                if self.left.load(Ordering::Acquire) == 0 {
                    return;
                }
                notice.await;
            }
        };
        tokio::time::timeout(patience, all).await.is_ok()
    }
}

impl PartialEq for Fresh {
    fn eq(&self, other: &Self) -> bool {
        self.incoming == other.incoming
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Millis;
    use crate::key::DialogueKey;

    fn fresh(arrivals: &Arc<Arrivals>, update_id: i64) -> Fresh {
        let mark = Mark { bot: 1, update_id, identity: "message:1".into() };
        let key = DialogueKey::private(1, update_id);
        let origin = Origin::Update(mark);
        Fresh::new(Incoming { key, origin, body: "{}".into(), at: Millis(0) }, arrivals)
    }

    #[tokio::test(start_paused = true)]
    async fn arrivals_are_durable_when_the_last_one_is_however_early_the_first_was() {
        let arrivals = Arc::new(Arrivals::default());
        fresh(&arrivals, 1).durable();
        let second = fresh(&arrivals, 2);
        assert!(!arrivals.all_durable(Duration::from_millis(25)).await);
        second.durable();
        second.durable();
        assert!(arrivals.all_durable(Duration::from_millis(25)).await);
    }
}
