//! Decides one operation of a group, and lets the application write where its turn has come.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;

use super::failure::{GroupFailed, is_passing, unavailable};
use super::operation::{Decided, Operation, Reply, decided};
use super::plan::Plan;
use crate::store::{Commit, Committed, Database, DomainWrites, Epoch, StoreError, StoreResult, WriteError};

/// How long the application's writes may hold up everybody else's.
const WRITES_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection in a transaction, in which the application's writes run so that a "no" undoes them and nothing else.
pub(in crate::store) trait RunsWrites: Send {
    fn run_writes(&mut self, writes: DomainWrites)
    -> impl Future<Output = Result<StoreResult<()>, GroupFailed>> + Send;
}

/// Decides an operation by the plan; its answer waits for the group's commit.
pub(in crate::store) async fn decide(
    connection: &mut impl RunsWrites,
    plan: &mut Plan<'_>,
    operation: Operation,
) -> Result<Decided, GroupFailed> {
    Ok(match operation {
        Operation::Receive { epoch, batch, reply } => decided(reply, plan.receive(epoch, batch)?),
        Operation::Commit { epoch, key, commit, reply } => {
            let done = decide_turn(connection, plan, epoch, key, *commit).await;
            told(reply, done)?
        }
        Operation::Park { epoch, taken, parked, outgoing, reply } => {
            decided(reply, plan.park(epoch, &taken, &parked, &outgoing)?)
        }
        Operation::Write { writes, reply } => {
            let done = connection.run_writes(writes).await;
            told(reply, done)?
        }
        Operation::Settle { epoch, settled, at, reply, .. } => decided(reply, plan.settle(epoch, settled, at)?),
        Operation::Sending { epoch, ids, reply } => decided(reply, plan.sending(epoch, &ids)?),
        Operation::Post { epoch, post, reply } => decided(reply, plan.post(epoch, &post)?),
        Operation::FinishEffect { epoch, effect, outcome, reply } => {
            decided(reply, plan.finish_effect(epoch, effect, &outcome)?)
        }
        Operation::Renew { bot, epoch, reply } => decided(reply, plan.renew(bot, epoch)?),
    })
}

/// Keeps an answer for the commit, or answers at once why there will be none.
pub(in crate::store) fn told<T: Send + 'static>(
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
    connection: &mut impl RunsWrites,
    plan: &mut Plan<'_>,
    epoch: Epoch,
    key: String,
    mut commit: Commit,
) -> Result<StoreResult<Committed>, GroupFailed> {
    if let Err(refused) = plan.check(epoch, &key, &commit) {
        return Ok(Err(refused));
    }
    if let Some(writes) = commit.writes.take()
        && let Err(refused) = connection.run_writes(writes).await?
    {
        return Ok(Err(refused));
    }
    plan.commit(epoch, key, commit).map(Ok)
}

/// Runs the application's writes, whose savepoint is the caller's; says why they are to be undone, if they are.
pub(in crate::store) async fn judged(writes: DomainWrites, mut database: Database<'_>) -> StoreResult<()> {
    let run = AssertUnwindSafe(writes.run(&mut database)).catch_unwind();
    match tokio::time::timeout(WRITES_TIMEOUT, run).await {
        Ok(Ok(Ok(()))) => Ok(()),
        Ok(Ok(Err(WriteError::Refused(refusal)))) => Err(StoreError::Refused(refusal)),
        Ok(Ok(Err(WriteError::Failed(error)))) if is_passing(&error) => Err(unavailable(error)),
        Ok(Ok(Err(WriteError::Failed(error)))) => Err(StoreError::WritesFailed(error)),
        Ok(Err(_)) => Err(StoreError::WritesFailed("they panicked".into())),
        Err(_) => Err(StoreError::WritesFailed(format!("they took longer than {WRITES_TIMEOUT:?}").into())),
    }
}
