//! The tables of this library, their version and their migrations.
//!
//! One script for both databases. Migrations only go forward: tables of a newer library are refused, because their rows
//! may mean something else.

use std::io;
use std::time::Duration;

use sqlx::AssertSqlSafe;

use super::columns::{count, values};
use super::failure::unavailable;
use super::statements::{change, numbers, script};
use crate::store::{Database, StoreError, StoreResult, WriteError};

/// The tables of an SQL store.
pub(crate) static STORE_TABLES: Tables = Tables { name: "opora_schema", scripts: &[include_str!("tables.sql")] };

/// Tables with a version of their own.
pub(crate) struct Tables {
    /// The table that holds their version.
    pub(crate) name: &'static str,
    /// One script per version, oldest first. New ones are appended.
    pub(crate) scripts: &'static [&'static str],
}

/// How long a database may take.
pub(crate) struct Limits {
    /// To answer a short statement.
    pub(crate) answer: Duration,
    /// To run a script: an index on a large table takes time.
    pub(crate) script: Duration,
}

impl Limits {
    /// The caller has a limit.
    pub(crate) const NONE: Self = Self { answer: Duration::MAX, script: Duration::MAX };
}

impl Tables {
    /// A query that counts the tables that hold the version: 1 or 0.
    pub(crate) fn are_there(&self, is_postgres: bool) -> AssertSqlSafe<String> {
        let name = self.name;
        AssertSqlSafe(match is_postgres {
            false => format!("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = '{name}'"),
            // Reads the catalogue, because a session caches that a name did not exist.
            true => format!(
                "SELECT count(*) FROM pg_catalog.pg_class
                WHERE relname = '{name}' AND pg_catalog.pg_table_is_visible(oid)"
            ),
        })
    }

    /// The version of the tables; none if there are none.
    pub(crate) async fn version(&self, database: &mut Database<'_>, limits: &Limits) -> sqlx::Result<Option<usize>> {
        let are_there = self.are_there(database.is_postgres());
        if within(limits.answer, numbers(database, are_there, Vec::new())).await? != Some([1]) {
            return Ok(None);
        }
        let highest = AssertSqlSafe(format!("SELECT coalesce(max(version), 0) FROM {}", self.name));
        let [version] = within(limits.answer, numbers(database, highest, Vec::new())).await?.unwrap_or_default();
        Ok(Some(usize::try_from(version).unwrap_or(usize::MAX)))
    }

    /// Migrates the tables to this library's version, within a transaction that excludes other migrations.
    pub(crate) async fn migrate(&self, database: &mut Database<'_>, limits: &Limits) -> Result<(), WriteError> {
        let version = match self.version(database, limits).await? {
            Some(version) => version,
            None => {
                let create = AssertSqlSafe(format!("CREATE TABLE {} (version BIGINT NOT NULL)", self.name));
                within(limits.answer, script(database, create)).await?;
                0
            }
        };
        self.refuse_newer(version)?;
        for (done, sql) in self.scripts.iter().enumerate().skip(version) {
            let sql = for_database(sql, database.is_postgres());
            within(limits.script, script(database, AssertSqlSafe(sql))).await?;
            let reached = AssertSqlSafe(format!("INSERT INTO {} VALUES ($1)", self.name));
            within(limits.answer, change(database, reached, values![count(done + 1)])).await?;
        }
        Ok(())
    }

    /// Refuses tables of another version, and a database without tables. Changes nothing.
    pub(crate) async fn check(&self, database: &mut Database<'_>, limits: &Limits) -> StoreResult<()> {
        match self.check_not_newer(database, limits).await? {
            version if version < self.latest() => Err(StoreError::Unsupported(OLDER)),
            _ => Ok(()),
        }
    }

    /// Refuses tables of a newer version, and a database without tables. Returns the version.
    pub(crate) async fn check_not_newer(&self, database: &mut Database<'_>, limits: &Limits) -> StoreResult<usize> {
        let version = self.version(database, limits).await.map_err(unavailable)?;
        let version = version.ok_or(StoreError::Unsupported(FOREIGN))?;
        self.refuse_newer(version)?;
        Ok(version)
    }

