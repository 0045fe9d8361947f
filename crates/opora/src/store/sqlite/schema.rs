//! The tables and their schema version.
//!
//! Migrations only go forward. A file of a newer library is refused: its rows may mean something else.
//!
//! Inbox and outbox have no index by bot: their rows are read in order of ids, and few files are shared by several
//! bots. Failed messages have a table of their own, so that reading unsent messages does not skip over them.
//!
//! The cost of a turn is about the number of pages it changes. So no large index holds a value that changes with every
//! turn: states are counted by triggers, and expiries are indexed by the minute, which turns of an active conversation
//! rarely change. Transitions are indexed by ranges of ids, so that the turns of a group write to the same index pages.

use sqlx::{Row, SqliteConnection};

use crate::store::StoreResult;
use crate::store::sql::failure::unavailable;
use crate::store::sql::versions;

/// One migration per schema version, oldest first. New ones are appended.
const SCRIPTS: [&str; 1] = [TABLES];

const TABLES: &str = "
CREATE TABLE opora_leases (
    bot INTEGER PRIMARY KEY,
    epoch INTEGER NOT NULL UNIQUE,
    holder TEXT,
    renewals INTEGER NOT NULL,
    numbers INTEGER NOT NULL
);
CREATE TABLE opora_conversations (
    key TEXT NOT NULL PRIMARY KEY,
    bot INTEGER NOT NULL,
    chat INTEGER NOT NULL,
    user INTEGER NOT NULL,
    thread INTEGER NOT NULL,
    business TEXT NOT NULL,
    version INTEGER NOT NULL,
    value TEXT,
    states TEXT NOT NULL,
    dialogue TEXT,
    state TEXT,
    expires_at INTEGER,
    expires_minute INTEGER,
    updated_at INTEGER NOT NULL
);
CREATE UNIQUE INDEX opora_conversations_order ON opora_conversations (bot, chat, user, thread, business);
CREATE INDEX opora_conversations_user ON opora_conversations (user);
CREATE INDEX opora_conversations_expiry ON opora_conversations (bot, expires_minute) WHERE expires_minute IS NOT NULL;
CREATE INDEX opora_conversations_ended ON opora_conversations (bot, updated_at) WHERE value IS NULL;
CREATE TABLE opora_state_counts (
    bot INTEGER NOT NULL,
    dialogue TEXT NOT NULL,
    state TEXT NOT NULL,
    conversations INTEGER NOT NULL,
    PRIMARY KEY (bot, dialogue, state)
) WITHOUT ROWID;
CREATE TRIGGER opora_state_entered AFTER INSERT ON opora_conversations WHEN new.value IS NOT NULL
BEGIN
    INSERT INTO opora_state_counts VALUES (new.bot, coalesce(new.dialogue, ''), coalesce(new.state, ''), 1)
    ON CONFLICT DO UPDATE SET conversations = conversations + 1;
END;
CREATE TRIGGER opora_state_changed AFTER UPDATE OF value, dialogue, state ON opora_conversations
WHEN (old.value IS NULL) <> (new.value IS NULL) OR old.dialogue IS NOT new.dialogue OR old.state IS NOT new.state
BEGIN
    UPDATE opora_state_counts SET conversations = conversations - 1
    WHERE old.value IS NOT NULL
      AND bot = old.bot AND dialogue = coalesce(old.dialogue, '') AND state = coalesce(old.state, '');
    INSERT INTO opora_state_counts
    SELECT new.bot, coalesce(new.dialogue, ''), coalesce(new.state, ''), 1 WHERE new.value IS NOT NULL
    ON CONFLICT DO UPDATE SET conversations = conversations + 1;
END;
CREATE TRIGGER opora_state_left AFTER DELETE ON opora_conversations WHEN old.value IS NOT NULL
BEGIN
    UPDATE opora_state_counts SET conversations = conversations - 1
    WHERE bot = old.bot AND dialogue = coalesce(old.dialogue, '') AND state = coalesce(old.state, '');
