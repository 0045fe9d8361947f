//! Planning and cancelling, within a commit.
//!
//! The database counts places and prevents overlaps: if two hundred people ask for ten places, exactly ten get one.
//! Cancelling frees the place in the same commit; the reason is judged later.

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::{Expr, ExprTrait, LockType};
use sea_orm::{
    ActiveModelTrait, ActiveValue::NotSet, ColumnTrait, Condition, ConnectionTrait, DbErr, EntityTrait, QueryFilter,
    QueryOrder, QuerySelect, Set,
};
use serde_json::json;

use super::cancellation_cost::is_short_notice;
use super::records;
use super::records::{CancellationStatus, MediumKind, Plan, PlanStatus, Reason, ShiftStatus};
use super::rules::EARLY_START_MS;
use super::tables::{cancellation, plan, shift};
use crate::domain::Transaction;
use crate::notices::{self, Notice};
use crate::people;
use crate::sites::{self, ChangedBy, Site, SiteRefusal, Slot, constraint_refusal};

/// The details that a person gives when cancelling.
#[derive(Clone, Debug)]
pub struct CancellationDetails {
    pub reason: Reason,
    pub words: Option<String>,
    pub document: Option<String>,
    /// The evidence, with the kind of the sent file.
    pub photo: Option<(MediumKind, String)>,
}

/// Takes a place in a slot.
pub async fn plan(db: &Transaction<'_, '_>, user_id: i64, slot_id: i64, at: Millis) -> Result<i64, WriteError> {
    let slot = sites::lock_slot(db, slot_id).await?.filter(|slot| slot.deleted_at.is_none());
    let slot = slot.ok_or_else(|| SiteRefusal::Gone.refusal())?;
    if slot.period.to <= at {
        return Err(SiteRefusal::Past.refusal());
    }
    sites::lock_site_shared(db, slot.site_id).await?;
    if sites::contract_for(db, user_id, slot.site_id, slot.about.day).await?.is_none() {
        return Err(SiteRefusal::NoContract.refusal());
    }
    sites::take_place(db, slot_id).await?;
    let row = plan::ActiveModel {
        user_id: Set(user_id),
        slot_id: Set(slot_id),
        site_id: Set(slot.site_id),
        starts_at: Set(slot.period.from.0),
        ends_at: Set(slot.period.to.0),
        created_at: Set(at.0),
        updated_at: Set(at.0),
        ..Default::default()
    };
    Ok(row.insert(db).await.map_err(constraint_refusal)?.id)
}

/// Takes a place for another person, who gets a notice.
pub async fn plan_for(db: &Transaction<'_, '_>, user_id: i64, slot_id: i64, by: ChangedBy) -> Result<i64, WriteError> {
    let id = plan(db, user_id, slot_id, by.at).await?;
    let created = records::plan(db, id).await?.ok_or_else(|| SiteRefusal::Gone.refusal())?;
    let site = sites::site(db, created.site_id).await?.ok_or_else(|| SiteRefusal::Gone.refusal())?;
    let notice = Notice::PlanMade { site: site.about.name.clone(), when: created.period.local(site.about.time_zone) };
    notices::write(db, vec![(user_id, notice)], by.at).await?;
    by.audit(db, "plan made", ("plan", id), json!({ "user": user_id })).await?;
    Ok(id)
}

