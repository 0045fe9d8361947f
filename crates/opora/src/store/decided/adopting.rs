//! An operator says that a database belongs to the Redis beside it, after the one that it belonged to is lost.
//!
//! With the next lease, the last decision of each conversation is brought back from the database, as far as they are kept
//! there; what turns without writes did is not.

use super::DecidedStore;
use crate::store::open::existing_database;
use crate::store::redis::RedisBackend;
use crate::store::{OpenError, RedisStore, Store, StoreResult};

impl DecidedStore {
    /// Says that a bot's tables in the database belong to this Redis.
    pub async fn adopt(&self, bot: i64) -> StoreResult<()> {
        let generation = self.redis.generation_now().await?;
        self.database.adopt(bot, generation).await
    }

    /// The bots whose tables in the database at an address belong to another Redis than the one beside it, or to that one
    /// before it was emptied: they are not let work. Changes nothing.
    pub async fn strangers(redis: &str, database: &str) -> Result<Vec<i64>, OpenError> {
        let generation = RedisBackend::generation_at(redis).await?;
        let Some(database) = existing_database(database).await? else { return Ok(Vec::new()) };
        let fences = database.fences().await;
        database.store().close().await?;
        let strange = |(bot, known): (i64, String)| (known != generation).then_some(bot);
        Ok(fences?.into_iter().filter_map(strange).collect())
    }

    /// Says of all these that they belong to this Redis as it is. Answers which they were.
    ///
    /// What was seen of a Redis that was emptied has to be given up first, see [`RedisStore::accept_losses`].
    pub async fn adopt_strangers(redis: &str, database: &str) -> Result<Vec<i64>, OpenError> {
        let strangers = Self::strangers(redis, database).await?;
        if strangers.is_empty() {
            return Ok(strangers);
        }
        // One that was emptied is given its generation by this, as by a bot's start.
        let redis = RedisStore::open(redis).await?;
        if let Some(database) = existing_database(database).await? {
            for bot in &strangers {
                database.adopt(*bot, redis.generation().to_owned()).await?;
            }
            database.store().close().await?;
        }
        redis.close().await?;
        Ok(strangers)
    }
}
