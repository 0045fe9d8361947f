//! The SQL database of the application, SQLite or PostgreSQL, and this library's tables in it.
//!
//! Statements here work on both databases. Statements over lists take rows as JSON, which each database unpacks in its
//! own way ([`SqlPair`]).

use sqlx::{Row, raw_sql};

use super::sql::columns::{Columns, Value, count, values};
use super::sql::versions;
use super::writes::Connection;
use super::{
    BoxError, ConversationRow, Database, DomainWrites, Epoch, InputRef, Outgoing, ParkResult, ParkedTurn, SqliteStore,
    Store, StoreError, StoreResult, WriteError, sqlite,
};
#[cfg(feature = "postgres")]
use super::{PostgresStore, postgres};

/// The database of the application's tables.
#[derive(Debug)]
pub enum SqlDatabase {
    /// An SQLite file.
    Sqlite(Box<SqliteStore>),
    /// A PostgreSQL database.
    #[cfg(feature = "postgres")]
    Postgres(Box<PostgresStore>),
}

impl From<SqliteStore> for SqlDatabase {
    fn from(store: SqliteStore) -> Self {
        Self::Sqlite(Box::new(store))
    }
}

#[cfg(feature = "postgres")]
impl From<PostgresStore> for SqlDatabase {
    fn from(store: PostgresStore) -> Self {
        Self::Postgres(Box::new(store))
    }
}

/// Runs an expression with the store of either database.
macro_rules! with_store {
    ($database:expr, $store:ident => $answer:expr) => {
        match $database {
            crate::store::SqlDatabase::Sqlite($store) => $answer,
            #[cfg(feature = "postgres")]
            crate::store::SqlDatabase::Postgres($store) => $answer,
        }
    };
}
pub(super) use with_store;

/// Runs an expression with the connection of either database, and with the function that binds values for it.
macro_rules! with_connection {
    ($database:expr, $connection:ident, $bound:pat => $answer:expr) => {
        match $database.connection() {
            Connection::Sqlite(connection) => {
                let $connection = &mut **connection;
                let $bound = sqlite::bound;
                $answer
            }
            #[cfg(feature = "postgres")]
            Connection::Postgres(connection) => {
                let $connection = &mut **connection;
                let $bound = postgres::bound;
                $answer
            }
        }
    };
}

/// Runs a query on the read connections of either database.
macro_rules! read {
    ($database:expr, $query:expr, $values:expr, $read:expr) => {
        crate::store::database::with_store!($database, store => store.sql.reads.read($query, $values, $read).await)
    };
}
pub(super) use read;

/// A statement for SQLite and for PostgreSQL.
#[derive(Clone, Copy, Debug)]
pub(super) struct SqlPair {
    pub(super) sqlite: &'static str,
    pub(super) postgres: &'static str,
}

impl SqlPair {
    /// The statement for one of the databases.
    pub(super) fn pick(&self, is_postgres: bool) -> &'static str {
        if is_postgres { self.postgres } else { self.sqlite }
    }
}

/// Makes an [`SqlPair`] from the SQL before and after the rows. The rows are the first value; a row is an array named
/// `value`.
macro_rules! over_rows {
    ($before:literal, $behind:literal) => {
        crate::store::database::SqlPair {
            sqlite: concat!($before, " json_each($1) ", $behind),
            postgres: concat!($before, " jsonb_array_elements(CAST($1 AS jsonb)) AS listed (value) ", $behind),
        }
    };
}
pub(super) use over_rows;

/// A statement with its values, one of several that run in one transaction.
#[derive(Clone, Debug)]
pub(super) struct SqlChange {
    statement: SqlPair,
    values: Vec<Value>,
}

impl SqlChange {
    /// A statement that both databases understand.
    pub(super) fn plain(statement: &'static str, values: Vec<Value>) -> Self {
        Self { statement: SqlPair { sqlite: statement, postgres: statement }, values }
    }

    pub(super) fn over_rows(statement: SqlPair, values: Vec<Value>) -> Self {
        Self { statement, values }
    }

    /// Runs it within a commit. Returns the number of changed rows.
    pub(super) async fn make(self, database: &mut Database<'_>) -> sqlx::Result<u64> {
        let statement = self.statement.pick(database.is_postgres());
        change(database, statement, self.values).await
    }
}

impl SqlDatabase {
    pub(super) fn store(&self) -> &dyn Store {
        with_store!(self, store => &**store)
    }

    pub(super) fn is_postgres(&self) -> bool {
        !matches!(self, Self::Sqlite(_))
    }

    pub(super) fn describe(&self) -> String {
        self.store().describe()
    }

    /// Runs writes. A [`StoreError`] that they return comes back unchanged.
    pub(super) async fn write(&self, writes: DomainWrites) -> StoreResult<()> {
        self.store().write(writes).await.map_err(unwrap_store_error)
    }

    /// Runs changes in one transaction.
    pub(super) async fn change(&self, changes: Vec<SqlChange>) -> StoreResult<()> {
        self.write(DomainWrites::new(move |database| Box::pin(apply_all(database, changes)))).await
    }

    /// Runs changes in one transaction, if the lease still has this epoch.
    pub(super) async fn change_under(&self, bot: i64, epoch: Epoch, changes: Vec<SqlChange>) -> StoreResult<()> {
        let make = DomainWrites::new(move |database| {
            Box::pin(async move {
                check_lease(database, bot, epoch).await?;
                apply_all(database, changes).await
            })
        });
        self.write(make).await
    }

    /// Parks a turn, and runs writes in the same transaction.
    pub(super) async fn park_with(
        &self,
        epoch: Epoch,
        processed: Vec<InputRef>,
        parked: ParkedTurn,
        outgoing: Vec<Outgoing>,
        writes: DomainWrites,
    ) -> StoreResult<ParkResult> {
        with_store!(self, store => store.sql.park_with(epoch, processed, parked, outgoing, Some(writes)).await)
    }