/// Cancels a person's own plan with a reason. `judges` are the people who judge it; they get a notice.
pub async fn cancel(
    db: &Transaction<'_, '_>,
    plan_id: i64,
    (user_id, name): (i64, String),
    details: CancellationDetails,
    notice_hours: i64,
    judges: Vec<i64>,
    at: Millis,
) -> Result<(), WriteError> {
    let plan = lock_plan(db, plan_id).await?;
    if plan.user_id != user_id {
        return Err(SiteRefusal::Gone.refusal());
    }
    if plan.period.to <= at {
        return Err(SiteRefusal::Past.refusal());
    }
    end(db, plan_id, PlanStatus::Cancelled, at).await?;
    sites::free_place(db, plan.slot_id).await?;
    let (photo_kind, photo_file) = details.photo.unzip();
    let row = cancellation::ActiveModel {
        words: Set(details.words),
        document: Set(details.document),
        photo_file: Set(photo_file),
        photo_kind: Set(photo_kind.map(|kind| kind.name().to_owned())),
        is_short_notice: Set(is_short_notice(plan.period.from, at, notice_hours)),
        notice_hours: Set(Some(notice_hours)),
        ..cancelled(&plan, details.reason, at)
    };
    row.insert(db).await.map_err(constraint_refusal)?;
    let site = sites::site(db, plan.site_id).await?.ok_or_else(|| SiteRefusal::Gone.refusal())?;
    let notice =
        Notice::Cancelled { name, site: site.about.name.clone(), when: plan.period.local(site.about.time_zone) };
    notices::write(db, judges.into_iter().map(|id| (id, notice.clone())).collect(), at).await
}

/// Cancels another person's plan without a reason to judge. The person gets a notice.
pub async fn cancel_by_staff(db: &Transaction<'_, '_>, plan_id: i64, by: ChangedBy) -> Result<(), WriteError> {
    let plan = lock_plan(db, plan_id).await?;
    let site = sites::site(db, plan.site_id).await?.ok_or_else(|| SiteRefusal::Gone.refusal())?;
    end(db, plan_id, PlanStatus::Cancelled, by.at).await?;
    sites::free_place(db, plan.slot_id).await?;
    cancelled_by_staff(&plan, by).insert(db).await.map_err(constraint_refusal)?;
    let notice = Notice::PlanCancelled { site: site.about.name.clone(), when: plan.period.local(site.about.time_zone) };
    notices::write(db, vec![(plan.user_id, notice)], by.at).await?;
    by.audit(db, "plan cancelled", ("plan", plan_id), json!({})).await
}

/// Moves the plans of a slot with it. Refused if a plan would overlap another one of its person, or if the start would
/// change after a shift has started in the slot.
pub async fn move_plans(
    db: &Transaction<'_, '_>,
    before: &Slot,
    after: &Slot,
    site: &Site,
    by: ChangedBy,
) -> Result<(), WriteError> {
    let mut plans = lock_unused_plans(db, before.id).await?;
    // A new start can be missed again. If only the end changes, a person who was reported as missing is not reported
    // twice.
    let has_moved = before.period.from != after.period.from;
    let begun = started_plans(db, before.id).await?;
    if has_moved && !begun.is_empty() {
        return Err(SiteRefusal::Worked.refusal());
    }
    let working: Vec<_> = begun.into_iter().filter(|plan| plan.status == PlanStatus::InProgress).collect();
    if !working.is_empty() {
        move_shift_ends(db, after, by).await?;
    }
    plans.extend(working);
    // A start that had passed when the person was told does not count as late: the person is expected from now on, or
    // from the time at which the person was expected before.
    let known_from = before.period.from.min(by.at).0;
    let is_later = plan::Column::AwaitedFrom.gt(known_from);
    let awaited_from = Expr::case(is_later, Expr::col(plan::Column::AwaitedFrom)).finally(known_from);
    plan::Entity::update_many()
        .set(plan::ActiveModel {
            starts_at: Set(after.period.from.0),
            ends_at: Set(after.period.to.0),
            updated_at: Set(by.at.0),
            reminded_at: Set(None),
            missed_at: if has_moved { Set(None) } else { NotSet },
            ..Default::default()
        })
        .col_expr(plan::Column::Version, Expr::col(plan::Column::Version).add(1))
        .col_expr(plan::Column::AwaitedFrom, awaited_from.into())
        .filter(plan::Column::SlotId.eq(before.id))
        .filter(plan::Column::Status.eq(PlanStatus::Planned.name()))
        .exec(db)
        .await
        .map_err(constraint_refusal)?;
    let notice = Notice::PlanMoved {
        site: site.about.name.clone(),
        before: before.period.local(site.about.time_zone),
        after: after.period.local(site.about.time_zone),
    };
    notices::write(db, plans.iter().map(|plan| (plan.user_id, notice.clone())).collect(), by.at).await
}

