//! Rules that make orders: as in RFC 5545, by the clock of the business.

use chrono::{NaiveDateTime, TimeZone, Utc};
use chrono_tz::Tz;
use opora::clock::Millis;
use opora::store::WriteError;
use rrule::{RRuleError, RRuleSet};
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ActiveModelTrait, ColumnTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Set};

use super::api::Orders;
use super::creating::{self, RecurrenceTick};
use super::tables::{client, recurrence};
use super::{AboutOrder, ActionError, Actor, OrderRefusal, clients};
use crate::application::App;
use crate::domain::Transaction;
use crate::jobs::{SHIFTS, scheduled_job, written_or_skipped};
use crate::settings::order_rules;
use crate::sites::{Period, local};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
const MINUTE_MS: i64 = 60_000;
/// Rules that one run looks at.
const BATCH_SIZE: u64 = 500;
/// The longest rule, and the longest window.
const MAX_RULE: usize = 300;
const MAX_MINUTES: i64 = 24 * 60;
const MAX_LEAD_DAYS: i64 = 60;
/// More often than daily is a mistake.
const FREQUENCIES: [&str; 4] = ["FREQ=DAILY", "FREQ=WEEKLY", "FREQ=MONTHLY", "FREQ=YEARLY"];

scheduled_job! { pub MakeRecurring = "order-recurrences" in SHIFTS }

/// A rule that is to be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct NewRecurrence {
    /// `FREQ=MONTHLY;INTERVAL=3`.
    pub rule: String,
    /// The first day, and the time of day, by the clock of the business.
    pub starts_at: NaiveDateTime,
    /// The length of the window.
    pub minutes: i64,
    /// How long before its time an order is made.
    pub lead_days: i64,
    /// What the orders have in common; the window is ignored.
    pub about: AboutOrder,
}

/// A stored rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Recurrence {
    pub id: i64,
    pub client_id: i64,
    pub rule: String,
    pub starts_at: Option<NaiveDateTime>,
    pub minutes: i64,
    pub lead_days: i64,
    /// None: it has ended, or was stopped.
    pub next_at: Option<Millis>,
    pub about: AboutOrder,
    pub version: i64,
}

/// The first time of a rule that is not before an instant; none if the rule has ended. Refused if it is not a rule.
pub fn next_time(rule: &str, starts_at: NaiveDateTime, zone: Tz, from: Millis) -> Result<Option<Millis>, OrderRefusal> {
    let upper = rule.trim().to_uppercase();
    let is_usual = FREQUENCIES.iter().any(|frequency| upper.split(';').any(|part| part == *frequency));
    if upper.len() > MAX_RULE || !is_usual || upper.contains(['\n', '\r']) {
        return Err(OrderRefusal::Rule);
    }
    let start = starts_at.format("%Y%m%dT%H%M%S");
    let text = format!("DTSTART;TZID={}:{start}\nRRULE:{upper}", zone.name());
    let set: Result<RRuleSet, RRuleError> = text.parse();
    let from = Utc.timestamp_millis_opt(from.0).single().ok_or(OrderRefusal::Rule)?;
    let set = set.map_err(|_| OrderRefusal::Rule)?.after(from.with_timezone(&rrule::Tz::UTC));
    let dates = set.all(1).dates;
    Ok(dates.first().map(|date| Millis(date.timestamp_millis())))
}

impl Orders {
    /// Rules, those with the next order first.
    pub async fn recurrences(&self, client_id: Option<i64>) -> Result<Vec<Recurrence>, DbErr> {
        let mut found = recurrence::Entity::find().filter(recurrence::Column::StoppedAt.is_null());
        if let Some(client_id) = client_id {
            found = found.filter(recurrence::Column::ClientId.eq(client_id));
        }
        let rows = found.order_by_asc(recurrence::Column::NextAt).limit(BATCH_SIZE).all(self.db()).await?;
        Ok(rows.into_iter().filter_map(recurrence_of).collect())
    }

    /// Stores a rule for the client with the phone of its orders. Returns the id.
    pub async fn add_recurrence(&self, by: &Actor, new: NewRecurrence) -> Result<i64, ActionError> {
        let created_by = by.member_id();
        self.write_as_staff(by, move |db, at| {
            Box::pin(async move {
                let bounds = (1..=MAX_MINUTES).contains(&new.minutes) && (0..=MAX_LEAD_DAYS).contains(&new.lead_days);
                if !bounds {
                    return Err(OrderRefusal::Rule.refusal());
                }
                let about = AboutOrder { window: None, ..new.about };
                let about = creating::cleaned(about, at).map_err(|mistake| OrderRefusal::from(mistake).refusal())?;
                let zone = order_rules(db).await?.zone;
                let next = next_time(&new.rule, new.starts_at, zone, at).map_err(OrderRefusal::refusal)?;
                let next = next.ok_or_else(|| OrderRefusal::Rule.refusal())?;
                let row = recurrence::ActiveModel {
                    client_id: Set(clients::find_or_create(db, &about.client_name, &about.phone, at).await?),
                    rule: Set(new.rule.trim().to_uppercase()),
                    starts_at_local: Set(new.starts_at.format("%Y-%m-%dT%H:%M:%S").to_string()),
                    minutes: Set(new.minutes),
                    lead_days: Set(new.lead_days),
                    next_at: Set(Some(next.0)),
                    draft: Set(serde_json::to_string(&about)?),
                    created_at: Set(at.0),
                    created_by: Set(created_by),
                    version: Set(1),
                    ..Default::default()
                };
                Ok(row.insert(db).await?.id)
            })
        })
        .await
    }

