//! The one connection that writes, and the task that owns it.
//!
//! Operations wait in a queue. The task takes all that wait, carries them out in one transaction in the order of their
//! arrival, commits, and only then answers: a group pays for one flush to the disk, and nobody is told of anything that
//! a crash could take back. If the transaction fails, all of it is undone and every operation is told why.
//!
//! The application's writes run in a savepoint each. The library's own rows are written after the last of them, still
//! within the transaction: the two never touch the same tables, so only the order among each kind can be seen.

use std::collections::{HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use sqlx::{Connection, SqliteConnection};
use tokio::sync::mpsc;

use super::facts::Facts;
use super::failure::{GroupFailed, is_passing, unavailable};
use super::file::DatabaseFile;
use super::numbers::Numbers;
use super::operation::{Alone, Decided, Operation, Reply, Request, decided};
use super::plan::Plan;
use crate::failpoints;
use crate::store::{Commit, Committed, Database, DomainWrites, Epoch, StoreError, StoreResult, WriteError};

/// Operations in a group.
const GROUP_LIMIT: usize = 512;
/// About how much a group writes; a single larger operation is still one group.
const GROUP_LIMIT_BYTES: usize = 8 << 20;
/// How many may wait before callers wait to ask.
const QUEUE_LIMIT: usize = 4096;
/// How long news of sends wait for company.
const LINGER: Duration = Duration::from_millis(2);
/// How long the application's writes may hold up everybody else's.
const WRITES_TIMEOUT: Duration = Duration::from_secs(10);

/// The task that writes.
pub(super) struct Writer {
    file: DatabaseFile,
    connection: Option<SqliteConnection>,
    numbers: Numbers,
}

/// A part of a group.
enum Step {
    Together(VecDeque<Operation>),
    Alone(Box<Alone>),
}

impl Writer {
    /// Starts the task; it ends when it is told to close, or when nobody can ask it any more.
    pub(super) fn start(file: DatabaseFile, connection: SqliteConnection) -> mpsc::Sender<Request> {
        let (queue, requests) = mpsc::channel(QUEUE_LIMIT);
        let writer = Self { file, connection: Some(connection), numbers: Numbers::default() };
        tokio::spawn(writer.run(requests));
        queue
    }

    async fn run(mut self, mut requests: mpsc::Receiver<Request>) {
        let mut arrived = Vec::new();
        let mut closing = Vec::new();
        loop {
            if arrived.is_empty() && requests.recv_many(&mut arrived, GROUP_LIMIT).await == 0 {
                break;
            }
            if arrived.iter().all(Request::may_linger) {
                linger(&mut requests, &mut arrived).await;
            }
            let size = group_size(&arrived);
            let mut steps = VecDeque::new();
            for request in arrived.drain(..size) {
                match request {
                    Request::Grouped(operation) => add(&mut steps, operation),
                    Request::Alone(alone) => steps.push_back(Step::Alone(Box::new(alone))),
                    Request::Close(reply) => {
                        // What was asked before is still done; what is asked from now on is not.
                        requests.close();
                        closing.push(reply);
                    }
                }
            }
            if !steps.is_empty() {
                self.carry_out(steps).await;
            }
        }
        self.close(closing).await;
    }

    async fn carry_out(&mut self, mut steps: VecDeque<Step>) {
        let mut decisions = Vec::new();
        let done = self.transact(&mut steps, &mut decisions).await;
        if let Err(failed) = &done {
            // The connection may be anywhere in a transaction: a new one is not. Nor is it known what was reserved.
            self.connection = None;
            self.numbers.forget();
            steps.into_iter().for_each(|step| step.refuse(failed));
        }
        decisions.into_iter().for_each(|answer: Decided| answer(done.as_ref().err()));
    }

    async fn transact(&mut self, steps: &mut VecDeque<Step>, decisions: &mut Vec<Decided>) -> Result<(), GroupFailed> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            lost => lost.insert(self.file.connect_to_write().await.map_err(GroupFailed::because)?),
        };
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        while let Some(step) = steps.front_mut() {
            match step {
                Step::Together(operations) => {
                    together(&mut transaction, &mut self.numbers, operations, decisions).await?;
                    steps.pop_front();
                }
                Step::Alone(_) => {
                    if let Some(Step::Alone(alone)) = steps.pop_front() {
                        decisions.push(alone.carry_out(&mut transaction).await?);
                    }
                }
            }
        }
        failpoints::hit(failpoints::STORE_IN_COMMIT).await;
        transaction.commit().await?;
        Ok(())
    }

    async fn close(self, closing: Vec<Reply<()>>) {
        let closed = async {
            if let Some(mut connection) = self.connection {
                sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut connection).await?;
                connection.close().await?;
            }
            Ok::<_, GroupFailed>(())
        };
        let closed = closed.await;
        for reply in closing {
            // Nobody may be waiting any more.
            let _ = reply.send(closed.clone().map_err(StoreError::from));
        }
    }
}

impl Step {
    fn refuse(self, failed: &GroupFailed) {
        match self {
            Self::Together(operations) => operations.into_iter().for_each(|operation| operation.refuse(failed)),
            Self::Alone(alone) => alone.refuse(failed),
        }
    }
}

/// Waits a moment for something that has to be durable now anyway.
async fn linger(requests: &mut mpsc::Receiver<Request>, arrived: &mut Vec<Request>) {
    let company = async {
        while arrived.len() < GROUP_LIMIT
            && arrived.iter().all(Request::may_linger)
            && requests.recv_many(arrived, GROUP_LIMIT).await > 0
        {}
    };
    // Without company they go on their own.
    let _ = tokio::time::timeout(LINGER, company).await;
}

