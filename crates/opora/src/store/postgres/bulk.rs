//! Writes what a group has decided: all tables in one statement, whose values are bound.
//!
//! Its parts see the database as it was before it, so none depends on what another has just written. Where a part must
//! find a row, or must be the first to make one, it counts: if somebody else was there meanwhile, the group fails, and
//! whoever asked tries again and is told what happened.

use sqlx::{AssertSqlSafe, PgConnection, Row};

use super::texts::json;
use crate::store::sql::bulk::Bulk;
use crate::store::sql::failure::GroupFailed;
use crate::store::sql::rows::Rows;

/// Writes everything; the transaction stays open. `slot` is where this writer counts places.
pub(super) async fn write(bulk: Bulk, slot: i64, connection: &mut PgConnection) -> Result<(), GroupFailed> {
    // A timer that fired may be set anew by the same turn: it goes before.
    let mut before = Statement::default();
    before.add("timers_gone", &[IDS_GONE, FIRED], Some(COUNTED), bulk.timers_gone);
    before.run(connection).await?;

    let takes_fresh = !bulk.fresh_gone.is_empty();
    let mut statement = Statement::default();
    statement.add("renewed", &[RENEWED], None, bulk.renewed);
    statement.add("inputs_gone", &[IDS_GONE, INPUTS_GONE], Some(COUNTED), bulk.inputs_gone);
    statement.add("fresh", &[FRESH_ROWS, FRESH_GONE], None, bulk.fresh_gone);
    statement.add("marks", &[MARKS], takes_fresh.then_some(FRESH_MARKED), bulk.marks);
    let input_rows = if takes_fresh { INPUT_ROWS_NOT_FRESH } else { INPUT_ROWS };
    statement.add("inputs", &[input_rows, INPUTS], Some(COUNTED), bulk.inputs);
    let placed = PLACED.replace("$slot", &slot.to_string());
    statement.add("changed", &[CHANGED_ROWS, CHANGED_OLD, CHANGED_NEW, &placed], Some(TURNED), bulk.changed);
    statement.add("kept", &[KEPT_ROWS, KEPT_OLD, KEPT_NEW], Some(TURNED), bulk.kept);
    statement.add("outbox", &[OUTBOX], None, bulk.outbox);
    statement.add("posts", &[POST_ROWS, POSTS], Some(COUNTED), bulk.posts);
    statement.add("sending", &[SENDING], None, bulk.sending);
    statement.add("unsent_gone", &[UNSENT_GONE], None, bulk.unsent_gone);
    statement.add("failed", &[FAILED], None, bulk.failed);
    statement.add("labels", &[LABELS], None, bulk.labels);
    statement.add("timers_cancelled", &[TIMERS_CANCELLED], None, bulk.timers_cancelled);
    statement.add("timers", &[TIMERS], None, bulk.timers);
    statement.add("effects_gone", &[IDS_GONE, EFFECTS_GONE], Some(COUNTED), bulk.effects_gone);
    statement.add("effects", &[EFFECTS], None, bulk.effects);
    statement.add("transitions", &[TRANSITIONS], None, bulk.transitions);
    statement.add("parked_gone", &[IDS_GONE, PARKED_GONE], Some(COUNTED), bulk.parked_gone);
    statement.add("parked", &[PARKED], None, bulk.parked);
    statement.run(connection).await?;

    super::moved::write(bulk.moved, connection).await
}

/// A statement that grows part by part. A few shapes of it serve nearly all groups, and stay prepared.
#[derive(Default)]
struct Statement {
    parts: Vec<String>,
    checks: Vec<String>,
    arguments: Vec<String>,
}

impl Statement {
    /// Adds parts that have rows, and what must be true of them. `@` stands for the name, `$rows` for the rows.
    fn add(&mut self, name: &str, parts: &[&str], check: Option<&str>, rows: Rows) {
        if rows.is_empty() {
            return;
        }
        self.arguments.push(json(rows));
        let elements = format!("jsonb_array_elements(${}::jsonb)", self.arguments.len());
        let named = |text: &&str| text.trim().replace('@', name).replace("$rows", &elements);
        self.parts.extend(parts.iter().map(named));
        self.checks.extend(check.iter().map(named));
    }

