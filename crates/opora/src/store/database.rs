//! An SQL database, whichever it is: where the application's tables are, and what of this library's lies beside them.
//!
//! Statements here are in words that both databases know. What goes by lists is one statement over rows of JSON, which
//! each of them takes apart in its own way ([`Each`]).

use sqlx::{Row, raw_sql};

use super::sql::columns::{Columns, Value, count};
use super::sql::facts::fenced;
use super::sql::versions;
use super::writes::Connection;
use super::{
    BoxError, ConversationRow, Database, DomainWrites, Epoch, OutboxId, OutboxRow, Outgoing, Parked, SetAside,
    SqliteStore, Store, StoreError, StoreResult, Taken, WriteError, sqlite,
};
#[cfg(feature = "postgres")]
use super::{PostgresStore, postgres};

/// Where the application's tables are.
#[derive(Debug)]
pub enum SqlDatabase {
    /// A file.
    Sqlite(Box<SqliteStore>),
    /// A server's database.
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

/// Does the same with the store of either database.
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

/// Does the same with the connection of either database, and with the function that binds values for it.
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

/// Asks a question on the connections that read, whichever database it is.
macro_rules! read {
    ($database:expr, $query:expr, $values:expr, $read:expr) => {
        crate::store::database::with_store!($database, store => store.sql.reads.read($query, $values, $read).await)
    };
}
pub(super) use read;

/// A statement over rows, which are its first value; in the words of SQLite and of PostgreSQL.
#[derive(Clone, Copy, Debug)]
pub(super) struct Each {
    pub(super) sqlite: &'static str,
    pub(super) postgres: &'static str,
}

impl Each {
    /// In the words of one of the two.
    pub(super) fn of(&self, is_postgres: bool) -> &'static str {
        if is_postgres { self.postgres } else { self.sqlite }
    }
}

/// Makes an [`Each`] of what stands before and behind the rows; a row is an array, named `value`.
macro_rules! each {
    ($before:literal, $behind:literal) => {
        crate::store::database::Each {
            sqlite: concat!($before, " json_each($1) ", $behind),
            postgres: concat!($before, " jsonb_array_elements(CAST($1 AS jsonb)) AS listed (value) ", $behind),
        }
    };
}
pub(super) use each;

/// One of the changes that are made in one step.
#[derive(Clone, Debug)]
pub(super) struct Change {
    statement: Each,
    values: Vec<Value>,
}

impl Change {
    /// In words that both know.
    pub(super) fn plain(statement: &'static str, values: Vec<Value>) -> Self {
        Self { statement: Each { sqlite: statement, postgres: statement }, values }
    }

    pub(super) fn each(statement: Each, values: Vec<Value>) -> Self {
        Self { statement, values }
    }

    /// Makes it within a commit; answers how many rows it has changed.
    pub(super) async fn make(self, database: &mut Database<'_>) -> sqlx::Result<u64> {
        let statement = self.statement.of(database.is_postgres());
        change(database, statement, self.values).await
    }
}

impl SqlDatabase {
    /// The store that writes there.
    pub(super) fn store(&self) -> &dyn Store {
        with_store!(self, store => &**store)
    }

    pub(super) fn is_postgres(&self) -> bool {
        !matches!(self, Self::Sqlite(_))
    }

    pub(super) fn describe(&self) -> String {
        self.store().describe()
    }

    /// Writes, and answers what a statement has refused as it was refused.
    pub(super) async fn write(&self, writes: DomainWrites) -> StoreResult<()> {
        self.store().write(writes).await.map_err(as_it_was)
    }

    /// Makes changes in one step.
    pub(super) async fn change(&self, changes: Vec<Change>) -> StoreResult<()> {
        self.write(DomainWrites::new(move |database| Box::pin(make_all(database, changes)))).await
    }

    /// The same, unless a lease is another one's by then.
    pub(super) async fn change_under(&self, bot: i64, epoch: Epoch, changes: Vec<Change>) -> StoreResult<()> {
        let make = DomainWrites::new(move |database| {
            Box::pin(async move {
                check_lease(database, bot, epoch).await?;
                make_all(database, changes).await
            })
        });
        self.write(make).await
    }

    /// Parks, and writes something more in the same step.
    pub(super) async fn park_with(
        &self,
        epoch: Epoch,
        taken: Vec<Taken>,
        parked: Parked,
        outgoing: Vec<Outgoing>,
        writes: DomainWrites,
    ) -> StoreResult<SetAside> {
        with_store!(self, store => store.sql.park_with(epoch, taken, parked, outgoing, Some(writes)).await)
    }

