//! The leases that this process holds, and the row ids that they give.
//!
//! A row id is the epoch, a counter of this process, and the partition in the lowest bits. An epoch is granted to one
//! process only, so its ids are counted in memory, and an epoch that was not granted here cannot write. Only inbox ids
//! come from the server, because instances without an epoch fill the inbox too.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::RwLock;

use super::keys::PARTITION_BITS;
use super::last_seen::BotProgress;
use crate::store::hash::hash_of;
use crate::store::{Epoch, StoreError, StoreResult};

/// How many bits of an id follow the epoch, see [`Epoch::first_number`].
const EPOCH_BITS: u32 = 40;

/// The leases that were granted to this process, one for each bot.
#[derive(Debug, Default)]
pub(super) struct HeldLeases(RwLock<HashMap<i64, Arc<HeldLease>>>);

/// A lease of this process.
#[derive(Debug)]
pub(super) struct HeldLease {
    pub(super) bot: i64,
    pub(super) epoch: Epoch,
    /// The token of the lease.
    pub(super) token: Box<str>,
    /// What every write carries: the epoch and the hash of the token. An epoch alone may be granted twice, by a server
    /// that came back older.
    pub(super) fencing_token: Arc<str>,
    pub(super) seen: Arc<BotProgress>,
    count: AtomicI64,
}

impl HeldLeases {
    /// Notes a new lease. It replaces an earlier one of the bot.
    pub(super) fn begin(&self, bot: i64, epoch: Epoch, token: &str, seen: Arc<BotProgress>) {
        self.0.write().insert(bot, Arc::new(HeldLease::new(bot, epoch, token, seen)));
    }

    /// Removes and returns the lease of a bot: nothing more is written until it has a new one.
    pub(super) fn end(&self, bot: i64) -> Option<Arc<HeldLease>> {
        self.0.write().remove(&bot)
    }

    /// The lease of an epoch.
    pub(super) fn by_epoch(&self, epoch: Epoch) -> StoreResult<Arc<HeldLease>> {
        let lease = self.0.read().values().find(|lease| lease.epoch == epoch).map(Arc::clone);
        lease.ok_or_else(|| StoreError::fenced(epoch, "it is not the latest that was granted here"))
    }

    /// The last epoch that was granted here for a bot.
    pub(super) fn last_epoch(&self, bot: i64) -> Option<Epoch> {
        self.0.read().get(&bot).map(|lease| lease.epoch)
    }

    /// The lease of an epoch, if it is this bot's.
    pub(super) fn get(&self, epoch: Epoch, bot: i64) -> StoreResult<Arc<HeldLease>> {
        let lease = self.by_epoch(epoch)?;
        if lease.bot == bot { Ok(lease) } else { Err(StoreError::fenced(epoch, "it is another bot's")) }
    }
}

impl HeldLease {
    fn new(bot: i64, epoch: Epoch, token: &str, seen: Arc<BotProgress>) -> Self {
        let fencing_token = format!("{}-{}", epoch.0, token_hash(token)).into();
        Self { bot, epoch, token: token.into(), fencing_token, seen, count: AtomicI64::new(0) }
    }

    /// The next id of a partition.
    pub(super) fn next_id(&self, partition: usize) -> StoreResult<i64> {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        if count >= 1 << (EPOCH_BITS - PARTITION_BITS) {
            return Err(StoreError::fenced(self.epoch, "its ids are used up; the next lease has new ones"));
        }
        Ok(self.epoch.first_number() + (count << PARTITION_BITS) + partition as i64)
    }
}

/// The hash of a lease's token, as partition headers store it.
pub(super) fn token_hash(token: &str) -> String {
    format!("{:016x}", hash_of(token.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::super::keys::partition_of_id;
    use super::*;
    use crate::clock::Millis;

    fn seen() -> Arc<BotProgress> {
        Arc::new(BotProgress::new(&Default::default(), Millis(0)))
    }

    #[test]
    fn ids_rise_and_name_their_partition() {
        let leases = HeldLeases::default();
        leases.begin(7, Epoch(2), "t", seen());
        let held_lease = leases.by_epoch(Epoch(2)).unwrap();
        let ids: Vec<_> = [3, 15, 0, 0].map(|partition| held_lease.next_id(partition).unwrap()).into();
        assert!(ids.is_sorted_by(|earlier, later| earlier < later), "{ids:?}");
        assert_eq!(ids.iter().map(|id| partition_of_id(*id)).collect::<Vec<_>>(), [3, 15, 0, 0]);
        assert!(ids[0] >= Epoch(2).first_number() && ids[3] < Epoch(3).first_number());
    }

    #[test]
    fn an_epoch_without_ids_left_is_fenced() {
        let held_lease = HeldLease { count: AtomicI64::new((1 << 36) - 1), ..HeldLease::new(7, Epoch(2), "t", seen()) };
        assert!(held_lease.next_id(15).unwrap() < Epoch(3).first_number());
        assert!(matches!(held_lease.next_id(0), Err(StoreError::Fenced { .. })));
    }

    #[test]
    fn an_epoch_that_was_not_granted_here_is_fenced() {
        let leases = HeldLeases::default();
        for (bot, epoch) in [(7, 2), (8, 3), (7, 4)] {
            leases.begin(bot, Epoch(epoch), "t", seen());
        }
        assert!(leases.by_epoch(Epoch(2)).is_err(), "a later one was granted");
        assert!(leases.get(Epoch(3), 7).is_err(), "another bot's");
        assert_eq!(leases.get(Epoch(4), 7).unwrap().bot, 7);
    }
}
