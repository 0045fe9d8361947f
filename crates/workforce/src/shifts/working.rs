//! Opening and closing shifts and sites, marking tasks, and adding media, within a commit.
//!
//! A shift keeps a copy of everything that its pay depends on. Closing commits the shift, its plan and the adjustments
//! together, once: a second attempt is refused.

use std::collections::BTreeSet;

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::{Expr, ExprTrait, OnConflict, Query, SimpleExpr};
use sea_orm::{
    ActiveModelTrait, ColumnTrait, Condition, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder,
    QuerySelect, Set,
};

use super::plans::{self, has_active_shift};
use super::records::{self, ClosedBy, MediumKind, Opening, Plan, PlanStatus, Shift, ShiftStatus, tasks_of};
use super::rules::{EARLY_START_MS, PayRules, overdue, shift_adjustments};
use super::tables::{medium, opening, plan, shift, task};
use crate::attachments;
use crate::domain::Transaction;
use crate::money::{Money, PaidHours};
use crate::notices::{self, Notice, ShiftSummary, SummaryLine};
use crate::payroll::{Adjustment, Basis, Payroll, rate_of};
use crate::settings;
use crate::sites::{self, Position, Site, SiteRefusal, Task, constraint_refusal, local};

/// The most media of a task.
const MAX_MEDIA: i64 = 10;

/// A request to open a shift.
#[derive(Clone, Copy, Debug)]
pub struct ShiftStart {
    pub user_id: i64,
    pub site_id: i64,
    /// None: use a plan that is due, else open without a plan if the contract allows it.
    pub plan_id: Option<i64>,
    pub position: Option<Position>,
    /// When the person came. Pay starts here or later; see `start_time`.
    pub started_at: Millis,
    pub at: Millis,
}

/// A request to close a shift.
#[derive(Clone, Copy, Debug)]
pub struct ShiftEnd {
    pub shift_id: i64,
    /// The version that the end was derived from; refused if the shift has changed since.
    pub version: Option<i64>,
    pub position: Option<Position>,
    pub closed_by: ClosedBy,
    /// It is paid up to here.
    pub ended_at: Millis,
    /// The current value of the setting.
    pub mandatory_task_penalty: Money,
    pub at: Millis,
}

/// A file that was sent for a task.
#[derive(Clone, Debug)]
pub struct Proof {
    pub kind: MediumKind,
    pub telegram_file: String,
    /// Telegram's unique id of the file: a picture that is sent twice counts once.
    pub unique_id: String,
}

/// Opens a shift with its tasks, and opens its site if necessary. Returns the id of the shift.
pub async fn open(db: &Transaction<'_, '_>, start: ShiftStart) -> Result<i64, WriteError> {
    let ShiftStart { user_id, site_id, plan_id, position, at, .. } = start;
    let site = sites::lock_site_shared(db, site_id).await?;
    // A due plan is always used, so a person cannot avoid lateness by leaving it out, or is reported as missing.
    let plan_id = match plan_id {
        Some(id) => Some(id),
        None => plans::due(db, user_id, site_id, at).await?.map(|plan| plan.id),
    };
    // A planned shift belongs to the day of its plan, also if it is opened after midnight.
    let planned = match plan_id {
        Some(id) => records::plan(db, id).await?,
        None => None,
    };
    let from = planned.map_or(start.started_at.min(at), |plan| plan.period.from);
    let contract = sites::contract_for(db, user_id, site_id, local(from, site.about.time_zone).date()).await?;
    let contract = contract.ok_or_else(|| SiteRefusal::NoContract.refusal())?;
    let plan = match plan_id {
        Some(id) => Some(use_plan(db, id, start).await?),
        None if contract.about.allows_spontaneous => None,
        None => return Err(SiteRefusal::NotSpontaneous.refusal()),
    };
    let slot = match &plan {
        Some(plan) => sites::slot(db, plan.slot_id).await?,
        None => None,
    };
    let money = Money::from_kopecks;
    let slot_rate = slot.as_ref().and_then(|slot| slot.about.rate_kopecks).map(money);
    let rate = rate_of(contract.about.rate_kopecks.map(money), slot_rate, money(site.about.rate_kopecks));
    let row = shift::ActiveModel {
        user_id: Set(user_id),
        site_id: Set(site_id),
        slot_id: Set(slot.as_ref().map(|slot| slot.id)),
        plan_id: Set(plan_id),
        contract_id: Set(Some(contract.id)),
        planned_start: Set(plan.as_ref().map(|plan| plan.expected_at().0)),
        planned_end: Set(plan.as_ref().map(|plan| plan.period.to.0)),
        started_at: Set(start_time(db, start, plan.as_ref()).await?.0),
        rate_kopecks: Set(rate.kopecks()),
        penalises_lateness: Set(slot.as_ref().is_some_and(|slot| slot.about.penalises_lateness)),
        late_threshold_minutes: Set(site.about.late_threshold_minutes),
        late_minute_kopecks: Set(site.about.late_minute_kopecks),
        opened_latitude: Set(position.map(|position| position.latitude)),
        opened_longitude: Set(position.map(|position| position.longitude)),
        ..Default::default()
    };
    let id = row.insert(db).await.map_err(constraint_refusal)?.id;
    let tasks = sites::tasks_for(db, site_id, slot.map(|slot| slot.id)).await?;
    let rows: Vec<_> = (1..).zip(tasks).map(|(place, task)| snapshot(id, place, task)).collect();
    if !rows.is_empty() {
        task::Entity::insert_many(rows).exec_without_returning(db).await?;
    }
    let open_already = OnConflict::new().do_nothing().to_owned();
    let opened = opening_row(site_id, user_id, at);
    opening::Entity::insert(opened).on_conflict(open_already).exec_without_returning(db).await?;
    Ok(id)
}

