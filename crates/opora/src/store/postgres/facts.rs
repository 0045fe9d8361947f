//! Locks what a group of operations is decided by, and reads it.
//!
//! First the group takes its locks: the shared lock of its epochs, which a takeover needs exclusively, and the rows of
//! its conversations in key order. Then a separate statement, which sees what others have committed meanwhile, reads
//! the facts. Both statements are prepared and sent together with `BEGIN`: one round trip. They hold no texts of
//! people, so the server's log has none either.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use futures_util::TryStreamExt;
use sqlx::{AssertSqlSafe, Either, PgConnection};

use super::bulk::columns_of;
use super::texts::{json, literal};
use crate::store::Epoch;
use crate::store::sql::bulk::Part;
use crate::store::sql::facts::{self, Facts, Lookups};
use crate::store::sql::failure::GroupError;
use crate::store::sql::operation::Operation;
use crate::store::sql::rows::Rows;

/// The prepared statements of a write session.
///
/// Advisory locks have two numbers: the first marks this library, the second is an epoch.
pub(super) static PREPARE: LazyLock<String> = LazyLock::new(|| {
    let facts = facts::statement(true, |part, number| {
        format!("(SELECT {} FROM jsonb_array_elements(${number}))", columns_of(part))
    });
    format!(
        "PREPARE opora_lock (jsonb, jsonb) AS {LOCK};
        PREPARE opora_facts (jsonb, jsonb, jsonb, jsonb, jsonb, jsonb, jsonb, jsonb, jsonb, bigint) AS {facts};"
    )
});

const LOCK: &str = "
SELECT (SELECT count(shared.lock) FROM (
            SELECT pg_advisory_xact_lock_shared(1869639536, hashint8((value #>> '{}')::bigint)) AS lock
            FROM jsonb_array_elements($1)) AS shared),
       (SELECT count(*) FROM (
            SELECT 1 FROM opora_conversations
            WHERE key = ANY (ARRAY(SELECT value #>> '{}' FROM jsonb_array_elements($2)))
            ORDER BY key FOR UPDATE) AS locked)";

/// The planner's defaults, for the application's statements.
const DEFAULT_PLANNER: &str = "
SET LOCAL enable_seqscan = on;
SET LOCAL enable_hashjoin = on;
SET LOCAL enable_mergejoin = on;
SET LOCAL plan_cache_mode = auto;";

/// The planner settings of the library's own statements, restored after the application's writes.
pub(super) const INDEX_ONLY_PLANNER: &str = "
SET LOCAL enable_seqscan = off;
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_mergejoin = off;
SET LOCAL plan_cache_mode = force_generic_plan;";

/// The locks and the query of a group.
pub(super) struct FactsQuery {
    expected: Facts,
    lock: String,
    ask: String,
}

impl FactsQuery {
    pub(super) fn new(operations: &[Operation]) -> Result<Self, GroupError> {
        let (expected, lookups) = Facts::expected(operations)?;
        let mut epochs = BTreeSet::new();
        let mut keys = BTreeSet::new();
        for operation in operations {
            epochs.extend(operation.epoch());
            keys.extend(operation.key());
        }
        let mut epochs_asked = Rows::default();
        let mut keys_asked = Rows::default();
        epochs.iter().try_for_each(|epoch| epochs_asked.add(epoch))?;
        keys.iter().try_for_each(|key| keys_asked.add(key))?;
        Ok(Self { expected, lock: lock([epochs_asked, keys_asked]), ask: ask(lookups) })
    }

    pub(super) fn of_leases(epoch: Option<Epoch>) -> Result<Self, GroupError> {
        let mut epochs = Rows::default();
        epoch.iter().try_for_each(|epoch| epochs.add(epoch))?;
        let lock = lock([epochs, Rows::default()]);
        Ok(Self { expected: Facts::default(), lock, ask: ask(Lookups::default()) })
    }

    /// The script that begins a transaction with application writes.
    pub(super) fn begin(&self) -> String {
        format!("BEGIN;{}", self.lock)
    }

    /// Begins a transaction, locks and reads, in one message.
    pub(super) async fn begin_and_read(self, connection: &mut PgConnection) -> Result<Facts, GroupError> {
        let script = format!("BEGIN;{}{}", self.lock, self.ask);
        self.read(connection, script, 2).await
    }

    /// Locks and reads within a transaction.
    pub(super) async fn lock_and_read(self, connection: &mut PgConnection) -> Result<Facts, GroupError> {
        let script = format!("{}{}", self.lock, self.ask);
        self.read(connection, script, 1).await
    }

    /// Reads within a transaction that has its locks, and prepares it for the application's writes.
    pub(super) async fn read_facts(self, connection: &mut PgConnection) -> Result<Facts, GroupError> {
        let script = format!("{}{DEFAULT_PLANNER}", self.ask);
        self.read(connection, script, 0).await
    }

    /// Runs a script. The facts are the rows after the first `skipped` statements.
    async fn read(self, connection: &mut PgConnection, script: String, skipped: usize) -> Result<Facts, GroupError> {
        let mut facts = self.expected;
        let mut done = 0;
        let mut answers = sqlx::raw_sql(AssertSqlSafe(script)).fetch_many(connection);
        while let Some(answer) = answers.try_next().await? {
            match answer {
                Either::Left(_) => done += 1,
                Either::Right(row) if done == skipped => facts.add_row(&row)?,
                Either::Right(_) => {}
            }
        }
        Ok(facts)
    }
}

fn lock(epochs_and_keys: [Rows; 2]) -> String {
    format!("EXECUTE opora_lock({});", values(epochs_and_keys))
}

fn ask(lookups: Lookups) -> String {
    let positions = lookups.positions;
    let values = values(lookups.into_parts().map(Part::into_rows));
    format!("EXECUTE opora_facts({values},{positions});")
}

fn values<const N: usize>(rows: [Rows; N]) -> String {
    rows.map(|rows| literal(&json(rows))).join(",")
}
