//! Offers of new orders to masters: each has a deadline, and goes on to the next one.
//!
//! The lock of the order decides between masters who accept at once: the first one gets it, and the offers to the
//! others are withdrawn in the same commit.

use std::collections::BTreeSet;

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::ExprTrait;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Set};
use serde_json::json;

use super::assigning::{DISPATCH, give, without_master};
use super::change::OrderChange;
use super::tables::{offer, order};
use super::{Actor, Fact, OrderRefusal, OrderRole, OrderStatus, fields};
use crate::domain::Transaction;
use crate::notices::OrderNewsKind;
use crate::sites::local;

const MINUTE_MS: i64 = 60_000;
/// A day.
const MAX_MINUTES: u16 = 24 * 60;
const MAX_MASTERS: usize = 50;

/// Offers a new order to masters, whom the caller has locked. Earlier offers are withdrawn.
pub async fn offer(
    change: &mut OrderChange<'_, '_, '_>,
    masters: Vec<i64>,
    minutes: u16,
    all_at_once: bool,
) -> Result<(), WriteError> {
    change.require(DISPATCH)?;
    change.require_status(&[OrderStatus::New])?;
    if masters.is_empty() || masters.len() > MAX_MASTERS {
        return Err(OrderRefusal::NoMaster.refusal());
    }
    if minutes == 0 || minutes > MAX_MINUTES {
        return Err(OrderRefusal::Past.refusal());
    }
    close_open_offers(change, None).await?;
    let (mut seen, until) = (BTreeSet::new(), Millis(change.at.0 + i64::from(minutes) * MINUTE_MS));
    let masters: Vec<i64> = masters.into_iter().filter(|master| seen.insert(*master)).collect();
    let opened = |at: usize| (all_at_once || at == 0).then_some(());
    let rows = masters.iter().zip(0_i64..).enumerate().map(|(at, (master, place))| offer::ActiveModel {
        order_id: Set(change.order.id),
        master_id: Set(*master),
        place: Set(place),
        minutes: Set(minutes.into()),
        opened_at: Set(opened(at).map(|()| change.at.0)),
        until: Set(opened(at).map(|()| until.0)),
        ..Default::default()
    });
    let rows: Vec<_> = rows.collect();
    offer::Entity::insert_many(rows).exec_without_returning(change.db).await?;
    change.fact(Fact::Offered, None, json!({ "masters": masters, "minutes": minutes }), Default::default()).await?;
    let told = if all_at_once { masters.len() } else { 1 };
    for master in masters.into_iter().take(told) {
        tell_of_offer(change, master, until);
    }
    Ok(())
}

fn tell_of_offer(change: &mut OrderChange<'_, '_, '_>, master: i64, until: Millis) {
    let until = local(until, change.rules.zone);
    change.tell(master, OrderNewsKind::Offered { until });
}

/// Withdraws all offers of an order.
pub async fn withdraw(change: &mut OrderChange<'_, '_, '_>) -> Result<(), WriteError> {
    change.require(DISPATCH)?;
    close_open_offers(change, None).await
}

/// Ends all unanswered offers of an order, and tells the masters. `taker` is the one who takes it.
pub async fn close_open_offers(change: &mut OrderChange<'_, '_, '_>, taker: Option<i64>) -> Result<(), WriteError> {
    let open = unanswered(change.order.id);
    let rows = offer::Entity::find().filter(open.clone()).order_by_asc(offer::Column::Id).all(change.db).await?;
    if rows.is_empty() {
        return Ok(());
    }
    if let Some(taker) = taker {
        let taken = answer("accepted", change.at, None);
        let own = open.clone().and(offer::Column::MasterId.eq(taker));
        offer::Entity::update_many().set(taken).filter(own).exec(change.db).await?;
    }
    let withdrawn = answer("withdrawn", change.at, None);
    offer::Entity::update_many().set(withdrawn).filter(open).exec(change.db).await?;
    for row in rows.iter().filter(|row| row.opened_at.is_some() && Some(row.master_id) != taker) {
        change.tell(row.master_id, OrderNewsKind::OfferOver);
    }
    Ok(())
}

/// A master takes the order that is assigned or offered to him.
pub async fn accept(change: &mut OrderChange<'_, '_, '_>) -> Result<(), WriteError> {
    let Some(person) = change.actor.member().cloned() else { return Err(OrderRefusal::NotAllowed.refusal()) };
    if change.order.status == OrderStatus::New {
        if !change.is_offered {
            return Err(OrderRefusal::NotAllowed.refusal());
        }
        close_open_offers(change, Some(person.id)).await?;
        give(change, person.id, Fact::Assigned).await?;
        change.tell_dispatchers(OrderNewsKind::Taken { name: person.full_name.clone() });
    }
    let accepted = order::ActiveModel { accepted_at: Set(Some(change.at.0)), ..Default::default() };
    change.step(OrderStatus::Accepted, Fact::Accepted, None, accepted).await?;
    let when = change.local(change.order.about.window);
    change.tell_client(OrderNewsKind::MasterFound { name: person.full_name, when });
    Ok(())
}

