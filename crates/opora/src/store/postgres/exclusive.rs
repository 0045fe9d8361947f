//! A transaction for exclusive operations. Other connections write meanwhile, so rows are locked.

use sqlx::Row;
use sqlx::postgres::PgRow;

use super::bulk;
use super::facts::FactsQuery;
use super::reads::bound;
use super::server::with_answer_timeout;
use super::session::Session;
use super::texts::json;
use crate::clock::Millis;
use crate::store::Epoch;
use crate::store::sql::bulk::Bulk;
use crate::store::sql::columns::{Value, values};
use crate::store::sql::exclusive;
use crate::store::sql::facts::Facts;
use crate::store::sql::failure::GroupError;
use crate::store::sql::rows::Rows;

impl exclusive::Session for Session<'_> {
    type Row = PgRow;

    const RESET: &'static str = "
WITH old AS (
    SELECT key, bot, coalesce(dialogue, '') AS dialogue, coalesce(state, '') AS state
    FROM opora_conversations WHERE key = $1 AND value IS NOT NULL FOR UPDATE),
place AS (
    INSERT INTO opora_state_counts AS p (slot, bot, dialogue, state, conversations)
    SELECT -1, bot, dialogue, state, -1 FROM old
    ON CONFLICT (slot, bot, dialogue, state) DO UPDATE SET conversations = p.conversations + excluded.conversations)
UPDATE opora_conversations AS c
SET version = version + 1, value = NULL, states = '[]', dialogue = NULL, state = NULL, expires_at = NULL,
    expires_minute = NULL, updated_at = $2, ended_at = $2
FROM old WHERE c.key = old.key";

    async fn change(&mut self, statement: &'static str, values: Vec<Value>) -> Result<u64, GroupError> {
        let done = with_answer_timeout(bound(sqlx::query(statement), values).execute(self.connection())).await?;
        Ok(done.rows_affected())
    }

    async fn row(&mut self, query: &'static str, values: Vec<Value>) -> Result<Option<PgRow>, GroupError> {
        with_answer_timeout(bound(sqlx::query(query), values).fetch_optional(self.connection())).await
    }

    async fn rows(&mut self, query: &'static str, values: Vec<Value>) -> Result<Vec<PgRow>, GroupError> {
        with_answer_timeout(bound(sqlx::query(query), values).fetch_all(self.connection())).await
    }

    async fn leases(&mut self, epoch: Option<Epoch>) -> Result<Facts, GroupError> {
        with_answer_timeout(FactsQuery::of_leases(epoch)?.lock_and_read(self.connection())).await
    }

    async fn stop_writers(&mut self, bot: i64) -> Result<(), GroupError> {
        // Only one transaction grants epochs at a time.
        self.change("SELECT pg_advisory_xact_lock(1869639537, 0)", Vec::new()).await?;
        let lease = self.row("SELECT epoch FROM opora_leases WHERE bot = $1", values![bot]).await?;
        if let Some(lease) = lease {
            let epoch = Value::Number(lease.try_get(0)?);
            self.change("SELECT pg_advisory_xact_lock(1869639536, hashint8($1))", vec![epoch]).await?;
        }
        // Locking the row makes statements that waited for the advisory lock read it again.
        self.change("SELECT 1 FROM opora_leases WHERE bot = $1 FOR UPDATE", values![bot]).await?;
        Ok(())
    }

    async fn lock_conversations(&mut self, keys: Rows) -> Result<Vec<PgRow>, GroupError> {
        let keys = json(keys);
        with_answer_timeout(sqlx::query(STOP_TURNS).bind(&keys).execute(self.connection())).await?;
        // A separate statement sees what the awaited transactions have committed.
        with_answer_timeout(sqlx::query(CURRENT_VERSIONS).bind(&keys).fetch_all(self.connection())).await
    }

    async fn forget_ended(&mut self, bot: i64, before: Millis, limit: i64) -> Result<u64, GroupError> {
        self.change(FORGET_ENDED, [bot, before.0, limit].map(Value::Number).into()).await
    }

    async fn write(&mut self, bulk: Bulk) -> Result<(), GroupError> {
        with_answer_timeout(bulk::write(bulk, self.slot, self.connection())).await
    }
}

/// In the order in which groups lock rows.
const STOP_TURNS: &str = "
SELECT 1 FROM opora_conversations
WHERE key = ANY (ARRAY(SELECT value #>> '{}' FROM jsonb_array_elements($1::jsonb))) ORDER BY key FOR UPDATE";

const CURRENT_VERSIONS: &str = "
SELECT coalesce(c.version, f.floor), c.value IS NOT NULL
FROM opora_version_floor AS f CROSS JOIN jsonb_array_elements($1::jsonb) WITH ORDINALITY AS asked (value, place)
LEFT JOIN opora_conversations AS c ON c.key = asked.value #>> '{}'
ORDER BY asked.place";

/// Skips conversations that are being committed. A removed conversation must not restart at an old version.
const FORGET_ENDED: &str = "
WITH old AS (
    SELECT key, version FROM opora_conversations
    WHERE bot = $1 AND ended_at < $2 ORDER BY ended_at LIMIT $3 FOR UPDATE SKIP LOCKED),
raised AS (
    UPDATE opora_version_floor SET floor = (SELECT max(version) FROM old) WHERE floor < (SELECT max(version) FROM old))
DELETE FROM opora_conversations WHERE key IN (SELECT key FROM old)";