/// Gives active shifts in a slot the slot's new end, up to which a forgotten shift is paid. Time that was worked before
/// the end was moved into the past stays paid. Shifts are locked before plans, as when closing.
async fn move_shift_ends(db: &Transaction<'_, '_>, slot: &Slot, by: ChangedBy) -> Result<(), WriteError> {
    // Each shift by its own planned end: the end of the slot may have been moved before.
    let (to, planned_end) = (slot.period.to.0, shift::Column::PlannedEnd);
    let paid_to = Expr::case(planned_end.lte(to), to)
        .case(planned_end.lte(by.at.0), Expr::col(planned_end))
        .finally(slot.period.to.max(by.at).0);
    shift::Entity::update_many()
        .col_expr(planned_end, paid_to.into())
        .col_expr(shift::Column::Version, Expr::col(shift::Column::Version).add(1))
        .filter(shift::Column::SiteId.eq(slot.site_id))
        .filter(shift::Column::SlotId.eq(slot.id))
        .filter(shift::Column::Status.eq(ShiftStatus::Active.name()))
        .exec(db)
        .await?;
    plan::Entity::update_many()
        .set(plan::ActiveModel { ends_at: Set(slot.period.to.0), updated_at: Set(by.at.0), ..Default::default() })
        .col_expr(plan::Column::Version, Expr::col(plan::Column::Version).add(1))
        .filter(plan::Column::SlotId.eq(slot.id))
        .filter(plan::Column::Status.eq(PlanStatus::InProgress.name()))
        .exec(db)
        .await
        .map_err(constraint_refusal)?;
    Ok(())
}

/// Cancels the plans of a deleted slot; returns how many places stay taken by finished shifts.
pub async fn cancel_plans(
    db: &Transaction<'_, '_>,
    slot: &Slot,
    site: &Site,
    by: ChangedBy,
) -> Result<i64, WriteError> {
    let planned = lock_unused_plans(db, slot.id).await?;
    let works = plan::Column::SlotId.eq(slot.id).and(plan::Column::Status.eq(PlanStatus::InProgress.name()));
    if plan::Entity::find().filter(works).one(db).await?.is_some() {
        return Err(SiteRefusal::InUse.refusal());
    }
    plan::Entity::update_many()
        .set(plan::ActiveModel {
            status: Set(PlanStatus::Cancelled.name().to_owned()),
            updated_at: Set(by.at.0),
            ..Default::default()
        })
        .filter(plan::Column::SlotId.eq(slot.id))
        .filter(plan::Column::Status.eq(PlanStatus::Planned.name()))
        .exec(db)
        .await?;
    if !planned.is_empty() {
        let rows = planned.iter().map(|plan| cancelled_by_staff(plan, by));
        cancellation::Entity::insert_many(rows).exec_without_returning(db).await.map_err(constraint_refusal)?;
    }
    let notice = Notice::PlanCancelled { site: site.about.name.clone(), when: slot.period.local(site.about.time_zone) };
    notices::write(db, planned.iter().map(|plan| (plan.user_id, notice.clone())).collect(), by.at).await?;
    Ok(slot.taken - planned.len() as i64)
}

