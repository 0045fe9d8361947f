//! Reads what an operator sees: conversations, numbers, parked turns, transitions.

use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, QueryBuilder, Row, Sqlite};

use super::failure::unavailable;
use super::opens::stored;
use super::reads::{Reads, count, json, key, read};
use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::{
    ConversationRow, Filter, Parked, ParkedId, Place, PlaceCount, Statistics, StoreResult, TransitionRow, Version,
};

impl Reads {
    pub(super) async fn list(
        &self,
        filter: &Filter,
        after: Option<&DialogueKey>,
        limit: usize,
    ) -> StoreResult<Vec<ConversationRow>> {
        let mut query = listing(filter, after);
        query.push(" ORDER BY bot, chat, user, thread, business LIMIT ").push_bind(count(limit));
        let rows = query.build().fetch_all(&self.0).await.map_err(unavailable)?;
        rows.iter().map(conversation).collect()
    }

    pub(super) async fn statistics(&self, bot: Option<i64>) -> StoreResult<Statistics> {
        let places = sqlx::query(PLACES).bind(bot).fetch_all(&self.0).await.map_err(unavailable)?;
        let row = sqlx::query(COUNTS).bind(bot).fetch_one(&self.0).await.map_err(unavailable)?;
        let mut statistics = counts(&row).map_err(unavailable)?;
        for row in &places {
            let (place, conversations) = place_count(row).map_err(unavailable)?;
            statistics.active += conversations;
            statistics.by_place.extend(place.map(|place| PlaceCount { place, conversations }));
        }
        Ok(statistics)
    }

    pub(super) async fn bots(&self) -> StoreResult<Vec<i64>> {
        let rows = sqlx::query(BOTS).fetch_all(&self.0).await.map_err(unavailable)?;
        rows.iter().map(|row| row.try_get(0).map_err(unavailable)).collect()
    }

    pub(super) async fn parked(&self, bot: Option<i64>, limit: usize) -> StoreResult<Vec<Parked>> {
        const PARKED: &str = "
            SELECT id, key, kind, body, reason, attempts, at, retry
            FROM opora_parked WHERE ?1 IS NULL OR bot = ?1 ORDER BY id LIMIT ?2";
        let rows = sqlx::query(PARKED).bind(bot).bind(count(limit)).fetch_all(&self.0).await;
        rows.map_err(unavailable)?.iter().map(read).collect()
    }

    pub(super) async fn parked_to_retry(&self, bot: i64, limit: usize) -> StoreResult<Vec<Parked>> {
        const TO_RETRY: &str = "
            SELECT id, key, kind, body, reason, attempts, at, retry
            FROM opora_parked WHERE bot = ?1 AND retry AND id > ?2 ORDER BY id LIMIT ?3";
        self.page(TO_RETRY, bot, 0, limit).await
    }

    pub(super) async fn transitions(&self, bot: i64, after: i64, limit: usize) -> StoreResult<Vec<TransitionRow>> {
        // The plus keeps SQLite from the index by age, which would have to be sorted.
        const TRANSITIONS: &str = "
            SELECT id, key, version, at, from_place, to_place, cause, took_us
            FROM opora_transitions WHERE +bot = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
        self.page(TRANSITIONS, bot, after, limit).await
    }
}

/// Only the conditions that are asked for, so that the index of the narrowest can serve.
fn listing(filter: &Filter, after: Option<&DialogueKey>) -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::new(
        "SELECT key, version, value, places, expires_at, updated_at FROM opora_conversations WHERE true",
    );
    if !filter.ended {
        query.push(" AND value IS NOT NULL");
    }
    if let Some(bot) = filter.bot {
        query.push(" AND bot = ").push_bind(bot);
    }
    if let Some(user) = filter.user {
        query.push(" AND user = ").push_bind(user);
    }
    if filter.dialogue.is_some() || filter.state.is_some() {
        query.push(" AND EXISTS (SELECT 1 FROM json_each(places) AS place WHERE true");
        if let Some(dialogue) = &filter.dialogue {
            query.push(" AND place.value->>'dialogue' = ").push_bind(dialogue.clone());
        }
        if let Some(state) = &filter.state {
            query.push(" AND place.value->>'state' = ").push_bind(state.clone());
        }
        query.push(")");
    }
    if let Some(DialogueKey { bot, chat, user, thread, business }) = after {
        query.push(" AND (bot, chat, user, thread, business) > (").push_bind(*bot);
        query.push(", ").push_bind(*chat).push(", ").push_bind(*user).push(", ").push_bind(*thread);
        query.push(", ").push_bind(business.to_string()).push(")");
    }
    query
}

