//! Planning and cancelling, within a commit.
//!
//! Places are counted and overlaps kept by the database, so of two hundred who want ten places ten get one, whatever was
//! read before. A place is free again with the commit that cancels its plan; what the reason is worth is judged later.

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::{Expr, ExprTrait, LockType};
use sea_orm::{
    ActiveModelTrait, ActiveValue::NotSet, ColumnTrait, Condition, ConnectionTrait, DbErr, EntityTrait, QueryFilter,
    QueryOrder, QuerySelect, Set,
};
use serde_json::json;

use super::records::{Judgement, MediumKind, Plan, PlanStatus, Reason, ShiftStatus};
use super::rules::EARLIEST_MS;
use super::tables::{cancellation, plan, shift};
use super::{records, when};
use crate::domain::Writing;
use crate::money::{Kind, Money};
use crate::notices::{self, Notice};
use crate::payroll::{Basis, Payroll, Row, Source};
use crate::people;
use crate::sites::{self, By, Site, Slot, Why, kept, local};

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;

/// What somebody gives as a reason.
#[derive(Clone, Debug)]
pub struct Excuse {
    pub reason: Reason,
    pub words: Option<String>,
    pub document: Option<String>,
    /// What proves it, and as what it was sent.
    pub photo: Option<(MediumKind, String)>,
}

/// What cancelling costs, once the reason was rejected. Prices: the fines that come of them are below zero.
#[derive(Clone, Copy, Debug)]
pub struct Fines {
    pub notice_hours: i64,
    pub short_notice: Money,
    pub invalid_reason: Money,
}