/// Restores the plans that were cancelled with a slot, if their people have no other plan now. Returns how many places
/// are taken.
pub async fn restore_plans(
    db: &Transaction<'_, '_>,
    slot: &Slot,
    site: &Site,
    by: ChangedBy,
) -> Result<i64, WriteError> {
    let gone_with_it = cancellation::Entity::find()
        .filter(cancellation::Column::Reason.eq(Reason::ByStaff.name()))
        .filter(cancellation::Column::CancelledAt.eq(slot.deleted_at.map(|at| at.0)))
        .all(db)
        .await?;
    let of_slot = plan::Column::SlotId.eq(slot.id);
    let ids = gone_with_it.iter().map(|row| row.plan_id);
    let cancelled_plans =
        plan::Entity::find().filter(of_slot.clone()).filter(plan::Column::Id.is_in(ids)).all(db).await?;
    let live = [PlanStatus::Planned.name(), PlanStatus::InProgress.name()];
    let busy = plan::Entity::find()
        .filter(plan::Column::UserId.is_in(cancelled_plans.iter().map(|row| row.user_id)))
        .filter(plan::Column::Status.is_in(live))
        .filter(plan::Column::StartsAt.lt(slot.period.to.0))
        .filter(plan::Column::EndsAt.gt(slot.period.from.0))
        .all(db)
        .await?;
    // People who were blocked meanwhile are left out.
    let members = people::verified_of(db, cancelled_plans.iter().map(|row| row.user_id)).await?;
    let is_free = |row: &&plan::Model| busy.iter().all(|other| other.user_id != row.user_id);
    let back: Vec<_> = cancelled_plans.iter().filter(is_free).filter(|row| members.contains(&row.user_id)).collect();
    let ids: Vec<_> = back.iter().map(|row| row.id).collect();
    // A future slot was cancelled in between, so its people are reminded, and reported as missing, again.
    let is_to_come = slot.period.from > by.at;
    plan::Entity::update_many()
        .set(plan::ActiveModel {
            status: Set(PlanStatus::Planned.name().to_owned()),
            updated_at: Set(by.at.0),
            // The start was not known before, so no person is late for it.
            awaited_from: Set(Some(by.at.0)),
            reminded_at: if is_to_come { Set(None) } else { NotSet },
            missed_at: if is_to_come { Set(None) } else { NotSet },
            ..Default::default()
        })
        .filter(plan::Column::Id.is_in(ids.clone()))
        .exec(db)
        .await
        .map_err(constraint_refusal)?;
    cancellation::Entity::delete_many().filter(cancellation::Column::PlanId.is_in(ids)).exec(db).await?;
    let notice = Notice::PlanRestored { site: site.about.name.clone(), when: slot.period.local(site.about.time_zone) };
    notices::write(db, back.iter().map(|row| (row.user_id, notice.clone())).collect(), by.at).await?;
    Ok(slot.taken + back.len() as i64)
}

/// The first unused plan of a person at a site that can be used now.
pub async fn due(db: &impl ConnectionTrait, user_id: i64, site_id: i64, at: Millis) -> Result<Option<Plan>, DbErr> {
    let planned = plan::Entity::find()
        .filter(plan::Column::UserId.eq(user_id))
        .filter(plan::Column::SiteId.eq(site_id))
        .filter(plan::Column::Status.eq(PlanStatus::Planned.name()))
        .filter(plan::Column::StartsAt.lte(at.0 + EARLY_START_MS))
        .filter(plan::Column::EndsAt.gt(at.0));
    planned.order_by_asc(plan::Column::StartsAt).one(db).await?.map(Plan::try_from).transpose()
}

/// Whether a person has a live plan in a slot.
pub async fn has_place_in(db: &impl ConnectionTrait, user_id: i64, slot_id: i64) -> Result<bool, DbErr> {
    let live = [PlanStatus::Planned.name(), PlanStatus::InProgress.name()];
    let own = plan::Column::SlotId.eq(slot_id).and(plan::Column::UserId.eq(user_id));
    let found = plan::Entity::find().filter(own).filter(plan::Column::Status.is_in(live)).limit(1).one(db).await?;
    Ok(found.is_some())
}

/// Whether a site has an active shift or a future plan.
pub async fn is_site_in_use(db: &impl ConnectionTrait, site_id: i64, at: Millis) -> Result<bool, DbErr> {
    let to_come = Condition::all()
        .add(plan::Column::SiteId.eq(site_id))
        .add(plan::Column::Status.eq(PlanStatus::Planned.name()))
        .add(plan::Column::EndsAt.gt(at.0));
    let planned = plan::Entity::find().filter(to_come).limit(1).one(db).await?;
    Ok(planned.is_some() || has_active_shift(db, site_id).await?)
}

