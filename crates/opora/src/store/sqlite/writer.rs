//! The single write connection.
//!
//! A group is one transaction. If it fails, it is rolled back and every operation gets the error.
//!
//! Nearly every group finds what it expects: the lease is held, the versions match, the updates are new. So a group is
//! first decided optimistically and written by one statement that checks the assumptions. This costs one thread switch
//! each way. If an assumption is wrong, nothing is written, and the group is decided by what the file says.
//!
//! Each operation's application writes run in a savepoint. The library's own rows are written after the last of them,
//! in the same transaction. The two never touch the same tables.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use sqlx::{Connection, SqliteConnection};

use super::bulk::Expected;
use super::checkpoint::Checkpoints;
use super::file::DatabaseFile;
use super::{bulk, facts};
use crate::clock::Stopwatch;
use crate::failpoints;
use crate::store::sql::decide::{GROUP_WRITES_LIMIT, WriteRunner, decide_group, decide_plain, run_guarded};
use crate::store::sql::exclusive;
use crate::store::sql::facts::{Facts, Leases};
use crate::store::sql::failure::{GroupError, NotDone};
use crate::store::sql::numbers::Numbers;
use crate::store::sql::operation::Operation;
use crate::store::sql::queue::{GroupExecutor, SqlStep, wanted_numbers};
use crate::store::sql::request::{Group, PendingReply};
use crate::store::{Database, DomainWrites, Epoch, StoreError};

/// The time limit for the application's writes of one turn.
const WRITES_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) struct Writer {
    file: DatabaseFile,
    connection: Option<SqliteConnection>,
    known: Known,
    checkpoints: Checkpoints,
}

/// What the writer knows of the file without reading it.
#[derive(Default)]
struct Known {
    numbers: Numbers,
    leases: Arc<Leases>,
}

impl Writer {
    pub(super) fn new(file: DatabaseFile, connection: SqliteConnection, checkpoints: Checkpoints) -> Self {
        Self { file, connection: Some(connection), known: Known::default(), checkpoints }
    }

    /// Runs steps in one transaction. Remaining steps are for the next one.
    async fn transact(
        &mut self,
        steps: &mut VecDeque<SqlStep>,
        pending: &mut Vec<PendingReply>,
    ) -> Result<(), GroupError> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            lost => lost.insert(self.file.open_again().await.map_err(GroupError::because)?),
        };
        if let [SqlStep::Group(group)] = steps.make_contiguous() {
            if self.known.may_assume(group.operations())
                && try_optimistic(connection, &mut self.known, group, pending).await?
            {
                return Ok(());
            }
            if self.known.is_plain(group.operations()) {
                return write_plain_group(connection, &mut self.known, group, pending).await;
            }
        }
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        let began = Stopwatch::start();
        while let Some(step) = steps.front_mut() {
            match step {
                SqlStep::Group(group) => {
                    write_group(&mut transaction, &mut self.known, group, pending).await?;
                    if !group.is_empty() {
                        break;
                    }
                    steps.pop_front();
                }
                SqlStep::Exclusive(..) => {
                    if let Some(SqlStep::Exclusive(exclusive, reply)) = steps.pop_front() {
                        pending.push(exclusive::run_and_reply(*exclusive, reply, &mut *transaction).await?);
                    }
                }
            }
            if began.elapsed() >= GROUP_WRITES_LIMIT {
                break;
            }
        }
        failpoints::hit(failpoints::STORE_IN_COMMIT).await;
        transaction.commit().await?;
        Ok(())
    }
}

impl GroupExecutor for Writer {
    async fn run_steps(&mut self, mut steps: VecDeque<SqlStep>) -> VecDeque<SqlStep> {
        let mut pending = Vec::new();
        let done = self.transact(&mut steps, &mut pending).await;
        self.checkpoints.committed();
        if let Err(failed) = &done {
            // The connection may be inside a transaction, so it is dropped. Reservations may have been rolled back.
            self.connection = None;
            self.known.numbers.forget();
            steps.drain(..).for_each(|step| step.refuse(failed));
        }
        pending.into_iter().for_each(|reply: PendingReply| reply.answer(done.as_ref().err()));
        steps.retain(|step| !matches!(step, SqlStep::Group(group) if group.is_empty()));
        steps
    }

    async fn close(self) -> Result<(), GroupError> {
        if let Some(mut connection) = self.connection {
            sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut connection).await?;
            connection.close().await?;
        }
        Ok(())
    }
}

impl Known {
    /// Whether only the library's own rows are written, with ids that are reserved already.
    fn is_plain(&self, operations: &[Operation]) -> bool {
        !operations.iter().any(Operation::has_writes)
            && wanted_numbers(operations).into_iter().all(|(epoch, count)| self.numbers.has(epoch, count))
    }

