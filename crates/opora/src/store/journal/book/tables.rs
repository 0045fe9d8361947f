//! The journal's tables, and what is in them that an earlier version has left in a file.

use crate::store::database::{Each, Tables, numbers, read, tables};
use crate::store::sql::columns::Columns;
use crate::store::{Database, DomainWrites, SqlDatabase, StoreError, StoreResult, WriteError};

pub(super) static TABLES: Tables =
    tables!("opora_journal_schema", &[Each { sqlite: FIRST_SQLITE, postgres: FIRST_POSTGRES }, SECOND]);

/// Epochs of a journal begin at the one of this lease, so that they are told from those of Redis, and their numbers too.
const FIRST_SQLITE: &str = "
CREATE TABLE opora_journal_outage (token TEXT NOT NULL);
INSERT INTO opora_journal_outage SELECT lower(hex(randomblob(8)));
CREATE TABLE opora_journal_entries (
    id INTEGER PRIMARY KEY AUTOINCREMENT, bot INTEGER NOT NULL, key TEXT NOT NULL, is_turn INTEGER NOT NULL,
    entry TEXT NOT NULL);
CREATE INDEX opora_journal_entries_key ON opora_journal_entries (key);
CREATE TABLE opora_journal_settled (id INTEGER PRIMARY KEY, bot INTEGER NOT NULL, outcome TEXT NOT NULL);
CREATE TABLE opora_journal_labels (
    bot INTEGER NOT NULL, chat INTEGER NOT NULL, label TEXT NOT NULL, message INTEGER NOT NULL,
    PRIMARY KEY (bot, chat, label));
CREATE TABLE opora_journal_effects (
    id INTEGER PRIMARY KEY, bot INTEGER NOT NULL, entry INTEGER NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL);
CREATE INDEX opora_journal_effects_entry ON opora_journal_effects (entry);
INSERT INTO opora_leases (bot, epoch, holder, renewals, numbers) VALUES (-1, 4194304, NULL, 0, 0)
ON CONFLICT DO NOTHING;
";

const FIRST_POSTGRES: &str = r#"
CREATE TABLE opora_journal_outage (token TEXT NOT NULL);
INSERT INTO opora_journal_outage SELECT md5(random()::text || clock_timestamp()::text);
CREATE TABLE opora_journal_entries (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, bot BIGINT NOT NULL, key TEXT COLLATE "C" NOT NULL,
    is_turn BOOLEAN NOT NULL, entry TEXT NOT NULL);
CREATE INDEX opora_journal_entries_key ON opora_journal_entries (key);
CREATE TABLE opora_journal_settled (id BIGINT PRIMARY KEY, bot BIGINT NOT NULL, outcome TEXT NOT NULL);
CREATE TABLE opora_journal_labels (
    bot BIGINT NOT NULL, chat BIGINT NOT NULL, label TEXT COLLATE "C" NOT NULL, message BIGINT NOT NULL,
    PRIMARY KEY (bot, chat, label));
CREATE TABLE opora_journal_effects (
    id BIGINT PRIMARY KEY, bot BIGINT NOT NULL, entry BIGINT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL);
CREATE INDEX opora_journal_effects_entry ON opora_journal_effects (entry);
INSERT INTO opora_leases (bot, epoch, holder, renewals, numbers) VALUES (-1, 4194304, NULL, 0, 0)
ON CONFLICT DO NOTHING;
"#;

/// Every bot has a token of its own. The one that was all bots' is nobody's now.
const SECOND: Each = {
    const BOTH: &str = "
ALTER TABLE opora_journal_outage ADD COLUMN bot BIGINT NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX opora_journal_outage_bot ON opora_journal_outage (bot);
";
    Each { sqlite: BOTH, postgres: BOTH }
};

/// Whether an earlier version has made the tables of this file, under names that an application may have too.
const HAS_FORMER: &str = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'journal_outage'";

/// The numbers of entries go on: under the same token none may come twice.
const CARRY_OVER: &str = "
UPDATE opora_journal_outage SET token = (SELECT token FROM journal_outage);
INSERT INTO opora_journal_entries
SELECT id, bot, key, json_type(entry, '$.deed.Turn') IS NOT NULL, entry FROM journal_entries;
DELETE FROM sqlite_sequence WHERE name = 'opora_journal_entries';
INSERT INTO sqlite_sequence (name, seq)
SELECT 'opora_journal_entries', seq FROM sqlite_sequence WHERE name = 'journal_entries';
INSERT INTO opora_journal_settled SELECT * FROM journal_settled;
INSERT INTO opora_journal_labels SELECT * FROM journal_labels;
INSERT INTO opora_journal_effects SELECT * FROM journal_effects;
DROP TABLE journal_outage; DROP TABLE journal_entries; DROP TABLE journal_settled; DROP TABLE journal_labels;
DROP TABLE journal_effects;
";

/// Makes the tables in a file of the journal's own.
pub(super) async fn make_in_file(database: &SqlDatabase) -> StoreResult<()> {
    TABLES.make(database).await?;
    database.write(DomainWrites::new(|database| Box::pin(carry_over(database)))).await
}

async fn carry_over(database: &mut Database<'_>) -> Result<(), WriteError> {
    if numbers(database, HAS_FORMER, Vec::new()).await? == Some([1]) {
        sqlx::raw_sql(CARRY_OVER).execute(database.sqlite()).await?;
    }
    Ok(())
}

/// Makes the tables beside an application's. What is emptied after an outage must be the journal's alone: nobody would be
/// asked whether what was parked or failed there, or has ended, is still wanted. Labels would come to Redis in place of later
/// ones.
pub(super) async fn make_beside(database: &SqlDatabase) -> StoreResult<()> {
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
pub(in crate::store) const KEEPS_CONVERSATIONS: &str = "the database has kept conversations itself, before they came to Redis, and a journal there would be mixed with them: \
     remove what is left of them with `opora state discard`, or leave `journal=database` out";
