//! The tables of decisions, and how older ones become newer.
//!
//! They lie beside the application's own, because they commit with them, and have a version of their own: a database that
//! serves no Redis needs none of them. Ages are indexed by the hour, which most turns do not leave.

use sqlx::raw_sql;

use super::database::{SqlDatabase, as_it_was};
use super::statements::{change, numbers};
use crate::store::sql::columns::{Value, count};
use crate::store::sql::versions;
use crate::store::{Database, DomainWrites, StoreResult, WriteError};

/// One script for each version, the first one first: for SQLite and for PostgreSQL.
const MIGRATIONS: [(&str, &str); 1] = [(FIRST_SQLITE, FIRST_POSTGRES)];

const FIRST_SQLITE: &str = "
CREATE TABLE opora_fences (bot INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, generation TEXT NOT NULL);
CREATE TABLE opora_decisions (
    key TEXT NOT NULL PRIMARY KEY,
    bot INTEGER NOT NULL,
    to_version INTEGER NOT NULL,
    body TEXT NOT NULL,
    hour INTEGER NOT NULL
);
CREATE INDEX opora_decisions_age ON opora_decisions (bot, hour);
CREATE TABLE opora_decided_inputs (
    bot INTEGER NOT NULL,
    input TEXT NOT NULL,
    hour INTEGER NOT NULL,
    PRIMARY KEY (bot, input)
) WITHOUT ROWID;
CREATE INDEX opora_decided_inputs_age ON opora_decided_inputs (bot, hour);
";

const FIRST_POSTGRES: &str = r#"
CREATE TABLE opora_fences (bot BIGINT PRIMARY KEY, epoch BIGINT NOT NULL, generation TEXT NOT NULL);
CREATE TABLE opora_decisions (
    key TEXT COLLATE "C" PRIMARY KEY,
    bot BIGINT NOT NULL,
    to_version BIGINT NOT NULL,
    body TEXT NOT NULL,
    hour BIGINT NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE INDEX opora_decisions_age ON opora_decisions (bot, hour);
CREATE TABLE opora_decided_inputs (
    bot BIGINT NOT NULL,
    input TEXT COLLATE "C" NOT NULL,
    hour BIGINT NOT NULL,
    PRIMARY KEY (bot, input)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE INDEX opora_decided_inputs_age ON opora_decided_inputs (bot, hour);
"#;

/// Others that make the tables wait here.
const ALONE: &str = "SELECT pg_advisory_xact_lock(1869639538, hashtext(current_schema()))";

pub(super) const IS_THERE_IN_SQLITE: &str =
    "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'opora_decisions_schema'";
pub(super) const IS_THERE_IN_POSTGRES: &str = "
    SELECT count(*) FROM pg_catalog.pg_class
    WHERE relname = 'opora_decisions_schema' AND pg_catalog.pg_table_is_visible(oid)";

/// Brings the tables to this library's version. Where they are, no right to make tables is needed.
pub(super) async fn make(database: &SqlDatabase) -> StoreResult<()> {
    let migrate = DomainWrites::new(|database| Box::pin(migrate(database)));
    database.store().write(migrate).await.map_err(as_it_was)
}

async fn migrate(database: &mut Database<'_>) -> Result<(), WriteError> {
    if database.is_postgres() {
        raw_sql(ALONE).execute(database.postgres()).await?;
    }
    let is_there = if database.is_postgres() { IS_THERE_IN_POSTGRES } else { IS_THERE_IN_SQLITE };
    let version = if numbers(database, is_there, Vec::new()).await? == Some([0]) {
        change(database, "CREATE TABLE opora_decisions_schema (version BIGINT NOT NULL)", Vec::new()).await?;
        0
    } else {
        let version = "SELECT coalesce(max(version), 0) FROM opora_decisions_schema";
        let [version] = numbers(database, version, Vec::new()).await?.unwrap_or_default();
        usize::try_from(version).unwrap_or(usize::MAX)
    };
    versions::not_newer(version, MIGRATIONS.len())?;
    for (done, (sqlite, postgres)) in MIGRATIONS.iter().enumerate().skip(version) {
        if database.is_postgres() {
            raw_sql(*postgres).execute(database.postgres()).await?;
        } else {
            raw_sql(*sqlite).execute(database.sqlite()).await?;
        }
        let version = vec![Value::Number(count(done + 1))];
        change(database, "INSERT INTO opora_decisions_schema VALUES ($1)", version).await?;
    }
    Ok(())
}
