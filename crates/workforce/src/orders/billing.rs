//! The amount of an order: lines of the price list or a total, materials, and its confirmation.

use opora::store::WriteError;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, Set};
use serde_json::json;

use super::change::OrderChange;
use super::tables::{line, order, price_item};
use super::{Actor, AmountConfirmation, Bill, Fact, OrderRefusal, OrderRole, OrderStatus};
use crate::domain::user_text;
use crate::money::Money;
use crate::notices::OrderNewsKind;
use crate::sites::MAX_KOPECKS;

const MAX_LINES: usize = 50;
const MAX_LINE_NAME: usize = 200;
/// Statuses in which a master works out the amount.
const BILLED: [OrderStatus; 2] = [OrderStatus::OnSite, OrderStatus::LongRepair];

/// The master tells the amount, and the client is asked to confirm it.
pub async fn set_amount(change: &mut OrderChange<'_, '_, '_>, bill: Bill) -> Result<(), WriteError> {
    change.require(&[OrderRole::Master, OrderRole::Owner])?;
    change.require_status(&BILLED)?;
    let total = store(change, &bill).await?;
    let amount = order::ActiveModel {
        total_kopecks: Set(Some(total.kopecks())),
        materials_kopecks: Set(Some(bill.materials.kopecks())),
        amount_confirmed_at: Set(None),
        amount_confirmed_by: Set(None),
        ..Default::default()
    };
    change.fact(Fact::AmountSet, None, json!({ "total_kopecks": total.kopecks() }), amount).await?;
    change.tell_client(OrderNewsKind::AmountAsked { total });
    Ok(())
}

/// The client confirms the amount that he saw.
pub async fn confirm_amount(change: &mut OrderChange<'_, '_, '_>, total: Money) -> Result<(), WriteError> {
    if !matches!(change.actor, Actor::Client(_)) {
        return Err(OrderRefusal::NotAllowed.refusal());
    }
    change.require_status(&BILLED)?;
    if change.order.money.total != Some(total) {
        return Err(OrderRefusal::Stale.refusal());
    }
    if change.order.money.confirmed.is_some() {
        return Err(OrderRefusal::WrongStatus.refusal());
    }
    let confirmed = order::ActiveModel {
        amount_confirmed_at: Set(Some(change.at.0)),
        amount_confirmed_by: Set(Some(AmountConfirmation::Client.name().to_owned())),
        ..Default::default()
    };
    change.fact(Fact::AmountConfirmed, None, json!({ "total_kopecks": total.kopecks() }), confirmed).await?;
    change.tell_master(OrderNewsKind::AmountConfirmed { total });
    Ok(())
}

/// Checks a bill, and replaces the lines of the order. Returns the total.
pub async fn store(change: &OrderChange<'_, '_, '_>, bill: &Bill) -> Result<Money, WriteError> {
    let total = check(bill)?;
    check_items(change, bill).await?;
    line::Entity::delete_many().filter(line::Column::OrderId.eq(change.order.id)).exec(change.db).await?;
    let rows = bill.lines.iter().zip(1_i64..).map(|(one, place)| line::ActiveModel {
        order_id: Set(change.order.id),
        place: Set(place),
        price_item_id: Set(one.price_item),
        name: Set(user_text::line(&one.name)),
        quantity: Set(one.quantity.into()),
        price_kopecks: Set(one.price.kopecks()),
        ..Default::default()
    });
    let rows: Vec<_> = rows.collect();
    if !rows.is_empty() {
        line::Entity::insert_many(rows).exec_without_returning(change.db).await?;
    }
    Ok(total)
}

/// The total of a bill. Refused if an amount is negative or too large, or does not agree with the lines.
pub fn check(bill: &Bill) -> Result<Money, WriteError> {
    let is_amount = |amount: Money| !amount.is_negative() && amount.kopecks() <= MAX_KOPECKS;
    let are_lines = bill.lines.len() <= MAX_LINES
        && bill.lines.iter().all(|line| {
            let length = user_text::line(&line.name).chars().count();
            line.quantity > 0 && is_amount(line.price) && (1..=MAX_LINE_NAME).contains(&length)
        });
    let total = bill.sum();
    let of_lines = Bill { total: None, ..bill.clone() }.sum();
    let agrees = bill.lines.is_empty() || of_lines == total;
    if !are_lines || !agrees || !is_amount(total) || !is_amount(bill.materials) {
        return Err(OrderRefusal::Amount.refusal());
    }
    if bill.materials > total { Err(OrderRefusal::Materials.refusal()) } else { Ok(total) }
}

/// Refuses lines of items that the price list does not have.
async fn check_items(change: &OrderChange<'_, '_, '_>, bill: &Bill) -> Result<(), WriteError> {
    let wanted: std::collections::BTreeSet<i64> = bill.lines.iter().filter_map(|line| line.price_item).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let count = wanted.len();
    let found = price_item::Entity::find().filter(price_item::Column::Id.is_in(wanted)).all(change.db).await?;
    if found.len() == count { Ok(()) } else { Err(OrderRefusal::NoItem.refusal()) }
}
