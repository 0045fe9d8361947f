//! What dispatchers do: confirm, assign, take back, refuse and reopen.

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::ExprTrait;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Set};
use serde_json::json;

use super::change::OrderChange;
use super::tables::order;
use super::{Actor, Fact, OrderRefusal, OrderRole, OrderSource, OrderStatus, fields, offering};
use crate::domain::Transaction;
use crate::key;
use crate::notices::OrderNewsKind;
use crate::people;

/// Stored in place of a reason when a master loses access. See [`reason_text`](super::reason_text).
pub const MASTER_GONE: &str = key!("orders-reason-master-gone");
/// The same when a dispatcher gives the order to another master.
pub const HANDED_OVER: &str = key!("orders-reason-handed-over");

/// The same when a client is forgotten.
pub const CLIENT_GONE: &str = key!("orders-reason-client-gone");

/// Those who dispatch.
pub const DISPATCH: &[OrderRole] = &[OrderRole::Dispatcher, OrderRole::Owner];

/// Confirms an order of a client.
pub async fn confirm(change: &mut OrderChange<'_, '_, '_>) -> Result<(), WriteError> {
    change.require(DISPATCH)?;
    let waits = change.order.source == OrderSource::Client && change.order.progress.confirmed_at.is_none();
    if !waits || !change.order.status.is_open() {
        return Err(OrderRefusal::WrongStatus.refusal());
    }
    let confirmed = order::ActiveModel {
        confirmed_at: Set(Some(change.at.0)),
        confirmed_by: Set(change.actor.member_id()),
        ..Default::default()
    };
    change.fact(Fact::Confirmed, None, json!({}), confirmed).await?;
    change.tell_client(OrderNewsKind::Confirmed);
    Ok(())
}

/// Gives the order to a master, whom the caller has locked. A master who has it loses it.
pub async fn assign(change: &mut OrderChange<'_, '_, '_>, master: i64) -> Result<(), WriteError> {
    change.require(DISPATCH)?;
    if change.order.master_id == Some(master) && change.order.status != OrderStatus::Refused {
        return Err(OrderRefusal::Taken.refusal());
    }
    if OrderStatus::AT_MASTER.contains(&change.order.status) {
        change.tell_master(OrderNewsKind::TakenBack);
        release(change, HANDED_OVER).await?;
    }
    change.require_status(&[OrderStatus::New])?;
    offering::close_open_offers(change, None).await?;
    give(change, master, Fact::Assigned).await?;
    let when = change.local(change.order.about.window);
    change.tell_master(OrderNewsKind::Assigned { when });
    Ok(())
}

/// Leads a new order to a master. An order of a client counts as confirmed from then on.
pub async fn give(change: &mut OrderChange<'_, '_, '_>, master: i64, fact: Fact) -> Result<(), WriteError> {
    let confirmed_at = change.order.progress.confirmed_at.unwrap_or(change.at);
    let given = order::ActiveModel {
        master_id: Set(Some(master)),
        assigned_at: Set(Some(change.at.0)),
        confirmed_at: Set(Some(confirmed_at.0)),
        ..Default::default()
    };
    change.step(OrderStatus::Assigned, fact, None, given).await
}

/// Takes an assigned order from its master.
pub async fn take_back(change: &mut OrderChange<'_, '_, '_>, reason: &str) -> Result<(), WriteError> {
    change.require(DISPATCH)?;
    change.require_status(&OrderStatus::AT_MASTER)?;
    let reason = fields::reason(reason).map_err(|mistake| OrderRefusal::from(mistake).refusal())?;
    change.tell_master(OrderNewsKind::TakenBack);
    release(change, &reason).await
}

/// Makes an order at a master new again: at once, or by way of a refusal if the master has accepted it.
async fn release(change: &mut OrderChange<'_, '_, '_>, reason: &str) -> Result<(), WriteError> {
    if change.order.status == OrderStatus::Assigned {
        return change.step(OrderStatus::New, Fact::TakenBack, Some(reason), without_master()).await;
    }
    let refused = order::ActiveModel { refusal_reason: Set(Some(reason.to_owned())), ..Default::default() };
    change.step(OrderStatus::Refused, Fact::TakenBack, Some(reason), refused).await?;
    change.step(OrderStatus::New, Fact::Reopened, None, without_master()).await
}

