//! The jobs of this room. Each can run again at any time without repeating its effect.

use std::sync::Arc;

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::{Expr, ExprTrait, Query};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbErr, EntityTrait, FromQueryResult, QueryFilter, QueryOrder, QuerySelect,
    QueryTrait, Set,
};

use super::Shifts;
use super::cancelling::judges;
use super::events::{ShiftEvent, ShiftEventKind};
use super::records::{ClosedBy, Opening, Plan, PlanStatus, Shift, ShiftStatus};
use super::rules::{overdue, site_due};
use super::tables::{opening, plan, shift};
use super::working::{self, ShiftEnd};
use crate::application::App;
use crate::domain::Transaction;
use crate::jobs::{NOTIFICATIONS, SHIFTS, scheduled_job, written_or_skipped};
use crate::notices::{self, Notice};
use crate::payroll;
use crate::sites::{Site, Sites};

const HOUR_MS: i64 = 3_600_000;
/// How long before the start a reminder is sent.
const REMINDER_LEAD_MS: i64 = 2 * HOUR_MS;
/// A person is missing from this long after the start, up to a day.
const MISSED_AFTER_MS: i64 = HOUR_MS;
const MISSED_UNTIL_MS: i64 = 24 * HOUR_MS;
/// How many rows one commit writes, or one run reads.
const BATCH_SIZE: u64 = 500;
/// A part of the statement and not a value, so that the index of closed shifts is used.
const CLOSED: &str = "shifts.status = 'completed'";

scheduled_job! { pub Remind = "shift-reminders" in NOTIFICATIONS }
scheduled_job! { pub NoteMissed = "shift-no-shows" in SHIFTS }
scheduled_job! { pub CloseOverdue = "shift-auto-close" in SHIFTS }
scheduled_job! { pub PostMissing = "shift-adjustments" in SHIFTS }

/// Reminds people of plans that start within two hours, once each.
pub async fn remind(app: App) -> anyhow::Result<()> {
    let now = app.clock.now();
    let sites = Arc::new(Sites::of_app(&app).list().await?);
    loop {
        let sites = Arc::clone(&sites);
        let reminded = app.domain.write_and_get(move |db| Box::pin(remind_some(db, sites, now))).await?;
        app.bot.wake_jobs();
        if reminded < BATCH_SIZE {
            return Ok(());
        }
    }
}

/// Reminds the people of the next plans; returns how many.
async fn remind_some(db: &Transaction<'_, '_>, sites: Arc<Vec<Site>>, now: Millis) -> Result<u64, WriteError> {
    let due = plan::Entity::find()
        .filter(plan::Column::Status.eq(PlanStatus::Planned.name()))
        .filter(plan::Column::StartsAt.gt(now.0))
        .filter(plan::Column::StartsAt.lte(now.0 + REMINDER_LEAD_MS))
        .filter(plan::Column::RemindedAt.is_null())
        .order_by_asc(plan::Column::StartsAt)
        .order_by_asc(plan::Column::Id)
        .limit(BATCH_SIZE)
        // A former leader that wakes up in this transaction waits here, and then finds nothing.
        .lock_exclusive();
    let rows = db.query_all_raw(due.build(db.get_database_backend())).await?;
    let ids = rows.iter().map(|row| row.try_get("", "id")).collect::<Result<Vec<i64>, _>>()?;
    let noted = plan::ActiveModel { reminded_at: Set(Some(now.0)), ..Default::default() };
    let noted = plan::Entity::update_many().set(noted).filter(plan::Column::Id.is_in(ids.iter().copied()));
    noted.exec(db).await?;
    let (mut notices, count) = (Vec::with_capacity(rows.len()), rows.len() as u64);
    for (row, id) in rows.iter().zip(ids) {
        // Row by row, so that an unreadable one stops no others.
        let plan = plan::Model::from_query_result(row, "").and_then(Plan::try_from);
        let Some(plan) = read(plan, "plan", id) else { continue };
        if let Some(site) = sites.iter().find(|site| site.id == plan.site_id) {
            let notice =
                Notice::Reminder { site: site.about.name.clone(), when: plan.period.local(site.about.time_zone) };
            notices.push((plan.user_id, notice));
        }
    }
    notices::write(db, notices, now).await?;
    Ok(count)
}

