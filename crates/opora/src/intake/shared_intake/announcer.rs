//! Announces stored updates to the leader.
//!
//! There is one announcement at a time; keys that are added meanwhile go into the next one. A lost announcement costs
//! at most a second, because the leader sweeps the inbox.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::key::ConversationKey;
use crate::store::Store;

/// The conversations to announce. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Announcer(Arc<Unannounced>);

#[derive(Default)]
struct Unannounced {
    keys: Mutex<HashSet<ConversationKey>>,
    added: Notify,
}

impl Announcer {
    pub(super) fn add(&self, keys: Vec<ConversationKey>) {
        if !keys.is_empty() {
            self.0.keys.lock().extend(keys);
            self.0.added.notify_one();
        }
    }

    /// Announces until it is dropped.
    pub(super) async fn run(self, bot: i64, store: Arc<dyn Store>) {
        loop {
            self.0.added.notified().await;
            let keys: Vec<_> = self.0.keys.lock().drain().collect();
            if !keys.is_empty()
                && let Err(error) = store.announce(bot, keys).await
            {
                tracing::debug!(%error, "cannot announce updates to the leader; its next sweep finds them");
            }
        }
    }
}
