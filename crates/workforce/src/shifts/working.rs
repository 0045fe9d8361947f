//! Opening, marking, attaching and closing, within a commit.
//!
//! A shift keeps what its pay depends on as it was when it was opened. Closing writes the shift, its plan and the amounts
//! together, and only once: whoever closes second is refused.

use std::collections::BTreeSet;

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::{Expr, ExprTrait, OnConflict, Query, SimpleExpr};
use sea_orm::{
    ActiveModelTrait, ColumnTrait, Condition, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder,
    QuerySelect, Set,
};

use super::plans::{self, works_somebody};
use super::records::{self, ClosedBy, MediumKind, Opening, Plan, PlanStatus, Shift, ShiftStatus, tasks_of};
use super::rules::{EARLIEST_MS, overdue, reckon};
use super::tables::{medium, opening, plan, shift, task};
use crate::attachments;
use crate::domain::Writing;
use crate::money::Money;
use crate::notices::{self, Closed, Notice, PaidLine};
use crate::payroll::{Basis, Line, Payroll, rate_of};
use crate::sites::{self, Position, Site, Task, Why, kept, local};

/// Photos of one task, at most.
const MEDIA_MOST: i64 = 10;

/// A shift to be opened.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    pub user_id: i64,
    pub site_id: i64,
    /// None: by the plan that there is for now, else without one, where the contract allows that.
    pub plan_id: Option<i64>,
    pub position: Option<Position>,
    /// It is paid from here on, or from as soon as it can be; see `begins_at`.
    pub started_at: Millis,
    pub at: Millis,
}

/// A shift to be closed.
#[derive(Clone, Copy, Debug)]
pub struct End {
    pub shift_id: i64,
    /// What was seen of it, where its end follows from that: refused where it has changed since.
    pub version: Option<i64>,
    pub position: Option<Position>,
    pub closed_by: ClosedBy,
    /// It is paid up to here.
    pub ended_at: Millis,
    /// The setting, as it is now.
    pub mandatory_task_penalty: Money,
    pub at: Millis,
}

/// What was sent for a task.
#[derive(Clone, Debug)]
pub struct Proof {
    pub kind: MediumKind,
    pub telegram_file: String,
    /// The same for the same picture: sent twice, it counts once.
    pub unique_id: String,
}

