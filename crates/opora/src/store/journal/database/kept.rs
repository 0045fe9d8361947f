//! What a journal keeps beside its entries: marks, inputs, and results of messages.

use std::collections::BTreeMap;

use super::{JournalDatabase, json, rows};
use crate::clock::Millis;
use crate::store::database::{SqlChange, read};
use crate::store::sql::columns::{Columns, Value, values};
use crate::store::sql::failure::unavailable;
use crate::store::sql::statements::{SqlPair, over_rows};
use crate::store::{Epoch, OutboxId, Settled, StoreResult};

impl JournalDatabase {
    /// Stores marks of updates that Redis has processed, so that they are known after a restart without Redis.
    pub(in crate::store::journal) async fn keep_marks(
        &self,
        bot: i64,
        marks: &[(i64, Box<str>)],
        at: Millis,
    ) -> StoreResult<()> {
        const KEEP: SqlPair = over_rows!(
            "INSERT INTO opora_marks (bot, update_id, identity, taken_at)
            SELECT CAST($2 AS BIGINT), CAST(value ->> 0 AS BIGINT), value ->> 1, CAST($3 AS BIGINT) FROM",
            "WHERE true ON CONFLICT DO NOTHING"
        );
        self.keep(KEEP, values![rows(marks)?, bot, at.0]).await
    }

    /// Removes inputs that are in Redis now.
    pub(in crate::store::journal) async fn remove_inputs(
        &self,
        bot: i64,
        journal_epoch: Epoch,
        seqs: &[i64],
    ) -> StoreResult<()> {
        const THESE: SqlPair =
            over_rows!("DELETE FROM opora_inbox WHERE seq IN (SELECT CAST(value ->> 0 AS BIGINT) FROM", ")");
        let removed = SqlChange::over_rows(THESE, vec![rows(seqs.iter().map(|seq| [seq]))?]);
        self.database.change_under(bot, journal_epoch, vec![removed]).await
    }

    /// Stores the results of messages that are in Redis' outbox.
    pub(in crate::store::journal) async fn keep_settled(&self, bot: i64, settled: &[Settled]) -> StoreResult<()> {
        const KEEP: SqlPair = over_rows!(
            "INSERT INTO opora_journal_settled (id, bot, outcome)
            SELECT CAST(value ->> 0 AS BIGINT), CAST($2 AS BIGINT), value ->> 1 FROM",
            "WHERE true ON CONFLICT (id) DO UPDATE SET outcome = excluded.outcome"
        );
        // One statement can change a row only once: the last result counts.
        let mut last = BTreeMap::new();
        for Settled { id, outcome } in settled {
            last.insert(id.0, serde_json::to_string(outcome).map_err(unavailable)?);
        }
        self.keep(KEEP, values![rows(last)?, bot]).await
    }

    pub(in crate::store::journal) async fn settled(&self, bot: i64) -> StoreResult<Vec<Settled>> {
        const KEPT: &str = "SELECT id, outcome FROM opora_journal_settled WHERE bot = $1 ORDER BY id";
        read!(&*self.database, KEPT, values![bot], |row| {
            Ok(Settled { id: OutboxId(row.number(0)?), outcome: json(row, 1)? })
        })
    }

    /// The labels of messages that were sent while Redis was away.
    pub(in crate::store::journal) async fn labels(&self, bot: i64) -> StoreResult<Vec<(i64, String, i64)>> {
        const KEPT: &str = "SELECT chat, label, message FROM opora_labels WHERE bot = $1";
        read!(&*self.database, KEPT, values![bot], |row| { Ok((row.number(0)?, row.text(1)?, row.number(2)?)) })
    }

    async fn keep(&self, statement: SqlPair, values: Vec<Value>) -> StoreResult<()> {
        self.database.change(vec![SqlChange::over_rows(statement, values)]).await
    }
}
