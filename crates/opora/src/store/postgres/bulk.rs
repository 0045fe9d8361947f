//! Writes the rows of a group to all tables in one statement with bound values.
//!
//! Its parts see the database as it was before the statement, so none depends on another. A part that must find a row,
//! or create it first, counts rows. If another process interfered, the group fails, and the callers retry.

use std::collections::BTreeSet;

use sqlx::{AssertSqlSafe, PgConnection, Row};

use super::reads::is_lost;
use super::texts::json;
use crate::store::Epoch;
use crate::store::sql::bulk::{Bulk, ColumnKind, Part};
use crate::store::sql::failure::GroupError;
use crate::store::sql::rows::Rows;

/// The result of an optimistic write.
pub(super) enum OptimisticWrite {
    /// It is committed. The inputs have these inbox positions, in order.
    Written(Vec<i64>),
    /// An assumption was wrong: nothing was written.
    NotAsExpected,
}

/// How inputs get their inbox positions.
enum Places {
    /// The group has reserved them.
    Given,
    /// The statement assigns them: the group has only counted its inputs.
    ToBeGiven,
}

/// Writes all rows. The transaction stays open. `slot` is this writer's part of `opora_state_counts`.
pub(super) async fn write(mut bulk: Bulk, slot: i64, connection: &mut PgConnection) -> Result<(), GroupError> {
    // A timer that fired may be set again by the same turn, so it is deleted first.
    let mut before = Statement::default();
    before.add(&[IDS_GONE, &gone("timers", "id")], Some(COUNTED), bulk.timers_gone.take());
    before.run(connection).await?;
    let moved = bulk.moved.take();
    let mut statement = Statement::default();
    let delivered = bulk.delivered_places.take();
    statement.add_all(bulk, slot, Places::Given);
    statement.run(connection).await?;
    if !delivered.is_empty() {
        let statement = TAKEN_MEANWHILE.replace("$rows", &table(&delivered, 1));
        let query = sqlx::query(AssertSqlSafe(statement)).bind(json(delivered.into_rows()));
        query.execute(&mut *connection).await?;
    }
    super::moved::write(moved, connection).await
}

/// Writes all rows in a transaction of their own, if the leases of these epochs are held and the other assumptions
/// hold.
pub(super) async fn write_optimistically(
    bulk: Bulk,
    epochs: &BTreeSet<Epoch>,
    slot: i64,
    connection: &mut PgConnection,
) -> Result<OptimisticWrite, GroupError> {
    if !bulk.timers_gone.is_empty() || !bulk.moved.is_empty() {
        return Ok(OptimisticWrite::NotAsExpected);
    }
    let mut leases = Part::new("lease", &[("epoch", ColumnKind::Number)], Rows::default());
    epochs.iter().try_for_each(|epoch| leases.add(epoch))?;
    let mut statement = Statement::default();
    // First, before any other lock.
    statement.add(&[EPOCHS, EPOCHS_LOCKED, LEASES], Some(LEASES_HELD), leases);
    statement.add_all(bulk, slot, Places::ToBeGiven);
    match statement.run_alone(connection).await {
        Ok(places) => Ok(OptimisticWrite::Written(places)),
        // The server refused and rolled back. After a lost connection the result is unknown.
        Err(error) if matches!(error, sqlx::Error::Database(_)) && !is_lost(&error) => {
            Ok(OptimisticWrite::NotAsExpected)
        }
        Err(error) => Err(error.into()),
    }
}

type Query = sqlx::query::Query<'static, sqlx::Postgres, sqlx::postgres::PgArguments>;

/// A statement under construction. A few shapes serve nearly all groups and stay prepared.
#[derive(Default)]
struct Statement {
    parts: Vec<String>,
    checks: Vec<String>,
    arguments: Vec<String>,
    /// Whether it assigns inbox positions.
    gives_places: bool,
}

