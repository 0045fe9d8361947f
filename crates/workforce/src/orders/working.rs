//! What masters do on their way and at the client's.

use chrono::NaiveDate;
use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::Set;
use serde_json::json;

use super::change::OrderChange;
use super::tables::order;
use super::{Fact, OrderRefusal, OrderRole, OrderStatus, fields, parts};
use crate::money::Money;
use crate::notices::OrderNewsKind;
use crate::sites::{MAX_KOPECKS, Period, local};

/// A master is on his way for at most half a day.
const MAX_WAY_MS: i64 = 12 * 60 * 60 * 1000;
const MAX_REPAIR_DAYS: i64 = 366;

/// The master is on his way, and tells when he will be there. Told again, it changes the time.
pub async fn on_the_way(change: &mut OrderChange<'_, '_, '_>, arrives_at: Millis) -> Result<(), WriteError> {
    change.require(&[OrderRole::Master])?;
    change.require_status(&[OrderStatus::Accepted, OrderStatus::LongRepair])?;
    if arrives_at < change.at || arrives_at.0 > change.at.0 + MAX_WAY_MS {
        return Err(OrderRefusal::Past.refusal());
    }
    let since = change.order.progress.on_the_way_at.unwrap_or(change.at);
    let on_the_way = order::ActiveModel {
        on_the_way_at: Set(Some(since.0)),
        arrives_at: Set(Some(arrives_at.0)),
        ..Default::default()
    };
    change.fact(Fact::OnTheWay, None, json!({ "arrives_at_ms": arrives_at.0 }), on_the_way).await?;
    let arrives = local(arrives_at, change.rules.zone);
    change.tell_client(OrderNewsKind::OnTheWay { arrives });
    Ok(())
}

/// The master is at the client's. The checklist is taken as it is now.
pub async fn arrive(change: &mut OrderChange<'_, '_, '_>) -> Result<(), WriteError> {
    change.require_status(&[OrderStatus::Accepted])?;
    let arrived = order::ActiveModel { arrived_at: Set(Some(change.at.0)), ..Default::default() };
    change.step(OrderStatus::OnSite, Fact::Arrived, None, arrived).await?;
    parts::take_checklist(change).await
}

/// The repair takes longer. `prepayment` is what the client has paid so far.
pub async fn long_repair(
    change: &mut OrderChange<'_, '_, '_>,
    until: NaiveDate,
    prepayment: Money,
) -> Result<(), WriteError> {
    let today = local(change.at, change.rules.zone).date();
    if until < today || (until - today).num_days() > MAX_REPAIR_DAYS {
        return Err(OrderRefusal::Past.refusal());
    }
    if prepayment.is_negative() || prepayment.kopecks() > MAX_KOPECKS {
        return Err(OrderRefusal::Amount.refusal());
    }
    let repaired = order::ActiveModel {
        long_repair_until: Set(Some(until.to_string())),
        prepayment_kopecks: Set(prepayment.kopecks()),
        on_the_way_at: Set(None),
        arrives_at: Set(None),
        ..Default::default()
    };
    change.step(OrderStatus::LongRepair, Fact::LongRepair, None, repaired).await?;
    parts::take_checklist(change).await?;
    change.tell_client(OrderNewsKind::LongRepair { until });
    Ok(())
}

/// The master goes on at the client's after a long repair.
pub async fn resume(change: &mut OrderChange<'_, '_, '_>) -> Result<(), WriteError> {
    change.require_status(&[OrderStatus::LongRepair])?;
    let arrived_at = change.order.progress.arrived_at.unwrap_or(change.at);
    let resumed = order::ActiveModel { arrived_at: Set(Some(arrived_at.0)), ..Default::default() };
    change.step(OrderStatus::OnSite, Fact::Resumed, None, resumed).await
}

/// Moves an open order to another time, or to none.
pub async fn reschedule(
    change: &mut OrderChange<'_, '_, '_>,
    window: Option<Period>,
    reason: &str,
) -> Result<(), WriteError> {
    change.require(&[OrderRole::Dispatcher, OrderRole::Owner, OrderRole::Master])?;
    change.require_status(&OrderStatus::OPEN)?;
    // A master to whom the order is only offered does not move it.
    if change.order.status == OrderStatus::New && !change.is_any(super::assigning::DISPATCH) {
        return Err(OrderRefusal::NotAllowed.refusal());
    }
    let reason = fields::reason(reason).map_err(|mistake| OrderRefusal::from(mistake).refusal())?;
    let window = window.map(|window| fields::scheduled(window, change.at)).transpose();
    let window = window.map_err(|mistake| OrderRefusal::from(mistake).refusal())?;
    let moved = order::ActiveModel {
        scheduled_from: Set(window.map(|window| window.from.0)),
        scheduled_to: Set(window.map(|window| window.to.0)),
        on_the_way_at: Set(None),
        arrives_at: Set(None),
        ..Default::default()
    };
    let before = change.order.about.window;
    let detail = json!({ "before_ms": before.map(|one| one.from.0), "after_ms": window.map(|one| one.from.0) });
    change.fact(Fact::Rescheduled, Some(&reason), detail, moved).await?;
    let news = OrderNewsKind::Rescheduled { when: change.local(window), reason };
    change.tell_master(news.clone());
    change.tell_client(news);
    Ok(())
}
