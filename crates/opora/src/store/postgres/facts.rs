//! Locks what a group of operations is decided by, and reads it.
//!
//! First the group takes its locks: the shared lock of its epochs, which a takeover needs exclusively, and the rows of
//! its conversations in key order. Then a separate statement, which sees what others have committed meanwhile, reads
//! the facts. Both statements are prepared and sent together with `BEGIN`: one round trip. They hold no texts of
//! people, so the server's log has none either.

use std::collections::BTreeSet;

use futures_util::TryStreamExt;
use sqlx::{AssertSqlSafe, Either, PgConnection};

use super::texts::{json, literal};
use crate::store::Epoch;
use crate::store::sql::facts::{Facts, Lookups};
use crate::store::sql::failure::GroupError;
use crate::store::sql::operation::Operation;
use crate::store::sql::rows::Rows;

/// The prepared statements of a write session.
///
/// Advisory locks have two numbers: the first marks this library, the second is an epoch.
pub(super) const PREPARE: &str = "
PREPARE opora_lock (jsonb, jsonb) AS
SELECT (SELECT count(shared.lock) FROM (
            SELECT pg_advisory_xact_lock_shared(1869639536, hashint8((value #>> '{}')::bigint)) AS lock
            FROM jsonb_array_elements($1)) AS shared),
       (SELECT count(*) FROM (
            SELECT 1 FROM opora_conversations
            WHERE key = ANY (ARRAY(SELECT value #>> '{}' FROM jsonb_array_elements($2)))
            ORDER BY key FOR UPDATE) AS locked);
PREPARE opora_facts (jsonb, jsonb, jsonb, jsonb, jsonb, jsonb, jsonb, jsonb, jsonb, bigint) AS
SELECT 1::bigint, bot, epoch, holder, NULL::text FROM opora_leases
UNION ALL
SELECT 2, asked.update_id, asked.bot, asked.identity, NULL
FROM (SELECT (value->>0)::bigint AS bot, (value->>1)::bigint AS update_id, value->>2 AS identity
      FROM jsonb_array_elements($1)) AS asked
JOIN opora_inbox AS i ON i.bot = asked.bot AND i.update_id = asked.update_id AND i.identity = asked.identity
UNION ALL
SELECT 2, asked.update_id, asked.bot, asked.identity, NULL
FROM (SELECT (value->>0)::bigint AS bot, (value->>1)::bigint AS update_id, value->>2 AS identity
      FROM jsonb_array_elements($1)) AS asked
JOIN opora_marks AS m ON m.bot = asked.bot AND m.update_id = asked.update_id AND m.identity = asked.identity
UNION ALL
SELECT 3, asked.seq, NULL, NULL, NULL
FROM (SELECT (value #>> '{}')::bigint AS seq FROM jsonb_array_elements($2)) AS asked
WHERE NOT EXISTS (SELECT 1 FROM opora_inbox AS found WHERE found.seq = asked.seq)
UNION ALL
SELECT 4, coalesce(c.version, (SELECT floor FROM opora_version_floor)), NULL, asked.key, NULL
FROM (SELECT value->>0 AS key, (value->>1)::bigint AS version FROM jsonb_array_elements($3)) AS asked
LEFT JOIN opora_conversations AS c ON c.key = asked.key
WHERE coalesce(c.version, (SELECT floor FROM opora_version_floor)) <> asked.version
UNION ALL
SELECT 5, t.id, NULL, t.key, t.name FROM opora_timers AS t
WHERE t.id = ANY (ARRAY(SELECT (value #>> '{}')::bigint FROM jsonb_array_elements($4)))
UNION ALL
SELECT 6, asked.id, NULL, NULL, NULL
FROM (SELECT (value #>> '{}')::bigint AS id FROM jsonb_array_elements($5)) AS asked
WHERE NOT EXISTS (SELECT 1 FROM opora_parked AS found WHERE found.id = asked.id)
UNION ALL
SELECT 7, asked.id, NULL, NULL, NULL
FROM (SELECT (value #>> '{}')::bigint AS id FROM jsonb_array_elements($6)) AS asked
WHERE NOT EXISTS (SELECT 1 FROM opora_effects AS found WHERE found.id = asked.id)
UNION ALL
SELECT 8, p.bot, NULL, p.once, NULL FROM opora_posts AS p
WHERE p.once = ANY (ARRAY(SELECT value #>> '{}' FROM jsonb_array_elements($7)))
UNION ALL
SELECT 9, m.update_id, m.bot, m.identity, NULL
FROM (SELECT (value->>0)::bigint AS bot, (value->>1)::bigint AS update_id, value->>2 AS identity
      FROM jsonb_array_elements($8)) AS asked
JOIN opora_marks AS m ON m.bot = asked.bot AND m.update_id = asked.update_id AND m.identity = asked.identity
UNION ALL
SELECT 10, 0, NULL, asked.key, NULL
FROM (SELECT value #>> '{}' AS key FROM jsonb_array_elements($9)) AS asked
WHERE EXISTS (SELECT 1 FROM opora_inbox AS i WHERE i.key = asked.key)
UNION ALL
SELECT 11, nextval('opora_inbox_places'), NULL, NULL, NULL FROM generate_series(1::bigint, $10);";

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
    let Lookups { marks, direct, inputs, versions, timers, parked, effects, posts, queues, positions } = lookups;
    let values = values([marks, inputs, versions, timers, parked, effects, posts, direct, queues]);
    format!("EXECUTE opora_facts({values},{positions});")
}

fn values<const N: usize>(rows: [Rows; N]) -> String {
    rows.map(|rows| literal(&json(rows))).join(",")
}