impl Statement {
    /// Adds every table that has rows.
    fn add_all(&mut self, bulk: Bulk, slot: i64, places: Places) {
        let has_direct = !bulk.direct_gone.is_empty();
        self.add(&[RENEWED], None, bulk.renewed);
        let placed = PLACED.replace("$slot", &slot.to_string());
        self.add(&[CHANGED_ROWS, CHANGED_OLD, CHANGED_NEW, &placed], Some(TURNED), bulk.changed);
        self.add(&[KEPT_ROWS, KEPT_OLD, KEPT_NEW], Some(TURNED), bulk.kept);
        self.add(&[IDS_GONE, &gone("inbox", "seq")], Some(COUNTED), bulk.inputs_gone);
        self.add(&[DIRECT_ROWS, DIRECT_GONE], None, bulk.direct_gone);
        self.add(&[MARKS], has_direct.then_some(DIRECT_MARKED), bulk.marks);
        self.gives_places = matches!(places, Places::ToBeGiven) && !bulk.inputs.is_empty();
        let inputs_table = if self.gives_places { INPUTS_PLACED } else { INPUTS_CAME };
        let input_rows = if has_direct { INPUT_ROWS_NOT_DIRECT } else { INPUT_ROWS };
        self.add(&[inputs_table, input_rows, INPUTS], Some(RECEIVED), bulk.inputs);
        self.add(&[INPUTS_CAME, INPUT_ROWS, DELIVERED], None, bulk.delivered);
        self.add(&[INSERTED], None, bulk.outbox);
        self.add(&[POST_ROWS, POSTS], Some(COUNTED), bulk.posts);
        self.add(&[SENDING], None, bulk.sending);
        self.add(&[NOT_SENT], None, bulk.not_sent);
        self.add(&[UNSENT_GONE], None, bulk.unsent_gone);
        self.add(&[FAILED], None, bulk.failed);
        self.add(&[LABELS], None, bulk.labels);
        self.add(&[TIMERS_CANCELLED], None, bulk.timers_cancelled);
        self.add(&[TIMERS], None, bulk.timers);
        self.add(&[IDS_GONE, &gone("effects", "id")], Some(COUNTED), bulk.effects_gone);
        self.add(&[INSERTED], None, bulk.effects);
        self.add(&[INSERTED], None, bulk.transitions);
        self.add(&[IDS_GONE, &gone("parked", "id")], Some(COUNTED), bulk.parked_gone);
        self.add(&[PARKED], None, bulk.parked);
    }

    /// Adds the SQL for a part and its check, if the part has rows. `@` stands for its name, `$rows` for its rows as a
    /// table, `$columns` for its column names.
    fn add(&mut self, statements: &[&str], check: Option<&str>, part: Part) {
        if part.is_empty() {
            return;
        }
        let rows = table(&part, self.arguments.len() + 1);
        let named = |text: &&str| {
            text.trim().replace('@', part.name).replace("$rows", &rows).replace("$columns", &part.columns())
        };
        self.parts.extend(statements.iter().map(named));
        self.checks.extend(check.iter().map(named));
        self.arguments.push(json(part.into_rows()));
    }

    async fn run(self, connection: &mut PgConnection) -> Result<(), GroupError> {
        if self.parts.is_empty() {
            return Ok(());
        }
        let select = format!("SELECT {}", self.holds());
        if self.query(&select).fetch_one(connection).await?.try_get(0)? {
            return Ok(());
        }
        Err(GroupError::because("another process changed the same rows meanwhile"))
    }

    /// Runs it as a transaction of its own. It fails if a check does not hold. Waits for the commit, and returns the
    /// assigned positions.
    async fn run_alone(self, connection: &mut PgConnection) -> sqlx::Result<Vec<i64>> {
        let places = if self.gives_places { PLACES_GIVEN } else { NO_PLACES };
        let select = OR_FAILS.replace("$holds", &self.holds()).replace("$places", places);
        let answer = self.query(&select).fetch_all(connection).await?;
        answer.first().map_or_else(|| Ok(Vec::new()), |row| row.try_get(1))
    }

    fn holds(&self) -> String {
        if self.checks.is_empty() { "true".to_owned() } else { self.checks.join(" AND ") }
    }

    fn query(self, select: &str) -> Query {
        let query = sqlx::query(AssertSqlSafe(format!("WITH {} {select}", self.parts.join(",\n"))));
        self.arguments.into_iter().fold(query, |query, json| query.bind(json))
    }
}

