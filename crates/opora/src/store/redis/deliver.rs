//! Updates of any instance, and how the one that works hears of them.
//!
//! The server numbers what it puts into an inbox, so it stands in the order of its coming whoever brings it. Who listens
//! has a connection of its own; what is published while nobody listens is found in the inbox all the same.

use futures_util::StreamExt;
use futures_util::future::try_join_all;

use super::RedisBackend;
use super::inbox::{Rank, mark_of};
use super::keys::{PARTITIONS, Thing};
use crate::key::DialogueKey;
use crate::store::fleet::{News, announced, announcements};
use crate::store::{Delivered, Incoming, StoreResult};

/// As much as is said at once.
const MOST_BYTES: usize = 64 << 10;

impl RedisBackend {
    pub(super) async fn deliver_batch(&self, batch: Vec<Incoming>) -> StoreResult<Vec<Delivered>> {
        let pass = |bot, partition| self.witness.delivery_pass(bot, partition);
        let put = self.put_all("deliver", pass, &batch, |_, incoming| mark_of(incoming)).await?;
        if let Some(bot) = put.older() {
            return Err(self.came_back_older(bot).await);
        }
        let delivered = |place: Option<(Rank, _)>| match place {
            Some((Rank::First, seq)) => Delivered::First(seq),
            Some((Rank::Behind, seq)) => Delivered::Behind(seq),
            None => Delivered::Known,
        };
        Ok(put.places(batch.len())?.into_iter().map(delivered).collect())
    }

    /// How many rows a bot's list has in all partitions.
    pub(super) async fn count(&self, bot: i64, list: Thing) -> StoreResult<usize> {
        let rooms = self.keys.rooms(bot);
        let counts = (0..PARTITIONS)
            .map(async |partition| self.wire.ask::<usize>(redis::cmd("ZCARD").arg(rooms.one(partition, list))).await);
        Ok(try_join_all(counts).await?.into_iter().sum())
    }

    pub(super) async fn publish(&self, bot: i64, keys: Vec<DialogueKey>) -> StoreResult<()> {
        let channel = self.keys.arrivals(bot);
        let told = announcements(&keys, MOST_BYTES);
        let told =
            told.iter().map(async |text| self.wire.ask::<()>(redis::cmd("PUBLISH").arg(&channel).arg(text)).await);
        try_join_all(told).await.map(drop)
    }

    pub(super) async fn subscribe(&self, bot: i64) -> StoreResult<News> {
        let heard = self.wire.subscribe(&self.keys.arrivals(bot)).await?;
        let keys = |message: redis::Msg| announced(&message.get_payload::<String>().unwrap_or_default());
        Ok(heard.map(keys).boxed())
    }
}