    /// Stops a rule. Orders that it has made stay.
    pub async fn stop_recurrence(&self, by: &Actor, id: i64) -> Result<(), ActionError> {
        self.write_as_staff(by, move |db, at| {
            Box::pin(async move {
                let stopped =
                    recurrence::ActiveModel { next_at: Set(None), stopped_at: Set(Some(at.0)), ..Default::default() };
                let running = recurrence::Column::Id.eq(id).and(recurrence::Column::StoppedAt.is_null());
                let done = recurrence::Entity::update_many().set(stopped).filter(running).exec(db).await?;
                if done.rows_affected == 0 { Err(OrderRefusal::NoItem.refusal()) } else { Ok(()) }
            })
        })
        .await
    }
}

/// The job: makes the orders whose time has come. A run that is repeated finds the next time already moved on.
pub async fn make_recurring(app: App) -> anyhow::Result<()> {
    let now = app.clock.now();
    let horizon = now.0 + MAX_LEAD_DAYS * DAY_MS;
    let rows = recurrence::Entity::find().filter(recurrence::Column::NextAt.lte(horizon));
    let rows = rows.order_by_asc(recurrence::Column::NextAt).limit(BATCH_SIZE).all(app.domain.read()).await?;
    for row in rows {
        let (id, lead_ms) = (row.id, row.lead_days * DAY_MS);
        if row.next_at.is_none_or(|next| next - lead_ms > now.0) {
            continue;
        }
        let made = app.domain.write_and_get(move |db| Box::pin(make_one(db, id, now))).await;
        if let Some(Some(order)) = written_or_skipped(made, "order recurrence", id)? {
            super::OrderEvent::of(order).publish(&app, None);
        }
    }
    app.bot.wake_jobs();
    Ok(())
}

/// Makes the next order of a rule, and moves the rule on. A time that is over has no order.
async fn make_one(db: &Transaction<'_, '_>, id: i64, now: Millis) -> Result<Option<i64>, WriteError> {
    let row = recurrence::Entity::find_by_id(id).lock_exclusive().one(db).await?;
    let Some((row, at)) = row.and_then(|row| row.next_at.map(|at| (row, Millis(at)))) else { return Ok(None) };
    if at.0 - row.lead_days * DAY_MS > now.0 {
        return Ok(None);
    }
    let forgotten = client::Entity::find_by_id(row.client_id).one(db).await?;
    let is_known = forgotten.is_some_and(|client| client.forgotten_at.is_none());
    let zone = order_rules(db).await?.zone;
    let starts_at: NaiveDateTime = row.starts_at_local.parse()?;
    let from = Millis(Ord::max(at.0, now.0) + 1);
    let next = next_time(&row.rule, starts_at, zone, from).unwrap_or_default().filter(|_| is_known);
    let moved = recurrence::ActiveModel { next_at: Set(next.map(|next| next.0)), ..Default::default() };
    recurrence::Entity::update_many()
        .set(moved)
        .col_expr(recurrence::Column::Version, Expr::col(recurrence::Column::Version).add(1))
        .filter(recurrence::Column::Id.eq(id))
        .exec(db)
        .await?;
    // A time that is over has no order: the window would be in the past.
    if !is_known || at < now {
        return Ok(None);
    }
    let window = Period { from: at, to: Millis(at.0 + row.minutes * MINUTE_MS) };
    let about: AboutOrder = serde_json::from_str(&row.draft)?;
    let about = AboutOrder { window: Some(window), ..about };
    let tick = RecurrenceTick { recurrence_id: id, client_id: row.client_id, at };
    tracing::debug!(recurrence = id, day = %local(at, zone).date(), "a rule makes an order");
    Ok(creating::create_by_rule(db, about, tick, now).await?.map(|order| order.id))
}

fn recurrence_of(row: recurrence::Model) -> Option<Recurrence> {
    Some(Recurrence {
        id: row.id,
        client_id: row.client_id,
        starts_at: row.starts_at_local.parse().ok(),
        minutes: row.minutes,
        lead_days: row.lead_days,
        next_at: row.next_at.map(Millis),
        about: serde_json::from_str(&row.draft).ok()?,
        rule: row.rule,
        version: row.version,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(rule: &str, from: &str) -> Result<Option<String>, OrderRefusal> {
        let zone = chrono_tz::Europe::Moscow;
        let starts_at = "2026-01-31T09:00:00".parse().unwrap();
        let from: NaiveDateTime = from.parse().unwrap();
        let next = next_time(rule, starts_at, zone, Millis(from.and_utc().timestamp_millis()))?;
        Ok(next.map(|at| local(at, zone).to_string()))
    }

    #[test]
    fn rules_give_the_next_time_by_the_clock_of_the_business() {
        let monthly = next("FREQ=MONTHLY;BYMONTHDAY=-1", "2026-02-01T00:00:00");
        assert_eq!(monthly, Ok(Some("2026-02-28 09:00:00".into())));
        let weekly = next("freq=weekly;interval=2", "2026-02-01T00:00:00");
        assert_eq!(weekly, Ok(Some("2026-02-14 09:00:00".into())));
        assert_eq!(next("FREQ=DAILY;COUNT=2", "2026-03-01T00:00:00"), Ok(None));
    }

    #[test]
    fn odd_rules_are_refused() {
        for rule in ["", "every day", "FREQ=SECONDLY", "FREQ=DAILY;INTERVAL=x", "FREQ=DAILY\nRDATE:20260101"] {
            assert_eq!(next(rule, "2026-02-01T00:00:00"), Err(OrderRefusal::Rule), "{rule}");
        }
    }
}
