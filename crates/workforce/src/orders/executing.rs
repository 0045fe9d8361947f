//! Carries out commands, each in one commit.

use std::collections::BTreeSet;

use opora::clock::Millis;
use opora::store::WriteError;

use super::change::OrderChange;
use super::{Actor, Command, Order, OrderRefusal};
use super::{assigning, billing, closing, editing, offering, parts, working};
use crate::domain::Transaction;
use crate::people;
use crate::person::MASTERS;

/// Carries out a command on an order, within a commit. `version` is what the actor saw; without one the command counts
/// if the status allows it. Rights are checked here. Returns the order as it is then.
pub async fn execute(
    db: &Transaction<'_, '_>,
    actor: Actor,
    (id, version): (i64, Option<i64>),
    command: Command,
    at: Millis,
) -> Result<Order, WriteError> {
    // Masters are locked before the order, as a block of a person locks them.
    match &command {
        Command::Assign { master } => lock_masters(db, [*master].into()).await?,
        Command::Offer { masters, .. } => lock_masters(db, masters.iter().copied().collect()).await?,
        _ => {}
    }
    let mut change = OrderChange::open(db, actor, id, version, at).await?;
    apply(&mut change, command).await?;
    change.finish().await
}

async fn apply(change: &mut OrderChange<'_, '_, '_>, command: Command) -> Result<(), WriteError> {
    match command {
        Command::Confirm => assigning::confirm(change).await,
        Command::Edit { change: field } => editing::edit(change, field).await,
        Command::Assign { master } => assigning::assign(change, master).await,
        Command::Offer { masters, minutes, all_at_once } => {
            offering::offer(change, masters, minutes, all_at_once).await
        }
        Command::WithdrawOffers => offering::withdraw(change).await,
        Command::Accept => offering::accept(change).await,
        Command::Decline { reason } => offering::decline(change, &reason).await,
        Command::TakeBack { reason } => assigning::take_back(change, &reason).await,
        Command::OnTheWay { arrives_at } => working::on_the_way(change, arrives_at).await,
        Command::Arrive => working::arrive(change).await,
        Command::LongRepair { until, prepayment } => working::long_repair(change, until, prepayment).await,
        Command::Resume => working::resume(change).await,
        Command::Reschedule { window, reason } => working::reschedule(change, window, &reason).await,
        Command::Refuse { reason } => assigning::refuse(change, &reason).await,
        Command::Reopen => assigning::reopen(change).await,
        Command::SetAmount { bill } => billing::set_amount(change, bill).await,
        Command::ConfirmAmount { total } => billing::confirm_amount(change, total).await,
        Command::Complete { completion } => closing::complete(change, completion).await,
        Command::Correct { completion, reason } => closing::correct(change, completion, &reason).await,
        Command::Rate { stars, comment } => parts::rate(change, stars, comment).await,
        Command::MarkItem { item, is_done } => parts::mark_item(change, item, is_done).await,
        Command::AttachFile { file } => parts::attach(change, file).await,
        Command::Message { text } => parts::message(change, &text).await,
    }
}

/// Locks masters against a block or a loss of the role, in the order of their ids.
async fn lock_masters(db: &Transaction<'_, '_>, masters: BTreeSet<i64>) -> Result<(), WriteError> {
    for master in masters {
        people::require_role(db, master, MASTERS).await.map_err(|error| match error {
            WriteError::Refused(_) => OrderRefusal::NoMaster.refusal(),
            failed @ WriteError::Failed(_) => failed,
        })?;
    }
    Ok(())
}