/// Refuses an order, with a reason that all concerned read.
pub async fn refuse(change: &mut OrderChange<'_, '_, '_>, reason: &str) -> Result<(), WriteError> {
    let reason = fields::reason(reason).map_err(|mistake| OrderRefusal::from(mistake).refusal())?;
    let refused = order::ActiveModel { refusal_reason: Set(Some(reason.clone())), ..Default::default() };
    change.step(OrderStatus::Refused, Fact::Refused, Some(&reason), refused).await?;
    offering::close_open_offers(change, None).await?;
    let news = OrderNewsKind::Refused { reason };
    change.tell_master(news.clone());
    change.tell_client(news.clone());
    change.tell_dispatchers(news);
    Ok(())
}

/// Makes a refused order new again.
pub async fn reopen(change: &mut OrderChange<'_, '_, '_>) -> Result<(), WriteError> {
    change.step(OrderStatus::New, Fact::Reopened, None, without_master()).await
}

/// The columns of a new order without a master, and without what the last one did.
pub fn without_master() -> order::ActiveModel {
    order::ActiveModel {
        master_id: Set(None),
        assigned_at: Set(None),
        accepted_at: Set(None),
        on_the_way_at: Set(None),
        arrives_at: Set(None),
        arrived_at: Set(None),
        long_repair_until: Set(None),
        refusal_reason: Set(None),
        total_kopecks: Set(None),
        materials_kopecks: Set(None),
        amount_confirmed_at: Set(None),
        amount_confirmed_by: Set(None),
        ..Default::default()
    }
}

/// Makes all open orders of a master new, and ends offers to him, within the commit that blocks or forgets him. Returns
/// how many orders he has lost.
pub async fn release_all(db: &Transaction<'_, '_>, master: i64, at: Millis) -> Result<u64, WriteError> {
    let is_open = order::Column::Status.is_in(OrderStatus::AT_MASTER.map(OrderStatus::name));
    let own = order::Entity::find().filter(order::Column::MasterId.eq(master).and(is_open));
    let ids: Vec<i64> = own
        .select_only()
        .column(order::Column::Id)
        // All commits lock several orders in the same order.
        .order_by_asc(order::Column::Id)
        .into_tuple()
        .all(db)
        .await?;
    for id in &ids {
        let mut change = OrderChange::open(db, Actor::Job, *id, None, at).await?;
        // Another commit may have been first.
        if change.order.master_id == Some(master) && OrderStatus::AT_MASTER.contains(&change.order.status) {
            let name = name_of(db, master).await?;
            release(&mut change, MASTER_GONE).await?;
            change.tell_dispatchers(OrderNewsKind::MasterGone { name });
        }
        change.finish().await?;
    }
    offering::withdraw_from(db, master, at).await?;
    Ok(ids.len() as u64)
}

/// Refuses all open orders of a client who is forgotten, within that commit.
pub async fn refuse_all_of(db: &Transaction<'_, '_>, client_id: i64, at: Millis) -> Result<(), WriteError> {
    let is_open = order::Column::Status.is_in(OrderStatus::OPEN.map(OrderStatus::name));
    let own = order::Entity::find().filter(order::Column::ClientId.eq(client_id).and(is_open));
    let ids = own.select_only().column(order::Column::Id).order_by_asc(order::Column::Id);
    let ids: Vec<i64> = ids.into_tuple().all(db).await?;
    for id in ids {
        let mut change = OrderChange::open(db, Actor::Job, id, None, at).await?;
        let refused = order::ActiveModel { refusal_reason: Set(Some(CLIENT_GONE.to_owned())), ..Default::default() };
        change.step(OrderStatus::Refused, Fact::Refused, Some(CLIENT_GONE), refused).await?;
        offering::close_open_offers(&mut change, None).await?;
        change.tell_master(OrderNewsKind::TakenBack);
        change.finish().await?;
    }
    Ok(())
}

/// The name of a member, for news.
pub async fn name_of(db: &Transaction<'_, '_>, member: i64) -> Result<String, WriteError> {
    let names = people::names(db, [member]).await?;
    Ok(names.get(&member).cloned().unwrap_or_else(|| format!("#{member}")))
}