/// Takes a place in a slot.
pub async fn plan(db: &Writing<'_, '_>, user_id: i64, slot_id: i64, at: Millis) -> Result<i64, WriteError> {
    let slot = sites::hold_slot(db, slot_id).await?.filter(|slot| slot.deleted_at.is_none());
    let slot = slot.ok_or_else(|| Why::Gone.refusal())?;
    if slot.period.to <= at {
        return Err(Why::Past.refusal());
    }
    sites::live_site(db, slot.site_id).await?;
    if sites::contract_for(db, user_id, slot.site_id).await?.is_none() {
        return Err(Why::NoContract.refusal());
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
    Ok(row.insert(db).await.map_err(kept)?.id)
}

/// Takes a place for somebody else, who is told.
pub async fn plan_for(db: &Writing<'_, '_>, user_id: i64, slot_id: i64, by: By) -> Result<i64, WriteError> {
    let id = plan(db, user_id, slot_id, by.at).await?;
    let made = records::plan(db, id).await?.ok_or_else(|| Why::Gone.refusal())?;
    let site = sites::site(db, made.site_id).await?.ok_or_else(|| Why::Gone.refusal())?;
    let notice = Notice::PlanMade { site: site.about.name.clone(), when: when(made.period, &site) };
    notices::write(db, vec![(user_id, notice)], by.at).await?;
    by.note(db, "plan made", ("plan", id), json!({ "user": user_id })).await?;
    Ok(id)
}

/// Gives a place back, with a reason that somebody is to judge. `told` are the people who judge.
pub async fn cancel(
    db: &Writing<'_, '_>,
    plan_id: i64,
    (user_id, name): (i64, String),
    excuse: Excuse,
    notice_hours: i64,
    told: Vec<i64>,
    at: Millis,
) -> Result<(), WriteError> {
    let plan = held(db, plan_id).await?;
    if plan.user_id != user_id {
        return Err(Why::Gone.refusal());
    }
    if plan.period.to <= at {
        return Err(Why::Past.refusal());
    }
    end(db, plan_id, PlanStatus::Cancelled, at).await?;
    sites::free_place(db, plan.slot_id).await?;
    let (photo_kind, photo_file) = excuse.photo.unzip();
    let row = cancellation::ActiveModel {
        words: Set(excuse.words),
        document: Set(excuse.document),
        photo_file: Set(photo_file),
        photo_kind: Set(photo_kind.map(|kind| kind.name().to_owned())),
        is_short_notice: Set(plan.period.from.0 - at.0 < notice_hours * HOUR_MS),
        notice_hours: Set(Some(notice_hours)),
        ..cancelled(&plan, excuse.reason, at)
    };
    row.insert(db).await.map_err(kept)?;
    let site = sites::site(db, plan.site_id).await?.ok_or_else(|| Why::Gone.refusal())?;
    let notice = Notice::Cancelled { name, site: site.about.name.clone(), when: when(plan.period, &site) };
    notices::write(db, told.into_iter().map(|id| (id, notice.clone())).collect(), at).await
}

/// Cancels somebody else's plan: no reason has to be judged, and the person is told.
pub async fn cancel_by_staff(db: &Writing<'_, '_>, plan_id: i64, by: By) -> Result<(), WriteError> {
    let plan = held(db, plan_id).await?;
    let site = sites::site(db, plan.site_id).await?.ok_or_else(|| Why::Gone.refusal())?;
    end(db, plan_id, PlanStatus::Cancelled, by.at).await?;
    sites::free_place(db, plan.slot_id).await?;
    cancelled_by_staff(&plan, by).insert(db).await.map_err(kept)?;
    let notice = Notice::PlanCancelled { site: site.about.name.clone(), when: when(plan.period, &site) };
    notices::write(db, vec![(plan.user_id, notice)], by.at).await?;
    by.note(db, "plan cancelled", ("plan", plan_id), json!({})).await
}

/// Judges a reason. Rejected, it costs a fine, and another one where the notice was short.
pub async fn judge(db: &Writing<'_, '_>, id: i64, is_accepted: bool, fines: Fines, by: By) -> Result<(), WriteError> {
    let status = if is_accepted { Judgement::Accepted } else { Judgement::Rejected };
    let decided = cancellation::Entity::update_many()
        .set(cancellation::ActiveModel {
            status: Set(status.name().to_owned()),
            decided_by: Set(by.person),
            decided_at: Set(Some(by.at.0)),
            ..Default::default()
        })
        .filter(cancellation::Column::Id.eq(id))
        .filter(cancellation::Column::Status.eq(Judgement::Pending.name()))
        .exec(db)
        .await?;
    let row = cancellation::Entity::find_by_id(id).one(db).await?.ok_or_else(|| Why::Gone.refusal())?;
    if decided.rows_affected == 0 {
        return Err(Why::Decided.refusal());
    }
    let plan = records::plan(db, row.plan_id).await?.ok_or_else(|| Why::Gone.refusal())?;
    let site = sites::site(db, plan.site_id).await?.ok_or_else(|| Why::Gone.refusal())?;
    let (name, when) = (site.about.name.clone(), when(plan.period, &site));
    let notice = if is_accepted {
        Notice::ReasonAccepted { site: name, when }
    } else {
        let rows = fines_of(&plan, &row, fines, &site);
        let fine = rows.iter().map(|row| row.amount).sum();
        Payroll::post_at(db, plan.site_id, rows, by.at).await?;
        Notice::ReasonRejected { site: name, when, fine }
    };
    notices::write(db, vec![(plan.user_id, notice)], by.at).await?;
    by.note(db, "cancellation judged", ("plan", plan.id), json!({ "accepted": is_accepted })).await
}

/// The plans of a slot move along with it; refused where somebody has another plan then, and where its beginning would
/// change under somebody who works in it, or has worked: what has begun stays when it was, and its place with it.
pub async fn move_plans(
    db: &Writing<'_, '_>,
    before: &Slot,
    after: &Slot,
    site: &Site,
    by: By,
) -> Result<(), WriteError> {
    let mut told = planned_for(db, before.id).await?;
    // Another beginning may be missed anew; who has missed this one is not told twice because its end has changed.
    let has_moved = before.period.from != after.period.from;
    let begun = begun_in(db, before.id).await?;
    if has_moved && !begun.is_empty() {
        return Err(Why::Worked.refusal());
    }
    let working: Vec<_> = begun.into_iter().filter(|plan| plan.status == PlanStatus::InProgress).collect();
    if !working.is_empty() {
        end_with(db, after, by).await?;
    }
    told.extend(working);
    // Nobody is late by a beginning that was over when they were told of it: they are awaited from now on, or from when
    // they were awaited before.
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
        .map_err(kept)?;
    let notice = Notice::PlanMoved {
        site: site.about.name.clone(),
        before: when(before.period, site),
        after: when(after.period, site),
    };
    notices::write(db, told.iter().map(|plan| (plan.user_id, notice.clone())).collect(), by.at).await
}

/// Who works in a slot now works to its end as it is: a shift that nobody closes is paid up to there, and for the hours that
/// were worked before somebody moved the end behind it. The shift comes first, as for whoever closes it.
async fn end_with(db: &Writing<'_, '_>, slot: &Slot, by: By) -> Result<(), WriteError> {
    // Each shift by its own end: that of the slot may have been moved back before.
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
        .map_err(kept)?;
    Ok(())
}

/// The plans of a slot go with it; answers how many of its places stay taken, by shifts that are over.
pub async fn cancel_plans(db: &Writing<'_, '_>, slot: &Slot, site: &Site, by: By) -> Result<i64, WriteError> {
    let planned = planned_for(db, slot.id).await?;
    let works = plan::Column::SlotId.eq(slot.id).and(plan::Column::Status.eq(PlanStatus::InProgress.name()));
    if plan::Entity::find().filter(works).one(db).await?.is_some() {
        return Err(Why::InUse.refusal());
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
        cancellation::Entity::insert_many(rows).exec_without_returning(db).await.map_err(kept)?;
    }
    let notice = Notice::PlanCancelled { site: site.about.name.clone(), when: when(slot.period, site) };
    notices::write(db, planned.iter().map(|plan| (plan.user_id, notice.clone())).collect(), by.at).await?;
    Ok(slot.taken - planned.len() as i64)
}

/// The plans that went with a slot come back, where their people have no other plan by now; answers how many places are
/// taken then.
pub async fn restore_plans(db: &Writing<'_, '_>, slot: &Slot, site: &Site, by: By) -> Result<i64, WriteError> {
    let gone_with_it = cancellation::Entity::find()
        .filter(cancellation::Column::Reason.eq(Reason::ByStaff.name()))
        .filter(cancellation::Column::CancelledAt.eq(slot.deleted_at.map(|at| at.0)))
        .all(db)
        .await?;
    let of_slot = plan::Column::SlotId.eq(slot.id);
    let ids = gone_with_it.iter().map(|row| row.plan_id);
    let gone = plan::Entity::find().filter(of_slot.clone()).filter(plan::Column::Id.is_in(ids)).all(db).await?;
    let live = [PlanStatus::Planned.name(), PlanStatus::InProgress.name()];
    let busy = plan::Entity::find()
        .filter(plan::Column::UserId.is_in(gone.iter().map(|row| row.user_id)))
        .filter(plan::Column::Status.is_in(live))
        .filter(plan::Column::StartsAt.lt(slot.period.to.0))
        .filter(plan::Column::EndsAt.gt(slot.period.from.0))
        .all(db)
        .await?;
    // Who was kept out meanwhile does not come either.
    let members = people::verified_of(db, gone.iter().map(|row| row.user_id)).await?;
    let is_free = |row: &&plan::Model| busy.iter().all(|other| other.user_id != row.user_id);
    let back: Vec<_> = gone.iter().filter(is_free).filter(|row| members.contains(&row.user_id)).collect();
    let ids: Vec<_> = back.iter().map(|row| row.id).collect();
    // What is yet to begin was called off in between, so people are reminded of it, and missed, as of something new.
    let is_to_come = slot.period.from > by.at;
    plan::Entity::update_many()
        .set(plan::ActiveModel {
            status: Set(PlanStatus::Planned.name().to_owned()),
            updated_at: Set(by.at.0),
            // Until now nobody had to come, so nobody is late by that.
            awaited_from: Set(Some(by.at.0)),
            reminded_at: if is_to_come { Set(None) } else { NotSet },
            missed_at: if is_to_come { Set(None) } else { NotSet },
            ..Default::default()
        })
        .filter(plan::Column::Id.is_in(ids.clone()))
        .exec(db)
        .await
        .map_err(kept)?;
    cancellation::Entity::delete_many().filter(cancellation::Column::PlanId.is_in(ids)).exec(db).await?;
    let notice = Notice::PlanRestored { site: site.about.name.clone(), when: when(slot.period, site) };
    notices::write(db, back.iter().map(|row| (row.user_id, notice.clone())).collect(), by.at).await?;
    Ok(slot.taken + back.len() as i64)
}

/// The plan by which somebody comes to a site now: the first that was not used and may be, if there is one.
pub async fn due(db: &impl ConnectionTrait, user_id: i64, site_id: i64, at: Millis) -> Result<Option<Plan>, DbErr> {
    let planned = plan::Entity::find()
        .filter(plan::Column::UserId.eq(user_id))
        .filter(plan::Column::SiteId.eq(site_id))
        .filter(plan::Column::Status.eq(PlanStatus::Planned.name()))
        .filter(plan::Column::StartsAt.lte(at.0 + EARLIEST_MS))
        .filter(plan::Column::EndsAt.gt(at.0));
    planned.order_by_asc(plan::Column::StartsAt).one(db).await?.map(Plan::try_from).transpose()
}

/// Whether somebody works in a slot, or means to.
pub async fn has_place_in(db: &impl ConnectionTrait, user_id: i64, slot_id: i64) -> Result<bool, DbErr> {
    let live = [PlanStatus::Planned.name(), PlanStatus::InProgress.name()];
    let own = plan::Column::SlotId.eq(slot_id).and(plan::Column::UserId.eq(user_id));
    let found = plan::Entity::find().filter(own).filter(plan::Column::Status.is_in(live)).limit(1).one(db).await?;
    Ok(found.is_some())
}

/// Whether somebody works at a site, or means to.
pub async fn is_site_in_use(db: &impl ConnectionTrait, site_id: i64, at: Millis) -> Result<bool, DbErr> {
    let to_come = Condition::all()
        .add(plan::Column::SiteId.eq(site_id))
        .add(plan::Column::Status.eq(PlanStatus::Planned.name()))
        .add(plan::Column::EndsAt.gt(at.0));
    let planned = plan::Entity::find().filter(to_come).limit(1).one(db).await?;
    Ok(planned.is_some() || works_somebody(db, site_id).await?)
}

/// Whether somebody works at a site now.
pub async fn works_somebody(db: &impl ConnectionTrait, site_id: i64) -> Result<bool, DbErr> {
    let active = shift::Column::SiteId.eq(site_id).and(shift::Column::Status.eq(ShiftStatus::Active.name()));
    Ok(shift::Entity::find().filter(active).limit(1).one(db).await?.is_some())
}

/// Uses a plan up: refused if that was done before.
pub(super) async fn end(db: &Writing<'_, '_>, id: i64, to: PlanStatus, at: Millis) -> Result<(), WriteError> {
    if is_ended(db, id, to, at).await? { Ok(()) } else { Err(Why::PlanUsed.refusal()) }
}

/// The same; false if it was used before.
pub(super) async fn is_ended(db: &Writing<'_, '_>, id: i64, to: PlanStatus, at: Millis) -> Result<bool, WriteError> {
    let ended = plan::Entity::update_many()
        .set(plan::ActiveModel { status: Set(to.name().to_owned()), updated_at: Set(at.0), ..Default::default() })
        .col_expr(plan::Column::Version, Expr::col(plan::Column::Version).add(1))
        .filter(plan::Column::Id.eq(id))
        .filter(plan::Column::Status.eq(PlanStatus::Planned.name()))
        .exec(db)
        .await?;
    Ok(ended.rows_affected > 0)
}

/// A plan whose slot, and so whose hours, nobody changes until this commits.
async fn held(db: &Writing<'_, '_>, id: i64) -> Result<Plan, WriteError> {
    let seen = records::plan(db, id).await?.ok_or_else(|| Why::Gone.refusal())?;
    sites::hold_slot(db, seen.slot_id).await?;
    records::plan(db, id).await?.ok_or_else(|| Why::Gone.refusal())
}

/// The plans of a slot that were not used yet, kept so until this commits: nobody opens a shift by one meanwhile.
async fn planned_for(db: &Writing<'_, '_>, slot_id: i64) -> Result<Vec<Plan>, DbErr> {
    let planned = plan::Column::SlotId.eq(slot_id).and(plan::Column::Status.eq(PlanStatus::Planned.name()));
    let held = plan::Entity::find().filter(planned).order_by_asc(plan::Column::Id).lock(LockType::NoKeyUpdate);
    held.all(db).await?.into_iter().map(Plan::try_from).collect()
}

/// The plans of a slot by which somebody works, or has worked.
async fn begun_in(db: &Writing<'_, '_>, slot_id: i64) -> Result<Vec<Plan>, DbErr> {
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
        status: Set(Judgement::Pending.name().to_owned()),
        ..Default::default()
    }
}

