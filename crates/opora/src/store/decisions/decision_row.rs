//! The row of a decision, inserted in the transaction of the application's writes.
//!
//! It is refused as a commit would be: under an old epoch, for an input that was decided before, and if another turn
//! was decided first.

use super::record::{Decision, input};
use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::sql::columns::{count, values};
use crate::store::sql::rows::Rows;
use crate::store::sql::statements::{change, numbers};
use crate::store::{Commit, Database, DomainWrites, Epoch, InputRef, StoreError, StoreResult, WriteError};

/// A decision as the columns of its tables.
pub(super) struct DecisionRow {
    pub(super) key: ConversationKey,
    epoch: Epoch,
    to: i64,
    inputs: i64,
    inputs_json: String,
    body: String,
    has_secrets: bool,
    hour: i64,
}

impl DecisionRow {
    pub(super) fn new(decision: &Decision) -> StoreResult<Self> {
        let commit = &decision.commit;
        let unwritable = |error: serde_json::Error| StoreError::WritesFailed(error.into());
        let mut rows = Rows::default();
        let inputs = decision.inputs().map_err(unwritable)?;
        for input in &inputs {
            rows.add(input).map_err(unwritable)?;
        }
        Ok(Self {
            key: commit.key.clone(),
            epoch: decision.epoch,
            to: commit.to().0,
            inputs: count(inputs.len()),
            inputs_json: rows.into_json(),
            body: serde_json::to_string(decision).map_err(unwritable)?,
            has_secrets: decision.has_secrets(),
            hour: hour(commit.at),
        })
    }

    /// Inserts the row. Refused under an old epoch, for an input that was decided before, or behind another turn.
    pub(super) async fn insert(self, database: &mut Database<'_>) -> Result<(), WriteError> {
        let inputs = self.inputs;
        let key = self.key.clone();
        let (inserted, record) = if database.is_postgres() {
            self.insert_postgres(database).await?
        } else {
            self.insert_sqlite(database).await?
        };
        if inserted < inputs {
            return Err(StoreError::AlreadyProcessed.into());
        }
        if record == 0 {
            return Err(StoreError::Overtaken(key).into());
        }
        Ok(())
    }

    /// One round trip. `FOR SHARE` makes a raise of the fence wait for this transaction.
    async fn insert_postgres(self, database: &mut Database<'_>) -> Result<(i64, i64), WriteError> {
        const KEEP: &str = "
            WITH fence AS MATERIALIZED (SELECT epoch FROM opora_fences WHERE bot = $1::bigint FOR SHARE),
            inputs AS (
                INSERT INTO opora_decided_inputs (bot, input, hour)
                SELECT $1::bigint, input, $4::bigint FROM jsonb_array_elements_text($3::jsonb) AS input
                WHERE EXISTS (SELECT 1 FROM fence WHERE epoch = $2::bigint)
                ON CONFLICT DO NOTHING RETURNING 1),
            record AS (
                INSERT INTO opora_decisions AS d (key, bot, to_version, body, hour, has_secrets)
                SELECT $5::text, $1::bigint, $6::bigint, $7::text, $4::bigint, $8::bigint
                WHERE EXISTS (SELECT 1 FROM fence WHERE epoch = $2::bigint)
                ON CONFLICT (key) DO UPDATE SET to_version = excluded.to_version, body = excluded.body,
                    hour = excluded.hour, has_secrets = excluded.has_secrets
                WHERE d.to_version < excluded.to_version RETURNING 1)
            SELECT coalesce((SELECT epoch FROM fence), -1), (SELECT count(*) FROM inputs), (SELECT count(*) FROM record)";
        let Self { key, epoch, to, inputs_json, body, has_secrets, hour, .. } = self;
        let name = key.to_string();
        let values = values![key.bot, epoch.0, inputs_json, hour, name, to, body, i64::from(has_secrets)];
        let [found, inputs, record] = numbers(database, KEEP, values).await?.unwrap_or_default();
        if found != epoch.0 {
            return Err(StoreError::fenced(epoch, OTHER_EPOCH).into());
        }
        Ok((inputs, record))
    }

    async fn insert_sqlite(self, database: &mut Database<'_>) -> Result<(i64, i64), WriteError> {
        const INPUTS: &str = "
            INSERT INTO opora_decided_inputs (bot, input, hour) SELECT $1, value, $3 FROM json_each($2) WHERE true
            ON CONFLICT DO NOTHING";
        const RECORD: &str = "
            INSERT INTO opora_decisions (key, bot, to_version, body, hour, has_secrets) VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (key) DO UPDATE SET to_version = excluded.to_version, body = excluded.body,
                hour = excluded.hour, has_secrets = excluded.has_secrets
            WHERE opora_decisions.to_version < excluded.to_version";
        check_fence(database, self.key.bot, self.epoch).await?;
        let Self { key, to, inputs_json, body, has_secrets, hour, .. } = self;
        let inputs = change(database, INPUTS, values![key.bot, inputs_json, hour]).await?;
        let row = values![key.to_string(), key.bot, to, body, hour, i64::from(has_secrets)];
        let record = change(database, RECORD, row).await?;
        Ok((i64::try_from(inputs).unwrap_or(i64::MAX), i64::try_from(record).unwrap_or(i64::MAX)))
    }
}

/// The writes of a turn that the journal commits while Redis is away. They are refused if an update was decided before,
/// which perhaps only the database knows.
pub(crate) fn unless_decided(commit: &Commit, writes: DomainWrites) -> StoreResult<DomainWrites> {
    const KNOWN: &str = "SELECT count(*) FROM opora_decided_inputs WHERE bot = $1 AND input = $2";
    let bot = commit.key.bot;
    let updates =
        commit.processed.iter().filter(|input| matches!(input, InputRef::Update { .. } | InputRef::DirectUpdate(_)));
    let updates = updates.map(input).collect::<Result<Vec<_>, _>>();
    let updates = updates.map_err(|error| StoreError::WritesFailed(error.into()))?;
    Ok(DomainWrites::new(move |database| {
        Box::pin(async move {
            for update in updates {
                if numbers(database, KNOWN, values![bot, update]).await? != Some([0]) {
                    return Err(StoreError::AlreadyProcessed.into());
                }
            }
            writes.run(database).await
        })
    }))
}

/// Refuses if the fence is not at this epoch, and keeps the fence there until the commit.
pub(super) async fn check_fence(database: &mut Database<'_>, bot: i64, epoch: Epoch) -> Result<(), WriteError> {
    const FENCE: &str = "SELECT epoch FROM opora_fences WHERE bot = $1";
    const SHARED: &str = "SELECT epoch FROM opora_fences WHERE bot = $1 FOR SHARE";
    let query = if database.is_postgres() { SHARED } else { FENCE };
    match numbers(database, query, values![bot]).await? {
        Some([found]) if found == epoch.0 => Ok(()),
        _ => Err(StoreError::fenced(epoch, OTHER_EPOCH).into()),
    }
}

/// The hour of a time: rows are indexed by it.
pub(super) fn hour(at: Millis) -> i64 {
    at.0.div_euclid(3_600_000)
}

const OTHER_EPOCH: &str = "the database has another epoch";