/// The rows of a part, bound as `argument`, as a table named `said`. `place` is the row number.
pub(super) fn table(part: &Part, argument: usize) -> String {
    let columns = columns_of(part);
    let elements = format!("jsonb_array_elements(${argument}::jsonb) WITH ORDINALITY AS element (value, place)");
    format!("(SELECT {columns}, place FROM {elements}) AS said")
}

/// The columns of a part, read from its JSON.
pub(super) fn columns_of(part: &Part) -> String {
    part.selected(|place, kind| {
        let text = place.map_or("value #>> '{}'".to_owned(), |place| format!("value->>{place}"));
        match kind {
            ColumnKind::Number => format!("({text})::bigint"),
            ColumnKind::Text => text,
        }
    })
}

/// Casting a text to a number fails the statement; the server's log shows the text.
const OR_FAILS: &str = "
SELECT CASE WHEN $holds THEN 1
       ELSE ('opora decides a group step by step' || left(current_setting('server_version'), 0))::integer END,
       $places";

const NO_PLACES: &str = "'{}'::bigint[]";

const PLACES_GIVEN: &str = "ARRAY(SELECT seq FROM inputs_came ORDER BY count)";

/// The epochs of the group.
const EPOCHS: &str = "@_epochs AS MATERIALIZED (SELECT epoch FROM $rows)";

/// A takeover needs this lock exclusively, and waits for all that share it.
const EPOCHS_LOCKED: &str = "
@_locked AS MATERIALIZED (
    SELECT count(shared.lock) AS locks
    FROM (SELECT pg_advisory_xact_lock_shared(1869639536, hashint8(epoch)) AS lock FROM @_epochs) AS shared)";

/// Locking the rows reads them as they are now, not as they were when the statement began.
const LEASES: &str = "
@ AS MATERIALIZED (
    SELECT l.bot FROM opora_leases AS l
    WHERE l.epoch = ANY (ARRAY(SELECT epoch FROM @_epochs)) AND l.holder IS NOT NULL
      AND (SELECT locks FROM @_locked) > 0
    FOR KEY SHARE OF l)";

/// All of these leases are held.
const LEASES_HELD: &str = "(SELECT count(*) FROM @) = (SELECT count(*) FROM @_epochs)";

/// All rows were found.
const COUNTED: &str = "(SELECT count(*) FROM @_rows) = (SELECT count(*) FROM @)";

/// Every conversation had the expected version, or is new at the version floor.
const TURNED: &str = "(SELECT count(*) FROM @_rows) = (SELECT count(*) FROM @_old) + (SELECT count(*) FROM @_new)";

/// All inputs were inserted, and none was processed or waiting before. Waiting rows are checked too, because the same
/// statement may delete one: then it does not conflict, and its mark is not visible yet.
const RECEIVED: &str = "
(SELECT count(*) FROM @_rows) = (SELECT count(*) FROM @)
AND NOT EXISTS (SELECT 1 FROM @_rows AS r JOIN opora_marks AS m
                ON m.bot = r.bot AND m.update_id = r.update_id AND m.identity = r.identity)
AND NOT EXISTS (SELECT 1 FROM @_rows AS r JOIN opora_inbox AS i
                ON i.bot = r.bot AND i.update_id = r.update_id AND i.identity = r.identity)";

/// No direct update was processed by another turn.
const DIRECT_MARKED: &str =
    "NOT EXISTS (SELECT bot, update_id, identity FROM direct_gone_rows EXCEPT SELECT * FROM marks)";

const RENEWED: &str = "
@ AS (UPDATE opora_leases SET renewals = renewals + 1
      WHERE bot = ANY (ARRAY(SELECT bot FROM $rows)))";

/// Inserts rows into the table with the part's name.
const INSERTED: &str = "@ AS (INSERT INTO opora_@ ($columns) SELECT $columns FROM $rows)";

const IDS_GONE: &str = "@_rows AS MATERIALIZED (SELECT id FROM $rows)";