/// Opens a shift with its tasks, and its site if that was closed; answers its number.
pub async fn open(db: &Writing<'_, '_>, start: Start) -> Result<i64, WriteError> {
    let Start { user_id, site_id, plan_id, position, at, .. } = start;
    let site = sites::live_site(db, site_id).await?;
    let contract = sites::contract_for(db, user_id, site_id).await?.ok_or_else(|| Why::NoContract.refusal())?;
    // Who has a plan here comes by it, whatever was chosen: nobody is on time, or missed, because they left it out.
    let plan_id = match plan_id {
        Some(id) => Some(id),
        None => plans::due(db, user_id, site_id, at).await?.map(|plan| plan.id),
    };
    let plan = match plan_id {
        Some(id) => Some(used(db, id, start).await?),
        None if contract.about.allows_spontaneous => None,
        None => return Err(Why::NotSpontaneous.refusal()),
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
        started_at: Set(begins_at(db, start, plan.as_ref()).await?.0),
        rate_kopecks: Set(rate.kopecks()),
        penalises_lateness: Set(slot.as_ref().is_some_and(|slot| slot.about.penalises_lateness)),
        late_threshold_minutes: Set(site.about.late_threshold_minutes),
        late_minute_kopecks: Set(site.about.late_minute_kopecks),
        opened_latitude: Set(position.map(|position| position.latitude)),
        opened_longitude: Set(position.map(|position| position.longitude)),
        ..Default::default()
    };
    let id = row.insert(db).await.map_err(kept)?.id;
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

/// The same for somebody who may have forgotten to close the shift before: where its time is over it ends by itself first,
/// when it should have, and they are told. So nobody is late for what comes next because of it.
pub async fn open_next(db: &Writing<'_, '_>, start: Start, mandatory_task_penalty: Money) -> Result<i64, WriteError> {
    let Start { user_id, site_id, at, .. } = start;
    if let Some((seen, _)) = forgotten(db, user_id, at).await? {
        // As for whoever closes or opens one, sites come before shifts; and of two the first by number, so that nobody
        // waits in a circle.
        for id in BTreeSet::from([seen.site_id, site_id]) {
            sites::site_to_change(db, id).await?;
        }
        // Whoever was faster has closed it.
        if let Some((shift, ended_at)) = forgotten(db, user_id, at).await? {
            let (shift_id, version, position, closed_by) = (shift.id, Some(shift.version), None, ClosedBy::Time);
            close_for(db, End { shift_id, version, position, closed_by, ended_at, mandatory_task_penalty, at }).await?;
        }
    }
    open(db, start).await
}

/// The shift that somebody has open though its time is over, and when it should have ended.
pub async fn forgotten(db: &impl ConnectionTrait, user_id: i64, at: Millis) -> Result<Option<(Shift, Millis)>, DbErr> {
    let active = shift::Column::UserId.eq(user_id).and(shift::Column::Status.eq(ShiftStatus::Active.name()));
    let Some(row) = shift::Entity::find().filter(active).one(db).await? else { return Ok(None) };
    let shift = Shift::try_from(row)?;
    let Some(site) = sites::site(db, shift.site_id).await? else { return Ok(None) };
    let over = overdue(shift.started_at, shift.planned.map(|planned| planned.to), &site.about);
    Ok((over.ends_at <= at).then_some((shift, over.ends_at)))
}

/// When a shift begins for which somebody came before now: not before it may be opened, nor before what they worked in last
/// has ended, so that no time is paid twice.
pub async fn begins_at(db: &impl ConnectionTrait, start: Start, plan: Option<&Plan>) -> Result<Millis, DbErr> {
    let Start { user_id, started_at, at, .. } = start;
    if started_at >= at {
        return Ok(at);
    }
    let over = shift::Column::UserId.eq(user_id).and(shift::Column::EndedAt.is_not_null());
    let last = shift::Entity::find().filter(over).order_by_desc(shift::Column::StartedAt).limit(1).one(db).await?;
    let earliest = plan.map(|plan| plan.period.from.0 - EARLIEST_MS);
    let bounds = [earliest, last.and_then(|shift| shift.ended_at)];
    Ok(bounds.into_iter().flatten().map(Millis).fold(started_at, Millis::max).min(at))
}

/// Marks a task of somebody's open shift as done; once more does nothing.
pub async fn mark(db: &Writing<'_, '_>, user_id: i64, task_id: i64, at: Millis) -> Result<(), WriteError> {
    let done = task::ActiveModel { done_at: Set(Some(at.0)), ..Default::default() };
    set_mark(db, user_id, task_id, done, task::Column::DoneAt.is_null()).await
}

/// Takes a mark back.
pub async fn unmark(db: &Writing<'_, '_>, user_id: i64, task_id: i64) -> Result<(), WriteError> {
    let undone = task::ActiveModel { done_at: Set(None), ..Default::default() };
    set_mark(db, user_id, task_id, undone, task::Column::DoneAt.is_not_null()).await
}

/// Adds what proves a task, and marks it as done with it.
pub async fn attach(
    db: &Writing<'_, '_>,
    user_id: i64,
    task_id: i64,
    (proof, is_too_large): (Proof, bool),
    at: Millis,
) -> Result<(), WriteError> {
    keep_open(db, user_id, task_id).await?;
    let row = task::Entity::find_by_id(task_id).one(db).await?.ok_or_else(|| Why::Gone.refusal())?;
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
    if added > 0 && row.media_count >= MEDIA_MOST {
        return Err(Why::TooMuchMedia.refusal());
    }
    // What was sent before is there already, maybe by another of Telegram's ids.
    if added > 0 {
        attachments::want(db, proof.telegram_file, Some(at), is_too_large).await?;
    }
    task::Entity::update_many()
        .col_expr(task::Column::MediaCount, Expr::col(task::Column::MediaCount).add(added as i64))
        .col_expr(task::Column::DoneAt, Expr::value(row.done_at.unwrap_or(at.0)))
        .filter(task::Column::Id.eq(task_id))
        .exec(db)
        .await?;
    Ok(())
}

/// Closes a shift and tells nobody: shift, plan and amounts in one commit, and the site if nobody is left there.
pub async fn close(db: &Writing<'_, '_>, end: End) -> Result<(), WriteError> {
    end_shift(db, end).await.map(drop)
}

/// Closes the shift of the person who asks, and tells them what it came to.
pub async fn close_own(db: &Writing<'_, '_>, end: End) -> Result<(), WriteError> {
    let Ended { shift, site, lines, is_site_closed } = end_shift(db, end).await?;
    let worked_seconds = (end.ended_at.0 - shift.started_at.0) / 1000;
    let lines = lines.into_iter().map(paid_line).collect();
    let notice = Notice::Closed(Closed { site: site.about.name, worked_seconds, lines, is_site_closed });
    notices::write(db, vec![(shift.user_id, notice)], end.at).await
}

/// Closes somebody's shift for them, and tells them when it ended and what it came to.
pub async fn close_for(db: &Writing<'_, '_>, end: End) -> Result<(), WriteError> {
    let Ended { shift, site, lines, .. } = end_shift(db, end).await?;
    let total = lines.iter().map(|line| line.amount).sum();
    let ended = local(end.ended_at, site.about.time_zone).format("%d.%m %H:%M").to_string();
    let site = site.about.name;
    let notice = match end.closed_by {
        ClosedBy::Time => Notice::ClosedByTime { site, end: ended, total },
        ClosedBy::Staff | ClosedBy::Person => Notice::ClosedByStaff { site, end: ended, total },
    };
    notices::write(db, vec![(shift.user_id, notice)], end.at).await
}

/// A shift that this commit has closed, with the amounts that it has written.
struct Ended {
    shift: Shift,
    site: Site,
    lines: Vec<Line>,
    is_site_closed: bool,
}

/// The site is held before the shift, as by whoever opens one: nobody begins there while it is closed for the last one, and
/// nobody waits in a circle.
async fn end_shift(db: &Writing<'_, '_>, end: End) -> Result<Ended, WriteError> {
    let seen = records::shift(db, end.shift_id).await?.ok_or_else(|| Why::NotWorking.refusal())?;
    let site = sites::site_to_change(db, seen.site_id).await?;
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
        return Err(if is_open { Why::Stale } else { Why::NotWorking }.refusal());
    }
    let shift = records::shift(db, end.shift_id).await?.ok_or_else(|| Why::Gone.refusal())?;
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
    let is_site_closed = !works_somebody(db, shift.site_id).await?;
    if is_site_closed {
        shut(db, shift.site_id, None, end.at).await?;
    }
    Ok(Ended { shift, site, lines, is_site_closed })
}

