//! The journal's tables.

use crate::store::database::{SqlPair, Tables, read, tables};
use crate::store::sql::columns::Columns;
use crate::store::{SqlDatabase, StoreError, StoreResult};

pub(super) static TABLES: Tables = tables!("opora_journal_schema", &[SqlPair { sqlite: SQLITE, postgres: POSTGRES }]);

/// The lease of bot -1 sets the first epoch of a journal, so that its epochs and row ids never meet those of Redis.
const SQLITE: &str = "
CREATE TABLE opora_journal_outage (bot INTEGER PRIMARY KEY, token TEXT NOT NULL);
CREATE TABLE opora_journal_entries (
    id INTEGER PRIMARY KEY AUTOINCREMENT, bot INTEGER NOT NULL, key TEXT NOT NULL, is_turn INTEGER NOT NULL,
    entry TEXT NOT NULL);
CREATE INDEX opora_journal_entries_key ON opora_journal_entries (key);
CREATE TABLE opora_journal_settled (id INTEGER PRIMARY KEY, bot INTEGER NOT NULL, outcome TEXT NOT NULL);
CREATE TABLE opora_journal_effects (
    id INTEGER PRIMARY KEY, bot INTEGER NOT NULL, entry INTEGER NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL);
CREATE INDEX opora_journal_effects_entry ON opora_journal_effects (entry);
INSERT INTO opora_leases (bot, epoch, holder, renewals, numbers) VALUES (-1, 4194304, NULL, 0, 0)
ON CONFLICT DO NOTHING;
";

const POSTGRES: &str = r#"
CREATE TABLE opora_journal_outage (bot BIGINT PRIMARY KEY, token TEXT NOT NULL);
CREATE TABLE opora_journal_entries (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, bot BIGINT NOT NULL, key TEXT COLLATE "C" NOT NULL,
    is_turn BOOLEAN NOT NULL, entry TEXT NOT NULL);
CREATE INDEX opora_journal_entries_key ON opora_journal_entries (key);
CREATE TABLE opora_journal_settled (id BIGINT PRIMARY KEY, bot BIGINT NOT NULL, outcome TEXT NOT NULL);
CREATE TABLE opora_journal_effects (
    id BIGINT PRIMARY KEY, bot BIGINT NOT NULL, entry BIGINT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL);
CREATE INDEX opora_journal_effects_entry ON opora_journal_effects (entry);
INSERT INTO opora_leases (bot, epoch, holder, renewals, numbers) VALUES (-1, 4194304, NULL, 0, 0)
ON CONFLICT DO NOTHING;
"#;

/// Creates the tables in an application's database. Refused if the database itself stores conversations: the journal is
/// cleared after an outage, and would delete them, or copy old labels to Redis.
pub(super) async fn create_in_database(database: &SqlDatabase) -> StoreResult<()> {
    const KEPT: &str = "
        SELECT count(*) FROM (
            SELECT 1 FROM opora_conversations
            UNION ALL SELECT 1 FROM opora_inbox UNION ALL SELECT 1 FROM opora_outbox
            UNION ALL SELECT 1 FROM opora_effects UNION ALL SELECT 1 FROM opora_timers
            UNION ALL SELECT 1 FROM opora_parked UNION ALL SELECT 1 FROM opora_failed
            UNION ALL SELECT 1 FROM opora_labels LIMIT 1) AS kept";
    if !TABLES.are_in(database).await? && read!(database, KEPT, Vec::new(), |row| row.number(0))?.pop() != Some(0) {
        return Err(StoreError::Unsupported(KEEPS_CONVERSATIONS));
    }
    TABLES.make(database).await
}

/// Why a database cannot have a journal.
pub(crate) const KEEPS_CONVERSATIONS: &str = "the database has stored conversations itself, before they moved to Redis, and a journal would be mixed up with them: \
     remove them with `opora state discard`, or leave `journal=database` out";
