//! A transaction for operations that are carried out alone. Others write meanwhile, so what must not change is locked.

use sqlx::Row;
use sqlx::postgres::PgRow;

use super::bulk;
use super::facts::Inquiry;
use super::reads::bound;
use super::server::answered;
use super::session::Session;
use super::texts::json;
use crate::clock::Millis;
use crate::store::Epoch;
use crate::store::sql::alone;
use crate::store::sql::bulk::Bulk;
use crate::store::sql::columns::Value;
use crate::store::sql::facts::Facts;
use crate::store::sql::failure::GroupFailed;
use crate::store::sql::rows::Rows;

impl alone::Session for Session<'_> {
    type Row = PgRow;

    const RESET: &'static str = "
WITH old AS (
    SELECT key, bot, coalesce(dialogue, '') AS dialogue, coalesce(state, '') AS state
    FROM opora_conversations WHERE key = $1 AND value IS NOT NULL FOR UPDATE),
place AS (
    INSERT INTO opora_places AS p (slot, bot, dialogue, state, conversations)
    SELECT -1, bot, dialogue, state, -1 FROM old
    ON CONFLICT (slot, bot, dialogue, state) DO UPDATE SET conversations = p.conversations + excluded.conversations)
UPDATE opora_conversations AS c
SET version = version + 1, value = NULL, places = '[]', dialogue = NULL, state = NULL, expires_at = NULL,
    expires_minute = NULL, updated_at = $2, ended_at = $2
FROM old WHERE c.key = old.key";

    async fn change(&mut self, statement: &'static str, values: Vec<Value>) -> Result<u64, GroupFailed> {
        let done = answered(bound(sqlx::query(statement), values).execute(self.connection())).await?;
        Ok(done.rows_affected())
    }

    async fn row(&mut self, query: &'static str, values: Vec<Value>) -> Result<Option<PgRow>, GroupFailed> {
        answered(bound(sqlx::query(query), values).fetch_optional(self.connection())).await
    }

    async fn rows(&mut self, query: &'static str, values: Vec<Value>) -> Result<Vec<PgRow>, GroupFailed> {
        answered(bound(sqlx::query(query), values).fetch_all(self.connection())).await
    }

    async fn leases(&mut self, epoch: Option<Epoch>) -> Result<Facts, GroupFailed> {
        answered(Inquiry::of_leases(epoch)?.wait_and_ask(self.connection())).await
    }

    async fn stop_writers(&mut self, bot: i64) -> Result<(), GroupFailed> {
        // Epochs are given one after the other.
        self.change("SELECT pg_advisory_xact_lock(1869639537, 0)", Vec::new()).await?;
        let lease = self.row("SELECT epoch FROM opora_leases WHERE bot = $1", vec![Value::Number(bot)]).await?;
        if let Some(lease) = lease {
            let epoch = Value::Number(lease.try_get(0)?);
            self.change("SELECT pg_advisory_xact_lock(1869639536, hashint8($1))", vec![epoch]).await?;
        }
        // Whoever waited for that lock in the midst of a statement looks at the row again, however it is changed now.
        self.change("SELECT 1 FROM opora_leases WHERE bot = $1 FOR UPDATE", vec![Value::Number(bot)]).await?;
        Ok(())
    }

    async fn standing(&mut self, keys: Rows) -> Result<Vec<PgRow>, GroupFailed> {
        let keys = json(keys);
        answered(sqlx::query(STOP_TURNS).bind(&keys).execute(self.connection())).await?;
        // In a statement of its own, which sees what those who were waited for have written.
        answered(sqlx::query(STANDING).bind(&keys).fetch_all(self.connection())).await
    }

    async fn forget_ended(&mut self, bot: i64, before: Millis, limit: i64) -> Result<u64, GroupFailed> {
        self.change(FORGET_ENDED, [bot, before.0, limit].map(Value::Number).into()).await
    }

    async fn write(&mut self, bulk: Bulk) -> Result<(), GroupFailed> {
        answered(bulk::write(bulk, self.slot, self.connection())).await
    }
}

/// In the order in which groups lock them.
const STOP_TURNS: &str = "
SELECT 1 FROM opora_conversations
WHERE key = ANY (ARRAY(SELECT value #>> '{}' FROM jsonb_array_elements($1::jsonb))) ORDER BY key FOR UPDATE";

const STANDING: &str = "
SELECT coalesce(c.version, f.floor), c.value IS NOT NULL
FROM opora_version_floor AS f CROSS JOIN jsonb_array_elements($1::jsonb) WITH ORDINALITY AS asked (value, place)
LEFT JOIN opora_conversations AS c ON c.key = asked.value #>> '{}'
ORDER BY asked.place";

/// Those whose turns are being committed are left alone. A conversation that is forgotten must not begin anew at a
/// version that it had before.
const FORGET_ENDED: &str = "
WITH old AS (
    SELECT key, version FROM opora_conversations
    WHERE bot = $1 AND ended_at < $2 ORDER BY ended_at LIMIT $3 FOR UPDATE SKIP LOCKED),
raised AS (
    UPDATE opora_version_floor SET floor = (SELECT max(version) FROM old) WHERE floor < (SELECT max(version) FROM old))
DELETE FROM opora_conversations WHERE key IN (SELECT key FROM old)";