fn paid_line(line: Line) -> PaidLine {
    let task = if let Basis::Task { text, .. } = line.basis { Some(text) } else { None };
    PaidLine { kind: line.kind, task, amount: line.amount }
}

/// Posts what a shift that is over comes to; what was posted already stays.
pub async fn post(db: &Writing<'_, '_>, shift_id: i64, mandatory: Money, at: Millis) -> Result<(), WriteError> {
    let shift = records::shift(db, shift_id).await?.ok_or_else(|| Why::Gone.refusal())?;
    let Some(ended_at) = shift.ended_at.filter(|_| shift.status == ShiftStatus::Completed) else { return Ok(()) };
    let site = sites::site(db, shift.site_id).await?.ok_or_else(|| Why::Gone.refusal())?;
    let tasks = tasks_of(db, shift_id).await?;
    Payroll::post_at(db, site.id, reckon(&shift, &tasks, ended_at, &site, mandatory), at).await
}

pub async fn open_site(db: &Writing<'_, '_>, site_id: i64, user_id: i64, at: Millis) -> Result<(), WriteError> {
    sites::live_site(db, site_id).await?;
    opening_row(site_id, user_id, at).insert(db).await.map_err(kept)?;
    Ok(())
}

/// Refused while somebody works there, or begins to.
pub async fn close_site(db: &Writing<'_, '_>, site_id: i64, user_id: i64, at: Millis) -> Result<(), WriteError> {
    sites::site_to_change(db, site_id).await?;
    if works_somebody(db, site_id).await? {
        return Err(Why::OthersWork.refusal());
    }
    if shut(db, site_id, Some(user_id), at).await? { Ok(()) } else { Err(Why::SiteClosed.refusal()) }
}