/// Deletes the rows with the ids of [`IDS_GONE`].
fn gone(table: &str, id: &str) -> String {
    format!("@ AS (DELETE FROM opora_{table} WHERE {id} = ANY (ARRAY(SELECT id FROM @_rows)) RETURNING 1)")
}

const DIRECT_ROWS: &str = "@_rows AS MATERIALIZED (SELECT bot, update_id, identity FROM $rows)";

const DIRECT_GONE: &str = "
@ AS (DELETE FROM opora_inbox AS i USING @_rows AS r
      WHERE i.bot = r.bot AND i.update_id = r.update_id AND i.identity = r.identity)";

const MARKS: &str = "
@ AS (INSERT INTO opora_marks ($columns) SELECT $columns FROM $rows
      ON CONFLICT DO NOTHING RETURNING bot, update_id, identity)";

const INPUTS_CAME: &str = "@_came AS MATERIALIZED (SELECT * FROM $rows)";

/// Inputs without positions: the sequence assigns them, after everything committed before.
const INPUTS_PLACED: &str = "
@_came AS MATERIALIZED (
    SELECT nextval('opora_inbox_places') AS seq, seq AS count, bot, key, update_id, identity, effect, body, at
    FROM $rows)";

const INPUT_ROWS: &str = "@_rows AS MATERIALIZED (SELECT * FROM @_came)";

/// An update that arrives and is processed in one group is not inserted.
const INPUT_ROWS_NOT_DIRECT: &str = "
@_rows AS MATERIALIZED (
    SELECT came.* FROM @_came AS came
    WHERE NOT EXISTS (SELECT 1 FROM direct_gone_rows AS f
                      WHERE f.bot = came.bot AND f.update_id = came.update_id AND f.identity = came.identity))";

const INPUTS: &str = "
@ AS (INSERT INTO opora_inbox ($columns) SELECT $columns FROM @_rows
      ON CONFLICT DO NOTHING RETURNING 1)";

/// If another instance delivers the same update, one row is kept. The order prevents deadlocks.
const DELIVERED: &str = "
@ AS (INSERT INTO opora_inbox ($columns) SELECT $columns FROM @_rows ORDER BY bot, update_id, identity
      ON CONFLICT DO NOTHING)";

/// Since the facts were read, another instance may have delivered the same update and committed its turn. A new
/// statement sees that mark.
const TAKEN_MEANWHILE: &str = "
DELETE FROM opora_inbox AS i USING opora_marks AS m
WHERE i.seq = ANY (ARRAY(SELECT seq FROM $rows))
  AND m.bot = i.bot AND m.update_id = i.update_id AND m.identity = i.identity";

/// Each conversation is looked up once, because the index lookup dominates the cost with many conversations. A
/// concurrent change also changes the version.
const CHANGED_ROWS: &str = "
@_rows AS MATERIALIZED (
    SELECT said.*, c.ctid AS row_at, c.value IS NOT NULL AS was_placed, c.dialogue AS was_dialogue, c.state AS was_state
    FROM $rows LEFT JOIN opora_conversations AS c ON c.key = said.key)";

const CHANGED_OLD: &str = "
@_old AS (
    UPDATE opora_conversations AS c
    SET version = r.version, value = r.value, states = r.states, dialogue = r.dialogue, state = r.state,
        expires_at = r.expires_at, expires_minute = r.expires_minute, updated_at = r.updated_at,
        ended_at = CASE WHEN r.value IS NULL THEN r.updated_at END
    FROM @_rows AS r WHERE c.ctid = r.row_at AND c.version = r.from_version RETURNING 1)";

const CHANGED_NEW: &str = "
@_new AS (
    INSERT INTO opora_conversations (key, bot, chat, \"user\", thread, business, version, value, states, dialogue, state,
                                     expires_at, expires_minute, updated_at, ended_at)
    SELECT key, bot, chat, \"user\", thread, business, version, value, states, dialogue, state, expires_at,
           expires_minute, updated_at, CASE WHEN value IS NULL THEN updated_at END
    FROM @_rows WHERE row_at IS NULL AND from_version = (SELECT floor FROM opora_version_floor)
    ON CONFLICT DO NOTHING RETURNING 1)";

