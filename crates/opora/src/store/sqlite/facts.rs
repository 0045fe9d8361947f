//! Reads the facts of a group in one statement.

use futures_util::TryStreamExt;
use sqlx::SqliteConnection;

use crate::store::sql::facts::{Facts, Lookups};
use crate::store::sql::failure::GroupError;
use crate::store::sql::operation::Operation;

macro_rules! read {
    () => {
        "
SELECT 1, bot, epoch, holder, NULL FROM opora_leases
UNION ALL
SELECT 2, update_id, bot, identity, NULL
FROM (SELECT value->>0 AS bot, value->>1 AS update_id, value->>2 AS identity FROM jsonb_each(?1)) AS asked
WHERE EXISTS (SELECT 1 FROM opora_marks AS m
              WHERE m.bot = asked.bot AND m.update_id = asked.update_id AND m.identity = asked.identity)
   OR EXISTS (SELECT 1 FROM opora_inbox AS i
              WHERE i.bot = asked.bot AND i.update_id = asked.update_id AND i.identity = asked.identity)
UNION ALL
SELECT 3, value, NULL, NULL, NULL FROM jsonb_each(?2) AS asked
WHERE NOT EXISTS (SELECT 1 FROM opora_inbox AS found WHERE found.seq = asked.value)
UNION ALL
SELECT 4, coalesce(c.version, (SELECT floor FROM opora_version_floor)), NULL, asked.value->>0, NULL
FROM jsonb_each(?3) AS asked LEFT JOIN opora_conversations AS c ON c.key = asked.value->>0
WHERE coalesce(c.version, (SELECT floor FROM opora_version_floor)) <> asked.value->>1
UNION ALL
SELECT 5, t.id, NULL, t.key, t.name FROM jsonb_each(?4) AS asked JOIN opora_timers AS t ON t.id = asked.value
UNION ALL
SELECT 6, value, NULL, NULL, NULL FROM jsonb_each(?5) AS asked
WHERE NOT EXISTS (SELECT 1 FROM opora_parked AS found WHERE found.id = asked.value)
UNION ALL
SELECT 7, value, NULL, NULL, NULL FROM jsonb_each(?6) AS asked
WHERE NOT EXISTS (SELECT 1 FROM opora_effects AS found WHERE found.id = asked.value)
UNION ALL
SELECT 8, p.bot, NULL, p.once, NULL FROM jsonb_each(?7) AS asked JOIN opora_posts AS p ON p.once = asked.value
UNION ALL
SELECT 9, m.update_id, m.bot, m.identity, NULL
FROM jsonb_each(?8) AS asked JOIN opora_marks AS m
ON m.bot = asked.value->>0 AND m.update_id = asked.value->>1 AND m.identity = asked.value->>2
UNION ALL
SELECT 10, 0, NULL, value, NULL FROM jsonb_each(?9) AS asked
WHERE EXISTS (SELECT 1 FROM opora_inbox AS i WHERE i.key = asked.value)
UNION ALL
SELECT 12, last, NULL, NULL, NULL FROM opora_inbox_places
"
    };
}

const READ: &str = read!();
/// A group without application writes begins its transaction with this statement, which saves a thread switch.
const BEGIN_AND_READ: &str = concat!("BEGIN IMMEDIATE;", read!());

/// Reads the facts of these operations within a transaction.
pub(super) fn read<'c>(
    connection: &'c mut SqliteConnection,
    operations: &[Operation],
) -> impl Future<Output = Result<Facts, GroupError>> + Send + use<'c> {
    query(connection, operations, READ)
}

/// Begins a transaction and reads the facts of these operations.
pub(super) fn begin<'c>(
    connection: &'c mut SqliteConnection,
    operations: &[Operation],
) -> impl Future<Output = Result<Facts, GroupError>> + Send + use<'c> {
    query(connection, operations, BEGIN_AND_READ)
}

/// Builds the lookups before the future, so that the future does not borrow the operations.
fn query<'c>(
    connection: &'c mut SqliteConnection,
    operations: &[Operation],
    statement: &'static str,
) -> impl Future<Output = Result<Facts, GroupError>> + Send + use<'c> {
    let expected = Facts::expected(operations);
    async move {
        let (mut facts, lookups) = expected?;
        read_rows(&mut facts, connection, lookups, statement).await?;
        Ok(facts)
    }
}

async fn read_rows(
    facts: &mut Facts,
    connection: &mut SqliteConnection,
    lookups: Lookups,
    statement: &'static str,
) -> Result<(), GroupError> {
    let mut rows = sqlx::query(statement)
        .bind(lookups.marks.into_json())
        .bind(lookups.inputs.into_json())
        .bind(lookups.versions.into_json())
        .bind(lookups.timers.into_json())
        .bind(lookups.parked.into_json())
        .bind(lookups.effects.into_json())
        .bind(lookups.posts.into_json())
        .bind(lookups.direct.into_json())
        .bind(lookups.queues.into_json())
        .fetch(connection);
    while let Some(row) = rows.try_next().await? {
        facts.add_row(&row)?;
    }
    Ok(())
}