/// Closes a site whose hours are over for whoever has opened it, and tells them. Refused if somebody works there after
/// all, or this opening has ended.
pub async fn close_site_for(db: &Writing<'_, '_>, opened: Opening, at: Millis) -> Result<(), WriteError> {
    sites::site_to_change(db, opened.site_id).await?;
    if works_somebody(db, opened.site_id).await? {
        return Err(Why::OthersWork.refusal());
    }
    let site = sites::site(db, opened.site_id).await?.ok_or_else(|| Why::Gone.refusal())?;
    let shut = opening::Entity::update_many()
        .set(opening::ActiveModel { closed_at: Set(Some(at.0)), ..Default::default() })
        .filter(opening::Column::Id.eq(opened.id))
        .filter(opening::Column::ClosedAt.is_null())
        .exec(db)
        .await?;
    if shut.rows_affected == 0 {
        return Err(Why::SiteClosed.refusal());
    }
    let notice = Notice::SiteClosedByTime { site: site.about.name };
    notices::write(db, vec![(opened.opened_by, notice)], at).await
}

/// Uses a plan up; answers it as it is then.
async fn used(db: &Writing<'_, '_>, id: i64, start: Start) -> Result<Plan, WriteError> {
    let Start { user_id, site_id, started_at, at, .. } = start;
    // First it is used, then it is read: its hours stay as they are from then on.
    plans::end(db, id, PlanStatus::InProgress, at).await?;
    let plan = records::plan(db, id).await?.filter(|plan| plan.user_id == user_id && plan.site_id == site_id);
    let plan = plan.ok_or_else(|| Why::Gone.refusal())?;
    // Who came in time does not come too late because they were heard later.
    if plan.period.to <= started_at {
        return Err(Why::Past.refusal());
    }
    if plan.period.from.0 - EARLIEST_MS > at.0 {
        return Err(Why::Early.refusal());
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

/// Closes a site; false if it was closed.
pub async fn shut(db: &Writing<'_, '_>, site_id: i64, by: Option<i64>, at: Millis) -> Result<bool, WriteError> {
    let shut = opening::Entity::update_many()
        .set(opening::ActiveModel { closed_at: Set(Some(at.0)), closed_by: Set(by), ..Default::default() })
        .filter(opening::Column::SiteId.eq(site_id))
        .filter(opening::Column::ClosedAt.is_null())
        .exec(db)
        .await?;
    Ok(shut.rows_affected > 0)
}

async fn set_mark(
    db: &Writing<'_, '_>,
    user_id: i64,
    task_id: i64,
    marked: task::ActiveModel,
    where_not_yet: SimpleExpr,
) -> Result<(), WriteError> {
    keep_open(db, user_id, task_id).await?;
    let of_task = task::Entity::update_many().set(marked).filter(task::Column::Id.eq(task_id));
    of_task.filter(where_not_yet).exec(db).await.map_err(kept)?;
    Ok(())
}

/// Refuses unless a task is of a shift that this person has open. Whoever closes that shift waits for this commit, and
/// sees what it has marked; so nothing is done that was not paid.
async fn keep_open(db: &Writing<'_, '_>, user_id: i64, task_id: i64) -> Result<(), WriteError> {
    let of_task =
        Query::select().column(task::Column::ShiftId).from(task::Entity).and_where(task::Column::Id.eq(task_id)).take();
    let open = shift::Entity::find()
        .filter(shift::Column::Id.in_subquery(of_task))
        .filter(shift::Column::UserId.eq(user_id))
        .filter(shift::Column::Status.eq(ShiftStatus::Active.name()));
    let found = open.lock_shared().one(db).await?;
    if found.is_some() { Ok(()) } else { Err(Why::NotWorking.refusal()) }
}