/// Marks people who did not come, and sends notices to them and to staff, once.
pub async fn note_missed(app: App) -> anyhow::Result<()> {
    let now = app.clock.now();
    let was_in_time = Expr::col(plan::Column::AwaitedFrom).lt(Expr::col(plan::Column::EndsAt));
    let was_awaited = plan::Column::AwaitedFrom.lte(now.0 - MISSED_AFTER_MS).and(was_in_time);
    let rows = plan::Entity::find()
        .filter(plan::Column::Status.eq(PlanStatus::Planned.name()))
        .filter(plan::Column::StartsAt.lte(now.0 - MISSED_AFTER_MS))
        .filter(plan::Column::StartsAt.gt(now.0 - MISSED_UNTIL_MS))
        // A person who planned a slot after its start is expected from then on. The same holds if the person learned of
        // the start later. A plan that was announced only after its end is never missed.
        .filter(plan::Column::CreatedAt.lte(now.0 - MISSED_AFTER_MS))
        .filter(plan::Column::AwaitedFrom.is_null().or(was_awaited))
        .filter(plan::Column::MissedAt.is_null())
        .limit(BATCH_SIZE)
        .all(app.domain.read())
        .await?;
    if rows.is_empty() {
        return Ok(());
    }
    let sites = Sites::of_app(&app).with_ids(&rows.iter().map(|row| row.site_id).collect::<Vec<_>>()).await?;
    let people = app.people.with_ids(&rows.iter().map(|row| row.user_id).collect::<Vec<_>>()).await?;
    let judges = judges(&app, &sites.iter().map(|site| site.id).collect::<Vec<_>>()).await?;
    for row in rows {
        let id = row.id;
        let Some(plan) = read(Plan::try_from(row), "plan", id) else { continue };
        let site = sites.iter().find(|site| site.id == plan.site_id);
        let (Some(site), Some(person)) = (site, people.iter().find(|one| one.id == plan.user_id)) else { continue };
        let (name, when) = (site.about.name.clone(), plan.period.local(site.about.time_zone));
        let mut notices = vec![(person.id, Notice::YouMissed { site: name.clone(), when })];
        let staff = judges.get(&site.id).into_iter().flatten().filter(|id| **id != person.id);
        let missed = Notice::Missed { name: person.full_name.clone(), site: name, when };
        notices.extend(staff.map(|id| (*id, missed.clone())));
        let noted = app.domain.write(move |db| Box::pin(miss(db, id, notices, now))).await;
        if written_or_skipped(noted, "plan", id)?.is_some() {
            ShiftEvent::new(ShiftEventKind::PlanMissed, person.id).at(site.id).publish(&app);
        }
    }
    app.bot.wake_jobs();
    Ok(())
}

async fn miss(db: &Transaction<'_, '_>, id: i64, notices: Vec<(i64, Notice)>, now: Millis) -> Result<(), WriteError> {
    let noted = plan::Entity::update_many()
        .set(plan::ActiveModel { missed_at: Set(Some(now.0)), ..Default::default() })
        .filter(plan::Column::Id.eq(id))
        .filter(plan::Column::Status.eq(PlanStatus::Planned.name()))
        .filter(plan::Column::MissedAt.is_null())
        .exec(db)
        .await?;
    if noted.rows_affected == 0 { Ok(()) } else { notices::write(db, notices, now).await }
}

/// Closes overdue shifts, and their sites if they are empty then; then overdue sites without shifts.
pub async fn close_overdue(app: App) -> anyhow::Result<()> {
    let now = app.clock.now();
    close_shifts(&app, now).await?;
    close_sites(&app, now).await?;
    app.bot.wake_jobs();
    Ok(())
}