fn cancelled_by_staff(plan: &Plan, by: By) -> cancellation::ActiveModel {
    cancellation::ActiveModel {
        status: Set(Judgement::Accepted.name().to_owned()),
        decided_by: Set(by.person),
        decided_at: Set(Some(by.at.0)),
        ..cancelled(plan, Reason::ByStaff, by.at)
    }
}

fn fines_of(plan: &Plan, cancelled: &cancellation::Model, fines: Fines, site: &Site) -> Vec<Row> {
    let day = local(plan.period.from, site.about.time_zone).date().to_string();
    let invalid = Some((Kind::CancelledInvalid, fines.invalid_reason));
    let short = cancelled.is_short_notice.then_some((Kind::CancelledLate, fines.short_notice));
    let basis = Basis::Cancellation {
        notice_hours: cancelled.notice_hours.unwrap_or(fines.notice_hours),
        notice_minutes: (plan.period.from.0 - cancelled.cancelled_at).div_euclid(MINUTE_MS),
    };
    let row = |(kind, price): (Kind, Money)| Row {
        user_id: plan.user_id,
        kind,
        source: Source::Plan(plan.id),
        day: day.clone(),
        amount: price.taken_away(),
        basis: basis.clone(),
    };
    [invalid, short].into_iter().flatten().map(row).collect()
}
