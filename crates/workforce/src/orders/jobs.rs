//! The jobs of this room: deadlines of statuses, and of offers. Each can run again at any time without repeating its
//! effect.

use std::collections::BTreeMap;

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::ExprTrait;
use sea_orm::{ColumnTrait, Condition, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Set};

use super::change::dispatchers;
use super::events::OrderEvent;
use super::offering;
use super::tables::{offer, order};
use super::{Order, OrderStatus};
use crate::application::App;
use crate::domain::Transaction;
use crate::jobs::{NOTIFICATIONS, SHIFTS, scheduled_job, written_or_skipped};
use crate::notices::{self, Notice, OrderNews, OrderNewsKind};
use crate::people;

const HOUR_MS: i64 = 3_600_000;
const MINUTE_MS: i64 = 60_000;
/// How many hours an order may be in a status before staff is told.
pub const LIMITS: [(OrderStatus, i64); 4] =
    [(OrderStatus::New, 2), (OrderStatus::Assigned, 4), (OrderStatus::Accepted, 8), (OrderStatus::OnSite, 12)];
/// After so many minutes a master is reminded of an order that he has not accepted.
pub const UNACCEPTED_MINUTES: i64 = 15;
/// How many rows one commit writes, or one run reads.
const BATCH_SIZE: u64 = 200;

scheduled_job! { pub NoteOverdue = "order-deadlines" in NOTIFICATIONS }
scheduled_job! { pub ExpireOffers = "order-offers" in SHIFTS }

/// The condition of orders that have been in a status for too long. A master who has accepted for a later time is not
/// late before that time.
pub fn is_overdue(now: Millis) -> Condition {
    LIMITS.iter().fold(Condition::any(), |any, (status, hours)| {
        let since = now.0 - hours * HOUR_MS;
        let begun = order::Column::ScheduledFrom.is_null().or(order::Column::ScheduledFrom.lt(since));
        let late = order::Column::Status.eq(status.name()).and(order::Column::StatusSince.lt(since));
        any.add(if *status == OrderStatus::Accepted { late.and(begun) } else { late })
    })
}

/// The same of an order that is loaded.
pub fn is_late(order: &Order, now: Millis) -> bool {
    LIMITS.iter().any(|(status, hours)| {
        let since = now.0 - hours * HOUR_MS;
        let waits = *status == OrderStatus::Accepted && order.about.window.is_some_and(|window| window.from.0 >= since);
        order.status == *status && order.status_since.0 < since && !waits
    })
}

/// Tells dispatchers of orders that have been in a status for too long, once for each status.
pub async fn note_overdue(app: App) -> anyhow::Result<()> {
    let now = app.clock.now();
    loop {
        let noted = app.domain.write_and_get(move |db| Box::pin(note_some(db, now))).await?;
        app.bot.wake_jobs();
        if noted < BATCH_SIZE {
            return Ok(());
        }
    }
}

async fn note_some(db: &Transaction<'_, '_>, now: Millis) -> Result<u64, WriteError> {
    let rows = order::Entity::find()
        .filter(order::Column::OverdueNotedAt.is_null())
        .filter(is_overdue(now))
        .order_by_asc(order::Column::Id)
        .limit(BATCH_SIZE)
        // A former leader that wakes up in this transaction waits here, and then finds nothing.
        .lock_exclusive()
        .all(db)
        .await?;
    if rows.is_empty() {
        return Ok(0);
    }
    let noted = order::ActiveModel { overdue_noted_at: Set(Some(now.0)), ..Default::default() };
    let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
    order::Entity::update_many().set(noted).filter(order::Column::Id.is_in(ids)).exec(db).await?;
    let dispatchers = dispatchers(db).await?;
    let mut told = Vec::new();
    for row in &rows {
        let hours = (now.0 - row.status_since) / HOUR_MS;
        let news = news(row, OrderNewsKind::Overdue { status: row.status.clone(), hours });
        told.extend(dispatchers.iter().map(|id| (*id, news.clone())));
    }
    notices::write(db, told, now).await?;
    Ok(rows.len() as u64)
}

/// Ends offers whose time is over, and reminds masters of orders that they have not accepted.
pub async fn expire_offers(app: App) -> anyhow::Result<()> {
    let now = app.clock.now();
    let due = offer::Entity::find()
        .select_only()
        .column(offer::Column::OrderId)
        .filter(offer::Column::Answer.is_null())
        .filter(offer::Column::Until.lte(now.0))
        .order_by_asc(offer::Column::OrderId)
        .distinct()
        .limit(BATCH_SIZE);
    let orders: Vec<i64> = due.into_tuple().all(app.domain.read()).await?;
    for order in orders {
        let expired = app.domain.write_and_get(move |db| Box::pin(offering::expire(db, order, now))).await;
        if written_or_skipped(expired, "order", order)? == Some(true) {
            OrderEvent::of(order).publish(&app, None);
        }
    }
    app.domain.write(move |db| Box::pin(remind(db, now))).await?;
    app.bot.wake_jobs();
    Ok(())
}

/// Reminds masters, and tells dispatchers, once for each assignment.
async fn remind(db: &Transaction<'_, '_>, now: Millis) -> Result<(), WriteError> {
    let rows = order::Entity::find()
        .filter(order::Column::Status.eq(OrderStatus::Assigned.name()))
        .filter(order::Column::StatusSince.lt(now.0 - UNACCEPTED_MINUTES * MINUTE_MS))
        .filter(order::Column::UnacceptedNotedAt.is_null())
        .order_by_asc(order::Column::Id)
        .limit(BATCH_SIZE)
        .lock_exclusive()
        .all(db)
        .await?;
    if rows.is_empty() {
        return Ok(());
    }
    let noted = order::ActiveModel { unaccepted_noted_at: Set(Some(now.0)), ..Default::default() };
    let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
    order::Entity::update_many().set(noted).filter(order::Column::Id.is_in(ids)).exec(db).await?;
    let masters: std::collections::BTreeSet<i64> = rows.iter().filter_map(|row| row.master_id).collect();
    let names: BTreeMap<i64, String> = people::names(db, masters).await?.into_iter().collect();
    let (dispatchers, mut told) = (dispatchers(db).await?, Vec::new());
    for row in &rows {
        let Some(master) = row.master_id else { continue };
        let minutes = (now.0 - row.status_since) / MINUTE_MS;
        told.push((master, news(row, OrderNewsKind::Unaccepted { minutes })));
        let name = names.get(&master).cloned().unwrap_or_default();
        let late = news(row, OrderNewsKind::UnacceptedBy { name, minutes });
        told.extend(dispatchers.iter().filter(|id| **id != master).map(|id| (*id, late.clone())));
    }
    notices::write(db, told, now).await
}

fn news(row: &order::Model, what: OrderNewsKind) -> Notice {
    Notice::Order(OrderNews { order: row.id, number: row.number, what })
}