/// A master does not take the order. The next one is asked, or dispatchers are told.
pub async fn decline(change: &mut OrderChange<'_, '_, '_>, reason: &str) -> Result<(), WriteError> {
    let reason = fields::reason(reason).map_err(|mistake| OrderRefusal::from(mistake).refusal())?;
    let person = change.actor.member().cloned();
    let Some(person) = person.filter(|_| change.roles.contains(&OrderRole::Master)) else {
        return Err(OrderRefusal::NotAllowed.refusal());
    };
    let name = person.full_name.clone();
    if change.order.status == OrderStatus::Assigned {
        change.step(OrderStatus::New, Fact::Declined, Some(&reason), without_master()).await?;
    } else if change.is_offered {
        let own = unanswered(change.order.id).and(offer::Column::MasterId.eq(person.id));
        let declined = answer("declined", change.at, Some(reason.clone()));
        offer::Entity::update_many().set(declined).filter(own).exec(change.db).await?;
        change.fact(Fact::OfferDeclined, Some(&reason), json!({}), Default::default()).await?;
        open_next(change).await?;
    } else {
        return Err(OrderRefusal::WrongStatus.refusal());
    }
    change.tell_dispatchers(OrderNewsKind::Declined { name, reason });
    Ok(())
}

/// Ends the offers of an order whose time is over, and asks the next master. Returns whether something has changed.
pub async fn expire(db: &Transaction<'_, '_>, order_id: i64, at: Millis) -> Result<bool, WriteError> {
    let mut change = OrderChange::open(db, Actor::Job, order_id, None, at).await?;
    let due = unanswered(order_id).and(offer::Column::Until.lte(at.0));
    let rows = offer::Entity::find().filter(due.clone()).all(db).await?;
    if rows.is_empty() {
        return Ok(false);
    }
    offer::Entity::update_many().set(answer("expired", at, None)).filter(due).exec(db).await?;
    let masters: Vec<i64> = rows.iter().map(|row| row.master_id).collect();
    for master in &masters {
        change.tell(*master, OrderNewsKind::OfferOver);
    }
    change.fact(Fact::OfferExpired, None, json!({ "masters": masters }), Default::default()).await?;
    open_next(&mut change).await?;
    change.finish().await?;
    Ok(true)
}

/// Opens the next waiting offer unless one is open. Dispatchers are told if nobody is left.
async fn open_next(change: &mut OrderChange<'_, '_, '_>) -> Result<(), WriteError> {
    let waiting = offer::Entity::find().filter(unanswered(change.order.id));
    let rows = waiting.order_by_asc(offer::Column::Place).order_by_asc(offer::Column::Id).all(change.db).await?;
    if rows.iter().any(|row| row.opened_at.is_some()) {
        return Ok(());
    }
    let Some(next) = rows.first() else {
        change.tell_dispatchers(OrderNewsKind::NoTaker);
        return Ok(());
    };
    let until = Millis(change.at.0 + next.minutes * MINUTE_MS);
    let opened =
        offer::ActiveModel { opened_at: Set(Some(change.at.0)), until: Set(Some(until.0)), ..Default::default() };
    offer::Entity::update_many().set(opened).filter(offer::Column::Id.eq(next.id)).exec(change.db).await?;
    tell_of_offer(change, next.master_id, until);
    Ok(())
}

/// Ends the offers to a master who may not act any more, and asks the next ones.
pub async fn withdraw_from(db: &Transaction<'_, '_>, master: i64, at: Millis) -> Result<(), WriteError> {
    let own = offer::Column::MasterId.eq(master).and(offer::Column::Answer.is_null());
    let orders: Vec<i64> = offer::Entity::find()
        .select_only()
        .column(offer::Column::OrderId)
        .filter(own.clone())
        .order_by_asc(offer::Column::OrderId)
        .into_tuple()
        .all(db)
        .await?;
    offer::Entity::update_many().set(answer("withdrawn", at, None)).filter(own).exec(db).await?;
    for order in orders {
        let mut change = OrderChange::open(db, Actor::Job, order, None, at).await?;
        open_next(&mut change).await?;
        change.finish().await?;
    }
    Ok(())
}

fn unanswered(order_id: i64) -> sea_orm::sea_query::Expr {
    offer::Column::OrderId.eq(order_id).and(offer::Column::Answer.is_null())
}

fn answer(answer: &str, at: Millis, reason: Option<String>) -> offer::ActiveModel {
    offer::ActiveModel {
        answer: Set(Some(answer.to_owned())),
        answered_at: Set(Some(at.0)),
        reason: Set(reason),
        ..Default::default()
    }
}
