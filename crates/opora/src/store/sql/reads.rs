//! Reads waiting and due rows, on connections of their own.
//!
//! A reader sees everything that was committed before it asked. Readers and writers do not wait for each other.

use sqlx::SqlSafeStr;

use super::columns::{Columns, ReadConnections, Value, count, values};
use super::failure::unavailable;
use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::{
    Effect, EffectId, EffectRow, Epoch, IfUnsure, InboxRow, Incoming, Lease, Mark, Origin, OutboxId, OutboxRow,
    Outgoing, OutgoingExtras, Seq, StoreResult, TimerId, TimerRow,
};

/// The lease of a bot; readers and writers use this query.
pub(crate) const LEASE: &str = "SELECT epoch, renewals, holder FROM opora_leases WHERE bot = $1 AND holder IS NOT NULL";

#[derive(Debug)]
pub(crate) struct Reads<P>(pub(in crate::store) P);

impl<P: ReadConnections> Reads<P> {
    pub(crate) async fn lease(&self, bot: i64) -> StoreResult<Option<Lease>> {
        Ok(self.read(LEASE, values![bot], lease).await?.pop())
    }

    pub(crate) async fn waiting(&self, bot: i64, after: Seq, limit: usize) -> StoreResult<Vec<InboxRow>> {
        const WAITING: &str = "
            SELECT seq, key, update_id, identity, effect, body, at, bot
            FROM opora_inbox WHERE bot = $1 AND seq > $2 ORDER BY seq LIMIT $3";
        self.page(WAITING, bot, after.0, limit, input).await
    }

    pub(crate) async fn waiting_for(
        &self,
        key: &ConversationKey,
        after: Seq,
        limit: usize,
    ) -> StoreResult<Vec<InboxRow>> {
        const WAITING_FOR: &str = "
            SELECT seq, key, update_id, identity, effect, body, at, bot
            FROM opora_inbox WHERE key = $1 AND seq > $2 ORDER BY seq LIMIT $3";
        self.page_of(WAITING_FOR, key, after.0, limit, input).await
    }

    pub(crate) async fn backlog(&self, bot: i64, limit: usize) -> StoreResult<usize> {
        const BACKLOG: &str = "SELECT count(*) FROM (SELECT 1 FROM opora_inbox WHERE bot = $1 LIMIT $2) AS waiting";
        let counted = self.read(BACKLOG, values![bot, count(limit)], |row| row.number(0));
        Ok(counted.await?.pop().and_then(|number| usize::try_from(number).ok()).unwrap_or_default())
    }

    pub(crate) async fn unsent(&self, bot: i64, after: OutboxId, limit: usize) -> StoreResult<Vec<OutboxRow>> {
        const UNSENT: &str = "
            SELECT id, key, chat, method, body, rest, sending, at
            FROM opora_outbox WHERE bot = $1 AND id > $2 ORDER BY id LIMIT $3";
        self.page(UNSENT, bot, after.0, limit, call).await
    }

    pub(crate) async fn effects(&self, bot: i64, after: EffectId, limit: usize) -> StoreResult<Vec<EffectRow>> {
        const EFFECTS: &str = "
            SELECT id, key, kind, body, at FROM opora_effects WHERE bot = $1 AND id > $2 ORDER BY id LIMIT $3";
        self.page(EFFECTS, bot, after.0, limit, effect).await
    }

    pub(crate) async fn due_timers(&self, bot: i64, now: Millis, limit: usize) -> StoreResult<Vec<TimerRow>> {
        const DUE: &str = "
            SELECT id, key, name, due_at, body
            FROM opora_timers WHERE bot = $1 AND due_at <= $2 ORDER BY due_at, id LIMIT $3";
        self.page(DUE, bot, now.0, limit, timer).await
    }

    pub(crate) async fn expired(&self, bot: i64, now: Millis, limit: usize) -> StoreResult<Vec<ConversationKey>> {
        const EXPIRED: &str = "
            SELECT key FROM opora_conversations
            WHERE bot = $1 AND expires_minute <= $2 / 60000 AND expires_at <= $2
            ORDER BY expires_minute, expires_at LIMIT $3";
        self.page(EXPIRED, bot, now.0, limit, |row| row.key(0)).await
    }