/// Opens a shift for a person who may have forgotten to close the previous one. If that is overdue, it is closed as of
/// its proper end, with a notice, so it does not delay the next one.
pub async fn open_next(
    db: &Transaction<'_, '_>,
    start: ShiftStart,
    mandatory_task_penalty: Money,
) -> Result<i64, WriteError> {
    let ShiftStart { user_id, site_id, at, .. } = start;
    if let Some((seen, _)) = forgotten_shift(db, user_id, at).await? {
        // Sites are locked before shifts, and in order of their ids, to avoid deadlocks.
        for id in BTreeSet::from([seen.site_id, site_id]) {
            sites::lock_site_for_change(db, id).await?;
        }
        // A concurrent commit may have closed it.
        if let Some((shift, ended_at)) = forgotten_shift(db, user_id, at).await? {
            let (shift_id, version, position, closed_by) = (shift.id, Some(shift.version), None, ClosedBy::Time);
            close_for_worker(
                db,
                ShiftEnd { shift_id, version, position, closed_by, ended_at, mandatory_task_penalty, at },
            )
            .await?;
        }
    }
    open(db, start).await
}

/// The overdue active shift of a person, and when it should have ended.
pub async fn forgotten_shift(
    db: &impl ConnectionTrait,
    user_id: i64,
    at: Millis,
) -> Result<Option<(Shift, Millis)>, DbErr> {
    let active = shift::Column::UserId.eq(user_id).and(shift::Column::Status.eq(ShiftStatus::Active.name()));
    let Some(row) = shift::Entity::find().filter(active).one(db).await? else { return Ok(None) };
    let shift = Shift::try_from(row)?;
    let Some(site) = sites::site(db, shift.site_id).await? else { return Ok(None) };
    let over = overdue(shift.started_at, shift.planned.map(|planned| planned.to), &site.about);
    Ok((over.ends_at <= at).then_some((shift, over.ends_at)))
}

/// When a shift starts if the person came before now: not before the earliest start, and not before the end of the
/// previous shift, so no time is paid twice.
pub async fn start_time(db: &impl ConnectionTrait, start: ShiftStart, plan: Option<&Plan>) -> Result<Millis, DbErr> {
    let ShiftStart { user_id, started_at, at, .. } = start;
    if started_at >= at {
        return Ok(at);
    }
    let over = shift::Column::UserId.eq(user_id).and(shift::Column::EndedAt.is_not_null());
    let last = shift::Entity::find().filter(over).order_by_desc(shift::Column::StartedAt).limit(1).one(db).await?;
    let earliest = plan.map(|plan| plan.period.from.0 - EARLY_START_MS);
    let bounds = [earliest, last.and_then(|shift| shift.ended_at)];
    Ok(bounds.into_iter().flatten().map(Millis).fold(started_at, Millis::max).min(at))
}

/// Marks a task of the person's open shift as done. Repeating it does nothing.
pub async fn mark(db: &Transaction<'_, '_>, user_id: i64, task_id: i64, at: Millis) -> Result<(), WriteError> {
    let done = task::ActiveModel { done_at: Set(Some(at.0)), ..Default::default() };
    set_mark(db, user_id, task_id, done, task::Column::DoneAt.is_null()).await
}

