//! Reads what waits and what is due, on connections of their own.
//!
//! In write-ahead mode a reader sees everything that was answered before it asked, and neither waits for the writer nor
//! holds it up.

use serde::de::DeserializeOwned;
use sqlx::sqlite::{SqlitePool, SqlitePoolOptions, SqliteRow};
use sqlx::{FromRow, Row};

use super::alone;
use super::failure::unavailable;
use super::file::DatabaseFile;
use super::plan::Rest;
use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::{
    Effect, EffectId, EffectRow, IfUnsure, InboxRow, Incoming, Lease, Mark, Origin, OutboxId, OutboxRow, Outgoing, Seq,
    StoreResult, TimerId, TimerRow,
};

/// How many may read at once.
const READERS: u32 = 3;

/// The connections that read.
#[derive(Debug)]
pub(super) struct Reads(pub(super) SqlitePool);

impl Reads {
    pub(super) fn of(file: &DatabaseFile) -> Self {
        let options = SqlitePoolOptions::new().max_connections(READERS).test_before_acquire(false);
        Self(options.connect_lazy_with(file.reading()))
    }

    pub(super) async fn lease(&self, bot: i64) -> StoreResult<Option<Lease>> {
        let mut connection = self.0.acquire().await.map_err(unavailable)?;
        Ok(alone::lease(&mut connection, bot).await?)
    }

    pub(super) async fn waiting(&self, bot: i64, after: Seq, limit: usize) -> StoreResult<Vec<InboxRow>> {
        const WAITING: &str = "
            SELECT seq, key, update_id, identity, effect, body, at, bot
            FROM opora_inbox WHERE bot = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";
        self.page(WAITING, bot, after.0, limit).await
    }

    pub(super) async fn waiting_for(&self, key: &DialogueKey, after: Seq, limit: usize) -> StoreResult<Vec<InboxRow>> {
        const WAITING_FOR: &str = "
            SELECT seq, key, update_id, identity, effect, body, at, bot
            FROM opora_inbox WHERE key = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";
        let rows = sqlx::query(WAITING_FOR).bind(key.to_string()).bind(after.0).bind(count(limit)).fetch_all(&self.0);
        rows.await.map_err(unavailable)?.iter().map(read).collect()
    }

    pub(super) async fn unsent(&self, bot: i64, after: OutboxId, limit: usize) -> StoreResult<Vec<OutboxRow>> {
        const UNSENT: &str = "
            SELECT id, key, chat, method, body, rest, sending, at
            FROM opora_outbox WHERE bot = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
        self.page(UNSENT, bot, after.0, limit).await
    }

    pub(super) async fn effects(&self, bot: i64, after: EffectId, limit: usize) -> StoreResult<Vec<EffectRow>> {
        const EFFECTS: &str = "
            SELECT id, key, kind, body, at FROM opora_effects WHERE bot = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
        self.page(EFFECTS, bot, after.0, limit).await
    }

    pub(super) async fn due_timers(&self, bot: i64, now: Millis, limit: usize) -> StoreResult<Vec<TimerRow>> {
        const DUE: &str = "
            SELECT id, key, name, due_at, body
            FROM opora_timers WHERE bot = ?1 AND due_at <= ?2 ORDER BY due_at, id LIMIT ?3";
        self.page(DUE, bot, now.0, limit).await
    }

    pub(super) async fn expired(&self, bot: i64, now: Millis, limit: usize) -> StoreResult<Vec<DialogueKey>> {
        const EXPIRED: &str = "
            SELECT key FROM opora_conversations
            WHERE bot = ?1 AND expires_minute <= ?2 / 60000 AND expires_at <= ?2
            ORDER BY expires_minute, expires_at LIMIT ?3";
        let keys: Vec<KeyOnly> = self.page(EXPIRED, bot, now.0, limit).await?;
        Ok(keys.into_iter().map(|KeyOnly(key)| key).collect())
    }