    pub(crate) async fn next_due(&self, bot: i64) -> StoreResult<Option<Millis>> {
        const NEXT: &str = "
            SELECT min(at) FROM (
                SELECT min(due_at) AS at FROM opora_timers WHERE bot = $1
                UNION ALL
                SELECT min(expires_at) FROM opora_conversations WHERE bot = $1 AND expires_minute = (
                    SELECT min(expires_minute) FROM opora_conversations
                    WHERE bot = $1 AND expires_minute IS NOT NULL)) AS due";
        let next = self.read(NEXT, values![bot], |row| row.maybe_number(0)).await?;
        Ok(next.into_iter().flatten().next().map(Millis))
    }

    pub(crate) async fn labelled(&self, bot: i64, chat: i64, label: &str) -> StoreResult<Option<i64>> {
        const LABELLED: &str = "SELECT message FROM opora_labels WHERE bot = $1 AND chat = $2 AND label = $3";
        let values = values![bot, chat, label.to_owned()];
        Ok(self.read(LABELLED, values, |row| row.number(0)).await?.pop())
    }

    pub(super) async fn page_of<T: Send>(
        &self,
        query: impl SqlSafeStr,
        key: &ConversationKey,
        from: i64,
        limit: usize,
        read: fn(&P::Row) -> sqlx::Result<T>,
    ) -> StoreResult<Vec<T>> {
        let values = values![key.to_string(), from, count(limit)];
        self.read(query, values, read).await
    }

    pub(super) async fn page<T: Send>(
        &self,
        query: impl SqlSafeStr,
        bot: i64,
        from: i64,
        limit: usize,
        read: fn(&P::Row) -> sqlx::Result<T>,
    ) -> StoreResult<Vec<T>> {
        let values = values![bot, from, count(limit)];
        self.read(query, values, read).await
    }

    /// The rows of a query, converted by `read`.
    pub(crate) async fn read<T: Send>(
        &self,
        query: impl SqlSafeStr,
        values: Vec<Value>,
        read: fn(&P::Row) -> sqlx::Result<T>,
    ) -> StoreResult<Vec<T>> {
        let rows = self.0.rows(query.into_sql_str(), values).await.map_err(unavailable)?;
        rows.iter().map(read).collect::<sqlx::Result<_>>().map_err(unavailable)
    }

    /// Runs a query for an operator, with a longer timeout.
    pub(crate) async fn read_for_operator<T: Send>(
        &self,
        query: impl SqlSafeStr,
        values: Vec<Value>,
        read: fn(&P::Row) -> sqlx::Result<T>,
    ) -> StoreResult<Vec<T>> {
        let rows = self.0.rows_for_operator(query.into_sql_str(), values).await.map_err(unavailable)?;
        rows.iter().map(read).collect::<sqlx::Result<_>>().map_err(unavailable)
    }
}

pub(crate) fn lease(row: &impl Columns) -> sqlx::Result<Lease> {
    let holder = row.json(2)?.ok_or_else(|| sqlx::Error::Decode("a lease without a holder".into()))?;
    Ok(Lease { epoch: Epoch(row.number(0)?), holder, renewals: row.number(1)? })
}

fn input(row: &impl Columns) -> sqlx::Result<InboxRow> {
    let origin = match row.maybe_number(4)? {
        Some(effect) => Origin::Outcome(EffectId(effect)),
        None => Origin::Update(Mark { bot: row.number(7)?, update_id: row.number(2)?, identity: row.text(3)? }),
    };
    let incoming = Incoming { key: row.key(1)?, origin, body: row.text(5)?, at: Millis(row.number(6)?) };
    Ok(InboxRow { seq: Seq(row.number(0)?), incoming })
}

pub(super) fn call(row: &impl Columns) -> sqlx::Result<OutboxRow> {
    let extras: OutgoingExtras = row.json(5)?.unwrap_or_default();
    let chat = row.maybe_number(2)?;
    let method = row.text(3)?;
    let body = row.text(4)?;
    Ok(OutboxRow {
        id: OutboxId(row.number(0)?),
        key: row.key(1)?,
        was_sending: row.flag(6)? && extras.if_unsure == IfUnsure::Drop,
        outgoing: Outgoing { chat, method, body, extras },
        at: Millis(row.number(7)?),
    })
}

fn effect(row: &impl Columns) -> sqlx::Result<EffectRow> {
    Ok(EffectRow {
        id: EffectId(row.number(0)?),
        key: row.key(1)?,
        effect: Effect { kind: row.text(2)?, body: row.text(3)? },
        at: Millis(row.number(4)?),
    })
}

fn timer(row: &impl Columns) -> sqlx::Result<TimerRow> {
    Ok(TimerRow {
        id: TimerId(row.number(0)?),
        key: row.key(1)?,
        name: row.text(2)?,
        due_at: Millis(row.number(3)?),
        body: row.text(4)?,
    })
}
