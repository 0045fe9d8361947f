//! Writes what a group has decided, table by table, in one script.

use sqlx::{AssertSqlSafe, SqliteConnection};

use crate::failpoints;
use crate::store::sql::bulk::Bulk;
use crate::store::sql::failure::GroupFailed;

/// Writes everything; the transaction stays open.
pub(super) async fn write(bulk: Bulk, connection: &mut SqliteConnection) -> Result<(), GroupFailed> {
    let (script, arguments) = script(bulk);
    run(connection, script, arguments).await
}

/// Writes everything and commits.
pub(super) async fn write_and_commit(bulk: Bulk, connection: &mut SqliteConnection) -> Result<(), GroupFailed> {
    let (mut script, arguments) = script(bulk);
    if failpoints::any_armed() {
        run(connection, std::mem::take(&mut script), arguments).await?;
        failpoints::hit(failpoints::STORE_IN_COMMIT).await;
        return run(connection, COMMIT.to_owned(), Vec::new()).await;
    }
    script.push_str(COMMIT);
    run(connection, script, arguments).await
}

/// One statement for each table, in an order in which what is replaced goes before what replaces it.
fn script(bulk: Bulk) -> (String, Vec<String>) {
    let statements = [
        (RENEWED, bulk.renewed),
        (INPUTS_GONE, bulk.inputs_gone),
        (MARKS, bulk.marks),
        (INPUTS, bulk.inputs),
        (INPUTS, bulk.delivered),
        (LAST_PLACE, bulk.last_place),
        (FRESH_GONE, bulk.fresh_gone),
        (CHANGED, bulk.changed),
        (KEPT, bulk.kept),
        (EXPIRY, bulk.expiry),
        (OUTBOX, bulk.outbox),
        (POSTS, bulk.posts),
        (SENDING, bulk.sending),
        (FAILED, bulk.failed),
        (UNSENT_GONE, bulk.unsent_gone),
        (LABELS, bulk.labels),
        (MOVED, bulk.moved),
        (TIMERS_GONE, bulk.timers_gone),
        (TIMERS_CANCELLED, bulk.timers_cancelled),
        (TIMERS, bulk.timers),
        (EFFECTS_GONE, bulk.effects_gone),
        (EFFECTS, bulk.effects),
        (TRANSITIONS, bulk.transitions),
        (PARKED_GONE, bulk.parked_gone),
        (PARKED, bulk.parked),
    ];
    let (mut script, mut arguments) = (String::new(), Vec::new());
    for (statement, rows) in statements {
        if !rows.is_empty() {
            script.push_str(statement);
            arguments.push(rows.into_json());
        }
    }
    (script, arguments)
}

/// Runs a script, for all tables in one change of threads. It is made of the constants below and of nothing else.
async fn run(connection: &mut SqliteConnection, script: String, arguments: Vec<String>) -> Result<(), GroupFailed> {
    if script.is_empty() {
        return Ok(());
    }
    let script = sqlx::query(AssertSqlSafe(script));
    arguments.into_iter().fold(script, |script, json| script.bind(json)).execute(connection).await?;
    Ok(())
}

const COMMIT: &str = "\nCOMMIT;";

const RENEWED: &str = "
UPDATE opora_leases SET renewals = renewals + 1 WHERE bot IN (SELECT value FROM jsonb_each(?));";

const INPUTS_GONE: &str = "DELETE FROM opora_inbox WHERE seq IN (SELECT value FROM jsonb_each(?));";

const MARKS: &str = "
INSERT OR IGNORE INTO opora_marks (bot, update_id, identity, taken_at)
SELECT value->>0, value->>1, value->>2, value->>3 FROM jsonb_each(?);";

const INPUTS: &str = "
INSERT INTO opora_inbox (seq, bot, key, update_id, identity, effect, body, at)
SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7 FROM jsonb_each(?);";

const LAST_PLACE: &str = "UPDATE opora_inbox_places SET last = (SELECT value FROM jsonb_each(?));";

const FRESH_GONE: &str = "
DELETE FROM opora_inbox
WHERE update_id IS NOT NULL
  AND (bot, update_id, identity) IN (SELECT value->>0, value->>1, value->>2 FROM jsonb_each(?));";

