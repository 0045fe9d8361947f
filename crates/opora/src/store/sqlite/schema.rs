//! The tables, and how an older file becomes a newer one.
//!
//! Migrations only go forward and in order. A file of a newer library is refused: its rows may mean something else.
//!
//! What the tables leave out is on purpose. Waiting rows are read in the order of their numbers, and several bots share
//! a file only in small set-ups, so inbox and outbox have no index by bot. Failed sends have a table of their own, so
//! that nobody reads past them to find what is unsent.
//!
//! A turn costs about as much as the pages that it changes, so what changes with every turn is in no index that is as
//! large as the number of conversations: places are counted by triggers, and ends of life are indexed by the minute,
//! which an active conversation's turns rarely leave.

use sqlx::{Row, SqliteConnection};

use crate::store::StoreResult;
use crate::store::sql::failure::unavailable;
use crate::store::sql::versions;

/// One script for each version of the schema, the first one first.
const MIGRATIONS: [&str; 5] = [FIRST, SECOND, THIRD, FOURTH, FIFTH];

const FIRST: &str = "
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
    places TEXT NOT NULL,
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
CREATE TABLE opora_places (
    bot INTEGER NOT NULL,
    dialogue TEXT NOT NULL,
    state TEXT NOT NULL,
    conversations INTEGER NOT NULL,
    PRIMARY KEY (bot, dialogue, state)
) WITHOUT ROWID;
CREATE TRIGGER opora_place_entered AFTER INSERT ON opora_conversations WHEN new.value IS NOT NULL
BEGIN
    INSERT INTO opora_places VALUES (new.bot, coalesce(new.dialogue, ''), coalesce(new.state, ''), 1)
    ON CONFLICT DO UPDATE SET conversations = conversations + 1;
END;
CREATE TRIGGER opora_place_changed AFTER UPDATE OF value, dialogue, state ON opora_conversations
WHEN (old.value IS NULL) <> (new.value IS NULL) OR old.dialogue IS NOT new.dialogue OR old.state IS NOT new.state
BEGIN
    UPDATE opora_places SET conversations = conversations - 1
    WHERE old.value IS NOT NULL
      AND bot = old.bot AND dialogue = coalesce(old.dialogue, '') AND state = coalesce(old.state, '');
    INSERT INTO opora_places
    SELECT new.bot, coalesce(new.dialogue, ''), coalesce(new.state, ''), 1 WHERE new.value IS NOT NULL
    ON CONFLICT DO UPDATE SET conversations = conversations + 1;
END;
CREATE TRIGGER opora_place_left AFTER DELETE ON opora_conversations WHEN old.value IS NOT NULL
BEGIN
    UPDATE opora_places SET conversations = conversations - 1
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
    PRIMARY KEY (bot, chat, label)
) WITHOUT ROWID;
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
CREATE TABLE opora_transitions (
    id INTEGER PRIMARY KEY,
    bot INTEGER NOT NULL,
    key TEXT NOT NULL,
    version INTEGER NOT NULL,
    at INTEGER NOT NULL,
    from_place TEXT,
    to_place TEXT,
    cause TEXT NOT NULL,
    took_us INTEGER NOT NULL
);
CREATE INDEX opora_transitions_age ON opora_transitions (bot, at);
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
CREATE INDEX opora_parked_retry ON opora_parked (bot) WHERE retry;
";

/// Labels get an age: those that are there are as young as the latest turn. What an operator asks for by key or by bot is
/// found by an index.
const SECOND: &str = "
ALTER TABLE opora_labels ADD COLUMN at INTEGER NOT NULL DEFAULT 0;
UPDATE opora_labels SET at = coalesce(
    (SELECT max(taken_at) FROM opora_marks), (SELECT max(updated_at) FROM opora_conversations), 0);
CREATE INDEX opora_labels_age ON opora_labels (bot, at);
CREATE INDEX opora_transitions_key ON opora_transitions (key);
CREATE INDEX opora_parked_bot ON opora_parked (bot);
";

/// Places in the inbox are counted for all instances together. They begin above every number that an epoch has given.
const THIRD: &str = "
CREATE TABLE opora_inbox_places (last INTEGER NOT NULL);
INSERT INTO opora_inbox_places VALUES (4611686018427387904);
";

/// Transitions of a conversation are found by stretches of numbers: by key alone every turn of somebody else would write to
/// another page, and every page that is written is a page to sync.
const FOURTH: &str = "
DROP INDEX opora_transitions_key;
CREATE INDEX opora_transitions_key ON opora_transitions (id >> 16, key);
";