    /// Puts a conversation there at the very version that its row says, whatever was there.
    pub(super) async fn import_exactly(&self, row: Box<ConversationRow>) -> StoreResult<()> {
        with_store!(self, store => store.sql.import_exactly(row).await)
    }

    /// Messages that have failed, after a number, and why.
    pub(super) async fn failed(
        &self,
        bot: i64,
        after: OutboxId,
        limit: usize,
    ) -> StoreResult<Vec<(OutboxRow, String)>> {
        with_store!(self, store => store.sql.reads.failed(bot, after, limit).await)
    }
}

/// Tables of this library's beside the application's, with a version of their own: who does not need them has none.
pub(super) struct Tables {
    pub(super) is_there: Each,
    pub(super) make_versions: &'static str,
    pub(super) version: &'static str,
    pub(super) reached: &'static str,
    /// One script for each version, the first one first.
    pub(super) migrations: &'static [Each],
}

/// Makes [`Tables`] by the name of the table that knows their version.
macro_rules! tables {
    ($name:literal, $migrations:expr) => {
        crate::store::database::Tables {
            is_there: crate::store::database::Each {
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

/// Others that make the tables wait here.
const ALONE: &str = "SELECT pg_advisory_xact_lock(1869639538, hashtext(current_schema()))";

impl Tables {
    pub(super) async fn are_in(&self, database: &SqlDatabase) -> StoreResult<bool> {
        let is_there = self.is_there.of(database.is_postgres());
        Ok(read!(database, is_there, Vec::new(), |row| row.number(0))?.pop() == Some(1))
    }

    /// Brings the tables to this library's version. Where they are, no right to make tables is needed.
    pub(super) async fn make(&'static self, database: &SqlDatabase) -> StoreResult<()> {
        database.write(DomainWrites::new(|database| Box::pin(self.migrate(database)))).await
    }

    async fn migrate(&self, database: &mut Database<'_>) -> Result<(), WriteError> {
        let is_postgres = database.is_postgres();
        if is_postgres {
            script(database, ALONE).await?;
        }
        let is_there = self.is_there.of(is_postgres);
        let version = if numbers(database, is_there, Vec::new()).await? == Some([0]) {
            change(database, self.make_versions, Vec::new()).await?;
            0
        } else {
            let [version] = numbers(database, self.version, Vec::new()).await?.unwrap_or_default();
            usize::try_from(version).unwrap_or(usize::MAX)
        };
        versions::not_newer(version, self.migrations.len())?;
        for (done, migration) in self.migrations.iter().enumerate().skip(version) {
            script(database, migration.of(is_postgres)).await?;
            change(database, self.reached, vec![Value::Number(count(done + 1))]).await?;
        }
        Ok(())
    }
}

async fn make_all(database: &mut Database<'_>, changes: Vec<Change>) -> Result<(), WriteError> {
    for change in changes {
        change.make(database).await?;
    }
    Ok(())
}

/// The latest epoch of a bot's lease, whoever has it.
pub(super) const LATEST_EPOCH: &str = "SELECT epoch FROM opora_leases WHERE bot = $1";

/// Refuses if somebody has taken a lease over, and lets nobody do so until the commit.
async fn check_lease(database: &mut Database<'_>, bot: i64, epoch: Epoch) -> Result<(), WriteError> {
    const SHARED: &str = "SELECT epoch FROM opora_leases WHERE bot = $1 FOR SHARE";
    let query = if database.is_postgres() { SHARED } else { LATEST_EPOCH };
    let [latest] = numbers(database, query, vec![Value::Number(bot)]).await?.unwrap_or_default();
    if latest == epoch.0 { Ok(()) } else { Err(fenced(epoch, format!("epoch {latest} was given meanwhile")).into()) }
}

/// Carries statements out within a commit.
async fn script(database: &mut Database<'_>, statements: &'static str) -> sqlx::Result<()> {
    with_connection!(database, connection, _ => raw_sql(statements).execute(connection).await.map(drop))
}

/// Carries a statement out within a commit; answers how many rows it has changed.
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

/// The numbers in the first row that a query finds within a commit, if it finds one.
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

/// An answer that went through the application's writes, as it was given.
pub(super) fn as_it_was(error: StoreError) -> StoreError {
    match error {
        StoreError::WritesFailed(why) => match why.downcast::<StoreError>() {
            Ok(answer) => *answer,
            Err(why) => StoreError::WritesFailed(BoxError::from(why)),
        },
        other => other,
    }
}
