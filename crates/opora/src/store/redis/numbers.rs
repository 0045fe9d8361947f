//! The numbers of rows: the epoch, then a counter of this process, then the partition. Only places in the inbox are the
//! server's to give, because instances without an epoch fill it too.
//!
//! An epoch is given to one opening of the store and to nobody else, so its numbers are counted in memory, and an epoch
//! that was not given here can write nothing. The lowest bits of a number say where its row lies.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::RwLock;

use super::keys::PARTITION_BITS;
use super::witness::Seen;
use crate::store::hash::hash_of;
use crate::store::{Epoch, StoreError, StoreResult};

/// So many numbers belong to an epoch, see [`Epoch::first_number`].
const EPOCH_BITS: u32 = 40;

/// The epochs that were given to this opening of the store, one for each bot.
#[derive(Debug, Default)]
pub(super) struct Numbers(RwLock<HashMap<i64, Arc<Own>>>);

/// An epoch of ours.
#[derive(Debug)]
pub(super) struct Own {
    pub(super) bot: i64,
    pub(super) epoch: Epoch,
    /// What tells its lease from others.
    pub(super) token: Box<str>,
    /// The epoch and that, in short.
    pass: Arc<str>,
    pub(super) seen: Arc<Seen>,
    count: AtomicI64,
}

impl Numbers {
    /// Notes that an epoch is ours; an earlier one of the bot is over.
    pub(super) fn begin(&self, bot: i64, epoch: Epoch, token: &str, seen: Arc<Seen>) {
        self.0.write().insert(bot, Arc::new(Own::new(bot, epoch, token, seen)));
    }

    /// Nothing more is written for a bot until it has a new epoch. Gives the one that is over.
    pub(super) fn end(&self, bot: i64) -> Option<Arc<Own>> {
        self.0.write().remove(&bot)
    }

    /// Whose epoch this is.
    pub(super) fn own(&self, epoch: Epoch) -> StoreResult<Arc<Own>> {
        let own = self.0.read().values().find(|own| own.epoch == epoch).map(Arc::clone);
        own.ok_or_else(|| fenced(epoch, "it is not the latest that was given here"))
    }

    /// The last epoch that was given here for a bot.
    pub(super) fn last_of(&self, bot: i64) -> Option<Epoch> {
        self.0.read().get(&bot).map(|own| own.epoch)
    }

    /// The epoch, if it is ours and that of this bot.
    pub(super) fn own_of(&self, epoch: Epoch, bot: i64) -> StoreResult<Arc<Own>> {
        let own = self.own(epoch)?;
        if own.bot == bot { Ok(own) } else { Err(fenced(epoch, "it is another bot's")) }
    }
}

impl Own {
    fn new(bot: i64, epoch: Epoch, token: &str, seen: Arc<Seen>) -> Self {
        let pass = format!("{}-{}", epoch.0, in_short(token)).into();
        Self { bot, epoch, token: token.into(), pass, seen, count: AtomicI64::new(0) }
    }

    /// The next number of a partition.
    pub(super) fn next(&self, partition: usize) -> StoreResult<i64> {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        if count >= 1 << (EPOCH_BITS - PARTITION_BITS) {
            return Err(fenced(self.epoch, "its numbers are used up, and the next lease has new ones"));
        }
        Ok(self.epoch.first_number() + (count << PARTITION_BITS) + partition as i64)
    }

    /// What every write says of its lease: an epoch alone may be given twice, by a server that came back older.
    pub(super) fn pass(&self) -> Arc<str> {
        Arc::clone(&self.pass)
    }

    pub(super) fn text(&self) -> String {
        self.pass.to_string()
    }
}

/// What tells a lease from others, as the rooms know it.
pub(super) fn in_short(token: &str) -> String {
    format!("{:016x}", hash_of(token.as_bytes()))
}

fn fenced(mine: Epoch, why: &str) -> StoreError {
    StoreError::Fenced { mine, holder: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::super::keys::partition_of_id;
    use super::*;
    use crate::clock::Millis;

    fn seen() -> Arc<Seen> {
        Arc::new(Seen::of(&Default::default(), Millis(0)))
    }

    #[test]
    fn numbers_rise_and_name_their_partition() {
        let numbers = Numbers::default();
        numbers.begin(7, Epoch(2), "t", seen());
        let own = numbers.own(Epoch(2)).unwrap();
        let ids: Vec<_> = [3, 15, 0, 0].map(|partition| own.next(partition).unwrap()).into();
        assert!(ids.is_sorted_by(|earlier, later| earlier < later), "{ids:?}");
        assert_eq!(ids.iter().map(|id| partition_of_id(*id)).collect::<Vec<_>>(), [3, 15, 0, 0]);
        assert!(ids[0] >= Epoch(2).first_number() && ids[3] < Epoch(3).first_number());
    }

    #[test]
    fn an_epoch_whose_numbers_are_used_up_is_over() {
        let own = Own { count: AtomicI64::new((1 << 36) - 1), ..Own::new(7, Epoch(2), "t", seen()) };
        assert!(own.next(15).unwrap() < Epoch(3).first_number());
        assert!(matches!(own.next(0), Err(StoreError::Fenced { .. })));
    }

    #[test]
    fn an_epoch_that_was_not_given_here_writes_nothing() {
        let numbers = Numbers::default();
        for (bot, epoch) in [(7, 2), (8, 3), (7, 4)] {
            numbers.begin(bot, Epoch(epoch), "t", seen());
        }
        assert!(numbers.own(Epoch(2)).is_err(), "a later one was given");
        assert!(numbers.own_of(Epoch(3), 7).is_err(), "another bot's");
        assert_eq!(numbers.own_of(Epoch(4), 7).unwrap().bot, 7);
    }
}
