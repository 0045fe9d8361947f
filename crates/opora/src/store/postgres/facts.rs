//! Asks what a group of operations is decided by, once nobody else can change it.
//!
//! First the group waits for its turn: it shares the lock of its epochs, which a takeover needs alone, and locks the
//! rows of its conversations in the order of their keys. Then, in a statement of its own that sees what others have
//! committed meanwhile, it asks. Both statements are prepared, and go to the server together with `BEGIN`: one way there
//! and back. Nothing that people have said is in them, so that it is in no log of the server's either.

use std::collections::BTreeSet;

use futures_util::TryStreamExt;
use sqlx::{AssertSqlSafe, Either, PgConnection};

use super::texts::{json, literal};
use crate::store::Epoch;
use crate::store::sql::facts::{Facts, Questions};
use crate::store::sql::failure::GroupFailed;
use crate::store::sql::operation::Operation;
use crate::store::sql::rows::Rows;

/// What a session that writes has to know before anything else.
///
/// Locks of sessions are named by two numbers: the first says that it is this library's, the second is an epoch.
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

/// The application's statements are planned as the application is used to.
const AS_USUAL: &str = "
SET LOCAL enable_seqscan = on;
SET LOCAL enable_hashjoin = on;
SET LOCAL enable_mergejoin = on;
SET LOCAL plan_cache_mode = auto;";

/// When the application has written, the library's own statements are planned as before.
pub(super) const AS_BEFORE: &str = "
SET LOCAL enable_seqscan = off;
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_mergejoin = off;
SET LOCAL plan_cache_mode = force_generic_plan;";

/// What a group waits for and asks.
pub(super) struct Inquiry {
    expected: Facts,
    /// Waits for the group's turn.
    lock: String,
    /// Asks.
    ask: String,
}

impl Inquiry {
    /// For these operations.
    pub(super) fn of(operations: &[Operation]) -> Result<Self, GroupFailed> {
        let (expected, questions) = Facts::expected(operations)?;
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
        Ok(Self { expected, lock: lock([epochs_asked, keys_asked]), ask: ask(questions) })
    }

    /// Only for the leases.
    pub(super) fn of_leases(epoch: Option<Epoch>) -> Result<Self, GroupFailed> {
        let mut epochs = Rows::default();
        epoch.iter().try_for_each(|epoch| epochs.add(epoch))?;
        let lock = lock([epochs, Rows::default()]);
        Ok(Self { expected: Facts::default(), lock, ask: ask(Questions::default()) })
    }

    /// How a transaction begins in which the application writes.
    pub(super) fn begin(&self) -> String {
        format!("BEGIN;{}", self.lock)
    }

    /// Begins a transaction, waits, and asks, in one message.
    pub(super) async fn begin_and_ask(self, connection: &mut PgConnection) -> Result<Facts, GroupFailed> {
        let script = format!("BEGIN;{}{}", self.lock, self.ask);
        self.learn(connection, script, 2).await
    }

    /// Waits and asks within a transaction.
    pub(super) async fn wait_and_ask(self, connection: &mut PgConnection) -> Result<Facts, GroupFailed> {
        let script = format!("{}{}", self.lock, self.ask);
        self.learn(connection, script, 1).await
    }

    /// Asks within a transaction that has waited before, and in which the application writes from then on.
    pub(super) async fn ask(self, connection: &mut PgConnection) -> Result<Facts, GroupFailed> {
        let script = format!("{}{AS_USUAL}", self.ask);
        self.learn(connection, script, 0).await
    }

    /// The answers come behind so many other statements.
    async fn learn(self, connection: &mut PgConnection, script: String, behind: usize) -> Result<Facts, GroupFailed> {
        let mut facts = self.expected;
        let mut done = 0;
        let mut answers = sqlx::raw_sql(AssertSqlSafe(script)).fetch_many(connection);
        while let Some(answer) = answers.try_next().await? {
            match answer {
                Either::Left(_) => done += 1,
                Either::Right(row) if done == behind => facts.learn(&row)?,
                Either::Right(_) => {}
            }
        }
        Ok(facts)
    }
}

fn lock(epochs_and_keys: [Rows; 2]) -> String {
    format!("EXECUTE opora_lock({});", values(epochs_and_keys))
}

fn ask(questions: Questions) -> String {
    let Questions { marks, fresh, inputs, versions, timers, parked, effects, posts, queues, places } = questions;
    let values = values([marks, inputs, versions, timers, parked, effects, posts, fresh, queues]);
    format!("EXECUTE opora_facts({values},{places});")
}

fn values<const N: usize>(rows: [Rows; N]) -> String {
    rows.map(|rows| literal(&json(rows))).join(",")
}
