//! The SQL database of the application, SQLite or PostgreSQL, and this library's tables in it.

#[cfg(feature = "postgres")]
use super::PostgresStore;
use super::sql::columns::{Columns, Value, values};
use super::sql::statements::{SqlPair, change, numbers, script};
use super::sql::tables::{Limits, Tables};
use super::{
    BoxError, ConversationRow, Database, DomainWrites, Epoch, InputRef, Outgoing, ParkResult, ParkedTurn, SqliteStore,
    Store, StoreError, StoreResult, WriteError,
};

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

/// Runs a query on the read connections of either database.
macro_rules! read {
    ($database:expr, $query:expr, $values:expr, $read:expr) => {
        crate::store::database::with_store!($database, store => store.sql.reads.read($query, $values, $read).await)
    };
}
pub(super) use read;

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

/// Only one process migrates at a time.
const MIGRATION_LOCK: &str = "SELECT pg_advisory_xact_lock(1869639538, hashtext(current_schema()))";

/// Optional tables of this library in the application's database.
impl Tables {
    pub(super) async fn are_in(&self, database: &SqlDatabase) -> StoreResult<bool> {
        let are_there = self.are_there(database.is_postgres());
        Ok(read!(database, are_there, Vec::new(), |row| row.number(0))?.pop() == Some(1))
    }

    /// Migrates the tables to this library's version. No right to create tables is needed if they are up to date.
    pub(super) async fn make(&'static self, database: &SqlDatabase) -> StoreResult<()> {
        let make = DomainWrites::new(move |database| {
            Box::pin(async move {
                if database.is_postgres() {
                    script(database, MIGRATION_LOCK).await?;
                }
                self.migrate(database, &Limits::NONE).await
            })
        });
        database.write(make).await
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
