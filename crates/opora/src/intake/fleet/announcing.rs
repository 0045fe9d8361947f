//! Telling the leader where to look.
//!
//! What has to be told while something is being told goes together: one announcement at a time, however many calls. One
//! that is lost costs a second at most, for the leader looks by itself.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::key::DialogueKey;
use crate::store::Store;

/// The conversations that have to be told of. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Announcer(Arc<Untold>);

#[derive(Default)]
struct Untold {
    keys: Mutex<HashSet<DialogueKey>>,
    some: Notify,
}

impl Announcer {
    pub(super) fn add(&self, keys: Vec<DialogueKey>) {
        if !keys.is_empty() {
            self.0.keys.lock().extend(keys);
            self.0.some.notify_one();
        }
    }

    /// Tells until it is let go.
    pub(super) async fn run(self, bot: i64, store: Arc<dyn Store>) {
        loop {
            self.0.some.notified().await;
            let keys: Vec<_> = self.0.keys.lock().drain().collect();
            if !keys.is_empty()
                && let Err(error) = store.announce(bot, keys).await
            {
                tracing::debug!(%error, "the leader could not be told of updates; it will find them by itself");
            }
        }
    }
}
