//! Decides the operations of a group, and lets the application write where its turn has come.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;

use super::bulk::Bulk;
use super::facts::Facts;
use super::failure::{GroupFailed, is_passing, unavailable};
use super::numbers::Numbers;
use super::operation::Operation;
use super::plan::Plan;
use super::request::{Answered, Group, Verdict};
use crate::clock::Stopwatch;
use crate::store::{Database, DomainWrites, StoreError, StoreResult, WriteError};

/// After so long of the application's writes a group is committed: whoever is left waits for the next one. Among those
/// may be the renewal of the lease, which many writes that are slow would cost it otherwise.
pub(in crate::store) const WRITES_OF_A_GROUP: Duration = Duration::from_secs(1);

/// A connection in a transaction, in which the application's writes run so that a "no" undoes them and nothing else.
pub(in crate::store) trait RunsWrites: Send {
    fn run_writes(&mut self, writes: DomainWrites)
    -> impl Future<Output = Result<StoreResult<()>, GroupFailed>> + Send;
}

/// Decides a group within its transaction: what is to be written, and what is answered then. The verdicts are of the first
/// operations; there are fewer if the application has written for long enough. Whoever fails the group is told so, and is
/// no longer among the operations.
pub(in crate::store) async fn decide_group(
    connection: &mut impl RunsWrites,
    facts: Facts,
    numbers: &mut Numbers,
    group: &mut Group,
) -> Result<(Bulk, Vec<Verdict>), GroupFailed> {
    let mut plan = Plan::new(facts, numbers);
    match decide_all(connection, &mut plan, group.operations()).await {
        Ok(verdicts) => Ok((plan.into_bulk()?, verdicts)),
        Err((place, failed)) => {
            drop(plan);
            group.blame(place, &failed);
            Err(failed)
        }
    }
}

/// Decides operations of which none has writes of the application.
pub(in crate::store) fn decide_plain(
    facts: Facts,
    numbers: &mut Numbers,
    operations: &[Operation],
) -> Result<(Bulk, Vec<Verdict>), GroupFailed> {
    let mut plan = Plan::new(facts, numbers);
    let verdicts = operations.iter().map(|operation| decide(&mut plan, operation)).collect::<Result<_, _>>()?;
    Ok((plan.into_bulk()?, verdicts))
}

/// Decides operations in their order, and lets the application write where its turn has come. If one of them fails the
/// group, it is told by its place.
async fn decide_all<'a>(
    connection: &mut impl RunsWrites,
    plan: &mut Plan<'_, 'a>,
    operations: &'a mut [Operation],
) -> Result<Vec<Verdict>, (usize, GroupFailed)> {
    let mut verdicts = Vec::with_capacity(operations.len());
    let began = Stopwatch::start();
    for (place, operation) in operations.iter_mut().enumerate() {
        if place > 0 && operation.has_writes() && began.elapsed() >= WRITES_OF_A_GROUP {
            break;
        }
        let verdict = match run_writes(connection, plan, operation).await {
            Ok(None) => decide(plan, operation),
            Ok(Some(refused)) => Ok(Err(refused)),
            Err(failed) => Err(failed),
        };
        verdicts.push(verdict.map_err(|failed| (place, failed))?);
    }
    Ok(verdicts)
}

/// Decides an operation by the plan; the application's writes, if it has any, have run.
fn decide<'a>(plan: &mut Plan<'_, 'a>, operation: &'a Operation) -> Result<Verdict, GroupFailed> {
    Ok(match operation {
        Operation::Receive { epoch, batch } => plan.receive(*epoch, batch)?.map(Answered::from),
        Operation::Deliver { batch } => Ok(plan.deliver(batch)?.into()),
        Operation::Commit { epoch, key, commit } => match plan.check(*epoch, key, commit) {
            Ok(()) => Ok(plan.commit(*epoch, key, commit)?.into()),
            Err(refused) => Err(refused),
        },
        Operation::Park { epoch, taken, parked, outgoing, .. } => {
            plan.park(*epoch, taken, parked, outgoing)?.map(Answered::from)
        }
        Operation::Write { .. } => Ok(().into()),
        Operation::Settle { epoch, settled, at, .. } => plan.settle(*epoch, settled, *at)?.map(Answered::from),
        Operation::Sending { epoch, ids, may_be_sent } => plan.sending(*epoch, ids, *may_be_sent)?.map(Answered::from),
        Operation::Post { epoch, post } => plan.post(*epoch, post)?.map(Answered::from),
        Operation::FinishEffect { epoch, effect, outcome } => {
            plan.finish_effect(*epoch, *effect, outcome)?.map(Answered::from)
        }
        Operation::Renew { bot, epoch } => plan.renew(*bot, *epoch)?.map(Answered::from),
    })
}

/// Runs the application's writes of an operation; answers why the operation is refused, if it is.
async fn run_writes(
    connection: &mut impl RunsWrites,
    plan: &Plan<'_, '_>,
    operation: &mut Operation,
) -> Result<Option<StoreError>, GroupFailed> {
    let Some(writes) = operation.take_writes() else { return Ok(None) };
    let checked = match operation {
        Operation::Commit { epoch, key, commit } => plan.check(*epoch, key, commit),
        Operation::Park { epoch, taken, parked, .. } => plan.check_parking(*epoch, taken, parked),
        _ => Ok(()),
    };
    match checked {
        Ok(()) => Ok(connection.run_writes(writes).await?.err()),
        Err(refused) => Ok(Some(refused)),
    }
}

/// Runs the application's writes, whose savepoint is the caller's; says why they are to be undone, if they are.
pub(in crate::store) async fn judged(
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
        Err(WriteError::Failed(error)) if is_passing(&*error) => Err(unavailable(error)),
        Err(WriteError::Failed(error)) => Err(StoreError::WritesFailed(error)),
    }
}
