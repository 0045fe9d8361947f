//! Operations that are carried out alone, within the group's transaction: leases, cleaning, the operator's hand.

use sqlx::{Row, SqliteConnection};

use super::bulk::Bulk;
use super::facts::Facts;
use super::failure::GroupFailed;
use super::operation::{Alone, Decided};
use super::writer::told;
use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::{ConversationRow, Epoch, Holder, Lease, LeaseAnswer, ParkedId, StoreResult, Version};

/// How many rows of a table one call of `clean` removes.
const CLEAN_LIMIT: i64 = 5_000;

impl Alone {
    /// Carries it out and keeps its answer for the commit.
    pub(super) async fn carry_out(self, connection: &mut SqliteConnection) -> Result<Decided, GroupFailed> {
        match self {
            Self::Claim { bot, holder, seen, reply } => {
                told(reply, claim(connection, bot, &holder, seen.as_deref()).await.map(Ok))
            }
            Self::Release { bot, epoch, reply } => told(reply, release(connection, bot, epoch).await),
            Self::ClearLease { bot, reply } => told(reply, let_go(connection, bot).await.map(Ok)),
            Self::Clean { epoch, marks_before, records_before, reply } => {
                told(reply, clean(connection, epoch, marks_before, records_before).await)
            }
            Self::Reset { key, now, reply } => told(reply, reset(connection, &key, now).await.map(Ok)),
            Self::Import { row, replace, reply } => told(reply, import(connection, &row, replace).await.map(Ok)),
            Self::RetryParked { id, reply } => told(reply, touch(connection, RETRY_PARKED, id).await.map(Ok)),
            Self::DropParked { id, reply } => told(reply, touch(connection, DROP_PARKED, id).await.map(Ok)),
        }
    }
}

/// The lease of a bot, if somebody holds it.
pub(super) async fn lease(connection: &mut SqliteConnection, bot: i64) -> Result<Option<Lease>, GroupFailed> {
    let row = sqlx::query("SELECT epoch, renewals, holder FROM opora_leases WHERE bot = ?1 AND holder IS NOT NULL")
        .bind(bot)
        .fetch_optional(connection)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let holder: Holder = serde_json::from_str(row.try_get(2)?)?;
    Ok(Some(Lease { epoch: Epoch(row.try_get(0)?), holder, renewals: row.try_get(1)? }))
}

async fn claim(
    connection: &mut SqliteConnection,
    bot: i64,
    holder: &Holder,
    seen: Option<&Lease>,
) -> Result<LeaseAnswer, GroupFailed> {
    if let Some(held) = lease(connection, bot).await?
        && !seen.is_some_and(|seen| is_unchanged(seen, &held))
    {
        return Ok(LeaseAnswer::Held(Box::new(held)));
    }
    let row = sqlx::query(CLAIM).bind(bot).bind(serde_json::to_string(holder)?).fetch_one(connection);
    Ok(LeaseAnswer::Granted(Epoch(row.await?.try_get(0)?)))
}

/// Epochs rise over all bots of the file: so an epoch alone says whose it is, and the numbers of two bots never meet.
const CLAIM: &str = "
INSERT INTO opora_leases (bot, epoch, holder, renewals, numbers)
VALUES (?1, (SELECT coalesce(max(epoch), 0) + 1 FROM opora_leases), ?2, 0, 0)
ON CONFLICT (bot) DO UPDATE SET
    epoch = excluded.epoch, holder = excluded.holder, renewals = 0, numbers = 0
RETURNING epoch";

/// Nothing happened to the lease since it was seen.
fn is_unchanged(seen: &Lease, held: &Lease) -> bool {
    seen.epoch == held.epoch && seen.renewals == held.renewals && seen.holder.token == held.holder.token
}

async fn release(connection: &mut SqliteConnection, bot: i64, epoch: Epoch) -> Result<StoreResult<()>, GroupFailed> {
    if let Err(refused) = Facts::read(connection, &[]).await?.lease_of(bot, epoch) {
        return Ok(Err(refused));
    }
    let_go(connection, bot).await.map(Ok)
}

/// The epoch stays, so that the next one is higher.
async fn let_go(connection: &mut SqliteConnection, bot: i64) -> Result<(), GroupFailed> {
    sqlx::query("UPDATE opora_leases SET holder = NULL WHERE bot = ?1").bind(bot).execute(connection).await?;
    Ok(())
}

