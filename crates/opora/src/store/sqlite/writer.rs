//! The one connection that writes.
//!
//! A group is one transaction. If it fails, all of it is undone and every operation is told why.
//!
//! Nearly always everything is as a group expects: the lease is held, the versions are those that its turns began from,
//! its updates are new. So a group of turns is first decided on that assumption and written by one statement, which
//! checks it: a change of threads there and one back, which is what a turn on an idle machine waits for besides the disk. If
//! anything is different, nothing is written, and the group is decided by what the file says.
//!
//! The application's writes run in a savepoint each. The library's own rows are written after the last of them, still
//! within the transaction: the two never touch the same tables, so only the order among each kind can be seen.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use sqlx::{Connection, Row, SqliteConnection};

use super::bulk::Expected;
use super::checkpoint::Checkpoints;
use super::file::DatabaseFile;
use super::{bulk, facts};
use crate::clock::Stopwatch;
use crate::failpoints;
use crate::store::sql::alone;
use crate::store::sql::decide::{RunsWrites, WRITES_OF_A_GROUP, decide_group, decide_plain, judged};
use crate::store::sql::facts::{Facts, Leases};
use crate::store::sql::failure::GroupFailed;
use crate::store::sql::numbers::{BLOCK, Numbers};
use crate::store::sql::operation::Operation;
use crate::store::sql::queue::{Carries, Step, wanted_numbers};
use crate::store::sql::request::{Decided, Group};
use crate::store::{Database, DomainWrites, Epoch, StoreError, StoreResult};

/// How long the application's writes of one turn may hold up everybody else's.
const WRITES_TIMEOUT: Duration = Duration::from_secs(10);

/// What writes.
pub(super) struct Writer {
    file: DatabaseFile,
    connection: Option<SqliteConnection>,
    known: Known,
    checkpoints: Checkpoints,
}

/// What it knows of the file without asking.
#[derive(Default)]
struct Known {
    /// Those that are reserved.
    numbers: Numbers,
    /// As they were when they were last asked for.
    leases: Arc<Leases>,
}

impl Writer {
    pub(super) fn new(file: DatabaseFile, connection: SqliteConnection, checkpoints: Checkpoints) -> Self {
        Self { file, connection: Some(connection), known: Known::default(), checkpoints }
    }

    /// Carries steps out in one transaction; what is left of them is for the next one.
    async fn transact(&mut self, steps: &mut VecDeque<Step>, decisions: &mut Vec<Decided>) -> Result<(), GroupFailed> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            lost => lost.insert(self.file.open_again().await.map_err(GroupFailed::because)?),
        };
        if let [Step::Together(group)] = steps.make_contiguous() {
            if self.known.may_assume(group.operations())
                && assumed(connection, &mut self.known, group, decisions).await?
            {
                return Ok(());
            }
            if self.known.is_plain(group.operations()) {
                return at_once(connection, &mut self.known, group, decisions).await;
            }
        }
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        let began = Stopwatch::start();
        while let Some(step) = steps.front_mut() {
            match step {
                Step::Together(group) => {
                    together(&mut transaction, &mut self.known, group, decisions).await?;
                    if !group.is_empty() {
                        break;
                    }
                    steps.pop_front();
                }
                Step::Alone(..) => {
                    if let Some(Step::Alone(alone, reply)) = steps.pop_front() {
                        decisions.push(alone::carry_out(*alone, reply, &mut *transaction).await?);
                    }
                }
            }
            if began.elapsed() >= WRITES_OF_A_GROUP {
                break;
            }
        }
        failpoints::hit(failpoints::STORE_IN_COMMIT).await;
        transaction.commit().await?;
        Ok(())
    }
}

impl Carries for Writer {
    async fn carry_out(&mut self, mut steps: VecDeque<Step>) -> VecDeque<Step> {
        let mut decisions = Vec::new();
        let done = self.transact(&mut steps, &mut decisions).await;
        self.checkpoints.committed();
        if let Err(failed) = &done {
            // The connection may be anywhere in a transaction: a new one is not. Nor is it known what was reserved.
            self.connection = None;
            self.known.numbers.forget();
            steps.drain(..).for_each(|step| step.refuse(failed));
        }
        decisions.into_iter().for_each(|decided: Decided| decided.answer(done.as_ref().err()));
        steps.retain(|step| !matches!(step, Step::Together(group) if group.is_empty()));
        steps
    }