    /// Replaces a conversation, with exactly the version of the row.
    pub(super) async fn import_exactly(&self, row: Box<ConversationRow>) -> StoreResult<()> {
        with_store!(self, store => store.sql.import_exactly(row).await)
    }
}

/// Optional tables of this library in the application's database, with a schema version of their own.
pub(super) struct Tables {
    pub(super) is_there: SqlPair,
    pub(super) make_versions: &'static str,
    pub(super) version: &'static str,
    pub(super) reached: &'static str,
    /// One script per version, oldest first.
    pub(super) migrations: &'static [SqlPair],
}

/// Makes [`Tables`]; `$name` is the table that holds their version.
macro_rules! tables {
    ($name:literal, $migrations:expr) => {
        crate::store::database::Tables {
            is_there: crate::store::database::SqlPair {
                sqlite: concat!("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = '", $name, "'"),
                postgres: concat!(
                    "SELECT count(*) FROM pg_catalog.pg_class WHERE relname = '",
                    $name,
                    "' AND pg_catalog.pg_table_is_visible(oid)"
                ),
            },
            make_versions: concat!("CREATE TABLE ", $name, " (version BIGINT NOT NULL)"),
            version: concat!("SELECT coalesce(max(version), 0) FROM ", $name),
            reached: concat!("INSERT INTO ", $name, " VALUES ($1)"),
            migrations: $migrations,
        }
    };
}
pub(super) use tables;

/// Only one process migrates at a time.
const MIGRATION_LOCK: &str = "SELECT pg_advisory_xact_lock(1869639538, hashtext(current_schema()))";

impl Tables {
    pub(super) async fn are_in(&self, database: &SqlDatabase) -> StoreResult<bool> {
        let is_there = self.is_there.pick(database.is_postgres());
        Ok(read!(database, is_there, Vec::new(), |row| row.number(0))?.pop() == Some(1))
    }

    /// Migrates the tables to this library's version. No right to create tables is needed if they are up to date.
    pub(super) async fn make(&'static self, database: &SqlDatabase) -> StoreResult<()> {
        database.write(DomainWrites::new(|database| Box::pin(self.migrate(database)))).await
    }

    async fn migrate(&self, database: &mut Database<'_>) -> Result<(), WriteError> {
        let is_postgres = database.is_postgres();
        if is_postgres {
            script(database, MIGRATION_LOCK).await?;
        }
        let is_there = self.is_there.pick(is_postgres);
        let version = if numbers(database, is_there, Vec::new()).await? == Some([0]) {
            change(database, self.make_versions, Vec::new()).await?;
            0
        } else {
            let [version] = numbers(database, self.version, Vec::new()).await?.unwrap_or_default();
            usize::try_from(version).unwrap_or(usize::MAX)
        };
        versions::not_newer(version, self.migrations.len())?;
        for (done, migration) in self.migrations.iter().enumerate().skip(version) {
            script(database, migration.pick(is_postgres)).await?;
            change(database, self.reached, values![count(done + 1)]).await?;
        }
        Ok(())
    }
}

async fn apply_all(database: &mut Database<'_>, changes: Vec<SqlChange>) -> Result<(), WriteError> {
    for change in changes {
        change.make(database).await?;
    }
    Ok(())
}

pub(super) const LATEST_EPOCH: &str = "SELECT epoch FROM opora_leases WHERE bot = $1";

/// Refuses if another instance has taken over, and blocks a takeover until the commit.
async fn check_lease(database: &mut Database<'_>, bot: i64, epoch: Epoch) -> Result<(), WriteError> {
    const SHARED: &str = "SELECT epoch FROM opora_leases WHERE bot = $1 FOR SHARE";
    let query = if database.is_postgres() { SHARED } else { LATEST_EPOCH };
    let [latest] = numbers(database, query, values![bot]).await?.unwrap_or_default();
    if latest == epoch.0 {
        Ok(())
    } else {
        Err(StoreError::fenced(epoch, format!("epoch {latest} was given meanwhile")).into())
    }
}

async fn script(database: &mut Database<'_>, statements: &'static str) -> sqlx::Result<()> {
    with_connection!(database, connection, _ => raw_sql(statements).execute(connection).await.map(drop))
}

/// Runs a statement within a commit. Returns the number of changed rows.
pub(super) async fn change(
    database: &mut Database<'_>,
    statement: &'static str,
    values: Vec<Value>,
) -> sqlx::Result<u64> {
    with_connection!(database, connection, bound => {
        let done = bound(sqlx::query(statement), values).execute(connection).await?;
        Ok(done.rows_affected())
    })
}

/// The numbers in the first row of a query within a commit, if there is one.
pub(super) async fn numbers<const COLUMNS: usize>(
    database: &mut Database<'_>,
    query: &'static str,
    values: Vec<Value>,
) -> sqlx::Result<Option<[i64; COLUMNS]>> {
    let mut numbers = [0; COLUMNS];
    with_connection!(database, connection, bound => {
        let found = bound(sqlx::query(query), values).fetch_optional(connection).await?;
        let Some(row) = found else { return Ok(None) };
        for (column, number) in numbers.iter_mut().enumerate() {
            *number = row.try_get(column)?;
        }
    });
    Ok(Some(numbers))
}

/// The [`StoreError`] inside a `WritesFailed`, if there is one.
pub(super) fn unwrap_store_error(error: StoreError) -> StoreError {
    match error {
        StoreError::WritesFailed(why) => match why.downcast::<StoreError>() {
            Ok(answer) => *answer,
            Err(why) => StoreError::WritesFailed(BoxError::from(why)),
        },
        other => other,
    }
}
