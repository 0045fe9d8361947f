//! Binds a database to another Redis, after the Redis that it belonged to is lost.
//!
//! The next claim restores the last decision of each conversation from the database. Turns without writes are not
//! restored.

use super::DecisionStore;
use crate::store::open::existing_database;
use crate::store::redis::RedisBackend;
use crate::store::{OpenError, RedisStore, Store, StoreResult};

impl DecisionStore {
    /// Binds a bot's decisions in the database to this Redis.
    pub async fn adopt(&self, bot: i64) -> StoreResult<()> {
        let generation = self.redis.generation_now().await?;
        self.database.adopt(bot, generation).await
    }

    /// The bots whose decisions in the database belong to another Redis than this one, or to this one before it was
    /// emptied. They cannot start. Changes nothing.
    pub async fn mismatched_bots(redis: &str, database: &str) -> Result<Vec<i64>, OpenError> {
        let generation = RedisBackend::generation_at(redis).await?;
        let Some(database) = existing_database(database).await? else { return Ok(Vec::new()) };
        let fences = database.fences().await;
        database.store().close().await?;
        let mismatched = |(bot, known): (i64, String)| (known != generation).then_some(bot);
        Ok(fences?.into_iter().filter_map(mismatched).collect())
    }

    /// Binds all these bots to this Redis, and returns them.
    ///
    /// For a Redis that was emptied, accept its loss first: [`RedisStore::accept_losses`].
    pub async fn adopt_mismatched_bots(redis: &str, database: &str) -> Result<Vec<i64>, OpenError> {
        let mismatched_bots = Self::mismatched_bots(redis, database).await?;
        if mismatched_bots.is_empty() {
            return Ok(mismatched_bots);
        }
        // Opening gives an emptied Redis its generation, as the start of a bot does.
        let redis = RedisStore::open(redis).await?;
        if let Some(database) = existing_database(database).await? {
            for bot in &mismatched_bots {
                database.adopt(*bot, redis.generation().to_owned()).await?;
            }
            database.store().close().await?;
        }
        redis.close().await?;
        Ok(mismatched_bots)
    }
}
