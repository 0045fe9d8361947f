//! A long expiry of Redis' own, against a bot that never comes back.
//!
//! A conversation ends by its life and its timers, and what is old goes by cleaning; all that is the bot's work. If the
//! bot is gone for good, its keys go by themselves, all of them a long time (400 days unless told) after its last
//! cleaning. Cleaning puts that off, hourly, and so does a stop in good order; so no turn pays for it.
//!
//! The rooms, the lease and the generations stay, for they hold nothing of anybody's: a room knows that it held
//! conversations, and when it has none any more, the next claim raises its floor above all their versions.

use futures_util::future::try_join_all;

use super::RedisBackend;
use super::keys::{PARTITIONS, Thing};
use crate::store::{Epoch, StoreResult};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// None if it is for ever.
pub(super) fn keep_ms(days: u32) -> Option<i64> {
    (days > 0).then(|| i64::from(days) * DAY_MS)
}

impl RedisBackend {
    /// Gives all keys of the bot that holds the lease their time anew.
    pub(super) async fn put_off_expiry(&self, epoch: Epoch) -> StoreResult<()> {
        let bot = self.numbers.own(epoch)?.bot;
        let rooms = self.keys.rooms(bot);
        let keys = (0..PARTITIONS).flat_map(|partition| things().map(move |thing| (partition, thing)));
        let told = keys.map(async |(partition, thing)| {
            let key = rooms.one(partition, thing);
            match self.keep_ms {
                Some(keep_ms) => self.wire.ask::<()>(redis::cmd("PEXPIRE").arg(key).arg(keep_ms)).await,
                // Somebody may have changed the setting.
                None => self.wire.ask::<()>(redis::cmd("PERSIST").arg(key)).await,
            }
        });
        try_join_all(told).await.map(drop)
    }
}

/// What goes with a bot; marks have a shorter expiry of their own.
fn things() -> impl Iterator<Item = Thing> {
    Thing::ALL.iter().map(|(thing, _)| *thing).filter(|thing| !matches!(thing, Thing::Room | Thing::Marks))
}