/// Removes a mark.
pub async fn unmark(db: &Transaction<'_, '_>, user_id: i64, task_id: i64) -> Result<(), WriteError> {
    let undone = task::ActiveModel { done_at: Set(None), ..Default::default() };
    set_mark(db, user_id, task_id, undone, task::Column::DoneAt.is_not_null()).await
}

/// Adds a file to a task and marks the task as done.
pub async fn attach(
    db: &Transaction<'_, '_>,
    user_id: i64,
    task_id: i64,
    (proof, is_too_large): (Proof, bool),
    at: Millis,
) -> Result<(), WriteError> {
    lock_open_shift(db, user_id, task_id).await?;
    let row = task::Entity::find_by_id(task_id).one(db).await?.ok_or_else(|| SiteRefusal::Gone.refusal())?;
    let medium = medium::ActiveModel {
        shift_task_id: Set(task_id),
        kind: Set(proof.kind.name().to_owned()),
        telegram_file: Set(proof.telegram_file.clone()),
        unique_id: Set(proof.unique_id),
        created_at: Set(at.0),
        ..Default::default()
    };
    let once = OnConflict::new().do_nothing().to_owned();
    let added = medium::Entity::insert(medium).on_conflict(once).exec_without_returning(db).await?;
    if added > 0 && row.media_count >= MAX_MEDIA {
        return Err(SiteRefusal::TooMuchMedia.refusal());
    }
    // The file was sent before, perhaps with another file id.
    if added > 0 {
        attachments::insert(db, proof.telegram_file, Some(at), is_too_large).await?;
    }
    task::Entity::update_many()
        .col_expr(task::Column::MediaCount, Expr::col(task::Column::MediaCount).add(added as i64))
        .col_expr(task::Column::DoneAt, Expr::value(row.done_at.unwrap_or(at.0)))
        .filter(task::Column::Id.eq(task_id))
        .exec(db)
        .await?;
    Ok(())
}

/// Closes a shift without a notice: shift, plan and adjustments in one commit, and the site if it is empty then.
pub async fn close(db: &Transaction<'_, '_>, end: ShiftEnd) -> Result<(), WriteError> {
    end_shift(db, end).await.map(drop)
}

/// Closes the person's own shift and writes a summary as a notice.
pub async fn close_own(db: &Transaction<'_, '_>, end: ShiftEnd) -> Result<(), WriteError> {
    let ClosedShift { shift, site, lines, is_site_closed } = end_shift(db, end).await?;
    let worked_seconds = (end.ended_at.0 - shift.started_at.0) / 1000;
    let paid_hours = lines.iter().find_map(paid_hours).filter(|hours| *hours != PaidHours::worked(worked_seconds));
    let lines = lines.into_iter().map(paid_line).collect();
    let site = site.about.name;
    let notice = Notice::Closed(ShiftSummary { site, worked_seconds, paid_hours, lines, is_site_closed });
    notices::write(db, vec![(shift.user_id, notice)], end.at).await
}

/// Closes a shift for its worker and writes a notice with the end and the total.
pub async fn close_for_worker(db: &Transaction<'_, '_>, end: ShiftEnd) -> Result<(), WriteError> {
    let ClosedShift { shift, site, lines, .. } = end_shift(db, end).await?;
    let total = lines.iter().map(|line| line.amount).sum();
    let ended = local(end.ended_at, site.about.time_zone);
    let site = site.about.name;
    let notice = match end.closed_by {
        ClosedBy::Time => Notice::ClosedByTime { site, end: ended, total },
        ClosedBy::Staff | ClosedBy::Person => Notice::ClosedByStaff { site, end: ended, total },
    };
    notices::write(db, vec![(shift.user_id, notice)], end.at).await
}

/// A shift that this commit has closed, with its adjustments.
struct ClosedShift {
    shift: Shift,
    site: Site,
    lines: Vec<Adjustment>,
    is_site_closed: bool,
}