END;
CREATE TABLE opora_version_floor (floor INTEGER NOT NULL);
INSERT INTO opora_version_floor VALUES (0);
CREATE TABLE opora_marks (
    bot INTEGER NOT NULL,
    update_id INTEGER NOT NULL,
    identity TEXT NOT NULL,
    taken_at INTEGER NOT NULL,
    PRIMARY KEY (bot, update_id, identity)
) WITHOUT ROWID;
CREATE INDEX opora_marks_age ON opora_marks (bot, taken_at);
CREATE TABLE opora_inbox (
    seq INTEGER PRIMARY KEY,
    bot INTEGER NOT NULL,
    key TEXT NOT NULL,
    update_id INTEGER,
    identity TEXT,
    effect INTEGER,
    body TEXT NOT NULL,
    at INTEGER NOT NULL
);
CREATE UNIQUE INDEX opora_inbox_mark ON opora_inbox (bot, update_id, identity) WHERE update_id IS NOT NULL;
CREATE INDEX opora_inbox_key ON opora_inbox (key);
CREATE TABLE opora_inbox_places (last INTEGER NOT NULL);
INSERT INTO opora_inbox_places VALUES (0);
CREATE TABLE opora_outbox (
    id INTEGER PRIMARY KEY,
    bot INTEGER NOT NULL,
    key TEXT NOT NULL,
    chat INTEGER,
    method TEXT NOT NULL,
    body TEXT NOT NULL,
    rest TEXT,
    sending INTEGER NOT NULL DEFAULT 0,
    at INTEGER NOT NULL
);
CREATE TABLE opora_failed (
    id INTEGER PRIMARY KEY,
    bot INTEGER NOT NULL,
    key TEXT NOT NULL,
    chat INTEGER,
    method TEXT NOT NULL,
    body TEXT NOT NULL,
    rest TEXT,
    reason TEXT NOT NULL,
    at INTEGER NOT NULL
);
CREATE INDEX opora_failed_age ON opora_failed (bot, at);
CREATE TABLE opora_posts (
    bot INTEGER NOT NULL,
    once TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (once, bot)
) WITHOUT ROWID;
CREATE TABLE opora_labels (
    bot INTEGER NOT NULL,
    chat INTEGER NOT NULL,
    label TEXT NOT NULL,
    message INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (bot, chat, label)
) WITHOUT ROWID;
CREATE INDEX opora_labels_age ON opora_labels (bot, at);
CREATE TABLE opora_timers (
    id INTEGER PRIMARY KEY,
    bot INTEGER NOT NULL,
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    due_at INTEGER NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (key, name)
);
CREATE INDEX opora_timers_due ON opora_timers (bot, due_at);
CREATE TABLE opora_effects (
    id INTEGER PRIMARY KEY,
    bot INTEGER NOT NULL,
    key TEXT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    at INTEGER NOT NULL
);
CREATE TABLE opora_jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    bot INTEGER NOT NULL,
    name TEXT NOT NULL,
    queue TEXT NOT NULL,
    args TEXT NOT NULL,
    state TEXT NOT NULL,
    priority INTEGER NOT NULL,
    run_at INTEGER NOT NULL,
    scheduled_at INTEGER NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0,
    max_attempts INTEGER NOT NULL,
    epoch INTEGER NOT NULL DEFAULT 0,
    cancel_requested INTEGER NOT NULL DEFAULT 0,
    unique_key TEXT,
    enqueued_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    errors TEXT NOT NULL DEFAULT '[]',
    result TEXT
);
CREATE INDEX opora_jobs_available ON opora_jobs (bot, queue, priority, run_at, id) WHERE state = 'available';
CREATE INDEX opora_jobs_scheduled ON opora_jobs (bot, run_at, id) WHERE state = 'scheduled';
CREATE INDEX opora_jobs_running ON opora_jobs (bot, id) WHERE state = 'running';
CREATE INDEX opora_jobs_finished ON opora_jobs (bot, finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX opora_jobs_results ON opora_jobs (bot, finished_at) WHERE result IS NOT NULL;
CREATE INDEX opora_jobs_unique ON opora_jobs (bot, unique_key, state, id) WHERE unique_key IS NOT NULL;
CREATE TABLE opora_paused_queues (bot INTEGER NOT NULL, queue TEXT NOT NULL, PRIMARY KEY (bot, queue)) WITHOUT ROWID;
CREATE TABLE opora_job_ticks (
    bot INTEGER NOT NULL,
    schedule TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (bot, schedule)
) WITHOUT ROWID;
CREATE TABLE opora_transitions (
    id INTEGER PRIMARY KEY,
    bot INTEGER NOT NULL,
    key TEXT NOT NULL,
    version INTEGER NOT NULL,
    at INTEGER NOT NULL,
    from_state TEXT,
    to_state TEXT,
    cause TEXT NOT NULL,
    took_us INTEGER NOT NULL
);
CREATE INDEX opora_transitions_age ON opora_transitions (bot, at);
CREATE INDEX opora_transitions_key ON opora_transitions (id >> 12, key);
CREATE TABLE opora_parked (
    id INTEGER PRIMARY KEY,
    bot INTEGER NOT NULL,
    key TEXT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    reason TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    at INTEGER NOT NULL,
    retry INTEGER NOT NULL
);
CREATE INDEX opora_parked_bot ON opora_parked (bot);
CREATE INDEX opora_parked_retry ON opora_parked (bot) WHERE retry;
";

/// Migrates the tables to this library's version, within the transaction of `connection`.
pub(super) async fn migrate(connection: &mut SqliteConnection) -> StoreResult<()> {
    run(connection, &SCRIPTS).await
}

async fn run(connection: &mut SqliteConnection, scripts: &[&'static str]) -> StoreResult<()> {
    sqlx::raw_sql("CREATE TABLE IF NOT EXISTS opora_schema (version INTEGER NOT NULL)")
        .execute(&mut *connection)
        .await
        .map_err(unavailable)?;
    let version = version(connection).await.map_err(unavailable)?;
    versions::not_newer(version, scripts.len())?;
    for (done, script) in scripts.iter().enumerate().skip(version) {
        sqlx::raw_sql(*script).execute(&mut *connection).await.map_err(unavailable)?;
        sqlx::query("INSERT INTO opora_schema VALUES (?1)")
            .bind(i64::try_from(done).unwrap_or(i64::MAX).saturating_add(1))
            .execute(&mut *connection)
            .await
            .map_err(unavailable)?;
    }
    Ok(())
}

/// Refuses tables of another version. Changes nothing.
pub(super) async fn check(connection: &mut SqliteConnection) -> StoreResult<()> {
    versions::exactly(found(connection).await?, SCRIPTS.len())
}

/// Refuses tables of a newer version, and a database without tables. Changes nothing.
pub(super) async fn check_not_newer(connection: &mut SqliteConnection) -> StoreResult<()> {
    match found(connection).await? {
        Some(version) => versions::not_newer(version, SCRIPTS.len()),
        None => versions::exactly(None, SCRIPTS.len()),
    }
}

/// The version of the tables, if there are any.
async fn found(connection: &mut SqliteConnection) -> StoreResult<Option<usize>> {
    let found = sqlx::query("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'opora_schema'")
        .fetch_optional(&mut *connection)
        .await
        .map_err(unavailable)?;
    match found {
        Some(_) => version(connection).await.map(Some).map_err(unavailable),
        None => Ok(None),
    }
}

async fn version(connection: &mut SqliteConnection) -> sqlx::Result<usize> {
    let row = sqlx::query("SELECT coalesce(max(version), 0) FROM opora_schema").fetch_one(connection).await?;
    Ok(usize::try_from(row.try_get::<i64, _>(0)?).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use sqlx::Connection;

    use super::*;
    use crate::store::sql::bulk;
    use crate::store::{SqliteStore, Store, StoreError};

    #[test]
    fn bulk_rows_fit_the_tables() {
        bulk::tests::fits(TABLES);
    }

    #[tokio::test]
    async fn a_later_version_adds_its_step_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("opora.db");
        SqliteStore::open(&path).await.unwrap().close().await.unwrap();
        let mut connection = SqliteConnection::connect(&path.display().to_string()).await.unwrap();
        for _ in 0..2 {
            run(&mut connection, &[TABLES, "CREATE TABLE opora_more (id INTEGER)"]).await.unwrap();
            assert_eq!(version(&mut connection).await.unwrap(), 2);
        }
        sqlx::raw_sql("SELECT id FROM opora_more").execute(&mut connection).await.unwrap();
        for opened in [SqliteStore::open(&path).await, SqliteStore::open_existing(&path).await] {
            let error = opened.unwrap_err();
            assert!(matches!(error, StoreError::Unsupported(why) if why.contains("newer version")), "{error}");
        }
    }
}
