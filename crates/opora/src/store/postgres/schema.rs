//! The tables, and the version that a database has of them.
//!
//! Scripts only go forward and in order, one instance at a time. A database of a newer library is refused.
//!
//! The tables are SQLite's, with these differences. Texts are compared byte by byte, as the library compares them. What
//! changes with every turn is in no index, nor in the condition of one, so that a turn rewrites a row within its page:
//! the end of a conversation has a column of its own. Places are counted by each writer in rows of its own, which no
//! other writer waits for. Tables whose rows come and go are swept early. An index that serves only cleaning begins with
//! the age: one that began with the bot would seem to the planner, while a table is new, as good as any for finding a row
//! of a bot, and would read all of them. A generation tells these tables from others that are made at the same place.

use std::collections::BTreeMap;
use std::time::Duration;

use sqlx::{Connection, PgConnection, Row};

use super::server::{ANSWER_TIMEOUT, within};
use crate::store::sql::failure::unavailable;
use crate::store::sql::versions;
use crate::store::{Epoch, StoreResult};

/// One script for each version of the schema, the first one first. A later version adds its script behind them.
const SCRIPTS: [&str; 1] = [TABLES];

const TABLES: &str = r#"
CREATE TABLE opora_leases (
    bot BIGINT PRIMARY KEY,
    epoch BIGINT NOT NULL UNIQUE,
    holder TEXT,
    renewals BIGINT NOT NULL,
    numbers BIGINT NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE opora_conversations (
    key TEXT COLLATE "C" PRIMARY KEY,
    bot BIGINT NOT NULL,
    chat BIGINT NOT NULL,
    "user" BIGINT NOT NULL,
    thread BIGINT NOT NULL,
    business TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    value TEXT,
    places TEXT NOT NULL,
    dialogue TEXT COLLATE "C",
    state TEXT COLLATE "C",
    expires_at BIGINT,
    expires_minute BIGINT,
    updated_at BIGINT NOT NULL,
    ended_at BIGINT
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE UNIQUE INDEX opora_conversations_order ON opora_conversations (bot, chat, "user", thread, business);
CREATE INDEX opora_conversations_user ON opora_conversations ("user");
CREATE INDEX opora_conversations_expiry ON opora_conversations (bot, expires_minute) WHERE expires_minute IS NOT NULL;
CREATE INDEX opora_conversations_ended ON opora_conversations (bot, ended_at) WHERE ended_at IS NOT NULL;
CREATE TABLE opora_places (
    slot BIGINT NOT NULL,
    bot BIGINT NOT NULL,
    dialogue TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    conversations BIGINT NOT NULL,
    PRIMARY KEY (slot, bot, dialogue, state)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE TABLE opora_version_floor (floor BIGINT NOT NULL);
INSERT INTO opora_version_floor VALUES (0);
CREATE TABLE opora_marks (
    bot BIGINT NOT NULL,
    update_id BIGINT NOT NULL,
    identity TEXT COLLATE "C" NOT NULL,
    taken_at BIGINT NOT NULL,
    PRIMARY KEY (bot, update_id, identity)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE INDEX opora_marks_age ON opora_marks (taken_at);
CREATE TABLE opora_inbox (
    seq BIGINT PRIMARY KEY,
    bot BIGINT NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    update_id BIGINT,
    identity TEXT COLLATE "C",
    effect BIGINT,
    body TEXT NOT NULL,
    at BIGINT NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);
CREATE UNIQUE INDEX opora_inbox_mark ON opora_inbox (bot, update_id, identity) WHERE update_id IS NOT NULL;
CREATE INDEX opora_inbox_key ON opora_inbox (key, seq);
CREATE SEQUENCE opora_inbox_places;
CREATE TABLE opora_outbox (
    id BIGINT PRIMARY KEY,
    bot BIGINT NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    chat BIGINT,
    method TEXT NOT NULL,
    body TEXT NOT NULL,
    rest TEXT,
    sending BOOLEAN NOT NULL DEFAULT false,
    at BIGINT NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);
CREATE TABLE opora_failed (
    id BIGINT PRIMARY KEY,
    bot BIGINT NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    chat BIGINT,
    method TEXT NOT NULL,
    body TEXT NOT NULL,
    rest TEXT,
    reason TEXT NOT NULL,
    at BIGINT NOT NULL
);
CREATE INDEX opora_failed_age ON opora_failed (bot, at);
CREATE TABLE opora_posts (
    bot BIGINT NOT NULL,
    once TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (once, bot)
);
CREATE INDEX opora_posts_age ON opora_posts (at);
CREATE TABLE opora_labels (
    bot BIGINT NOT NULL,
    chat BIGINT NOT NULL,
    label TEXT COLLATE "C" NOT NULL,
    message BIGINT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (bot, chat, label)
);
CREATE INDEX opora_labels_age ON opora_labels (at);
CREATE TABLE opora_timers (
    id BIGINT PRIMARY KEY,
    bot BIGINT NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    due_at BIGINT NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (key, name)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 5000);
CREATE INDEX opora_timers_due ON opora_timers (bot, due_at, id);
CREATE TABLE opora_effects (
    id BIGINT PRIMARY KEY,
    bot BIGINT NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    at BIGINT NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);
CREATE TABLE opora_transitions (
    id BIGINT PRIMARY KEY,
    bot BIGINT NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    at BIGINT NOT NULL,
    from_place TEXT,
    to_place TEXT,
    cause TEXT NOT NULL,
    took_us BIGINT NOT NULL
);
CREATE INDEX opora_transitions_age ON opora_transitions (at);
CREATE INDEX opora_transitions_key ON opora_transitions ((id >> 12), key, id);
CREATE TABLE opora_parked (
    id BIGINT PRIMARY KEY,
    bot BIGINT NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    reason TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    at BIGINT NOT NULL,
    retry BOOLEAN NOT NULL
);
CREATE INDEX opora_parked_bot ON opora_parked (bot, id);
CREATE INDEX opora_parked_retry ON opora_parked (bot, id) WHERE retry;
CREATE TABLE opora_generation (generation TEXT NOT NULL);
INSERT INTO opora_generation VALUES (gen_random_uuid());
"#;

/// Others that migrate wait here, and wait longer than a statement may. The lock is of this schema alone, and of this
/// database.
const ALONE: &str = "
SET LOCAL lock_timeout = '60s';
SET LOCAL statement_timeout = 0;
SELECT pg_advisory_xact_lock(1869639538, hashtext(current_schema()));";

/// How long the wait for others who migrate may take, with the way there and back.
const ALONE_WITHIN: Duration = Duration::from_secs(60 + 5);
/// How long what is done to all rows of a table may take: of a large one an index takes its time.
const CHANGED_WITHIN: Duration = Duration::from_secs(15 * 60);

/// Brings the tables to this library's version. Where they are, no right to make tables is needed.
pub(super) async fn migrate(connection: &mut PgConnection) -> StoreResult<()> {
    if found(connection).await.map_err(unavailable)? == Some(SCRIPTS.len()) {
        return Ok(());
    }
    let mut transaction = within(ANSWER_TIMEOUT, connection.begin()).await.map_err(unavailable)?;
    within(ALONE_WITHIN, sqlx::raw_sql(ALONE).execute(&mut *transaction)).await.map_err(unavailable)?;
    let version = match found(&mut transaction).await.map_err(unavailable)? {
        Some(version) => version,
        None => {
            let create = sqlx::raw_sql("CREATE TABLE opora_schema (version BIGINT NOT NULL)");
            within(ANSWER_TIMEOUT, create.execute(&mut *transaction)).await.map_err(unavailable)?;
            0
        }
    };
    versions::not_newer(version, SCRIPTS.len())?;
    for (done, script) in SCRIPTS.iter().enumerate().skip(version) {
        within(CHANGED_WITHIN, sqlx::raw_sql(*script).execute(&mut *transaction)).await.map_err(unavailable)?;
        let version = i64::try_from(done).unwrap_or(i64::MAX).saturating_add(1);
        let noted = sqlx::query("INSERT INTO opora_schema VALUES ($1)").bind(version);
        within(ANSWER_TIMEOUT, noted.execute(&mut *transaction)).await.map_err(unavailable)?;
    }
    within(CHANGED_WITHIN, transaction.commit()).await.map_err(unavailable)
}

/// Whether the tables are there, by the one that has their generation: 1 or 0.
pub(super) const HAS_GENERATION: &str = "
    SELECT count(*) FROM pg_catalog.pg_class
    WHERE relname = 'opora_generation' AND pg_catalog.pg_table_is_visible(oid)";
pub(super) const GENERATION: &str = "SELECT generation FROM opora_generation";

/// The generation of the tables that this connection finds; none if there are none.
pub(super) async fn generation(connection: &mut PgConnection) -> sqlx::Result<Option<String>> {
    let counted = sqlx::query_scalar::<_, i64>(HAS_GENERATION).fetch_one(&mut *connection);
    match within(ANSWER_TIMEOUT, counted).await? {
        0 => Ok(None),
        _ => within(ANSWER_TIMEOUT, sqlx::query_scalar(GENERATION).fetch_optional(connection)).await,
    }
}

/// Goes on after what was there is lost. Versions begin above all that there can have been, for nobody has had as many
/// turns as there are seconds, so that no button of the lost time fits a later state; epochs, and with them the numbers of
/// rows, go on above a lease that is known.
pub(super) async fn go_on_above(connection: &mut PgConnection, leases: &BTreeMap<i64, Epoch>) -> sqlx::Result<()> {
    const VERSIONS: &str = "
        SET LOCAL statement_timeout = 0;
        UPDATE opora_version_floor SET floor = greatest(floor, extract(epoch FROM now())::bigint);
        UPDATE opora_conversations AS c SET version = f.floor FROM opora_version_floor AS f WHERE c.version < f.floor;";
    const EPOCHS: &str = "
        INSERT INTO opora_leases (bot, epoch, holder, renewals, numbers)
        SELECT $1, $2, NULL, 0, 0 WHERE $2 > (SELECT coalesce(max(epoch), 0) FROM opora_leases)
        ON CONFLICT (bot) DO UPDATE SET epoch = excluded.epoch WHERE opora_leases.holder IS NULL";
    let mut transaction = within(ANSWER_TIMEOUT, connection.begin()).await?;
    within(CHANGED_WITHIN, sqlx::raw_sql(VERSIONS).execute(&mut *transaction)).await?;
    // The highest is enough, for bots have no epoch in common. Somebody who works here already, having accepted it on
    // another machine, is not put out.
    if let Some((bot, epoch)) = leases.iter().max_by_key(|(_, epoch)| **epoch) {
        let raised = sqlx::query(EPOCHS).bind(bot).bind(epoch.0).execute(&mut *transaction);
        within(ANSWER_TIMEOUT, raised).await?;
    }
    within(CHANGED_WITHIN, transaction.commit()).await
}

/// Refuses tables that are not of this library's version, and changes nothing.
pub(super) async fn check(connection: &mut PgConnection) -> StoreResult<()> {
    versions::exactly(found(connection).await.map_err(unavailable)?, SCRIPTS.len())
}

/// The version of the tables that this connection finds by their names; none if there are none.
async fn found(connection: &mut PgConnection) -> sqlx::Result<Option<usize>> {
    // A session remembers that there was no such name; what it reads from the catalogue itself is as others left it.
    const NAMED: &str = "
        SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class
                       WHERE relname = 'opora_schema' AND pg_catalog.pg_table_is_visible(oid))";
    let named = within(ANSWER_TIMEOUT, sqlx::query(NAMED).fetch_one(&mut *connection)).await?;
    if !named.try_get::<bool, _>(0)? {
        return Ok(None);
    }
    let highest = sqlx::query("SELECT coalesce(max(version), 0) FROM opora_schema").fetch_one(connection);
    let row = within(ANSWER_TIMEOUT, highest).await?;
    Ok(Some(usize::try_from(row.try_get::<i64, _>(0)?).unwrap_or(usize::MAX)))
}

#[cfg(test)]
mod tests {
    use crate::store::sql::bulk;

    #[test]
    fn what_groups_write_fits_the_tables() {
        bulk::tests::fits(super::TABLES);
    }
}