/// Whether a site has an active shift.
pub async fn has_active_shift(db: &impl ConnectionTrait, site_id: i64) -> Result<bool, DbErr> {
    let active = shift::Column::SiteId.eq(site_id).and(shift::Column::Status.eq(ShiftStatus::Active.name()));
    Ok(shift::Entity::find().filter(active).limit(1).one(db).await?.is_some())
}

/// Changes the status of an unused plan; refused if the plan was used before.
pub(super) async fn end(db: &Transaction<'_, '_>, id: i64, to: PlanStatus, at: Millis) -> Result<(), WriteError> {
    if try_end(db, id, to, at).await? { Ok(()) } else { Err(SiteRefusal::PlanUsed.refusal()) }
}

/// Like [`end`], but returns false if the plan was used before.
pub(super) async fn try_end(db: &Transaction<'_, '_>, id: i64, to: PlanStatus, at: Millis) -> Result<bool, WriteError> {
    let ended = plan::Entity::update_many()
        .set(plan::ActiveModel { status: Set(to.name().to_owned()), updated_at: Set(at.0), ..Default::default() })
        .col_expr(plan::Column::Version, Expr::col(plan::Column::Version).add(1))
        .filter(plan::Column::Id.eq(id))
        .filter(plan::Column::Status.eq(PlanStatus::Planned.name()))
        .exec(db)
        .await?;
    Ok(ended.rows_affected > 0)
}

/// A plan whose slot is locked, so its hours stay until the commit.
async fn lock_plan(db: &Transaction<'_, '_>, id: i64) -> Result<Plan, WriteError> {
    let seen = records::plan(db, id).await?.ok_or_else(|| SiteRefusal::Gone.refusal())?;
    sites::lock_slot(db, seen.slot_id).await?;
    records::plan(db, id).await?.ok_or_else(|| SiteRefusal::Gone.refusal())
}

/// The unused plans of a slot, locked until the commit: no shift can be opened with one of them.
async fn lock_unused_plans(db: &Transaction<'_, '_>, slot_id: i64) -> Result<Vec<Plan>, DbErr> {
    let planned = plan::Column::SlotId.eq(slot_id).and(plan::Column::Status.eq(PlanStatus::Planned.name()));
    let locked = plan::Entity::find().filter(planned).order_by_asc(plan::Column::Id).lock(LockType::NoKeyUpdate);
    locked.all(db).await?.into_iter().map(Plan::try_from).collect()
}

/// The plans of a slot with which a shift was started.
async fn started_plans(db: &Transaction<'_, '_>, slot_id: i64) -> Result<Vec<Plan>, DbErr> {
    let begun = [PlanStatus::InProgress.name(), PlanStatus::Completed.name()];
    let found = plan::Entity::find().filter(plan::Column::SlotId.eq(slot_id)).filter(plan::Column::Status.is_in(begun));
    found.all(db).await?.into_iter().map(Plan::try_from).collect()
}

fn cancelled(plan: &Plan, reason: Reason, at: Millis) -> cancellation::ActiveModel {
    cancellation::ActiveModel {
        plan_id: Set(plan.id),
        user_id: Set(plan.user_id),
        reason: Set(reason.name().to_owned()),
        is_short_notice: Set(false),
        cancelled_at: Set(at.0),
        status: Set(CancellationStatus::Pending.name().to_owned()),
        ..Default::default()
    }
}

fn cancelled_by_staff(plan: &Plan, by: ChangedBy) -> cancellation::ActiveModel {
    cancellation::ActiveModel {
        status: Set(CancellationStatus::Accepted.name().to_owned()),
        decided_by: Set(by.person),
        decided_at: Set(Some(by.at.0)),
        ..cancelled(plan, Reason::ByStaff, by.at)
    }
}
