//! A long expiry of all keys, for a bot that never comes back.
//!
//! Conversations expire and old rows are cleaned by the bot itself. If the bot is gone for good, Redis removes its keys
//! a long time (400 days by default) after its last cleaning. Each cleaning and each orderly stop put that off, so no
//! turn pays for it.
//!
//! Partition headers, the lease and the generations stay; they hold no data of people. A header remembers that there
//! were conversations: if they have expired, the next claim raises the header's version floor above all their versions.

use futures_util::future::try_join_all;

use super::RedisBackend;
use super::keys::{KeyKind, PARTITIONS};
use crate::store::{Epoch, StoreResult};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// `None` is for ever.
pub(super) fn keep_ms(days: u32) -> Option<i64> {
    (days > 0).then(|| i64::from(days) * DAY_MS)
}

impl RedisBackend {
    /// Resets the expiry of all keys of the bot that holds the lease.
    pub(super) async fn put_off_expiry(&self, epoch: Epoch) -> StoreResult<()> {
        let bot = self.held_leases.by_epoch(epoch)?.bot;
        let bot_keys = self.keys.bot_keys(bot);
        let keys = (0..PARTITIONS).flat_map(|partition| key_kinds().map(move |thing| (partition, thing)));
        let updates = keys.map(async |(partition, thing)| {
            let key = bot_keys.key(partition, thing);
            match self.keep_ms {
                Some(keep_ms) => self.connection.query::<()>(redis::cmd("PEXPIRE").arg(key).arg(keep_ms)).await,
                // The setting may have changed since.
                None => self.connection.query::<()>(redis::cmd("PERSIST").arg(key)).await,
            }
        });
        try_join_all(updates).await.map(drop)
    }
}

/// The keys that expire. Marks have a shorter expiry of their own.
fn key_kinds() -> impl Iterator<Item = KeyKind> {
    KeyKind::ALL.iter().map(|(thing, _)| *thing).filter(|thing| !matches!(thing, KeyKind::Header | KeyKind::Marks))
}