const CHANGED: &str = "
INSERT INTO opora_conversations (key, bot, chat, user, thread, business, version, value, places, dialogue, state,
                                 expires_at, updated_at)
SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8, value->>9,
       value->>10, value->>11, value->>12
FROM jsonb_each(?) WHERE true
ON CONFLICT (key) DO UPDATE SET
    version = excluded.version, value = excluded.value, places = excluded.places, dialogue = excluded.dialogue,
    state = excluded.state, expires_at = excluded.expires_at, updated_at = excluded.updated_at;";

const KEPT: &str = "
INSERT INTO opora_conversations (key, bot, chat, user, thread, business, version, places, updated_at)
SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, '[]', value->>7
FROM jsonb_each(?) WHERE true
ON CONFLICT (key) DO UPDATE SET version = excluded.version, updated_at = excluded.updated_at;";

/// Most turns stay within the minute, and then the index stays as it is.
const EXPIRY: &str = "
UPDATE opora_conversations AS c SET expires_minute = said.minute
FROM (SELECT value->>0 AS key, value->>1 AS minute FROM jsonb_each(?)) AS said
WHERE c.key = said.key AND c.expires_minute IS NOT said.minute;";

const OUTBOX: &str = "
INSERT INTO opora_outbox (id, bot, key, chat, method, body, rest, at)
SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7 FROM jsonb_each(?);";

const POSTS: &str = "
INSERT INTO opora_posts (once, bot, at) SELECT value->>0, value->>1, value->>2 FROM jsonb_each(?);";

const SENDING: &str = "UPDATE opora_outbox SET sending = 1 WHERE id IN (SELECT value FROM jsonb_each(?));";

const FAILED: &str = "
INSERT OR IGNORE INTO opora_failed (id, bot, key, chat, method, body, rest, reason, at)
SELECT o.id, o.bot, o.key, o.chat, o.method, o.body, o.rest, said.value->>1, o.at
FROM jsonb_each(?) AS said JOIN opora_outbox AS o ON o.id = said.value->>0;";

const UNSENT_GONE: &str = "DELETE FROM opora_outbox WHERE id IN (SELECT value FROM jsonb_each(?));";

const LABELS: &str = "
INSERT INTO opora_labels (bot, chat, label, message, at)
SELECT value->>0, value->>1, value->>2, value->>3, value->>4 FROM jsonb_each(?) WHERE true
ON CONFLICT DO UPDATE SET message = excluded.message, at = excluded.at;";

/// The call itself names the chat too, where it names one.
const MOVED: &str = "
UPDATE opora_outbox AS o
SET chat = moved.new,
    body = CASE WHEN json_valid(o.body) THEN json_replace(o.body, '$.chat_id', moved.new) ELSE o.body END,
    sending = CASE WHEN o.id = moved.id THEN 0 ELSE o.sending END
FROM (SELECT value->>0 AS bot, value->>1 AS id, value->>2 AS old, value->>3 AS new FROM jsonb_each(?)) AS moved
WHERE o.id >= moved.id AND o.bot = moved.bot AND o.chat = moved.old;";

const TIMERS_GONE: &str = "DELETE FROM opora_timers WHERE id IN (SELECT value FROM jsonb_each(?));";

const TIMERS_CANCELLED: &str = "
DELETE FROM opora_timers
WHERE (key, name) IN (SELECT value->>0, value->>1 FROM jsonb_each(?));";

const TIMERS: &str = "
INSERT OR REPLACE INTO opora_timers (id, bot, key, name, due_at, body)
SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5 FROM jsonb_each(?);";

const EFFECTS_GONE: &str = "DELETE FROM opora_effects WHERE id IN (SELECT value FROM jsonb_each(?));";

const EFFECTS: &str = "
INSERT INTO opora_effects (id, bot, key, kind, body, at)
SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5 FROM jsonb_each(?);";

const TRANSITIONS: &str = "
INSERT INTO opora_transitions (id, bot, key, version, at, from_place, to_place, cause, took_us)
SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8
FROM jsonb_each(?);";

const PARKED_GONE: &str = "DELETE FROM opora_parked WHERE id IN (SELECT value FROM jsonb_each(?));";

const PARKED: &str = "
INSERT INTO opora_parked (id, bot, key, kind, body, reason, attempts, at, retry)
SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8
FROM jsonb_each(?);";