    /// Whether a group may be decided optimistically: turns, sends and renewals, under leases that were held when last
    /// read.
    fn may_assume(&self, operations: &[Operation]) -> bool {
        use Operation::{Commit, Renew, Sending, Settle};
        let is_usual = |operation: &Operation| {
            matches!(operation, Commit { .. } | Settle { .. } | Sending { .. } | Renew { .. })
                && operation.epoch().is_some_and(|epoch| self.leases.are_held_under(epoch))
                && !operation.takes_timer()
        };
        operations.iter().all(is_usual)
            && self.is_plain(operations)
            && !failpoints::is_armed(failpoints::STORE_IN_COMMIT)
    }
}

/// Decides a group optimistically and writes it with one thread switch. Returns false if an assumption is wrong; then
/// nothing was written.
async fn try_optimistic(
    connection: &mut SqliteConnection,
    known: &mut Known,
    group: &mut Group,
    pending: &mut Vec<PendingReply>,
) -> Result<bool, GroupError> {
    let operations = &*group.operations();
    let epochs: BTreeSet<Epoch> = operations.iter().filter_map(Operation::epoch).collect();
    let (_, lookups) = Facts::expected(operations)?;
    let mut expected = Expected { lookups, ..Expected::default() };
    epochs.iter().try_for_each(|epoch| expected.epochs.add(epoch))?;
    let facts = Facts::assumed(Arc::clone(&known.leases), operations);
    let (bulk, results) = decide_plain(facts, &mut known.numbers, operations)?;
    if !bulk::write_if(expected, bulk, connection).await? {
        return Ok(false);
    }
    pending.extend(group.take_replies(results));
    Ok(true)
}

/// Runs a plain group with two thread switches: begin and read, write and commit.
async fn write_plain_group(
    connection: &mut SqliteConnection,
    known: &mut Known,
    group: &mut Group,
    pending: &mut Vec<PendingReply>,
) -> Result<(), GroupError> {
    let facts = facts::begin(connection, group.operations()).await?;
    known.leases = facts.leases();
    let (bulk, results) = decide_group(connection, facts, &mut known.numbers, group).await?;
    bulk::write_and_commit(bulk, connection).await?;
    pending.extend(group.take_replies(results));
    Ok(())
}

async fn write_group(
    connection: &mut SqliteConnection,
    known: &mut Known,
    group: &mut Group,
    pending: &mut Vec<PendingReply>,
) -> Result<(), GroupError> {
    // Usually one lease; several if several bots run in one process.
    for (epoch, count) in wanted_numbers(group.operations()) {
        known.numbers.reserve(epoch, count, Database::sqlite_commit(connection)).await?;
    }
    let facts = facts::read(connection, group.operations()).await?;
    known.leases = facts.leases();
    let (bulk, results) = decide_group(connection, facts, &mut known.numbers, group).await?;
    bulk::write(bulk, connection).await?;
    pending.extend(group.take_replies(results));
    Ok(())
}

impl WriteRunner for SqliteConnection {
    async fn run_writes(&mut self, writes: DomainWrites) -> Result<(), NotDone> {
        let mut savepoint = self.begin().await.map_err(GroupError::from)?;
        let Err(refused) = run_guarded(writes, WRITES_TIMEOUT, Database::sqlite_commit(&mut savepoint)).await else {
            savepoint.commit().await.map_err(GroupError::by_writes)?;
            return Ok(());
        };
        match savepoint.rollback().await {
            Ok(()) => Err(refused.into()),
            // A full disk ends the transaction too; that is not the fault of the writes.
            Err(error) if matches!(refused, StoreError::Unavailable(_)) => Err(GroupError::from(error).into()),
            Err(error) => Err(GroupError::by_writes(error).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_commit_failpoint_disables_optimistic_writes() {
        let bot = 7;
        let epoch = Epoch(3);
        let known = Known { leases: Arc::new(Leases::held(bot, epoch)), ..Known::default() };
        let renew = || Operation::Renew { bot, epoch };
        // Armed for a hit that never happens.
        failpoints::arm(failpoints::SCHEDULE_BEFORE_FIRE, failpoints::Action::Pause, u64::MAX).unwrap();
        assert!(known.may_assume(&[renew()]), "another failpoint does not change how a commit is written");
        failpoints::arm(failpoints::STORE_IN_COMMIT, failpoints::Action::Pause, u64::MAX).unwrap();
        assert!(!known.may_assume(&[renew()]));
    }
}
