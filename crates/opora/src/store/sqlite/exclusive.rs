//! A transaction of the single write connection. No other connection writes meanwhile, so no locks are needed.

use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use super::reads::bound;
use super::{bulk, facts};
use crate::clock::Millis;
use crate::store::Epoch;
use crate::store::sql::bulk::Bulk;
use crate::store::sql::columns::Value;
use crate::store::sql::exclusive::Session;
use crate::store::sql::facts::Facts;
use crate::store::sql::failure::GroupError;
use crate::store::sql::rows::Rows;

impl Session for SqliteConnection {
    type Row = SqliteRow;

    const RESET: &'static str = "
UPDATE opora_conversations
SET version = version + 1, value = NULL, states = '[]', dialogue = NULL, state = NULL, expires_at = NULL,
    expires_minute = NULL, updated_at = $2
WHERE key = $1 AND value IS NOT NULL";

    async fn change(&mut self, statement: &'static str, values: Vec<Value>) -> Result<u64, GroupError> {
        Ok(bound(sqlx::query(statement), values).execute(self).await?.rows_affected())
    }

    async fn row(&mut self, query: &'static str, values: Vec<Value>) -> Result<Option<SqliteRow>, GroupError> {
        Ok(bound(sqlx::query(query), values).fetch_optional(self).await?)
    }

    async fn rows(&mut self, query: &'static str, values: Vec<Value>) -> Result<Vec<SqliteRow>, GroupError> {
        Ok(bound(sqlx::query(query), values).fetch_all(self).await?)
    }

    async fn leases(&mut self, _epoch: Option<Epoch>) -> Result<Facts, GroupError> {
        facts::read(self, &[]).await
    }

    async fn stop_writers(&mut self, _bot: i64) -> Result<(), GroupError> {
        Ok(())
    }

    async fn lock_conversations(&mut self, keys: Rows) -> Result<Vec<SqliteRow>, GroupError> {
        Ok(sqlx::query(CURRENT_VERSIONS).bind(keys.into_json()).fetch_all(self).await?)
    }

    async fn forget_ended(&mut self, bot: i64, before: Millis, limit: i64) -> Result<u64, GroupError> {
        let values = || [bot, before.0, limit].map(Value::Number).into();
        self.change(RAISE_FLOOR, values()).await?;
        self.change(CLEAN_ENDED, values()).await
    }

    async fn write(&mut self, bulk: Bulk) -> Result<(), GroupError> {
        bulk::write(bulk, self).await
    }
}

const CURRENT_VERSIONS: &str = "
SELECT coalesce(c.version, f.floor), c.value IS NOT NULL
FROM opora_version_floor AS f CROSS JOIN json_each(?1) AS asked
LEFT JOIN opora_conversations AS c ON c.key = asked.value
ORDER BY asked.key";

/// A removed conversation must not restart at an old version.
const RAISE_FLOOR: &str = "
UPDATE opora_version_floor SET floor = max(floor, coalesce((
    SELECT max(version) FROM (
        SELECT version FROM opora_conversations
        WHERE value IS NULL AND bot = $1 AND updated_at < $2 ORDER BY updated_at, rowid LIMIT $3)), 0))";

const CLEAN_ENDED: &str = "
DELETE FROM opora_conversations WHERE rowid IN (
    SELECT rowid FROM opora_conversations
    WHERE value IS NULL AND bot = $1 AND updated_at < $2 ORDER BY updated_at, rowid LIMIT $3)";
