//! Going on with what a server has, although it is less than what was seen.
//!
//! What is gone is gone; but no number that was given before is given again. Versions begin above every one that was
//! seen and that may have been made since, so that a button from the lost time fits no later state; the counts of changes
//! go on from where they were, and so do epochs.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::judge::{judge, look};
use super::{RedisLoss, Witness};
use crate::store::redis::address::Address;
use crate::store::redis::keys::{Keys, PARTITIONS, Thing};
use crate::store::redis::opening::reach;
use crate::store::redis::wire::{Call, Wire};
use crate::store::redis::{RedisBackend, RedisCode, RedisStore};
use crate::store::witness::FileWitness;
use crate::store::{StoreError, StoreResult};

/// Why there is nothing to compare with.
const NO_WITNESS: &str = "nothing is kept in that directory of what was seen of this Redis";

impl RedisStore {
    /// What the Redis at an address lacks of what a bot has seen of it, by the file in its data directory. Changes nothing.
    pub async fn losses(address: &str, data: &Path) -> StoreResult<Vec<RedisLoss>> {
        let beside = Beside::open(address, data).await?;
        beside.losses().await
    }

    /// Accepts that what is missing is gone, so that the bot starts again on what is there. Answers what was accepted.
    pub async fn accept_losses(address: &str, data: &Path) -> StoreResult<Vec<RedisLoss>> {
        let beside = Beside::open(address, data).await?;
        let losses = beside.losses().await?;
        for loss in &losses {
            accept(&beside.wire, &beside.keys, &beside.witness, loss).await?;
        }
        beside.witness.keep().await;
        Ok(losses)
    }
}

impl RedisBackend {
    /// Goes on after a loss.
    pub(in crate::store::redis) async fn accept(&self, loss: &RedisLoss) -> StoreResult<()> {
        accept(&self.wire, &self.keys, &self.witness, loss).await?;
        self.loss_of(loss.bot).await.map(drop)
    }
}

/// A look at a Redis and at what was seen of it, without a store.
struct Beside {
    wire: Wire,
    keys: Keys,
    witness: Arc<Witness>,
}

impl Beside {
    async fn open(address: &str, data: &Path) -> StoreResult<Self> {
        let file = FileWitness::of(data, &Address::parse(address)?.file_name());
        let kept = file.load().await.map_err(|error| StoreError::Unavailable(error.into()))?;
        if kept.is_none() {
            return Err(StoreError::Unsupported(NO_WITNESS));
        }
        let (wire, keys, _) = reach(address, RedisCode::default()).await?;
        let witness = Witness::load(Some(file), Default::default()).await;
        Ok(Self { wire, keys, witness: witness.map_err(|error| StoreError::Unavailable(error.into()))? })
    }

    async fn losses(&self) -> StoreResult<Vec<RedisLoss>> {
        let mut losses = Vec::new();
        for bot in self.witness.record().bots.into_keys() {
            let found = look(&self.wire, &self.keys, bot).await?;
            losses.extend(judge(&self.witness, bot, &found, &self.wire.address.to_string()));
        }
        Ok(losses)
    }
}

async fn accept(wire: &Wire, keys: &Keys, witness: &Witness, loss: &RedisLoss) -> StoreResult<()> {
    let rooms = keys.rooms(loss.bot);
    let seen = witness.of(loss.bot);
    let floor = vec![witness.epoch().to_string()];
    wire.call(Call { function: "next_epoch", keys: &[keys.epochs()], args: floor }).await?;
    // Another instance may have made some of what is missing, each change a version at most; what is delivered makes none.
    let least = if loss.is_of_deliveries { 0 } else { seen.top() + loss.missing + 1 };
    let call = |partition| {
        let numbers = [least, seen.least(partition), seen.least_delivered(partition)];
        let args = numbers.map(|number| number.to_string()).into();
        Call { function: "accept", keys: rooms.up_to(partition, Thing::Room), args }
    };
    wire.call_all((0..PARTITIONS).map(call).collect()).await?;
    seen.note_version(least);
    // What is made there next is taken for it.
    witness.expect_generation("");
    witness.accepted.fetch_add(1, Ordering::AcqRel);
    Ok(())
}