fn conversation(row: &SqliteRow) -> StoreResult<ConversationRow> {
    let key = key(row, 0).map_err(unavailable)?;
    let value = row.try_get::<Option<Box<str>>, _>(2).map_err(unavailable)?;
    let expires_at = row.try_get(4).map_err(unavailable)?;
    let places = row.try_get(3).map_err(unavailable)?;
    let stored = value.map(|value| stored(&key, value, places, expires_at)).transpose()?;
    Ok(ConversationRow {
        key,
        version: Version(row.try_get(1).map_err(unavailable)?),
        stored,
        updated_at: Millis(row.try_get(5).map_err(unavailable)?),
    })
}

/// Those without a place are counted too; their names are empty.
const PLACES: &str = "
SELECT nullif(dialogue, ''), nullif(state, ''), sum(conversations) FROM opora_places
WHERE conversations > 0 AND (?1 IS NULL OR bot = ?1) GROUP BY dialogue, state ORDER BY dialogue, state";

const COUNTS: &str = "
SELECT (SELECT count(*) FROM opora_inbox WHERE ?1 IS NULL OR bot = ?1),
       (SELECT count(*) FROM opora_outbox WHERE ?1 IS NULL OR bot = ?1),
       (SELECT min(at) FROM opora_outbox WHERE ?1 IS NULL OR bot = ?1),
       (SELECT count(*) FROM opora_failed WHERE ?1 IS NULL OR bot = ?1),
       (SELECT count(*) FROM opora_timers WHERE ?1 IS NULL OR bot = ?1),
       (SELECT count(*) FROM opora_effects WHERE ?1 IS NULL OR bot = ?1),
       (SELECT count(*) FROM opora_parked WHERE ?1 IS NULL OR bot = ?1)";

/// The next bot is found in an index without reading the conversations of this one.
const BOTS: &str = "
WITH RECURSIVE talking (bot) AS (
    SELECT min(bot) FROM opora_conversations
    UNION ALL
    SELECT (SELECT min(bot) FROM opora_conversations WHERE bot > talking.bot) FROM talking WHERE talking.bot IS NOT NULL)
SELECT bot FROM talking WHERE bot IS NOT NULL
UNION SELECT bot FROM opora_leases
UNION SELECT bot FROM opora_inbox
UNION SELECT bot FROM opora_outbox
UNION SELECT bot FROM opora_parked
ORDER BY 1";

fn counts(row: &SqliteRow) -> sqlx::Result<Statistics> {
    Ok(Statistics {
        active: 0,
        by_place: Vec::new(),
        inbox: row.try_get(0)?,
        outbox: row.try_get(1)?,
        outbox_oldest: row.try_get::<Option<i64>, _>(2)?.map(Millis),
        failed: row.try_get(3)?,
        timers: row.try_get(4)?,
        effects: row.try_get(5)?,
        parked: row.try_get(6)?,
    })
}

fn place_count(row: &SqliteRow) -> sqlx::Result<(Option<Place>, i64)> {
    let (dialogue, state) = (row.try_get::<Option<Box<str>>, _>(0)?, row.try_get::<Option<Box<str>>, _>(1)?);
    Ok((dialogue.zip(state).map(|(dialogue, state)| Place { dialogue, state }), row.try_get(2)?))
}

impl FromRow<'_, SqliteRow> for Parked {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: ParkedId(row.try_get(0)?),
            key: key(row, 1)?,
            kind: row.try_get(2)?,
            body: row.try_get(3)?,
            reason: row.try_get(4)?,
            attempts: row.try_get(5)?,
            at: Millis(row.try_get(6)?),
            retry: row.try_get(7)?,
        })
    }
}

impl FromRow<'_, SqliteRow> for TransitionRow {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get(0)?,
            key: key(row, 1)?,
            version: Version(row.try_get(2)?),
            at: Millis(row.try_get(3)?),
            from: json(row, 4)?,
            to: json(row, 5)?,
            by: row.try_get(6)?,
            took_us: row.try_get(7)?,
        })
    }
}
