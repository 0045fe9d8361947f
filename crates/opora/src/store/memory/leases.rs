//! The leases of all bots.
//!
//! Epochs rise over all bots, so an epoch identifies its bot, and ids of two bots never collide.

use std::collections::HashMap;

use crate::store::{Epoch, Holder, Lease, LeaseAnswer, StoreError, StoreResult};

/// The held leases, and the bot of each epoch.
#[derive(Debug, Default)]
pub(super) struct Leases {
    held: HashMap<i64, Lease>,
    // The bot of epoch n is at n - 1.
    bots: Vec<i64>,
}

impl Leases {
    pub(super) fn claim(&mut self, bot: i64, holder: &Holder, seen: Option<&Lease>) -> LeaseAnswer {
        if let Some(held) = self.held.get(&bot)
            && !held.is_unchanged(seen)
        {
            return LeaseAnswer::Held(Box::new(held.clone()));
        }
        self.bots.push(bot);
        let epoch = self.latest();
        self.held.insert(bot, Lease { epoch, holder: holder.clone(), renewals: 0 });
        LeaseAnswer::Granted(epoch)
    }

    pub(super) fn renew(&mut self, bot: i64, epoch: Epoch) -> StoreResult<()> {
        self.check(epoch, bot)?;
        if let Some(lease) = self.held.get_mut(&bot) {
            lease.renewals += 1;
        }
        Ok(())
    }

    pub(super) fn release(&mut self, bot: i64, epoch: Epoch) -> StoreResult<()> {
        self.check(epoch, bot)?;
        self.clear(bot);
        Ok(())
    }

    pub(super) fn clear(&mut self, bot: i64) {
        self.held.remove(&bot);
    }

    pub(super) fn get(&self, bot: i64) -> Option<&Lease> {
        self.held.get(&bot)
    }

    pub(super) fn latest(&self) -> Epoch {
        // A process grants far fewer than 2^63 leases.
        Epoch(self.bots.len() as i64)
    }

    pub(super) fn bots(&self) -> impl Iterator<Item = i64> {
        self.held.keys().copied()
    }

    /// The bot of an epoch, if its lease is still held.
    pub(super) fn bot_of(&self, epoch: Epoch) -> StoreResult<i64> {
        let bot = usize::try_from(epoch.0 - 1).ok().and_then(|place| self.bots.get(place).copied());
        match bot {
            Some(bot) => self.check(epoch, bot).map(|()| bot),
            None => Err(StoreError::fenced(epoch, "this epoch was never granted")),
        }
    }

    /// Refuses an epoch that is not the bot's present one.
    pub(super) fn check(&self, epoch: Epoch, bot: i64) -> StoreResult<()> {
        match self.held.get(&bot) {
            Some(lease) if lease.epoch == epoch => Ok(()),
            Some(lease) => Err(StoreError::fenced(epoch, lease.in_words())),
            None => Err(StoreError::fenced(epoch, "no instance holds it")),
        }
    }
}
