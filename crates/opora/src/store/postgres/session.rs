//! A transaction under way, and the application's writes within it.

use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection, PgConnection, PgTransaction};

use super::facts::AS_BEFORE;
use super::server::answered;
use crate::store::sql::decide::{RunsWrites, judged};
use crate::store::sql::failure::GroupFailed;
use crate::store::{Database, DomainWrites, StoreError, StoreResult, WriteError};

/// A constraint that waits for the commit would fail the whole group there. So it is looked at now, and then waits on:
/// what is set within a savepoint that is rolled back is forgotten.
const CHECK: &str = "
SAVEPOINT opora_check; SET CONSTRAINTS ALL IMMEDIATE; ROLLBACK TO SAVEPOINT opora_check;
RELEASE SAVEPOINT opora_check";

/// How long the application's writes of one turn may take. It is also how long a connection that died beneath them goes
/// unnoticed, so it is short.
const WRITES_TIMEOUT: Duration = Duration::from_secs(5);

/// A transaction of a connection that writes.
pub(super) struct Session<'c> {
    open: Open<'c>,
    /// Where its writer counts places.
    pub(super) slot: i64,
}

enum Open<'c> {
    /// It was begun by a script, of which the driver does not know.
    Plain(&'c mut PgConnection),
    /// The driver knows of it: what is begun within it, by the application too, is a savepoint.
    Known(PgTransaction<'c>),
}

impl<'c> Session<'c> {
    /// Begins a transaction by a script that starts with `BEGIN`.
    pub(super) async fn begin(
        connection: &'c mut PgConnection,
        script: String,
        slot: i64,
    ) -> Result<Self, GroupFailed> {
        let transaction = answered(connection.begin_with(AssertSqlSafe(script))).await?;
        Ok(Self { open: Open::Known(transaction), slot })
    }

    /// A transaction that was begun.
    pub(super) fn begun(connection: &'c mut PgConnection, slot: i64) -> Self {
        Self { open: Open::Plain(connection), slot }
    }

    pub(super) fn connection(&mut self) -> &mut PgConnection {
        match &mut self.open {
            Open::Plain(connection) => connection,
            Open::Known(transaction) => transaction,
        }
    }

    /// From here on only the library writes.
    pub(super) async fn end_of_writes(&mut self) -> Result<(), GroupFailed> {
        match &mut self.open {
            Open::Plain(_) => Ok(()),
            Open::Known(transaction) => answered(sqlx::raw_sql(AS_BEFORE).execute(&mut **transaction)).await.map(drop),
        }
    }

    pub(super) async fn commit(self) -> Result<(), GroupFailed> {
        match self.open {
            Open::Plain(connection) => answered(sqlx::raw_sql("COMMIT").execute(connection)).await.map(drop),
            Open::Known(transaction) => answered(transaction.commit()).await,
        }
    }
}

impl RunsWrites for Session<'_> {
    async fn run_writes(&mut self, writes: DomainWrites) -> Result<StoreResult<()>, GroupFailed> {
        let mut savepoint = answered(self.connection().begin()).await?;
        let checked = DomainWrites::new(|database| {
            Box::pin(async move {
                writes.run(database).await?;
                sqlx::raw_sql(CHECK).execute(database.postgres()).await?;
                Ok::<(), WriteError>(())
            })
        });
        let judged = judged(checked, WRITES_TIMEOUT, Database::postgres_commit(&mut savepoint)).await;
        let Err(refused) = judged else {
            answered(savepoint.commit()).await.map_err(GroupFailed::blaming_writes)?;
            return Ok(Ok(()));
        };
        match answered(savepoint.rollback()).await {
            Ok(()) => Ok(Err(refused)),
            // A server that goes away ends a transaction too; then it is nobody's fault. Nor is it if nothing is heard of it.
            Err(failed) if matches!(refused, StoreError::Unavailable(_)) => Err(failed),
            Err(failed) => Err(failed.blaming_writes()),
        }
    }
}
