//! The tables and their schema version.
//!
//! Migrations only go forward, one instance at a time. A database of a newer library is refused.
//!
//! Differences from SQLite's tables: Texts are compared byte by byte, like in the library. No index, and no index
//! condition, holds a column that changes with every turn, so that a turn updates a row within its page; the end of a
//! conversation has its own column. Each writer counts states in rows of its own, to avoid lock waits. Tables with
//! short-lived rows are vacuumed early. Indexes for cleaning start with the age: if they started with the bot, the
//! planner might use them for other queries while a table is new. A generation identifies the tables.

use std::collections::BTreeMap;
use std::time::Duration;

use sqlx::{Connection, PgConnection, Row};

use super::server::{ANSWER_TIMEOUT, with_timeout};
use crate::store::sql::failure::unavailable;
use crate::store::sql::versions;
use crate::store::{Epoch, StoreResult};

/// One migration per schema version, oldest first. New ones are appended.
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
    states TEXT NOT NULL,
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
CREATE TABLE opora_state_counts (
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
CREATE TABLE opora_jobs (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    bot BIGINT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    queue TEXT COLLATE "C" NOT NULL,
    args TEXT NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    priority BIGINT NOT NULL,
    run_at BIGINT NOT NULL,
    scheduled_at BIGINT NOT NULL,
    attempt BIGINT NOT NULL DEFAULT 0,
    max_attempts BIGINT NOT NULL,
    epoch BIGINT NOT NULL DEFAULT 0,
    cancel_requested BIGINT NOT NULL DEFAULT 0,
    unique_key TEXT COLLATE "C",
    enqueued_at BIGINT NOT NULL,
    started_at BIGINT,
    finished_at BIGINT,
    errors TEXT NOT NULL DEFAULT '[]',
    result TEXT
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 5000);
CREATE INDEX opora_jobs_available ON opora_jobs (bot, queue, priority, run_at, id) WHERE state = 'available';
CREATE INDEX opora_jobs_scheduled ON opora_jobs (bot, run_at, id) WHERE state = 'scheduled';
CREATE INDEX opora_jobs_running ON opora_jobs (bot, id) WHERE state = 'running';
CREATE INDEX opora_jobs_finished ON opora_jobs (bot, finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX opora_jobs_results ON opora_jobs (bot, finished_at) WHERE result IS NOT NULL;
CREATE INDEX opora_jobs_unique ON opora_jobs (bot, unique_key, state, id) WHERE unique_key IS NOT NULL;
CREATE TABLE opora_paused_queues (bot BIGINT NOT NULL, queue TEXT COLLATE "C" NOT NULL, PRIMARY KEY (bot, queue));
CREATE TABLE opora_job_ticks (
    bot BIGINT NOT NULL,
    schedule TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (bot, schedule)
);
CREATE TABLE opora_transitions (
    id BIGINT PRIMARY KEY,
    bot BIGINT NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    at BIGINT NOT NULL,
    from_state TEXT,
    to_state TEXT,
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

/// Only one process migrates at a time; others wait longer than a usual statement may take. The lock covers this schema
/// of this database.
const MIGRATION_LOCK: &str = "
SET LOCAL lock_timeout = '60s';
SET LOCAL statement_timeout = 0;
SELECT pg_advisory_xact_lock(1869639538, hashtext(current_schema()));";

/// The timeout of this lock, with the round trip.
const MIGRATION_LOCK_TIMEOUT: Duration = Duration::from_secs(60 + 5);
/// The timeout of a migration: an index on a large table takes time.
const MIGRATION_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// Migrates the tables to this library's version. No right to create tables is needed if they are up to date.
pub(super) async fn migrate(connection: &mut PgConnection) -> StoreResult<()> {
    if found(connection).await.map_err(unavailable)? == Some(SCRIPTS.len()) {
        return Ok(());
    }
    let mut transaction = with_timeout(ANSWER_TIMEOUT, connection.begin()).await.map_err(unavailable)?;
    with_timeout(MIGRATION_LOCK_TIMEOUT, sqlx::raw_sql(MIGRATION_LOCK).execute(&mut *transaction))
        .await
        .map_err(unavailable)?;
    let version = match found(&mut transaction).await.map_err(unavailable)? {
        Some(version) => version,
        None => {
            let create = sqlx::raw_sql("CREATE TABLE opora_schema (version BIGINT NOT NULL)");
            with_timeout(ANSWER_TIMEOUT, create.execute(&mut *transaction)).await.map_err(unavailable)?;
            0
        }
    };
    versions::not_newer(version, SCRIPTS.len())?;
    for (done, script) in SCRIPTS.iter().enumerate().skip(version) {
        with_timeout(MIGRATION_TIMEOUT, sqlx::raw_sql(*script).execute(&mut *transaction))
            .await
            .map_err(unavailable)?;
        let version = i64::try_from(done).unwrap_or(i64::MAX).saturating_add(1);
        let noted = sqlx::query("INSERT INTO opora_schema VALUES ($1)").bind(version);
        with_timeout(ANSWER_TIMEOUT, noted.execute(&mut *transaction)).await.map_err(unavailable)?;
    }
    with_timeout(MIGRATION_TIMEOUT, transaction.commit()).await.map_err(unavailable)
}

/// Counts the generation table: 1 if the tables exist, else 0.
pub(super) const HAS_GENERATION: &str = "
    SELECT count(*) FROM pg_catalog.pg_class
    WHERE relname = 'opora_generation' AND pg_catalog.pg_table_is_visible(oid)";
pub(super) const GENERATION: &str = "SELECT generation FROM opora_generation";

/// The generation of the tables, if there are any.
pub(super) async fn generation(connection: &mut PgConnection) -> sqlx::Result<Option<String>> {
    let counted = sqlx::query_scalar::<_, i64>(HAS_GENERATION).fetch_one(&mut *connection);
    match with_timeout(ANSWER_TIMEOUT, counted).await? {
        0 => Ok(None),
        _ => with_timeout(ANSWER_TIMEOUT, sqlx::query_scalar(GENERATION).fetch_optional(connection)).await,
    }
}

/// Raises the counters after an accepted loss. Versions start at the time in seconds, which no conversation can have
/// reached, so that no old button fits a later state. Epochs, and with them ids, continue above the last known lease.
pub(super) async fn raise_counters(connection: &mut PgConnection, leases: &BTreeMap<i64, Epoch>) -> sqlx::Result<()> {
    const VERSIONS: &str = "
        SET LOCAL statement_timeout = 0;
        UPDATE opora_version_floor SET floor = greatest(floor, extract(epoch FROM now())::bigint);
        UPDATE opora_conversations AS c SET version = f.floor FROM opora_version_floor AS f WHERE c.version < f.floor;";
    const EPOCHS: &str = "
        INSERT INTO opora_leases (bot, epoch, holder, renewals, numbers)
        SELECT $1, $2, NULL, 0, 0 WHERE $2 > (SELECT coalesce(max(epoch), 0) FROM opora_leases)
        ON CONFLICT (bot) DO UPDATE SET epoch = excluded.epoch WHERE opora_leases.holder IS NULL";
    let mut transaction = with_timeout(ANSWER_TIMEOUT, connection.begin()).await?;
    with_timeout(MIGRATION_TIMEOUT, sqlx::raw_sql(VERSIONS).execute(&mut *transaction)).await?;
    // The highest epoch is enough, because epochs are unique over all bots. A leader that works here already, because
    // the loss was accepted on another machine, is not fenced.
    if let Some((bot, epoch)) = leases.iter().max_by_key(|(_, epoch)| **epoch) {
        let raised = sqlx::query(EPOCHS).bind(bot).bind(epoch.0).execute(&mut *transaction);
        with_timeout(ANSWER_TIMEOUT, raised).await?;
    }
    with_timeout(MIGRATION_TIMEOUT, transaction.commit()).await
}

/// Refuses tables of another version. Changes nothing.
pub(super) async fn check(connection: &mut PgConnection) -> StoreResult<()> {
    versions::exactly(found(connection).await.map_err(unavailable)?, SCRIPTS.len())
}

/// The version of the tables; none if there are none.
async fn found(connection: &mut PgConnection) -> sqlx::Result<Option<usize>> {
    // Reads the catalogue, because a session caches that a name did not exist.
    const NAMED: &str = "
        SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class
                       WHERE relname = 'opora_schema' AND pg_catalog.pg_table_is_visible(oid))";
    let named = with_timeout(ANSWER_TIMEOUT, sqlx::query(NAMED).fetch_one(&mut *connection)).await?;
    if !named.try_get::<bool, _>(0)? {
        return Ok(None);
    }
    let highest = sqlx::query("SELECT coalesce(max(version), 0) FROM opora_schema").fetch_one(connection);
    let row = with_timeout(ANSWER_TIMEOUT, highest).await?;
    Ok(Some(usize::try_from(row.try_get::<i64, _>(0)?).unwrap_or(usize::MAX)))
}

#[cfg(test)]
mod tests {
    use crate::store::sql::bulk;

    #[test]
    fn bulk_rows_fit_the_tables() {
        bulk::tests::fits(super::TABLES);
    }
}
