//! The tables of decision records.
//!
//! They are in the application's database, because they commit with its tables, and have a schema version of their own:
//! a database without a Redis does not need them. Rows are indexed by hour, so that most updates leave the index
//! unchanged.

use crate::store::database::{SqlPair, Tables, tables};

pub(super) static TABLES: Tables = tables!("opora_decisions_schema", &[SqlPair { sqlite: SQLITE, postgres: POSTGRES }]);

const SQLITE: &str = "
CREATE TABLE opora_fences (bot INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, generation TEXT NOT NULL);
CREATE TABLE opora_decisions (
    key TEXT NOT NULL PRIMARY KEY,
    bot INTEGER NOT NULL,
    to_version INTEGER NOT NULL,
    body TEXT NOT NULL,
    hour INTEGER NOT NULL,
    has_secrets INTEGER NOT NULL
);
CREATE INDEX opora_decisions_age ON opora_decisions (bot, hour);
CREATE INDEX opora_decisions_secrets ON opora_decisions (bot) WHERE has_secrets <> 0;
CREATE TABLE opora_decided_inputs (
    bot INTEGER NOT NULL,
    input TEXT NOT NULL,
    hour INTEGER NOT NULL,
    PRIMARY KEY (bot, input)
) WITHOUT ROWID;
CREATE INDEX opora_decided_inputs_age ON opora_decided_inputs (bot, hour);
";

const POSTGRES: &str = r#"
CREATE TABLE opora_fences (bot BIGINT PRIMARY KEY, epoch BIGINT NOT NULL, generation TEXT NOT NULL);
CREATE TABLE opora_decisions (
    key TEXT COLLATE "C" PRIMARY KEY,
    bot BIGINT NOT NULL,
    to_version BIGINT NOT NULL,
    body TEXT NOT NULL,
    hour BIGINT NOT NULL,
    has_secrets BIGINT NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE INDEX opora_decisions_age ON opora_decisions (bot, hour);
CREATE INDEX opora_decisions_secrets ON opora_decisions (bot) WHERE has_secrets <> 0;
CREATE TABLE opora_decided_inputs (
    bot BIGINT NOT NULL,
    input TEXT COLLATE "C" NOT NULL,
    hour BIGINT NOT NULL,
    PRIMARY KEY (bot, input)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE INDEX opora_decided_inputs_age ON opora_decided_inputs (bot, hour);
"#;