/// Shorter stretches: the turns of a group share the pages of the newest, and a third fewer are written.
const FIFTH: &str = "
DROP INDEX opora_transitions_key;
CREATE INDEX opora_transitions_key ON opora_transitions (id >> 12, key);
";

/// Brings the tables to this library's version, within the transaction that `connection` is in.
pub(super) async fn migrate(connection: &mut SqliteConnection) -> StoreResult<()> {
    sqlx::raw_sql("CREATE TABLE IF NOT EXISTS opora_schema (version INTEGER NOT NULL)")
        .execute(&mut *connection)
        .await
        .map_err(unavailable)?;
    let version = version(connection).await.map_err(unavailable)?;
    versions::not_newer(version, MIGRATIONS.len())?;
    for (done, script) in MIGRATIONS.iter().enumerate().skip(version) {
        sqlx::raw_sql(*script).execute(&mut *connection).await.map_err(unavailable)?;
        sqlx::query("INSERT INTO opora_schema VALUES (?1)")
            .bind(i64::try_from(done).unwrap_or(i64::MAX).saturating_add(1))
            .execute(&mut *connection)
            .await
            .map_err(unavailable)?;
    }
    Ok(())
}

/// Refuses tables that are not of this library's version, and changes nothing.
pub(super) async fn check(connection: &mut SqliteConnection) -> StoreResult<()> {
    versions::exactly(found(connection).await?, MIGRATIONS.len())
}

/// Refuses tables that are of a later version, or none of this library's, and changes nothing.
pub(super) async fn check_not_newer(connection: &mut SqliteConnection) -> StoreResult<()> {
    match found(connection).await? {
        Some(version) => versions::not_newer(version, MIGRATIONS.len()),
        None => versions::exactly(None, MIGRATIONS.len()),
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
    use std::path::Path;

    use sqlx::Connection;
    use sqlx::sqlite::SqliteConnectOptions;

    use super::*;
    use crate::clock::Millis;
    use crate::key::DialogueKey;
    use crate::store::{Bounds, Cleaned, Holder, LeaseAnswer, SqliteStore, Store, StoreError};

    const ROWS: &str = "
        INSERT INTO opora_marks VALUES (7, 1, 'message:1', 1000);
        INSERT INTO opora_labels VALUES (7, 5, 'menu', 77);
        INSERT INTO opora_transitions VALUES (1, 7, '7:5:5', 1, 900, NULL, NULL, 'text', 12);
        INSERT INTO opora_parked VALUES (2, 7, '7:5:5', 'update', '{}', 'no', 3, 900, 0);";

    /// A file as the first version of the schema left it.
    async fn first_version(path: &Path) {
        let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
        let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
        let schema = "CREATE TABLE opora_schema (version INTEGER NOT NULL); INSERT INTO opora_schema VALUES (1);";
        for script in [schema, FIRST, ROWS] {
            sqlx::raw_sql(script).execute(&mut connection).await.unwrap();
        }
        connection.close().await.unwrap();
    }

    fn holder() -> Holder {
        serde_json::from_value(serde_json::json!({
            "host": "h", "pid": 1, "process_start": 1, "boot_id": "b", "pid_namespace": "n", "since": 0, "token": "t",
            "ttl_ms": 1000,
        }))
        .unwrap()
    }

    #[tokio::test]
    async fn an_older_file_is_brought_up_to_date_by_the_bot_and_by_nobody_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("opora.db");
        first_version(&path).await;
        for _ in 0..2 {
            let error = SqliteStore::open_existing(&path).await.unwrap_err();
            assert!(matches!(error, StoreError::Unsupported(why) if why.contains("start the bot once")), "{error}");
        }

        let store = SqliteStore::open(&path).await.unwrap();
        let key: DialogueKey = "7:5:5".parse().unwrap();
        assert_eq!(store.labelled(7, 5, "menu").await.unwrap(), Some(77));
        assert_eq!(store.transitions_of(&key, 0, 9).await.unwrap().len(), 1);
        assert_eq!(store.parked(Some(7), 9).await.unwrap().len(), 1);
        let LeaseAnswer::Granted(epoch) = store.claim(7, &holder(), None).await.unwrap() else {
            panic!("the lease is free");
        };
        let bounds = |records| Bounds {
            marks_before: Millis(0),
            records_before: Millis(records),
            parked_most: 9,
            marks_live: None,
        };
        let cleaned = store.clean(epoch, bounds(1000)).await.unwrap();
        assert_eq!(cleaned, Cleaned { aged: 1, parked: 0 }, "a label is as young as the latest mark");
        assert_eq!(store.clean(epoch, bounds(1001)).await.unwrap(), Cleaned { aged: 1, parked: 0 });
        store.close().await.unwrap();
        SqliteStore::open_existing(&path).await.unwrap();
    }
}
