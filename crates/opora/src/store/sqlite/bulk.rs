//! What a group writes: for each table the rows of all its operations, in one statement.

use sqlx::{AssertSqlSafe, SqliteConnection};

use super::failure::GroupFailed;
use super::rows::Rows;
use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::{Stored, Version};

/// The unit by which ends of life are indexed.
const MINUTE_MS: i64 = 60_000;

/// Rows by what happens to them.
#[derive(Debug, Default)]
pub(super) struct Bulk {
    /// `bot`.
    pub(super) renewed: Rows,
    /// `seq`.
    pub(super) inputs_gone: Rows,
    /// `bot, update_id, identity, taken_at`.
    pub(super) marks: Rows,
    /// `seq, bot, key, update_id, identity, effect, body, at`.
    pub(super) inputs: Rows,
    /// `key, bot, chat, user, thread, business, version, value, places, dialogue, state, expires_at, updated_at`.
    changed: Rows,
    /// `key, bot, chat, user, thread, business, version, updated_at`, of conversations whose state stays.
    kept: Rows,
    /// `key, expires_minute`, of conversations that changed.
    expiry: Rows,
    /// `id, bot, key, chat, method, body, rest, at`.
    pub(super) outbox: Rows,
    /// `once, bot, at`.
    pub(super) posts: Rows,
    /// `id`.
    pub(super) sending: Rows,
    /// `id, reason`.
    pub(super) failed: Rows,
    /// `id`, of what was sent and what failed.
    pub(super) unsent_gone: Rows,
    /// `bot, chat, label, message`.
    pub(super) labels: Rows,
    /// `bot, id, from, to`.
    pub(super) moved: Rows,
    /// `id`.
    pub(super) timers_gone: Rows,
    /// `key, name`.
    pub(super) timers_replaced: Rows,
    /// `id, bot, key, name, due_at, body`.
    pub(super) timers: Rows,
    /// `id`.
    pub(super) effects_gone: Rows,
    /// `id, bot, key, kind, body, at`.
    pub(super) effects: Rows,
    /// `id, bot, key, version, at, from_place, to_place, cause, took_us`.
    pub(super) transitions: Rows,
    /// `id`.
    pub(super) parked_gone: Rows,
    /// `id, bot, key, kind, body, reason, attempts, at, retry`.
    pub(super) parked: Rows,
}

impl Bulk {
    /// Adds a conversation with its new state, or none.
    pub(super) fn change(
        &mut self,
        text: &str,
        key: &DialogueKey,
        version: Version,
        stored: Option<&Stored>,
        updated_at: Millis,
    ) -> Result<(), GroupFailed> {
        let DialogueKey { bot, chat, user, thread, business } = key;
        let places = stored.map_or(Ok("[]".to_owned()), |stored| serde_json::to_string(&stored.places))?;
        let foreground = stored.and_then(|stored| stored.places.first());
        let (dialogue, state) = (foreground.map(|place| &place.dialogue), foreground.map(|place| &place.state));
        let value = stored.map(|stored| &stored.value);
        let expires_at = stored.and_then(|stored| stored.expires_at);
        self.changed.add(&(
            text, bot, chat, user, thread, business, version, value, places, dialogue, state, expires_at, updated_at,
        ))?;
        self.expiry.add(&(text, expires_at.map(|at| at.0.div_euclid(MINUTE_MS))))?;
        Ok(())
    }

    /// Adds a conversation whose state stays.
    pub(super) fn keep(
        &mut self,
        text: &str,
        key: &DialogueKey,
        version: Version,
        updated_at: Millis,
    ) -> Result<(), GroupFailed> {
        let DialogueKey { bot, chat, user, thread, business } = key;
        Ok(self.kept.add(&(text, bot, chat, user, thread, business, version, updated_at))?)
    }

    /// Writes everything, in an order in which what is replaced goes before what replaces it.
    pub(super) async fn write(self, connection: &mut SqliteConnection) -> Result<(), GroupFailed> {
        let statements = [
            (RENEWED, self.renewed),
            (INPUTS_GONE, self.inputs_gone),
            (MARKS, self.marks),
            (INPUTS, self.inputs),
            (CHANGED, self.changed),
            (KEPT, self.kept),
            (EXPIRY, self.expiry),
            (OUTBOX, self.outbox),
            (POSTS, self.posts),
            (SENDING, self.sending),
            (FAILED, self.failed),
            (UNSENT_GONE, self.unsent_gone),
            (LABELS, self.labels),
            (MOVED, self.moved),
            (TIMERS_GONE, self.timers_gone),
            (TIMERS_REPLACED, self.timers_replaced),
            (TIMERS, self.timers),
            (EFFECTS_GONE, self.effects_gone),
            (EFFECTS, self.effects),
            (TRANSITIONS, self.transitions),
            (PARKED_GONE, self.parked_gone),
            (PARKED, self.parked),
        ];
        let (mut script, mut arguments) = (String::new(), Vec::new());
        for (statement, rows) in statements {
            if !rows.is_empty() {
                script.push_str(statement);
                arguments.push(rows.into_json());
            }
        }
        if arguments.is_empty() {
            return Ok(());
        }
        // One change of threads for all tables. The script is made of the constants below and of nothing else.
        let script = sqlx::query(AssertSqlSafe(script));
        arguments.into_iter().fold(script, |script, json| script.bind(json)).execute(connection).await?;
        Ok(())
    }
}

const RENEWED: &str = "
UPDATE opora_leases SET renewals = renewals + 1 WHERE bot IN (SELECT value FROM jsonb_each(?));";

const INPUTS_GONE: &str = "DELETE FROM opora_inbox WHERE seq IN (SELECT value FROM jsonb_each(?));";

const MARKS: &str = "
INSERT OR IGNORE INTO opora_marks (bot, update_id, identity, taken_at)
SELECT value->>0, value->>1, value->>2, value->>3 FROM jsonb_each(?);";

const INPUTS: &str = "
INSERT INTO opora_inbox (seq, bot, key, update_id, identity, effect, body, at)
SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7 FROM jsonb_each(?);";

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
INSERT INTO opora_labels (bot, chat, label, message)
SELECT value->>0, value->>1, value->>2, value->>3 FROM jsonb_each(?) WHERE true
ON CONFLICT DO UPDATE SET message = excluded.message;";

/// The call itself names the chat too, where it names one.
const MOVED: &str = "
UPDATE opora_outbox AS o
SET chat = moved.new,
    body = CASE WHEN json_valid(o.body) THEN json_replace(o.body, '$.chat_id', moved.new) ELSE o.body END,
    sending = CASE WHEN o.id = moved.id THEN 0 ELSE o.sending END
FROM (SELECT value->>0 AS bot, value->>1 AS id, value->>2 AS old, value->>3 AS new FROM jsonb_each(?)) AS moved
WHERE o.id >= moved.id AND o.bot = moved.bot AND o.chat = moved.old;";

const TIMERS_GONE: &str = "DELETE FROM opora_timers WHERE id IN (SELECT value FROM jsonb_each(?));";

const TIMERS_REPLACED: &str = "
DELETE FROM opora_timers
WHERE (key, name) IN (SELECT value->>0, value->>1 FROM jsonb_each(?));";

const TIMERS: &str = "
INSERT INTO opora_timers (id, bot, key, name, due_at, body)
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