    async fn run(self, connection: &mut PgConnection) -> Result<(), GroupFailed> {
        if self.parts.is_empty() {
            return Ok(());
        }
        let holds = if self.checks.is_empty() { "true".to_owned() } else { self.checks.join(" AND ") };
        let statement = format!("WITH {} SELECT {holds}", self.parts.join(",\n"));
        let query = sqlx::query(AssertSqlSafe(statement));
        let query = self.arguments.into_iter().fold(query, |query, json| query.bind(json));
        if query.fetch_one(connection).await?.try_get(0)? {
            return Ok(());
        }
        Err(GroupFailed::because("another process changed the same rows meanwhile"))
    }
}

/// As many rows were touched as were to be.
const COUNTED: &str = "(SELECT count(*) FROM @_rows) = (SELECT count(*) FROM @)";

/// Every conversation was at its version, or not there.
const TURNED: &str = "(SELECT count(*) FROM @_rows) = (SELECT count(*) FROM @_old) + (SELECT count(*) FROM @_new)";

/// Nobody else has taken an update that did not wait for the inbox.
const FRESH_MARKED: &str = "NOT EXISTS (SELECT bot, update_id, identity FROM fresh_rows EXCEPT SELECT * FROM marks)";

const RENEWED: &str = "
@ AS (UPDATE opora_leases SET renewals = renewals + 1
      WHERE bot = ANY (ARRAY(SELECT (value #>> '{}')::bigint FROM $rows)))";

const IDS_GONE: &str = "@_rows AS MATERIALIZED (SELECT (value #>> '{}')::bigint AS id FROM $rows)";

const INPUTS_GONE: &str = "
@ AS (DELETE FROM opora_inbox WHERE seq = ANY (ARRAY(SELECT id FROM @_rows)) RETURNING 1)";

const FRESH_ROWS: &str = "
@_rows AS MATERIALIZED (
    SELECT (value->>0)::bigint AS bot, (value->>1)::bigint AS update_id, value->>2 AS identity FROM $rows)";

const FRESH_GONE: &str = "
@ AS (DELETE FROM opora_inbox AS i USING @_rows AS r
      WHERE i.bot = r.bot AND i.update_id = r.update_id AND i.identity = r.identity)";

const MARKS: &str = "
@ AS (INSERT INTO opora_marks (bot, update_id, identity, taken_at)
      SELECT (value->>0)::bigint, (value->>1)::bigint, value->>2, (value->>3)::bigint FROM $rows
      ON CONFLICT DO NOTHING RETURNING bot, update_id, identity)";

const INPUT_ROWS: &str = "
@_rows AS MATERIALIZED (
    SELECT (value->>0)::bigint AS seq, (value->>1)::bigint AS bot, value->>2 AS key, (value->>3)::bigint AS update_id,
           value->>4 AS identity, (value->>5)::bigint AS effect, value->>6 AS body, (value->>7)::bigint AS at
    FROM $rows)";

/// An update that came and was taken in one group is not put down at all.
const INPUT_ROWS_NOT_FRESH: &str = "
@_rows AS MATERIALIZED (
    SELECT came.* FROM (
        SELECT (value->>0)::bigint AS seq, (value->>1)::bigint AS bot, value->>2 AS key,
               (value->>3)::bigint AS update_id, value->>4 AS identity, (value->>5)::bigint AS effect,
               value->>6 AS body, (value->>7)::bigint AS at
        FROM $rows) AS came
    WHERE NOT EXISTS (SELECT 1 FROM fresh_rows AS f
                      WHERE f.bot = came.bot AND f.update_id = came.update_id AND f.identity = came.identity))";

const INPUTS: &str = "
@ AS (INSERT INTO opora_inbox (seq, bot, key, update_id, identity, effect, body, at)
      SELECT seq, bot, key, update_id, identity, effect, body, at FROM @_rows
      ON CONFLICT DO NOTHING RETURNING 1)";

const CHANGED_ROWS: &str = "
@_rows AS MATERIALIZED (
    SELECT value->>0 AS key, (value->>1)::bigint AS bot, (value->>2)::bigint AS chat, (value->>3)::bigint AS \"user\",
           (value->>4)::bigint AS thread, value->>5 AS business, (value->>6)::bigint AS version, value->>7 AS value,
           value->>8 AS places, value->>9 AS dialogue, value->>10 AS state, (value->>11)::bigint AS expires_at,
           (value->>12)::bigint AS updated_at, (value->>13)::bigint AS from_version,
           (value->>14)::bigint AS expires_minute
    FROM $rows)";

const CHANGED_OLD: &str = "
@_old AS (
    UPDATE opora_conversations AS c
    SET version = r.version, value = r.value, places = r.places, dialogue = r.dialogue, state = r.state,
        expires_at = r.expires_at, expires_minute = r.expires_minute, updated_at = r.updated_at,
        ended_at = CASE WHEN r.value IS NULL THEN r.updated_at END
    FROM @_rows AS r WHERE c.key = r.key AND c.version = r.from_version RETURNING 1)";

const CHANGED_NEW: &str = "
@_new AS (
    INSERT INTO opora_conversations (key, bot, chat, \"user\", thread, business, version, value, places, dialogue, state,
                                     expires_at, expires_minute, updated_at, ended_at)
    SELECT key, bot, chat, \"user\", thread, business, version, value, places, dialogue, state, expires_at,
           expires_minute, updated_at, CASE WHEN value IS NULL THEN updated_at END
    FROM @_rows AS r WHERE NOT EXISTS (SELECT 1 FROM opora_conversations AS c WHERE c.key = r.key)
    ON CONFLICT DO NOTHING RETURNING 1)";

/// A conversation leaves one place and enters another.
const PLACED: &str = "
@_placed AS (
    INSERT INTO opora_places AS p (slot, bot, dialogue, state, conversations)
    SELECT $slot, bot, coalesce(dialogue, ''), coalesce(state, ''), sum(change)
    FROM (SELECT c.bot, c.dialogue, c.state, -1 AS change
          FROM @_rows AS r JOIN opora_conversations AS c ON c.key = r.key WHERE c.value IS NOT NULL
          UNION ALL
          SELECT bot, dialogue, state, 1 FROM @_rows WHERE value IS NOT NULL) AS moves
    GROUP BY 2, 3, 4 HAVING sum(change) <> 0 ORDER BY 2, 3, 4
    ON CONFLICT (slot, bot, dialogue, state) DO UPDATE SET conversations = p.conversations + excluded.conversations)";

const KEPT_ROWS: &str = "
@_rows AS MATERIALIZED (
    SELECT value->>0 AS key, (value->>1)::bigint AS bot, (value->>2)::bigint AS chat, (value->>3)::bigint AS \"user\",
           (value->>4)::bigint AS thread, value->>5 AS business, (value->>6)::bigint AS version,
           (value->>7)::bigint AS updated_at, (value->>8)::bigint AS from_version
    FROM $rows)";

const KEPT_OLD: &str = "
@_old AS (
    UPDATE opora_conversations AS c
    SET version = r.version, updated_at = r.updated_at, ended_at = CASE WHEN c.value IS NULL THEN r.updated_at END
    FROM @_rows AS r WHERE c.key = r.key AND c.version = r.from_version RETURNING 1)";

const KEPT_NEW: &str = "
@_new AS (
    INSERT INTO opora_conversations (key, bot, chat, \"user\", thread, business, version, places, updated_at, ended_at)
    SELECT key, bot, chat, \"user\", thread, business, version, '[]', updated_at, updated_at
    FROM @_rows AS r WHERE NOT EXISTS (SELECT 1 FROM opora_conversations AS c WHERE c.key = r.key)
    ON CONFLICT DO NOTHING RETURNING 1)";

const OUTBOX: &str = "
@ AS (INSERT INTO opora_outbox (id, bot, key, chat, method, body, rest, at)
      SELECT (value->>0)::bigint, (value->>1)::bigint, value->>2, (value->>3)::bigint, value->>4, value->>5, value->>6,
             (value->>7)::bigint FROM $rows)";

const POST_ROWS: &str = "
@_rows AS MATERIALIZED (
    SELECT value->>0 AS once, (value->>1)::bigint AS bot, (value->>2)::bigint AS at FROM $rows)";

const POSTS: &str = "
@ AS (INSERT INTO opora_posts (once, bot, at) SELECT once, bot, at FROM @_rows ON CONFLICT DO NOTHING RETURNING 1)";

const SENDING: &str = "
@ AS (UPDATE opora_outbox SET sending = true
      WHERE id = ANY (ARRAY(SELECT (value #>> '{}')::bigint FROM $rows)))";

const UNSENT_GONE: &str = "
@ AS (DELETE FROM opora_outbox WHERE id = ANY (ARRAY(SELECT (value #>> '{}')::bigint FROM $rows)) RETURNING *)";

/// What failed is among what is unsent no more.
const FAILED: &str = "
@ AS (INSERT INTO opora_failed (id, bot, key, chat, method, body, rest, reason, at)
      SELECT o.id, o.bot, o.key, o.chat, o.method, o.body, o.rest, said.value->>1, o.at
      FROM $rows AS said JOIN unsent_gone AS o ON o.id = (said.value->>0)::bigint
      ON CONFLICT DO NOTHING)";

/// Of several messages under one label the last one counts.
const LABELS: &str = "
@ AS (INSERT INTO opora_labels (bot, chat, label, message, at)
      SELECT DISTINCT ON (1, 2, 3) (value->>0)::bigint, (value->>1)::bigint, value->>2, (value->>3)::bigint,
             (value->>4)::bigint
      FROM $rows WITH ORDINALITY AS said (value, place) ORDER BY 1, 2, 3, place DESC
      ON CONFLICT (bot, chat, label) DO UPDATE SET message = excluded.message, at = excluded.at)";

const FIRED: &str = "
@ AS (DELETE FROM opora_timers WHERE id = ANY (ARRAY(SELECT id FROM @_rows)) RETURNING 1)";

const TIMERS_CANCELLED: &str = "
@ AS (DELETE FROM opora_timers WHERE (key, name) IN (SELECT value->>0, value->>1 FROM $rows))";

const TIMERS: &str = "
@ AS (INSERT INTO opora_timers (id, bot, key, name, due_at, body)
      SELECT (value->>0)::bigint, (value->>1)::bigint, value->>2, value->>3, (value->>4)::bigint, value->>5 FROM $rows
      ON CONFLICT (key, name) DO UPDATE
      SET id = excluded.id, bot = excluded.bot, due_at = excluded.due_at, body = excluded.body)";

const EFFECTS_GONE: &str = "
@ AS (DELETE FROM opora_effects WHERE id = ANY (ARRAY(SELECT id FROM @_rows)) RETURNING 1)";

const EFFECTS: &str = "
@ AS (INSERT INTO opora_effects (id, bot, key, kind, body, at)
      SELECT (value->>0)::bigint, (value->>1)::bigint, value->>2, value->>3, value->>4, (value->>5)::bigint FROM $rows)";

const TRANSITIONS: &str = "
@ AS (INSERT INTO opora_transitions (id, bot, key, version, at, from_place, to_place, cause, took_us)
      SELECT (value->>0)::bigint, (value->>1)::bigint, value->>2, (value->>3)::bigint, (value->>4)::bigint, value->>5,
             value->>6, value->>7, (value->>8)::bigint FROM $rows)";

const PARKED_GONE: &str = "
@ AS (DELETE FROM opora_parked WHERE id = ANY (ARRAY(SELECT id FROM @_rows)) RETURNING 1)";

const PARKED: &str = "
@ AS (INSERT INTO opora_parked (id, bot, key, kind, body, reason, attempts, at, retry)
      SELECT (value->>0)::bigint, (value->>1)::bigint, value->>2, value->>3, value->>4, value->>5,
             (value->>6)::bigint, (value->>7)::bigint, (value->>8)::bigint <> 0 FROM $rows)";
