//! The one connection that writes.
//!
//! A group is one transaction. If it fails, all of it is undone and every operation is told why.
//!
//! The application's writes run in a savepoint each. The library's own rows are written after the last of them, still
//! within the transaction: the two never touch the same tables, so only the order among each kind can be seen.

use std::collections::VecDeque;

use sqlx::{Connection, Row, SqliteConnection};

use super::checkpoint::Checkpoints;
use super::file::DatabaseFile;
use super::{bulk, facts};
use crate::failpoints;
use crate::store::sql::alone;
use crate::store::sql::decide::{RunsWrites, decide_group, judged};
use crate::store::sql::failure::GroupFailed;
use crate::store::sql::numbers::{BLOCK, Numbers};
use crate::store::sql::operation::{Decided, Operation, decided};
use crate::store::sql::queue::{Carries, Step, wanted_numbers};
use crate::store::{Database, DomainWrites, Epoch, StoreError, StoreResult};

/// What writes.
pub(super) struct Writer {
    file: DatabaseFile,
    connection: Option<SqliteConnection>,
    numbers: Numbers,
    checkpoints: Checkpoints,
}

impl Writer {
    pub(super) fn new(file: DatabaseFile, connection: SqliteConnection, checkpoints: Checkpoints) -> Self {
        Self { file, connection: Some(connection), numbers: Numbers::default(), checkpoints }
    }

    async fn transact(&mut self, steps: &mut VecDeque<Step>, decisions: &mut Vec<Decided>) -> Result<(), GroupFailed> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            lost => lost.insert(self.file.connect_to_write().await.map_err(GroupFailed::because)?),
        };
        if let [Step::Together(operations)] = steps.make_contiguous()
            && is_plain(&self.numbers, operations.make_contiguous())
        {
            return at_once(connection, &mut self.numbers, operations, decisions).await;
        }
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        while let Some(step) = steps.front_mut() {
            match step {
                Step::Together(operations) => {
                    together(&mut transaction, &mut self.numbers, operations, decisions).await?;
                    steps.pop_front();
                }
                Step::Alone(_) => {
                    if let Some(Step::Alone(alone)) = steps.pop_front() {
                        decisions.push(alone::carry_out(*alone, &mut *transaction).await?);
                    }
                }
            }
        }
        failpoints::hit(failpoints::STORE_IN_COMMIT).await;
        transaction.commit().await?;
        Ok(())
    }
}

impl Carries for Writer {
    async fn carry_out(&mut self, mut steps: VecDeque<Step>) {
        let mut decisions = Vec::new();
        let done = self.transact(&mut steps, &mut decisions).await;
        self.checkpoints.committed();
        if let Err(failed) = &done {
            // The connection may be anywhere in a transaction: a new one is not. Nor is it known what was reserved.
            self.connection = None;
            self.numbers.forget();
            steps.into_iter().for_each(|step| step.refuse(failed));
        }
        decisions.into_iter().for_each(|answer: Decided| answer(done.as_ref().err()));
    }

    async fn close(self) -> Result<(), GroupFailed> {
        if let Some(mut connection) = self.connection {
            sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut connection).await?;
            connection.close().await?;
        }
        Ok(())
    }
}

/// Nothing but the library's own rows is written, under numbers that are reserved already.
fn is_plain(numbers: &Numbers, operations: &[Operation]) -> bool {
    !operations.iter().any(Operation::has_writes)
        && wanted_numbers(operations).into_iter().all(|(epoch, count)| numbers.has(epoch, count))
}

/// Carries out a plain group with two changes of threads: begin and read, write and commit.
async fn at_once(
    connection: &mut SqliteConnection,
    numbers: &mut Numbers,
    operations: &mut VecDeque<Operation>,
    decisions: &mut Vec<Decided>,
) -> Result<(), GroupFailed> {
    let facts = facts::begin(connection, operations.make_contiguous()).await?;
    let (bulk, verdicts) = decide_group(connection, facts, numbers, operations).await?;
    bulk::write_and_commit(bulk, connection).await?;
    decisions.extend(decided(operations, verdicts));
    Ok(())
}

async fn together(
    connection: &mut SqliteConnection,
    numbers: &mut Numbers,
    operations: &mut VecDeque<Operation>,
    decisions: &mut Vec<Decided>,
) -> Result<(), GroupFailed> {
    // As many as there are leases in the group: one, but for several bots in one process.
    for (epoch, count) in wanted_numbers(operations.make_contiguous()) {
        reserve(numbers, connection, epoch, count).await?;
    }
    let facts = facts::read(connection, operations.make_contiguous()).await?;
    let (bulk, verdicts) = decide_group(connection, facts, numbers, operations).await?;
    bulk::write(bulk, connection).await?;
    decisions.extend(decided(operations, verdicts));
    Ok(())
}

/// Sees to it that `wanted` numbers can be taken under this epoch.
async fn reserve(
    numbers: &mut Numbers,
    connection: &mut SqliteConnection,
    epoch: Epoch,
    wanted: i64,
) -> Result<(), sqlx::Error> {
    if numbers.has(epoch, wanted) {
        return Ok(());
    }
    let size = wanted.max(BLOCK);
    let reserved = sqlx::query("UPDATE opora_leases SET numbers = numbers + ?2 WHERE epoch = ?1 RETURNING numbers")
        .bind(epoch.0)
        .bind(size)
        .fetch_optional(connection)
        .await?;
    // Without a lease the operations are refused, and take no number.
    if let Some(row) = reserved {
        numbers.add(epoch, size, row.try_get(0)?);
    }
    Ok(())
}

impl RunsWrites for SqliteConnection {
    async fn run_writes(&mut self, writes: DomainWrites) -> Result<StoreResult<()>, GroupFailed> {
        let mut savepoint = self.begin().await?;
        let Err(refused) = judged(writes, Database::sqlite_commit(&mut savepoint)).await else {
            savepoint.commit().await.map_err(GroupFailed::by_writes)?;
            return Ok(Ok(()));
        };
        match savepoint.rollback().await {
            Ok(()) => Ok(Err(refused)),
            // A full disk ends a transaction too; then it is nobody's fault.
            Err(error) if matches!(refused, StoreError::Unavailable(_)) => Err(error.into()),
            Err(error) => Err(GroupFailed::by_writes(error)),
        }
    }
}