/// Locks the site before the shift, as opening does. So no shift starts there while the last shift closes it, and no
/// deadlock can occur.
async fn end_shift(db: &Transaction<'_, '_>, end: ShiftEnd) -> Result<ClosedShift, WriteError> {
    let seen = records::shift(db, end.shift_id).await?.ok_or_else(|| SiteRefusal::NotWorking.refusal())?;
    let site = sites::lock_site_for_change(db, seen.site_id).await?;
    let closed = shift::Entity::update_many()
        .set(shift::ActiveModel {
            status: Set(ShiftStatus::Completed.name().to_owned()),
            ended_at: Set(Some(end.ended_at.0)),
            closed_latitude: Set(end.position.map(|position| position.latitude)),
            closed_longitude: Set(end.position.map(|position| position.longitude)),
            closed_by: Set(Some(end.closed_by.name().to_owned())),
            ..Default::default()
        })
        .col_expr(shift::Column::Version, Expr::col(shift::Column::Version).add(1))
        .filter(shift::Column::Id.eq(end.shift_id))
        .filter(shift::Column::Status.eq(ShiftStatus::Active.name()))
        .filter(Condition::all().add_option(end.version.map(|seen| shift::Column::Version.eq(seen))))
        .exec(db)
        .await?;
    if closed.rows_affected == 0 {
        let is_open = records::shift(db, end.shift_id).await?.is_some_and(|shift| shift.ended_at.is_none());
        return Err(if is_open { SiteRefusal::Stale } else { SiteRefusal::NotWorking }.refusal());
    }
    let shift = records::shift(db, end.shift_id).await?.ok_or_else(|| SiteRefusal::Gone.refusal())?;
    if let Some(plan_id) = shift.plan_id {
        plan::Entity::update_many()
            .set(plan::ActiveModel {
                status: Set(PlanStatus::Completed.name().to_owned()),
                updated_at: Set(end.at.0),
                ..Default::default()
            })
            .filter(plan::Column::Id.eq(plan_id))
            .exec(db)
            .await?;
    }
    post(db, shift.id, end.mandatory_task_penalty, end.at).await?;
    let lines = Payroll::lines_of_shift(db, shift.id).await?;
    let is_site_closed = !has_active_shift(db, shift.site_id).await?;
    if is_site_closed {
        end_opening(db, shift.site_id, None, end.at).await?;
    }
    Ok(ClosedShift { shift, site, lines, is_site_closed })
}

fn paid_hours(line: &Adjustment) -> Option<PaidHours> {
    if let Basis::Hours { hours, .. } = line.basis { Some(hours) } else { None }
}

fn paid_line(line: Adjustment) -> SummaryLine {
    let task = if let Basis::Task { text, .. } = line.basis { Some(text) } else { None };
    SummaryLine { kind: line.kind, task, amount: line.amount }
}

/// Posts the adjustments of a finished shift; existing ones stay.
pub async fn post(db: &Transaction<'_, '_>, shift_id: i64, mandatory: Money, at: Millis) -> Result<(), WriteError> {
    let shift = records::shift(db, shift_id).await?.ok_or_else(|| SiteRefusal::Gone.refusal())?;
    let Some(ended_at) = shift.ended_at.filter(|_| shift.status == ShiftStatus::Completed) else { return Ok(()) };
    let site = sites::site(db, shift.site_id).await?.ok_or_else(|| SiteRefusal::Gone.refusal())?;
    let tasks = tasks_of(db, shift_id).await?;
    let rules = PayRules { mandatory_task_penalty: mandatory, paid_time: settings::paid_time_rules(db).await? };
    Payroll::post_at(db, site.id, shift_adjustments(&shift, &tasks, ended_at, &site, rules), at).await
}

pub async fn open_site(db: &Transaction<'_, '_>, site_id: i64, user_id: i64, at: Millis) -> Result<(), WriteError> {
    sites::lock_site_shared(db, site_id).await?;
    opening_row(site_id, user_id, at).insert(db).await.map_err(constraint_refusal)?;
    Ok(())
}

/// Refused while the site has active shifts.
pub async fn close_site(db: &Transaction<'_, '_>, site_id: i64, user_id: i64, at: Millis) -> Result<(), WriteError> {
    sites::lock_site_for_change(db, site_id).await?;
    if has_active_shift(db, site_id).await? {
        return Err(SiteRefusal::OthersWork.refusal());
    }
    if end_opening(db, site_id, Some(user_id), at).await? { Ok(()) } else { Err(SiteRefusal::SiteClosed.refusal()) }
}