    pub(super) async fn next_due(&self, bot: i64) -> StoreResult<Option<Millis>> {
        const NEXT: &str = "
            SELECT min(at) FROM (
                SELECT min(due_at) AS at FROM opora_timers WHERE bot = ?1
                UNION ALL
                SELECT min(expires_at) FROM opora_conversations WHERE bot = ?1 AND expires_minute = (
                    SELECT min(expires_minute) FROM opora_conversations
                    WHERE bot = ?1 AND expires_minute IS NOT NULL))";
        let row = sqlx::query(NEXT).bind(bot).fetch_one(&self.0).await.map_err(unavailable)?;
        Ok(row.try_get::<Option<i64>, _>(0).map_err(unavailable)?.map(Millis))
    }

    pub(super) async fn labelled(&self, bot: i64, chat: i64, label: &str) -> StoreResult<Option<i64>> {
        const LABELLED: &str = "SELECT message FROM opora_labels WHERE bot = ?1 AND chat = ?2 AND label = ?3";
        let row = sqlx::query(LABELLED).bind(bot).bind(chat).bind(label).fetch_optional(&self.0);
        row.await.map_err(unavailable)?.map(|row| row.try_get(0)).transpose().map_err(unavailable)
    }

    /// The rows of a bot from somewhere on.
    pub(super) async fn page<T>(&self, query: &'static str, bot: i64, from: i64, limit: usize) -> StoreResult<Vec<T>>
    where
        T: for<'r> FromRow<'r, SqliteRow>,
    {
        let rows = sqlx::query(query).bind(bot).bind(from).bind(count(limit)).fetch_all(&self.0);
        rows.await.map_err(unavailable)?.iter().map(read).collect()
    }
}

/// A limit as SQLite counts.
pub(super) fn count(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// A row as the store's callers know it.
pub(super) fn read<T>(row: &SqliteRow) -> StoreResult<T>
where
    T: for<'r> FromRow<'r, SqliteRow>,
{
    T::from_row(row).map_err(unavailable)
}

/// The key in a row.
pub(super) fn key(row: &SqliteRow, column: usize) -> sqlx::Result<DialogueKey> {
    row.try_get::<&str, _>(column)?.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

/// The JSON in a row, where there is one.
pub(super) fn json<T: DeserializeOwned>(row: &SqliteRow, column: usize) -> sqlx::Result<Option<T>> {
    let text = row.try_get::<Option<&str>, _>(column)?;
    text.map(serde_json::from_str).transpose().map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

struct KeyOnly(DialogueKey);

impl FromRow<'_, SqliteRow> for KeyOnly {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        key(row, 0).map(Self)
    }
}

impl FromRow<'_, SqliteRow> for InboxRow {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        let origin = match row.try_get::<Option<i64>, _>(4)? {
            Some(effect) => Origin::Outcome(EffectId(effect)),
            None => {
                Origin::Update(Mark { bot: row.try_get(7)?, update_id: row.try_get(2)?, identity: row.try_get(3)? })
            }
        };
        let incoming = Incoming { key: key(row, 1)?, origin, body: row.try_get(5)?, at: Millis(row.try_get(6)?) };
        Ok(Self { seq: Seq(row.try_get(0)?), incoming })
    }
}

impl FromRow<'_, SqliteRow> for OutboxRow {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        let Rest { uploads, if_unsure, label, edits_label } = json(row, 5)?.unwrap_or_default();
        let (chat, method, body) = (row.try_get(2)?, row.try_get(3)?, row.try_get(4)?);
        Ok(Self {
            id: OutboxId(row.try_get(0)?),
            key: key(row, 1)?,
            outgoing: Outgoing { chat, method, body, uploads, if_unsure, label, edits_label },
            was_sending: row.try_get::<bool, _>(6)? && if_unsure == IfUnsure::Drop,
            at: Millis(row.try_get(7)?),
        })
    }
}

impl FromRow<'_, SqliteRow> for EffectRow {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: EffectId(row.try_get(0)?),
            key: key(row, 1)?,
            effect: Effect { kind: row.try_get(2)?, body: row.try_get(3)? },
            at: Millis(row.try_get(4)?),
        })
    }
}

impl FromRow<'_, SqliteRow> for TimerRow {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: TimerId(row.try_get(0)?),
            key: key(row, 1)?,
            name: row.try_get(2)?,
            due_at: Millis(row.try_get(3)?),
            body: row.try_get(4)?,
        })
    }
}
