//! Closing an order: what has to be there, the master's share, and its correction by an owner.

use opora::store::WriteError;
use sea_orm::Set;
use serde_json::json;

use super::change::OrderChange;
use super::tables::order;
use super::{AmountConfirmation, Completion, Fact, FileStage, OrderRefusal, OrderRole, OrderStatus};
use super::{billing, fields, parts};
use crate::money::{Kind, Money};
use crate::notices::OrderNewsKind;
use crate::payroll::{Basis, NewAdjustment, OrderCorrection, OrderFacts, Payroll, Shares, Source, order_share};
use crate::settings::OrderRules;
use crate::sites::local;

/// The shares that the settings say.
pub fn shares(rules: &OrderRules) -> Shares {
    Shares {
        large_from: rules.large_from,
        large: rules.large_percent,
        small: rules.small_percent,
        review: rules.review_percent,
        out_of_town: rules.out_of_town_percent,
    }
}

/// Closes an order and posts the master's share, in one commit.
pub async fn complete(change: &mut OrderChange<'_, '_, '_>, completion: Completion) -> Result<(), WriteError> {
    change.require(&[OrderRole::Master, OrderRole::Owner])?;
    change.require_status(&[OrderStatus::OnSite, OrderStatus::LongRepair])?;
    let before = change.order.money;
    let total = billing::store(change, &completion.bill).await?;
    let confirmed = before.confirmed.filter(|_| before.total == Some(total));
    let confirmed = if completion.is_cash { Some(AmountConfirmation::Cash) } else { confirmed };
    check_requirements(change, confirmed).await?;
    let (share, basis) = share_of(change, &completion, total)?;
    let closed = order::ActiveModel {
        closed_at: Set(Some(change.at.0)),
        amount_confirmed_at: Set(confirmed.map(|_| change.at.0)),
        amount_confirmed_by: Set(confirmed.map(|how| how.name().to_owned())),
        ..amounts(&completion, total, share)
    };
    change.step(OrderStatus::Closed, Fact::Closed, None, closed).await?;
    // The database requires a master of a closed order.
    let user_id = change.order.master_id.ok_or_else(|| OrderRefusal::NoMaster.refusal())?;
    let day = local(change.at, change.rules.zone).date().to_string();
    let source = Source::Order(change.order.id);
    let posted = NewAdjustment { user_id, kind: Kind::OrderShare, source, day, amount: share, basis };
    Payroll::post(change.db, vec![posted], change.at).await?;
    change.tell_client(OrderNewsKind::Finished { total });
    Ok(())
}

/// Corrects the amounts of a closed order. The old share is reversed and the new one posted, in the open month.
pub async fn correct(
    change: &mut OrderChange<'_, '_, '_>,
    completion: Completion,
    reason: &str,
) -> Result<(), WriteError> {
    change.require(&[OrderRole::Owner])?;
    change.require_status(&[OrderStatus::Closed])?;
    let reason = fields::reason(reason).map_err(|mistake| OrderRefusal::from(mistake).refusal())?;
    let by = change.actor.member_id().ok_or_else(|| OrderRefusal::NotAllowed.refusal())?;
    let before = change.order.money;
    let total = billing::store(change, &completion.bill).await?;
    let (share, basis) = share_of(change, &completion, total)?;
    let kopecks = |amount: Option<Money>| amount.map(Money::kopecks);
    let detail = json!({
        "total_kopecks": [kopecks(before.total), total.kopecks()],
        "share_kopecks": [kopecks(before.share), share.kopecks()],
    });
    let mut columns = amounts(&completion, total, share);
    if before.total != Some(total) {
        // What the client has confirmed was another amount.
        columns.amount_confirmed_at = Set(None);
        columns.amount_confirmed_by = Set(None);
    }
    change.fact(Fact::Corrected, Some(&reason), detail, columns).await?;
    let day = local(change.at, change.rules.zone).date();
    let correction = OrderCorrection { order_id: change.order.id, share, basis, day, reason, by };
    Payroll::correct_order(change.db, correction, change.at).await
}

fn share_of(
    change: &OrderChange<'_, '_, '_>,
    completion: &Completion,
    total: Money,
) -> Result<(Money, Basis), WriteError> {
    let facts = OrderFacts {
        total,
        materials: completion.bill.materials,
        has_review: completion.has_review,
        is_out_of_town: completion.is_out_of_town,
    };
    order_share(&facts, &shares(&change.rules)).map_err(|_| OrderRefusal::Materials.refusal())
}

fn amounts(completion: &Completion, total: Money, share: Money) -> order::ActiveModel {
    order::ActiveModel {
        total_kopecks: Set(Some(total.kopecks())),
        materials_kopecks: Set(Some(completion.bill.materials.kopecks())),
        share_kopecks: Set(Some(share.kopecks())),
        has_review: Set(completion.has_review),
        is_out_of_town: Set(completion.is_out_of_town),
        ..Default::default()
    }
}

/// What the settings require before an order is closed.
async fn check_requirements(
    change: &OrderChange<'_, '_, '_>,
    confirmed: Option<AmountConfirmation>,
) -> Result<(), WriteError> {
    let rules = &change.rules;
    if rules.needs_photo_before || rules.needs_photo_after {
        let sent = parts::stages_with_files(change.db, change.order.id).await?;
        if rules.needs_photo_before && !sent.contains(&FileStage::Before) {
            return Err(OrderRefusal::NeedsPhotoBefore.refusal());
        }
        if rules.needs_photo_after && !sent.contains(&FileStage::After) {
            return Err(OrderRefusal::NeedsPhotoAfter.refusal());
        }
    }
    if rules.needs_checklist && parts::has_undone_required_item(change.db, change.order.id).await? {
        return Err(OrderRefusal::NeedsChecklist.refusal());
    }
    if rules.needs_confirmed_amount && confirmed.is_none() {
        return Err(OrderRefusal::NeedsConfirmation.refusal());
    }
    Ok(())
}
