//! Deliveries of any instance, and their announcement to the leader.
//!
//! The server assigns inbox ids, so inputs are in the order of arrival, whichever instance delivers them. The leader
//! listens on a separate connection; it finds deliveries that it missed in the inbox.

use futures_util::StreamExt;
use futures_util::future::try_join_all;

use super::RedisBackend;
use super::inbox::{QueuePosition, mark_of};
use super::keys::{KeyKind, PARTITIONS};
use crate::key::ConversationKey;
use crate::store::delivery::{AnnouncedConversations, decode_announcement, encode_announcements};
use crate::store::{Delivered, Incoming, StoreResult};

/// The most bytes of one announcement.
const MAX_ANNOUNCEMENT_BYTES: usize = 64 << 10;

impl RedisBackend {
    pub(super) async fn deliver_batch(&self, batch: Vec<Incoming>) -> StoreResult<Vec<Delivered>> {
        let put = self.put_all(None, &batch, |_, incoming| mark_of(incoming)).await?;
        if let Some(bot) = put.older() {
            return Err(self.delivery_refused_error(bot).await);
        }
        let delivered = |place: Option<(QueuePosition, _)>| match place {
            Some((QueuePosition::First, seq)) => Delivered::First(seq),
            Some((QueuePosition::Behind, seq)) => Delivered::Behind(seq),
            None => Delivered::Known,
        };
        Ok(put.inbox_ids(batch.len())?.into_iter().map(delivered).collect())
    }

    /// How many rows a bot's list has in all partitions.
    pub(super) async fn count(&self, bot: i64, list: KeyKind) -> StoreResult<usize> {
        let bot_keys = self.keys.bot_keys(bot);
        let counts = (0..PARTITIONS).map(async |partition| {
            self.connection.query::<usize>(redis::cmd("ZCARD").arg(bot_keys.key(partition, list))).await
        });
        Ok(try_join_all(counts).await?.into_iter().sum())
    }

    pub(super) async fn publish(&self, bot: i64, keys: Vec<ConversationKey>) -> StoreResult<()> {
        let channel = self.keys.arrivals(bot);
        let texts = encode_announcements(&keys, MAX_ANNOUNCEMENT_BYTES);
        let texts = texts
            .iter()
            .map(async |text| self.connection.query::<()>(redis::cmd("PUBLISH").arg(&channel).arg(text)).await);
        try_join_all(texts).await.map(drop)
    }

    pub(super) async fn subscribe(&self, bot: i64) -> StoreResult<AnnouncedConversations> {
        let messages = self.connection.subscribe(&self.keys.arrivals(bot)).await?;
        let keys = |message: redis::Msg| decode_announcement(&message.get_payload::<String>().unwrap_or_default());
        Ok(messages.map(keys).boxed())
    }
}
