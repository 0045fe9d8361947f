//! Reads for operators: conversations, statistics, failed messages, parked turns, transitions.

use sqlx::{AssertSqlSafe, SqlSafeStr};

use super::columns::{Columns, ReadConnections, Value, count, values};
use super::failure::unavailable;
use super::opens::stored;
use super::reads::{self, Reads};
use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::{
    ConversationRow, FailedRow, Filter, OutboxId, OutboxRow, ParkedId, ParkedTurn, StateCount, StateName, Statistics,
    StoreResult, TransitionRow, Version,
};

/// Selects the columns that [`parked`] reads.
macro_rules! parked {
    ($condition:literal) => {
        concat!("SELECT id, key, kind, body, reason, attempts, at, retry FROM opora_parked WHERE ", $condition)
    };
}

impl<P: ReadConnections> Reads<P> {
    pub(crate) async fn list(
        &self,
        filter: &Filter,
        after: Option<&ConversationKey>,
        limit: usize,
    ) -> StoreResult<Vec<ConversationRow>> {
        let Listing { mut query, mut values } = listing(filter, after, P::EACH_STATE);
        values.push(Value::Number(count(limit)));
        query.push_str(&format!(" ORDER BY bot, chat, \"user\", thread, business LIMIT ${}", values.len()));
        let rows = self.0.rows_for_operator(AssertSqlSafe(query).into_sql_str(), values).await.map_err(unavailable)?;
        rows.iter().map(conversation).collect()
    }

    pub(crate) async fn statistics(&self, bot: Option<i64>) -> StoreResult<Statistics> {
        let state_counts = self.read_for_operator(STATE_COUNTS, values![bot], state_count).await?;
        let counted = self.read_for_operator(COUNTS, values![bot], counts).await?.pop();
        let mut statistics = counted.unwrap_or_default();
        for (state, conversations) in state_counts {
            statistics.active += conversations;
            statistics.by_state.extend(state.map(|state| StateCount { state, conversations }));
        }
        Ok(statistics)
    }

    pub(crate) async fn bots(&self) -> StoreResult<Vec<i64>> {
        self.read_for_operator(BOTS, Vec::new(), |row| row.number(0)).await
    }

    pub(crate) async fn failed_after(
        &self,
        bot: i64,
        after: Option<(Millis, OutboxId)>,
        limit: usize,
    ) -> StoreResult<Vec<FailedRow>> {
        const FAILED_AFTER: &str = "
            SELECT id, key, chat, method, body, rest, false, at, reason
            FROM opora_failed WHERE bot = $1 AND (at, id) > ($2, $3) ORDER BY at, id LIMIT $4";
        let (at, id) = after.unwrap_or((Millis(i64::MIN), OutboxId(i64::MIN)));
        let values = [bot, at.0, id.0, count(limit)].map(Value::Number);
        self.read(FAILED_AFTER, values.into(), failed).await
    }

    pub(crate) async fn parked(&self, bot: Option<i64>, limit: usize) -> StoreResult<Vec<ParkedTurn>> {
        const ALL: &str = parked!("$1 IS NULL OR bot = $1 ORDER BY id LIMIT $2");
        self.read(ALL, values![bot, count(limit)], parked).await
    }

    pub(crate) async fn parked_by_id(&self, id: ParkedId) -> StoreResult<Option<ParkedTurn>> {
        Ok(self.read(parked!("id = $1"), values![id.0], parked).await?.pop())
    }

    pub(crate) async fn parked_to_retry(&self, bot: i64, limit: usize) -> StoreResult<Vec<ParkedTurn>> {
        const TO_RETRY: &str = parked!("bot = $1 AND retry AND id > $2 ORDER BY id LIMIT $3");
        self.page(TO_RETRY, bot, 0, limit, parked).await
    }

    pub(crate) async fn transitions(&self, bot: i64, after: i64, limit: usize) -> StoreResult<Vec<TransitionRow>> {
        // The plus keeps SQLite from using the index by age, which would need a sort.
        const TRANSITIONS: &str = "
            SELECT id, key, version, at, from_state, to_state, cause, took_us
            FROM opora_transitions WHERE +bot = $1 AND id > $2 ORDER BY id LIMIT $3";
        self.page(TRANSITIONS, bot, after, limit, transition).await
    }

    pub(crate) async fn transitions_of(
        &self,
        key: &ConversationKey,
        after: i64,
        limit: usize,
    ) -> StoreResult<Vec<TransitionRow>> {
        // The index is by ranges of 4096 ids, so that turns write to the same index pages. The query visits every range
        // that exists.
        const TRANSITIONS_OF: &str = "
            WITH RECURSIVE stretch (no) AS (
                SELECT min(id) >> 12 FROM opora_transitions WHERE id > $2
                UNION ALL
                SELECT (SELECT min(id) >> 12 FROM opora_transitions WHERE id >= (stretch.no + 1) << 12)
                FROM stretch WHERE stretch.no IS NOT NULL
            )
            SELECT id, key, version, at, from_state, to_state, cause, took_us
            FROM stretch JOIN opora_transitions ON id >> 12 = stretch.no AND key = $1 AND id > $2
            ORDER BY id LIMIT $3";
        self.page_of(TRANSITIONS_OF, key, after, limit, transition).await
    }
}

struct Listing {
    query: String,
    values: Vec<Value>,
}

impl Listing {
    /// Adds a condition that ends with a value.
    fn and(&mut self, condition: &str, value: Value) {
        self.values.push(value);
        self.query.push_str(&format!(" AND {condition} ${}", self.values.len()));
    }
}

