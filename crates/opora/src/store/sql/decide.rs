//! Decides the operations of a group, and runs the application's writes in between.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;

use super::bulk::Bulk;
use super::facts::Facts;
use super::failure::{GroupError, NotDone, is_transient, refusable, unavailable};
use super::numbers::Numbers;
use super::operation::Operation;
use super::plan::Plan;
use super::request::{Group, OperationResult, Response};
use crate::clock::Stopwatch;
use crate::store::{Database, DomainWrites, StoreError, StoreResult, WriteError};

/// A group is committed when the application's writes have taken this long. The remaining operations, such as a lease
/// renewal, are in the next group.
pub(in crate::store) const GROUP_WRITES_LIMIT: Duration = Duration::from_secs(1);

/// A connection in a transaction. It runs the application's writes in a savepoint, so that a refusal undoes only them.
pub(in crate::store) trait WriteRunner: Send {
    fn run_writes(&mut self, writes: DomainWrites) -> impl Future<Output = Result<(), NotDone>> + Send;
}

/// Decides a group within its transaction. Returns the rows to write and the results of the first operations; there are
/// fewer results than operations if the application's writes took too long. An operation that fails the group gets its
/// error and is removed from the group.
pub(in crate::store) async fn decide_group(
    connection: &mut impl WriteRunner,
    facts: Facts,
    numbers: &mut Numbers,
    group: &mut Group,
) -> Result<(Bulk, Vec<OperationResult>), GroupError> {
    let mut plan = Plan::new(facts, numbers);
    match decide_all(connection, &mut plan, group.operations()).await {
        Ok(results) => Ok((plan.into_bulk()?, results)),
        Err((place, failed)) => {
            drop(plan);
            group.blame(place, &failed);
            Err(failed)
        }
    }
}

/// Decides operations without application writes.
pub(in crate::store) fn decide_plain(
    facts: Facts,
    numbers: &mut Numbers,
    operations: &[Operation],
) -> Result<(Bulk, Vec<OperationResult>), GroupError> {
    let mut plan = Plan::new(facts, numbers);
    let results =
        operations.iter().map(|operation| refusable(decide(&mut plan, operation))).collect::<Result<_, _>>()?;
    Ok((plan.into_bulk()?, results))
}

/// Decides operations in order and runs their application writes. Returns the index of an operation that fails the
/// group.
async fn decide_all<'a>(
    connection: &mut impl WriteRunner,
    plan: &mut Plan<'_, 'a>,
    operations: &'a mut [Operation],
) -> Result<Vec<OperationResult>, (usize, GroupError)> {
    let mut results = Vec::with_capacity(operations.len());
    let began = Stopwatch::start();
    for (place, operation) in operations.iter_mut().enumerate() {
        if place > 0 && operation.has_writes() && began.elapsed() >= GROUP_WRITES_LIMIT {
            break;
        }
        let written = run_writes(connection, plan, operation).await;
        let decided = written.and_then(|()| decide(plan, operation));
        results.push(refusable(decided).map_err(|failed| (place, failed))?);
    }
    Ok(results)
}

/// Decides an operation. Its application writes have run.
fn decide<'a>(plan: &mut Plan<'_, 'a>, operation: &'a Operation) -> Result<Response, NotDone> {
    Ok(match operation {
        Operation::Receive { epoch, batch } => plan.receive(*epoch, batch)?.into(),
        Operation::Deliver { batch } => plan.deliver(batch)?.into(),
        Operation::Commit { epoch, key, commit } => plan.commit(*epoch, key, commit)?.into(),
        Operation::Park { epoch, processed, parked, outgoing, .. } => {
            plan.park(*epoch, processed, parked, outgoing)?.into()
        }
        Operation::Write { .. } => ().into(),
        Operation::Settle { epoch, settled, at, .. } => plan.settle(*epoch, settled, *at)?.into(),
        Operation::Sending { epoch, ids, may_be_sent } => plan.sending(*epoch, ids, *may_be_sent)?.into(),
        Operation::Post { epoch, post } => plan.post(*epoch, post)?.into(),
        Operation::FinishEffect { epoch, effect, outcome } => plan.finish_effect(*epoch, *effect, outcome)?.into(),
        Operation::Renew { bot, epoch } => plan.renew(*bot, *epoch)?.into(),
    })
}

/// Runs the application writes of an operation.
async fn run_writes(
    connection: &mut impl WriteRunner,
    plan: &Plan<'_, '_>,
    operation: &mut Operation,
) -> Result<(), NotDone> {
    let Some(writes) = operation.take_writes() else { return Ok(()) };
    match operation {
        Operation::Commit { epoch, key, commit } => plan.check(*epoch, key, commit)?,
        Operation::Park { epoch, processed, parked, .. } => plan.check_parking(*epoch, processed, parked)?,
        Operation::Write { lease: Some((bot, epoch)), .. } => plan.check_lease(*bot, *epoch)?,
        _ => {}
    }
    connection.run_writes(writes).await
}

/// Runs the application's writes with a time limit, and catches panics. On an error the caller rolls its savepoint
/// back.
pub(in crate::store) async fn run_guarded(
    writes: DomainWrites,
    limit: Duration,
    mut database: Database<'_>,
) -> StoreResult<()> {
    let run = AssertUnwindSafe(writes.run(&mut database)).catch_unwind();
    let Ok(ended) = tokio::time::timeout(limit, run).await else {
        return Err(StoreError::WritesFailed(format!("they took longer than {limit:?}").into()));
    };
    let Ok(written) = ended else { return Err(StoreError::WritesFailed("they panicked".into())) };
    match written {
        Ok(()) => Ok(()),
        Err(WriteError::Refused(refusal)) => Err(StoreError::Refused(refusal)),
        Err(WriteError::Failed(error)) if is_transient(&*error) => Err(unavailable(error)),
        Err(WriteError::Failed(error)) => Err(StoreError::WritesFailed(error)),
    }
}