    /// The version of this library.
    pub(crate) fn latest(&self) -> usize {
        self.scripts.len()
    }

    fn refuse_newer(&self, version: usize) -> StoreResult<()> {
        if version > self.latest() { Err(StoreError::Unsupported(NEWER)) } else { Ok(()) }
    }
}

/// A script for one database: without the other's lines, and with the types of SQLite.
pub(crate) fn for_database(script: &str, is_postgres: bool) -> String {
    let [own, other] = if is_postgres { ["--postgres:", "--sqlite:"] } else { ["--sqlite:", "--postgres:"] };
    let lines = script.lines().filter(|line| !line.trim_start().starts_with(other));
    let script = lines.map(|line| line.replacen(own, "", 1)).collect::<Vec<_>>().join("\n");
    if is_postgres {
        return script;
    }
    script.replace("BIGINT", "INTEGER").replace("BOOLEAN", "INTEGER").replace(" COLLATE \"C\"", "")
}

/// Waits for a database with a timeout. After a timeout the connection must be dropped.
pub(crate) async fn within<T>(
    limit: Duration,
    asking: impl Future<Output = sqlx::Result<T>> + Send,
) -> sqlx::Result<T> {
    // SQLite has no limit here.
    let late = || io::Error::new(io::ErrorKind::TimedOut, format!("PostgreSQL did not answer within {limit:?}"));
    tokio::time::timeout(limit, asking).await.unwrap_or_else(|_| Err(late().into()))
}

/// The error for a database without tables of this library.
pub(crate) const FOREIGN: &str = "this database holds no conversations: it is not a bot's store";

const OLDER: &str = "this database was made by an older version of the library: start the bot once, which brings it up to \
                     date, or use the program of that version";

const NEWER: &str = "this database was written by a newer version of the library: update the program, or open an older \
                     backup";

#[cfg(test)]
mod tests {
    use sqlx::{Connection, SqliteConnection};

    use super::*;
    use crate::store::sql::bulk;
    use crate::store::{SqliteStore, Store};

    #[test]
    fn bulk_rows_fit_the_tables() {
        for is_postgres in [false, true] {
            bulk::tests::fits(&for_database(STORE_TABLES.scripts[0], is_postgres));
        }
    }

    #[test]
    fn each_database_gets_its_own_lines_and_types() {
        let script =
            "CREATE TABLE t (\n    id BIGINT,\n    --sqlite:a BOOLEAN\n    --postgres:b TEXT COLLATE \"C\"\n);";
        assert_eq!(for_database(script, false), "CREATE TABLE t (\n    id INTEGER,\n    a INTEGER\n);");
        assert_eq!(for_database(script, true), "CREATE TABLE t (\n    id BIGINT,\n    b TEXT COLLATE \"C\"\n);");
    }

    #[tokio::test]
    async fn a_later_version_adds_its_step_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("opora.db");
        SqliteStore::open(&path).await.unwrap().close().await.unwrap();
        let mut connection = SqliteConnection::connect(&path.display().to_string()).await.unwrap();
        let later = Tables {
            name: STORE_TABLES.name,
            scripts: &[include_str!("tables.sql"), "CREATE TABLE opora_more (id BIGINT)"],
        };
        for _ in 0..2 {
            let mut database = Database::sqlite_commit(&mut connection);
            later.migrate(&mut database, &Limits::NONE).await.unwrap();
            assert_eq!(later.version(&mut database, &Limits::NONE).await.unwrap(), Some(2));
        }
        sqlx::raw_sql("SELECT id FROM opora_more").execute(&mut connection).await.unwrap();
        for opened in [SqliteStore::open(&path).await, SqliteStore::open_existing(&path).await] {
            let error = opened.unwrap_err();
            assert!(matches!(error, StoreError::Unsupported(why) if why.contains("newer version")), "{error}");
        }
    }
}