/// Counts conversations by state.
const PLACED: &str = "
@_placed AS (
    INSERT INTO opora_state_counts AS p (slot, bot, dialogue, state, conversations)
    SELECT $slot, bot, coalesce(dialogue, ''), coalesce(state, ''), sum(change)
    FROM (SELECT bot, was_dialogue AS dialogue, was_state AS state, -1 AS change FROM @_rows WHERE was_placed
          UNION ALL
          SELECT bot, dialogue, state, 1 FROM @_rows WHERE value IS NOT NULL) AS moves
    GROUP BY 2, 3, 4 HAVING sum(change) <> 0 ORDER BY 2, 3, 4
    ON CONFLICT (slot, bot, dialogue, state) DO UPDATE SET conversations = p.conversations + excluded.conversations)";

const KEPT_ROWS: &str = "
@_rows AS MATERIALIZED (
    SELECT said.*, c.ctid AS row_at FROM $rows LEFT JOIN opora_conversations AS c ON c.key = said.key)";

const KEPT_OLD: &str = "
@_old AS (
    UPDATE opora_conversations AS c
    SET version = r.version, updated_at = r.updated_at, ended_at = CASE WHEN c.value IS NULL THEN r.updated_at END
    FROM @_rows AS r WHERE c.ctid = r.row_at AND c.version = r.from_version RETURNING 1)";

const KEPT_NEW: &str = "
@_new AS (
    INSERT INTO opora_conversations (key, bot, chat, \"user\", thread, business, version, states, updated_at, ended_at)
    SELECT key, bot, chat, \"user\", thread, business, version, '[]', updated_at, updated_at
    FROM @_rows WHERE row_at IS NULL AND from_version = (SELECT floor FROM opora_version_floor)
    ON CONFLICT DO NOTHING RETURNING 1)";

const POST_ROWS: &str = "@_rows AS MATERIALIZED (SELECT once, bot, at FROM $rows)";

const POSTS: &str = "
@ AS (INSERT INTO opora_posts ($columns) SELECT $columns FROM @_rows ON CONFLICT DO NOTHING RETURNING 1)";

const SENDING: &str = "
@ AS (UPDATE opora_outbox SET sending = true
      WHERE id = ANY (ARRAY(SELECT id FROM $rows)))";

const NOT_SENT: &str = "
@ AS (UPDATE opora_outbox SET sending = false
      WHERE id = ANY (ARRAY(SELECT id FROM $rows)))";

const UNSENT_GONE: &str = "
@ AS (DELETE FROM opora_outbox WHERE id = ANY (ARRAY(SELECT id FROM $rows)) RETURNING *)";

/// Failed messages come from the deleted unsent rows. A secret message keeps no body.
const FAILED: &str = "
@ AS (INSERT INTO opora_failed (id, bot, key, chat, method, body, rest, reason, at)
      SELECT o.id, o.bot, o.key, o.chat, o.method,
             CASE WHEN (o.rest::jsonb->>'secret')::boolean THEN '{}' ELSE o.body END, o.rest, said.reason, o.at
      FROM $rows JOIN unsent_gone AS o ON o.id = said.id
      ON CONFLICT DO NOTHING)";

/// The last of several messages under one label wins.
const LABELS: &str = "
@ AS (INSERT INTO opora_labels ($columns)
      SELECT DISTINCT ON (bot, chat, label) $columns FROM $rows ORDER BY bot, chat, label, place DESC
      ON CONFLICT (bot, chat, label) DO UPDATE SET message = excluded.message, at = excluded.at)";

const TIMERS_CANCELLED: &str = "
@ AS (DELETE FROM opora_timers WHERE (key, name) IN (SELECT key, name FROM $rows))";

const TIMERS: &str = "
@ AS (INSERT INTO opora_timers ($columns) SELECT $columns FROM $rows
      ON CONFLICT (key, name) DO UPDATE
      SET id = excluded.id, bot = excluded.bot, due_at = excluded.due_at, body = excluded.body)";

const PARKED: &str = "
@ AS (INSERT INTO opora_parked ($columns)
      SELECT id, bot, key, kind, body, reason, attempts, at, retry <> 0 FROM $rows)";