/// Closes an open site whose hours are over, with a notice to the person who opened it. Refused if the site has an
/// active shift or the opening has ended.
pub async fn close_overdue_site(db: &Transaction<'_, '_>, opened: Opening, at: Millis) -> Result<(), WriteError> {
    sites::lock_site_for_change(db, opened.site_id).await?;
    if has_active_shift(db, opened.site_id).await? {
        return Err(SiteRefusal::OthersWork.refusal());
    }
    let site = sites::site(db, opened.site_id).await?.ok_or_else(|| SiteRefusal::Gone.refusal())?;
    let shut = opening::Entity::update_many()
        .set(opening::ActiveModel { closed_at: Set(Some(at.0)), ..Default::default() })
        .filter(opening::Column::Id.eq(opened.id))
        .filter(opening::Column::ClosedAt.is_null())
        .exec(db)
        .await?;
    if shut.rows_affected == 0 {
        return Err(SiteRefusal::SiteClosed.refusal());
    }
    let notice = Notice::SiteClosedByTime { site: site.about.name };
    notices::write(db, vec![(opened.opened_by, notice)], at).await
}

/// Marks a plan as used and returns it.
async fn use_plan(db: &Transaction<'_, '_>, id: i64, start: ShiftStart) -> Result<Plan, WriteError> {
    let ShiftStart { user_id, site_id, started_at, at, .. } = start;
    // Mark first, then read: from then on its hours cannot change.
    plans::end(db, id, PlanStatus::InProgress, at).await?;
    let plan = records::plan(db, id).await?.filter(|plan| plan.user_id == user_id && plan.site_id == site_id);
    let plan = plan.ok_or_else(|| SiteRefusal::Gone.refusal())?;
    // A person who came in time is not refused because the message was handled later.
    if plan.period.to <= started_at {
        return Err(SiteRefusal::Past.refusal());
    }
    if plan.period.from.0 - EARLY_START_MS > at.0 {
        return Err(SiteRefusal::Early.refusal());
    }
    Ok(plan)
}

fn snapshot(shift_id: i64, place: i64, task: Task) -> task::ActiveModel {
    let source = if task.slot_id.is_some() { "slot" } else { "site" };
    task::ActiveModel {
        shift_id: Set(shift_id),
        task_id: Set(Some(task.id)),
        source: Set(source.to_owned()),
        place: Set(place),
        text: Set(task.about.text),
        amount_kopecks: Set(task.about.amount_kopecks),
        is_mandatory: Set(task.about.is_mandatory),
        needs_media: Set(task.about.needs_media),
        ..Default::default()
    }
}

fn opening_row(site_id: i64, user_id: i64, at: Millis) -> opening::ActiveModel {
    opening::ActiveModel { site_id: Set(site_id), opened_by: Set(user_id), opened_at: Set(at.0), ..Default::default() }
}

/// Closes a site; returns false if it was closed.
pub async fn end_opening(
    db: &Transaction<'_, '_>,
    site_id: i64,
    by: Option<i64>,
    at: Millis,
) -> Result<bool, WriteError> {
    let shut = opening::Entity::update_many()
        .set(opening::ActiveModel { closed_at: Set(Some(at.0)), closed_by: Set(by), ..Default::default() })
        .filter(opening::Column::SiteId.eq(site_id))
        .filter(opening::Column::ClosedAt.is_null())
        .exec(db)
        .await?;
    Ok(shut.rows_affected > 0)
}

async fn set_mark(
    db: &Transaction<'_, '_>,
    user_id: i64,
    task_id: i64,
    marked: task::ActiveModel,
    where_not_yet: SimpleExpr,
) -> Result<(), WriteError> {
    lock_open_shift(db, user_id, task_id).await?;
    let of_task = task::Entity::update_many().set(marked).filter(task::Column::Id.eq(task_id));
    of_task.filter(where_not_yet).exec(db).await.map_err(constraint_refusal)?;
    Ok(())
}

/// Refuses unless the task belongs to the person's open shift, and locks that shift. Closing waits for this commit and
/// sees the mark, so no mark is left out of the pay.
async fn lock_open_shift(db: &Transaction<'_, '_>, user_id: i64, task_id: i64) -> Result<(), WriteError> {
    let of_task =
        Query::select().column(task::Column::ShiftId).from(task::Entity).and_where(task::Column::Id.eq(task_id)).take();
    let open = shift::Entity::find()
        .filter(shift::Column::Id.in_subquery(of_task))
        .filter(shift::Column::UserId.eq(user_id))
        .filter(shift::Column::Status.eq(ShiftStatus::Active.name()));
    let found = open.lock_shared().one(db).await?;
    if found.is_some() { Ok(()) } else { Err(SiteRefusal::NotWorking.refusal()) }
}
