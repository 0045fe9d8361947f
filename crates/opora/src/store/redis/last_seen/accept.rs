//! Accepts a loss: the bot goes on with the data that the server has.
//!
//! No number is used twice. New versions start above every version that was seen or may have been made since, so that a
//! button from the lost time fits no later state. Counters and epochs continue from the values that were seen.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::loss::{find_loss, read_progress};
use super::{LastSeen, RedisLoss};
use crate::store::last_seen::LastSeenFile;
use crate::store::redis::address::Address;
use crate::store::redis::connection::{Call, Connection};
use crate::store::redis::keys::{KeyKind, Keys, PARTITIONS};
use crate::store::redis::opening::connect;
use crate::store::redis::{RedisBackend, RedisCode, RedisStore};
use crate::store::{StoreError, StoreResult};

const NO_LAST_SEEN_FILE: &str = "there is no last-seen record of this Redis in that directory";

impl RedisStore {
    /// What the Redis at an address has lost, compared with the last-seen record in a data directory. Changes nothing.
    pub async fn losses(address: &str, data: &Path) -> StoreResult<Vec<RedisLoss>> {
        OfflineCheck::open(address, data).await?.losses().await
    }

    /// Accepts all losses, so that the bot can start with the data that is there. Returns the losses.
    pub async fn accept_losses(address: &str, data: &Path) -> StoreResult<Vec<RedisLoss>> {
        let check = OfflineCheck::open(address, data).await?;
        let losses = check.losses().await?;
        for loss in &losses {
            accept(&check.connection, &check.keys, &check.last_seen, loss).await?;
        }
        check.last_seen.save().await;
        Ok(losses)
    }
}

impl RedisBackend {
    /// Accepts a loss.
    pub(crate) async fn accept(&self, loss: &RedisLoss) -> StoreResult<()> {
        accept(&self.connection, &self.keys, &self.last_seen, loss).await?;
        self.loss_of(loss.bot).await.map(drop)
    }
}

/// A connection and a last-seen record, without an open store.
struct OfflineCheck {
    connection: Connection,
    keys: Keys,
    last_seen: Arc<LastSeen>,
}

impl OfflineCheck {
    async fn open(address: &str, data: &Path) -> StoreResult<Self> {
        let file = LastSeenFile::new(data, &Address::parse(address)?.file_name());
        let stored = file.load().await.map_err(|error| StoreError::Unavailable(error.into()))?;
        if stored.is_none() {
            return Err(StoreError::Unsupported(NO_LAST_SEEN_FILE));
        }
        let (connection, keys, _) = connect(address, RedisCode::default()).await?;
        let last_seen = LastSeen::load(Some(file), Default::default()).await;
        Ok(Self { connection, keys, last_seen: last_seen.map_err(|error| StoreError::Unavailable(error.into()))? })
    }

    async fn losses(&self) -> StoreResult<Vec<RedisLoss>> {
        let mut losses = Vec::new();
        for bot in self.last_seen.record().bots.into_keys() {
            let found = read_progress(&self.connection, &self.keys, bot).await?;
            losses.extend(find_loss(&self.last_seen, bot, &found, &self.connection.address.to_string()));
        }
        Ok(losses)
    }
}

async fn accept(connection: &Connection, keys: &Keys, last_seen: &LastSeen, loss: &RedisLoss) -> StoreResult<()> {
    let bot_keys = keys.bot_keys(loss.bot);
    let seen = last_seen.progress_of(loss.bot);
    let floor = vec![last_seen.epoch().to_string()];
    connection.call(Call { function: "next_epoch", keys: &[keys.epochs()], args: floor }).await?;
    // Another instance may have made some of the lost changes, each at most one version. Deliveries make no version.
    let version_floor = if loss.is_only_deliveries { 0 } else { seen.highest_version() + loss.missing + 1 };
    let call = |partition| {
        let numbers = [version_floor, seen.writes_seen(partition), seen.deliveries_seen(partition)];
        let args = numbers.map(|number| number.to_string()).into();
        Call { function: "accept", keys: bot_keys.up_to(partition, KeyKind::Header), args }
    };
    connection.call_all((0..PARTITIONS).map(call).collect()).await?;
    seen.note_version(version_floor);
    // The next generation is accepted, whatever it is.
    last_seen.expect_generation("");
    last_seen.losses_accepted.fetch_add(1, Ordering::AcqRel);
    Ok(())
}