/// Adds only the conditions of the filter, so that the best index is used.
fn listing(filter: &Filter, after: Option<&ConversationKey>, each_state: &str) -> Listing {
    let query = "SELECT key, version, value, states, expires_at, updated_at FROM opora_conversations WHERE true";
    let mut listing = Listing { query: query.to_owned(), values: Vec::new() };
    if !filter.ended {
        listing.query.push_str(" AND value IS NOT NULL");
    }
    if let Some(bot) = filter.bot {
        listing.and("bot =", Value::Number(bot));
    }
    if let Some(user) = filter.user {
        listing.and("\"user\" =", Value::Number(user));
    }
    if filter.dialogue.is_some() || filter.state.is_some() {
        listing.query.push_str(&format!(" AND EXISTS (SELECT 1 FROM {each_state} AS found WHERE true"));
        if let Some(dialogue) = &filter.dialogue {
            listing.and("found.value->>'dialogue' =", Value::Text(dialogue.clone()));
        }
        if let Some(state) = &filter.state {
            listing.and("found.value->>'state' =", Value::Text(state.clone()));
        }
        listing.query.push(')');
    }
    if let Some(ConversationKey { bot, chat, user, thread, business }) = after {
        let first = listing.values.len() + 1;
        let placeholders = (first..first + 5).map(|number| format!("${number}")).collect::<Vec<_>>().join(", ");
        listing.query.push_str(&format!(" AND (bot, chat, \"user\", thread, business) > ({placeholders})"));
        listing.values.extend([bot, chat, user, thread].map(|number| Value::Number(*number)));
        listing.values.push(Value::Text(business.to_string()));
    }
    listing
}

fn failed(row: &impl Columns) -> sqlx::Result<FailedRow> {
    let OutboxRow { id, key, outgoing, at, .. } = reads::call(row)?;
    Ok(FailedRow { id, key, outgoing, reason: row.text(8)?, at })
}

fn conversation(row: &impl Columns) -> StoreResult<ConversationRow> {
    let key = row.key(0).map_err(unavailable)?;
    let value = row.maybe_text::<Box<str>>(2).map_err(unavailable)?;
    let expires_at = row.maybe_number(4).map_err(unavailable)?;
    let states = row.maybe_str(3).map_err(unavailable)?;
    let stored = value.map(|value| stored(&key, value, states.as_deref(), expires_at)).transpose()?;
    Ok(ConversationRow {
        key,
        version: Version(row.number(1).map_err(unavailable)?),
        stored,
        updated_at: Millis(row.number(5).map_err(unavailable)?),
    })
}

/// Counts conversations by state. Those without a state name have empty names.
const STATE_COUNTS: &str = "
SELECT nullif(dialogue, ''), nullif(state, ''), CAST(sum(conversations) AS BIGINT) FROM opora_state_counts
WHERE $1 IS NULL OR bot = $1 GROUP BY dialogue, state HAVING sum(conversations) > 0 ORDER BY dialogue, state";

const COUNTS: &str = "
SELECT (SELECT count(*) FROM opora_inbox WHERE $1 IS NULL OR bot = $1),
       (SELECT min(at) FROM opora_inbox WHERE $1 IS NULL OR bot = $1),
       (SELECT count(*) FROM opora_outbox WHERE $1 IS NULL OR bot = $1),
       (SELECT min(at) FROM opora_outbox WHERE $1 IS NULL OR bot = $1),
       (SELECT count(*) FROM opora_failed WHERE $1 IS NULL OR bot = $1),
       (SELECT count(*) FROM opora_timers WHERE $1 IS NULL OR bot = $1),
       (SELECT count(*) FROM opora_effects WHERE $1 IS NULL OR bot = $1),
       (SELECT min(at) FROM opora_effects WHERE $1 IS NULL OR bot = $1),
       (SELECT count(*) FROM opora_parked WHERE $1 IS NULL OR bot = $1)";

/// Finds each next bot by the index, without reading the conversations of a bot.
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

fn counts(row: &impl Columns) -> sqlx::Result<Statistics> {
    Ok(Statistics {
        active: 0,
        by_state: Vec::new(),
        inbox: row.number(0)?,
        inbox_oldest: row.maybe_number(1)?.map(Millis),
        outbox: row.number(2)?,
        outbox_oldest: row.maybe_number(3)?.map(Millis),
        failed: row.number(4)?,
        timers: row.number(5)?,
        effects: row.number(6)?,
        effects_oldest: row.maybe_number(7)?.map(Millis),
        parked: row.number(8)?,
    })
}

fn state_count(row: &impl Columns) -> sqlx::Result<(Option<StateName>, i64)> {
    let dialogue = row.maybe_text::<Box<str>>(0)?;
    let state = row.maybe_text::<Box<str>>(1)?;
    Ok((dialogue.zip(state).map(|(dialogue, state)| StateName { dialogue, state }), row.number(2)?))
}

fn parked(row: &impl Columns) -> sqlx::Result<ParkedTurn> {
    let attempts = u32::try_from(row.number(5)?).map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
    Ok(ParkedTurn {
        id: ParkedId(row.number(0)?),
        key: row.key(1)?,
        kind: row.text(2)?,
        body: row.text(3)?,
        reason: row.text(4)?,
        attempts,
        at: Millis(row.number(6)?),
        retry: row.flag(7)?,
    })
}

fn transition(row: &impl Columns) -> sqlx::Result<TransitionRow> {
    Ok(TransitionRow {
        id: row.number(0)?,
        key: row.key(1)?,
        version: Version(row.number(2)?),
        at: Millis(row.number(3)?),
        from: row.json(4)?,
        to: row.json(5)?,
        by: row.text(6)?,
        took_us: row.number(7)?,
    })
}
