//! A transaction of the one connection that writes. Nobody else writes meanwhile, so there is nothing to wait for.

use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use super::reads::bound;
use super::{bulk, facts};
use crate::clock::Millis;
use crate::store::Epoch;
use crate::store::sql::alone::Session;
use crate::store::sql::bulk::Bulk;
use crate::store::sql::columns::Value;
use crate::store::sql::facts::Facts;
use crate::store::sql::failure::GroupFailed;
use crate::store::sql::rows::Rows;

impl Session for SqliteConnection {
    type Row = SqliteRow;

    const RESET: &'static str = "
UPDATE opora_conversations
SET version = version + 1, value = NULL, places = '[]', dialogue = NULL, state = NULL, expires_at = NULL,
    expires_minute = NULL, updated_at = $2
WHERE key = $1 AND value IS NOT NULL";

    async fn change(&mut self, statement: &'static str, values: Vec<Value>) -> Result<u64, GroupFailed> {
        Ok(bound(sqlx::query(statement), values).execute(self).await?.rows_affected())
    }

    async fn row(&mut self, query: &'static str, values: Vec<Value>) -> Result<Option<SqliteRow>, GroupFailed> {
        Ok(bound(sqlx::query(query), values).fetch_optional(self).await?)
    }

    async fn rows(&mut self, query: &'static str, values: Vec<Value>) -> Result<Vec<SqliteRow>, GroupFailed> {
        Ok(bound(sqlx::query(query), values).fetch_all(self).await?)
    }

    async fn leases(&mut self, _epoch: Option<Epoch>) -> Result<Facts, GroupFailed> {
        facts::read(self, &[]).await
    }

    async fn stop_writers(&mut self, _bot: i64) -> Result<(), GroupFailed> {
        Ok(())
    }

    async fn standing(&mut self, keys: Rows) -> Result<Vec<SqliteRow>, GroupFailed> {
        Ok(sqlx::query(STANDING).bind(keys.into_json()).fetch_all(self).await?)
    }

    async fn forget_ended(&mut self, bot: i64, before: Millis, limit: i64) -> Result<u64, GroupFailed> {
        let values = || [bot, before.0, limit].map(Value::Number).into();
        self.change(RAISE_FLOOR, values()).await?;
        self.change(CLEAN_ENDED, values()).await
    }

    async fn write(&mut self, bulk: Bulk) -> Result<(), GroupFailed> {
        bulk::write(bulk, self).await
    }
}

const STANDING: &str = "
SELECT coalesce(c.version, f.floor), c.value IS NOT NULL
FROM opora_version_floor AS f CROSS JOIN json_each(?1) AS asked
LEFT JOIN opora_conversations AS c ON c.key = asked.value
ORDER BY asked.key";

/// A conversation that is forgotten must not begin anew at a version that it had before.
const RAISE_FLOOR: &str = "
UPDATE opora_version_floor SET floor = max(floor, coalesce((
    SELECT max(version) FROM (
        SELECT version FROM opora_conversations
        WHERE value IS NULL AND bot = $1 AND updated_at < $2 ORDER BY updated_at, rowid LIMIT $3)), 0))";

const CLEAN_ENDED: &str = "
DELETE FROM opora_conversations WHERE rowid IN (
    SELECT rowid FROM opora_conversations
    WHERE value IS NULL AND bot = $1 AND updated_at < $2 ORDER BY updated_at, rowid LIMIT $3)";