fn group_size(arrived: &[Request]) -> usize {
    let mut bytes = 0;
    let fits = |request: &&Request| {
        bytes += request.bytes();
        bytes <= GROUP_LIMIT_BYTES
    };
    arrived.iter().take(GROUP_LIMIT).take_while(fits).count().max(1)
}

fn add(steps: &mut VecDeque<Step>, operation: Operation) {
    match steps.back_mut() {
        Some(Step::Together(operations)) => operations.push_back(operation),
        _ => steps.push_back(Step::Together([operation].into())),
    }
}

async fn together(
    connection: &mut SqliteConnection,
    numbers: &mut Numbers,
    operations: &mut VecDeque<Operation>,
    decisions: &mut Vec<Decided>,
) -> Result<(), GroupFailed> {
    let mut wanted: HashMap<Epoch, usize> = HashMap::new();
    for (epoch, count) in operations.iter().filter_map(Operation::numbers) {
        *wanted.entry(epoch).or_default() += count;
    }
    // As many as there are leases in the group: one, but for several bots in one process.
    for (epoch, count) in wanted {
        numbers.reserve(connection, epoch, i64::try_from(count).unwrap_or(i64::MAX)).await?;
    }
    let facts = Facts::read(connection, operations.make_contiguous()).await?;
    let mut plan = Plan::new(facts, numbers);
    while let Some(operation) = operations.pop_front() {
        decisions.push(decide(connection, &mut plan, operation).await?);
    }
    plan.into_bulk()?.write(connection).await
}

async fn decide(
    connection: &mut SqliteConnection,
    plan: &mut Plan<'_>,
    operation: Operation,
) -> Result<Decided, GroupFailed> {
    Ok(match operation {
        Operation::Receive { epoch, batch, reply } => decided(reply, plan.receive(epoch, batch)?),
        Operation::Commit { epoch, key, commit, reply } => {
            let done = decide_turn(connection, plan, epoch, key, *commit).await;
            told(reply, done)?
        }
        Operation::Park { epoch, key, taken, parked, reply } => {
            decided(reply, plan.park(epoch, &key, &taken, &parked)?)
        }
        Operation::Write { writes, reply } => {
            let done = in_savepoint(connection, writes).await;
            told(reply, done)?
        }
        Operation::Settle { epoch, settled, reply } => decided(reply, plan.settle(epoch, settled)?),
        Operation::Sending { epoch, ids, reply } => decided(reply, plan.sending(epoch, &ids)?),
        Operation::Post { epoch, post, reply } => decided(reply, plan.post(epoch, &post)?),
        Operation::FinishEffect { epoch, effect, outcome, reply } => {
            decided(reply, plan.finish_effect(epoch, effect, &outcome)?)
        }
        Operation::Renew { bot, epoch, reply } => decided(reply, plan.renew(bot, epoch)?),
    })
}

/// Keeps an answer for the commit, or answers at once why there will be none.
pub(super) fn told<T: Send + 'static>(
    reply: Reply<T>,
    done: Result<StoreResult<T>, GroupFailed>,
) -> Result<Decided, GroupFailed> {
    match done {
        Ok(result) => Ok(decided(reply, result)),
        Err(failed) => {
            // Nobody may be waiting any more.
            let _ = reply.send(Err(failed.for_its_cause()));
            Err(failed)
        }
    }
}

async fn decide_turn(
    connection: &mut SqliteConnection,
    plan: &mut Plan<'_>,
    epoch: Epoch,
    key: String,
    mut commit: Commit,
) -> Result<StoreResult<Committed>, GroupFailed> {
    if let Err(refused) = plan.check(epoch, &key, &commit) {
        return Ok(Err(refused));
    }
    if let Some(writes) = commit.writes.take()
        && let Err(refused) = in_savepoint(connection, writes).await?
    {
        return Ok(Err(refused));
    }
    plan.commit(epoch, key, commit).map(Ok)
}

/// Runs the application's writes so that a "no" undoes them and nothing else.
async fn in_savepoint(connection: &mut SqliteConnection, writes: DomainWrites) -> Result<StoreResult<()>, GroupFailed> {
    let mut savepoint = connection.begin().await?;
    let mut database = Database::sqlite_commit(&mut savepoint);
    let run = AssertUnwindSafe(writes.run(&mut database)).catch_unwind();
    let refused = match tokio::time::timeout(WRITES_TIMEOUT, run).await {
        Ok(Ok(Ok(()))) => {
            savepoint.commit().await.map_err(GroupFailed::by_writes)?;
            return Ok(Ok(()));
        }
        Ok(Ok(Err(WriteError::Refused(refusal)))) => StoreError::Refused(refusal),
        Ok(Ok(Err(WriteError::Failed(error)))) if is_passing(&error) => unavailable(error),
        Ok(Ok(Err(WriteError::Failed(error)))) => StoreError::WritesFailed(error),
        Ok(Err(_)) => StoreError::WritesFailed("they panicked".into()),
        Err(_) => StoreError::WritesFailed(format!("they took longer than {WRITES_TIMEOUT:?}").into()),
    };
    match savepoint.rollback().await {
        Ok(()) => Ok(Err(refused)),
        // A full disk ends a transaction too; then it is nobody's fault.
        Err(error) if matches!(refused, StoreError::Unavailable(_)) => Err(error.into()),
        Err(error) => Err(GroupFailed::by_writes(error)),
    }
}