async fn close_shifts(app: &App, now: Millis) -> anyhow::Result<()> {
    let active = shift::Entity::find().filter(shift::Column::Status.eq(ShiftStatus::Active.name()));
    let rows = active.order_by_asc(shift::Column::StartedAt).all(app.domain.read()).await?;
    let sites = Sites::of_app(app).with_ids(&rows.iter().map(|row| row.site_id).collect::<Vec<_>>()).await?;
    let mandatory = Shifts::of_app(app).mandatory_task_penalty().await?;
    for row in rows {
        let id = row.id;
        let Some(shift) = read(Shift::try_from(row), "shift", id) else { continue };
        let Some(site) = sites.iter().find(|site| site.id == shift.site_id) else { continue };
        let over = overdue(shift.started_at, shift.planned.map(|planned| planned.to), &site.about);
        if over.due_at > now {
            continue;
        }
        let end = ShiftEnd {
            shift_id: shift.id,
            // A shift whose end has moved since it was read is skipped until the next run.
            version: Some(shift.version),
            position: None,
            closed_by: ClosedBy::Time,
            ended_at: over.ends_at,
            mandatory_task_penalty: mandatory,
            at: now,
        };
        let event = ShiftEvent::of_shift(ShiftEventKind::ShiftClosed, shift.id, shift.user_id).at(site.id);
        let closed = app.domain.write(move |db| Box::pin(working::close_for_worker(db, end))).await;
        if written_or_skipped(closed, "shift", id)?.is_some() {
            event.publish(app);
        }
    }
    Ok(())
}

/// Closes open sites whose hours are over, and notifies the people who opened them.
async fn close_sites(app: &App, now: Millis) -> anyhow::Result<()> {
    let is_active = shift::Column::Status.eq(ShiftStatus::Active.name());
    let at_work = Query::select().column(shift::Column::SiteId).from(shift::Entity).and_where(is_active).take();
    let open = opening::Entity::find().filter(opening::Column::ClosedAt.is_null());
    let empty = open.filter(opening::Column::SiteId.not_in_subquery(at_work)).order_by_asc(opening::Column::Id);
    let openings: Vec<_> = empty.all(app.domain.read()).await?.into_iter().map(Opening::from).collect();
    let sites = Sites::of_app(app).with_ids(&openings.iter().map(|one| one.site_id).collect::<Vec<_>>()).await?;
    for opened in openings {
        let Some(site) = sites.iter().find(|site| site.id == opened.site_id) else { continue };
        if site_due(opened.opened_at, &site.about).is_none_or(|due_at| due_at > now) {
            continue;
        }
        let (id, event) = (site.id, ShiftEvent::new(ShiftEventKind::SiteClosed, opened.opened_by).at(site.id));
        let closed = app.domain.write(move |db| Box::pin(working::close_overdue_site(db, opened, now))).await;
        if written_or_skipped(closed, "site", id)?.is_some() {
            event.publish(app);
        }
    }
    Ok(())
}

/// A safety net: posts the adjustments of closed shifts that have none for their hours, however old they are.
pub async fn post_missing(app: App) -> anyhow::Result<()> {
    let now = app.clock.now();
    let mandatory = Shifts::of_app(&app).mandatory_task_penalty().await?;
    let mut after = 0;
    loop {
        let ids = closed_without_pay(&app, after).await?;
        let Some(last) = ids.last().copied() else { return Ok(()) };
        for id in ids {
            tracing::warn!(shift = id, "a finished shift had no pay for its hours; posting it now");
            let posted = app.domain.write(move |db| Box::pin(working::post(db, id, mandatory, now))).await;
            written_or_skipped(posted, "shift", id)?;
        }
        after = last;
    }
}

/// The next closed shifts after an id that have no adjustment for their hours.
async fn closed_without_pay(app: &App, after: i64) -> Result<Vec<i64>, DbErr> {
    let closed = shift::Entity::find().select_only().column(shift::Column::Id).filter(Expr::cust(CLOSED));
    let base = payroll::base_of_shift(Expr::col((shift::Entity, shift::Column::Id)));
    let unpaid = closed.filter(Expr::exists(base).not()).filter(shift::Column::Id.gt(after));
    unpaid.order_by_asc(shift::Column::Id).limit(BATCH_SIZE).into_tuple().all(app.domain.read()).await
}

fn read<T>(row: Result<T, DbErr>, what: &'static str, id: i64) -> Option<T> {
    let failed = |error: &DbErr| tracing::error!(%error, what, id, "a job skips a row that it cannot read");
    row.inspect_err(failed).ok()
}
