//! A running transaction, and the application's writes in it.

use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection, PgConnection, PgTransaction};

use super::facts::INDEX_ONLY_PLANNER;
use super::server::with_answer_timeout;
use crate::store::sql::decide::{WriteRunner, run_guarded};
use crate::store::sql::failure::{GroupError, NotDone};
use crate::store::{Database, DomainWrites, StoreError, WriteError};

/// Checks deferred constraints now, because they would fail the whole group at the commit. Rolling back the savepoint
/// makes them deferred again.
const CHECK: &str = "
SAVEPOINT opora_check; SET CONSTRAINTS ALL IMMEDIATE; ROLLBACK TO SAVEPOINT opora_check;
RELEASE SAVEPOINT opora_check";

/// The time limit for the application's writes of one turn. It is short, because a dead connection is not noticed
/// meanwhile.
const WRITES_TIMEOUT: Duration = Duration::from_secs(5);

/// A transaction of a write connection.
pub(super) struct Session<'c> {
    transaction: Transaction<'c>,
    /// The rows of `opora_state_counts` that its writer counts in.
    pub(super) slot: i64,
}

enum Transaction<'c> {
    /// Begun by a script; the driver does not know of it.
    Script(&'c mut PgConnection),
    /// Known to the driver: a nested transaction, also of the application, is a savepoint.
    Driver(PgTransaction<'c>),
}

impl<'c> Session<'c> {
    /// Begins a transaction by a script that starts with `BEGIN`.
    pub(super) async fn begin(connection: &'c mut PgConnection, script: String, slot: i64) -> Result<Self, GroupError> {
        let transaction = with_answer_timeout(connection.begin_with(AssertSqlSafe(script))).await?;
        Ok(Self { transaction: Transaction::Driver(transaction), slot })
    }

    /// Wraps a transaction that a script has begun.
    pub(super) fn begun(connection: &'c mut PgConnection, slot: i64) -> Self {
        Self { transaction: Transaction::Script(connection), slot }
    }

    pub(super) fn connection(&mut self) -> &mut PgConnection {
        match &mut self.transaction {
            Transaction::Script(connection) => connection,
            Transaction::Driver(transaction) => transaction,
        }
    }

    /// Ends the application's writes: from here on only the library writes.
    pub(super) async fn end_of_writes(&mut self) -> Result<(), GroupError> {
        match &mut self.transaction {
            Transaction::Script(_) => Ok(()),
            Transaction::Driver(transaction) => {
                with_answer_timeout(sqlx::raw_sql(INDEX_ONLY_PLANNER).execute(&mut **transaction)).await.map(drop)
            }
        }
    }

    pub(super) async fn commit(self) -> Result<(), GroupError> {
        match self.transaction {
            Transaction::Script(connection) => {
                with_answer_timeout(sqlx::raw_sql("COMMIT").execute(connection)).await.map(drop)
            }
            Transaction::Driver(transaction) => with_answer_timeout(transaction.commit()).await,
        }
    }
}

impl WriteRunner for Session<'_> {
    async fn run_writes(&mut self, writes: DomainWrites) -> Result<(), NotDone> {
        let mut savepoint = with_answer_timeout(self.connection().begin()).await?;
        let checked = DomainWrites::new(|database| {
            Box::pin(async move {
                writes.run(database).await?;
                sqlx::raw_sql(CHECK).execute(database.postgres()).await?;
                Ok::<(), WriteError>(())
            })
        });
        let ran = run_guarded(checked, WRITES_TIMEOUT, Database::postgres_commit(&mut savepoint)).await;
        let Err(refused) = ran else {
            with_answer_timeout(savepoint.commit()).await.map_err(GroupError::blaming_writes)?;
            return Ok(());
        };
        match with_answer_timeout(savepoint.rollback()).await {
            Ok(()) => Err(refused.into()),
            // A lost server ends the transaction too; that is not the fault of the writes.
            Err(failed) if matches!(refused, StoreError::Unavailable(_)) => Err(failed.into()),
            Err(failed) => Err(failed.blaming_writes().into()),
        }
    }
}