    async fn close(self) -> Result<(), GroupFailed> {
        if let Some(mut connection) = self.connection {
            sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut connection).await?;
            connection.close().await?;
        }
        Ok(())
    }
}

impl Known {
    /// Nothing but the library's own rows is written, under numbers that are reserved already.
    fn is_plain(&self, operations: &[Operation]) -> bool {
        !operations.iter().any(Operation::has_writes)
            && wanted_numbers(operations).into_iter().all(|(epoch, count)| self.numbers.has(epoch, count))
    }

    /// Whether a group may be decided without asking: turns and what became of their sends, under leases that were held
    /// a moment ago. What only another look at the file can tell is rare.
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

/// Decides a group by what it expects, and writes it with one change of threads. False: it is not as expected, and
/// nothing was written.
async fn assumed(
    connection: &mut SqliteConnection,
    known: &mut Known,
    group: &mut Group,
    decisions: &mut Vec<Decided>,
) -> Result<bool, GroupFailed> {
    let operations = &*group.operations();
    let epochs: BTreeSet<Epoch> = operations.iter().filter_map(Operation::epoch).collect();
    let (_, questions) = Facts::expected(operations)?;
    let mut expected = Expected { questions, ..Expected::default() };
    epochs.iter().try_for_each(|epoch| expected.epochs.add(epoch))?;
    let facts = Facts::assumed(Arc::clone(&known.leases), operations);
    let (bulk, verdicts) = decide_plain(facts, &mut known.numbers, operations)?;
    if !bulk::write_if(expected, bulk, connection).await? {
        return Ok(false);
    }
    decisions.extend(group.decided(verdicts));
    Ok(true)
}

/// Carries out a plain group with two changes of threads: begin and read, write and commit.
async fn at_once(
    connection: &mut SqliteConnection,
    known: &mut Known,
    group: &mut Group,
    decisions: &mut Vec<Decided>,
) -> Result<(), GroupFailed> {
    let facts = facts::begin(connection, group.operations()).await?;
    known.leases = facts.leases();
    let (bulk, verdicts) = decide_group(connection, facts, &mut known.numbers, group).await?;
    bulk::write_and_commit(bulk, connection).await?;
    decisions.extend(group.decided(verdicts));
    Ok(())
}

async fn together(
    connection: &mut SqliteConnection,
    known: &mut Known,
    group: &mut Group,
    decisions: &mut Vec<Decided>,
) -> Result<(), GroupFailed> {
    // As many as there are leases in the group: one, but for several bots in one process.
    for (epoch, count) in wanted_numbers(group.operations()) {
        reserve(&mut known.numbers, connection, epoch, count).await?;
    }
    let facts = facts::read(connection, group.operations()).await?;
    known.leases = facts.leases();
    let (bulk, verdicts) = decide_group(connection, facts, &mut known.numbers, group).await?;
    bulk::write(bulk, connection).await?;
    decisions.extend(group.decided(verdicts));
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
        let Err(refused) = judged(writes, WRITES_TIMEOUT, Database::sqlite_commit(&mut savepoint)).await else {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_failpoint_within_a_commit_takes_a_commit_apart() {
        let bot = 7;
        let epoch = Epoch(3);
        let known = Known { leases: Arc::new(Leases::held(bot, epoch)), ..Known::default() };
        let renew = || Operation::Renew { bot, epoch };
        // Armed for a hit that never comes.
        failpoints::arm(failpoints::SCHEDULE_BEFORE_FIRE, failpoints::Action::Pause, u64::MAX).unwrap();
        assert!(known.may_assume(&[renew()]), "whoever is killed elsewhere commits as production does");
        failpoints::arm(failpoints::STORE_IN_COMMIT, failpoints::Action::Pause, u64::MAX).unwrap();
        assert!(!known.may_assume(&[renew()]));
    }
}
