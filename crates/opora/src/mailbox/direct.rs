//! Direct updates: their turns start before they are stored in the inbox.
//!
//! Most turns commit within milliseconds, and the commit stores the mark of the update. A row in the inbox would be
//! written only to be removed. So the intake gives an update to an idle conversation at once, and acknowledges it after
//! the commit. An update is stored first if its turn is slow or has to wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

use crate::store::Incoming;

/// A direct update. The intake may store it later, if its turn is slow. Clones are the same update.
#[derive(Clone, Debug)]
pub(crate) struct DirectUpdate {
    pub(crate) incoming: Incoming,
    progress: Arc<Progress>,
    latch: Arc<DurabilityLatch>,
}

#[derive(Debug, Default)]
struct Progress {
    is_durable: AtomicBool,
    /// A handler may take any time, unlike a commit.
    is_handler_running: AtomicBool,
}

/// Counts the direct updates of a batch that are not durable yet, and wakes the intake when all are.
#[derive(Debug, Default)]
pub(crate) struct DurabilityLatch {
    left: AtomicUsize,
    all_durable: Notify,
}

impl DirectUpdate {
    /// A direct update that the latch counts.
    pub(crate) fn new(incoming: Incoming, latch: &Arc<DurabilityLatch>) -> Self {
        latch.left.fetch_add(1, Ordering::AcqRel);
        Self { incoming, progress: Arc::default(), latch: Arc::clone(latch) }
    }

    /// Notes that its turn has committed or that it is in the inbox. Then it may be acknowledged.
    pub(crate) fn mark_durable(&self) {
        if !self.progress.is_durable.swap(true, Ordering::AcqRel) && self.latch.left.fetch_sub(1, Ordering::AcqRel) == 1
        {
            self.latch.all_durable.notify_one();
        }
    }

    pub(crate) fn is_durable(&self) -> bool {
        self.progress.is_durable.load(Ordering::Acquire)
    }

    /// Notes that a handler starts or ends.
    pub(super) fn set_handler_running(&self, is_running: bool) {
        self.progress.is_handler_running.store(is_running, Ordering::Release);
    }

    pub(crate) fn is_handler_running(&self) -> bool {
        self.progress.is_handler_running.load(Ordering::Acquire)
    }
}

impl DurabilityLatch {
    /// Waits until all updates are durable. False if some are not after `timeout`.
    pub(crate) async fn wait(&self, timeout: Duration) -> bool {
        let all = async {
            loop {
                // Created before the check, so that no notification is lost. A notification may be outdated, because
                // the batch may have grown since.
                let notified = self.all_durable.notified();
                if self.left.load(Ordering::Acquire) == 0 {
                    return;
                }
                notified.await;
            }
        };
        tokio::time::timeout(timeout, all).await.is_ok()
    }
}

impl PartialEq for DirectUpdate {
    fn eq(&self, other: &Self) -> bool {
        self.incoming == other.incoming
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Millis;
    use crate::key::ConversationKey;
    use crate::store::{Mark, Origin};

    fn direct(latch: &Arc<DurabilityLatch>, update_id: i64) -> DirectUpdate {
        let mark = Mark { bot: 1, update_id, identity: "message:1".into() };
        let key = ConversationKey::private(1, update_id);
        let origin = Origin::Update(mark);
        DirectUpdate::new(Incoming { key, origin, body: "{}".into(), at: Millis(0) }, latch)
    }

    #[tokio::test(start_paused = true)]
    async fn a_batch_is_durable_when_its_last_update_is() {
        let latch = Arc::new(DurabilityLatch::default());
        direct(&latch, 1).mark_durable();
        let second = direct(&latch, 2);
        assert!(!latch.wait(Duration::from_millis(25)).await);
        second.mark_durable();
        second.mark_durable();
        assert!(latch.wait(Duration::from_millis(25)).await);
    }
}