async fn clean(
    connection: &mut SqliteConnection,
    epoch: Epoch,
    marks_before: Millis,
    records_before: Millis,
) -> Result<StoreResult<u64>, GroupFailed> {
    let bot = match Facts::read(connection, &[]).await?.bot_of(epoch) {
        Ok(bot) => bot,
        Err(refused) => return Ok(Err(refused)),
    };
    let mut removed = 0;
    let tables = [
        (CLEAN_MARKS, marks_before),
        (CLEAN_POSTS, marks_before),
        (CLEAN_TRANSITIONS, records_before),
        (CLEAN_FAILED, records_before),
        // Its rows are counted by the next one.
        (RAISE_FLOOR, records_before),
        (CLEAN_ENDED, records_before),
    ];
    for (statement, before) in tables {
        let done = sqlx::query(statement).bind(bot).bind(before.0).bind(CLEAN_LIMIT).execute(&mut *connection).await?;
        if statement != RAISE_FLOOR {
            removed += done.rows_affected();
        }
    }
    Ok(Ok(removed))
}

const CLEAN_MARKS: &str = "
DELETE FROM opora_marks WHERE (bot, update_id, identity) IN (
    SELECT bot, update_id, identity FROM opora_marks WHERE bot = ?1 AND taken_at < ?2 ORDER BY taken_at LIMIT ?3)";

const CLEAN_POSTS: &str = "
DELETE FROM opora_posts WHERE (once, bot) IN (SELECT once, bot FROM opora_posts WHERE bot = ?1 AND at < ?2 LIMIT ?3)";

const CLEAN_TRANSITIONS: &str = "
DELETE FROM opora_transitions
WHERE id IN (SELECT id FROM opora_transitions WHERE bot = ?1 AND at < ?2 ORDER BY at LIMIT ?3)";

const CLEAN_FAILED: &str = "
DELETE FROM opora_failed WHERE id IN (SELECT id FROM opora_failed WHERE bot = ?1 AND at < ?2 ORDER BY at LIMIT ?3)";

/// A conversation that is forgotten must not begin anew at a version that it had before.
const RAISE_FLOOR: &str = "
UPDATE opora_version_floor SET floor = max(floor, coalesce((
    SELECT max(version) FROM (
        SELECT version FROM opora_conversations
        WHERE value IS NULL AND bot = ?1 AND updated_at < ?2 ORDER BY updated_at, rowid LIMIT ?3)), 0))";

const CLEAN_ENDED: &str = "
DELETE FROM opora_conversations WHERE rowid IN (
    SELECT rowid FROM opora_conversations
    WHERE value IS NULL AND bot = ?1 AND updated_at < ?2 ORDER BY updated_at, rowid LIMIT ?3)";

async fn reset(connection: &mut SqliteConnection, key: &DialogueKey, now: Millis) -> Result<bool, GroupFailed> {
    let done = sqlx::query(RESET).bind(key.to_string()).bind(now.0).execute(connection).await?;
    Ok(done.rows_affected() > 0)
}

const RESET: &str = "
UPDATE opora_conversations
SET version = version + 1, value = NULL, places = '[]', dialogue = NULL, state = NULL, expires_at = NULL,
    expires_minute = NULL, updated_at = ?2
WHERE key = ?1 AND value IS NOT NULL";

async fn import(connection: &mut SqliteConnection, row: &ConversationRow, replace: bool) -> Result<bool, GroupFailed> {
    let key = row.key.to_string();
    let found = sqlx::query(
        "SELECT coalesce((SELECT version FROM opora_conversations WHERE key = ?1), floor) + 1,
                EXISTS (SELECT 1 FROM opora_conversations WHERE key = ?1 AND value IS NOT NULL)
         FROM opora_version_floor",
    )
    .bind(&key)
    .fetch_one(&mut *connection)
    .await?;
    if found.try_get::<bool, _>(1)? && !replace {
        return Ok(false);
    }
    // A turn that is under way must notice that the conversation was changed beneath it.
    let version = row.version.max(Version(found.try_get(0)?));
    let mut bulk = Bulk::default();
    bulk.change(&key, &row.key, version, row.stored.as_ref(), row.updated_at)?;
    bulk.write(connection).await?;
    Ok(true)
}

const RETRY_PARKED: &str = "UPDATE opora_parked SET retry = 1 WHERE id = ?1";

const DROP_PARKED: &str = "DELETE FROM opora_parked WHERE id = ?1";

async fn touch(connection: &mut SqliteConnection, statement: &'static str, id: ParkedId) -> Result<bool, GroupFailed> {
    Ok(sqlx::query(statement).bind(id.0).execute(connection).await?.rows_affected() > 0)
}
