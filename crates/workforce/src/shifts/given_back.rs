//! Plans that a block gives back, and their way back when the person is unblocked.
//!
//! A plan is restored if its slot is still to come and has a free place, the person has a contract for that day and no
//! other plan at that time. A plan that cannot be restored stays cancelled, and the owner reads why.

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Set};
use serde_json::json;

use super::records::PlanStatus;
use super::tables::plan;
use super::{Shifts, when};
use crate::application::App;
use crate::domain::Transaction;
use crate::rooms::{GivenBack, PendingWork};
use crate::sites::{self, ChangedBy, SiteRefusal, Sites, Slot, constraint_refusal};
use crate::texts::Language;

/// How many plans a page lists, and how many an unblock restores.
const MAX_PLANS: u64 = 200;

/// The plans that a block would give back now, and whether the person is at work.
pub async fn pending_work(app: &App, user_id: i64) -> Result<PendingWork, DbErr> {
    let shifts = Shifts::of_app(app);
    let mut plans = shifts.plans_of(user_id, app.clock.now()).await?;
    plans.retain(|plan| plan.status == PlanStatus::Planned);
    let site_ids: Vec<i64> = plans.iter().map(|plan| plan.site_id).collect();
    let sites = Sites::of_app(app).with_ids(&site_ids).await?;
    let line = |plan: &super::Plan| {
        let site = sites.iter().find(|site| site.id == plan.site_id)?;
        Some(format!("{} · {}", when(plan.period, site), site.about.name))
    };
    let is_at_work = shifts.active_of(user_id).await?.is_some();
    Ok(PendingWork { plans: plans.iter().filter_map(line).collect(), is_at_work })
}

/// The plans that a block has given back, in order of time, unless they are over.
pub async fn given_back(app: &App, user_id: i64, language: Language) -> Result<Vec<GivenBack>, DbErr> {
    let (db, now) = (app.domain.read(), app.clock.now());
    let mut found = Vec::new();
    for row in rows(db, user_id, now).await? {
        let slot = sites::slot(db, row.slot_id).await?;
        let Some(site) = sites::site(db, row.site_id).await? else { continue };
        let period = slot
            .as_ref()
            .map_or(sites::Period { from: Millis(row.starts_at), to: Millis(row.ends_at) }, |slot| slot.period);
        let text = format!("{} · {}", when(period, &site), site.about.name);
        let obstacle = obstacle(db, user_id, slot.as_ref(), now).await?;
        found.push(GivenBack { text, obstacle: obstacle.map(|why| why.text(language)) });
    }
    Ok(found)
}

/// Restores the plans that can be restored, within the commit of the unblock. Returns how many.
pub async fn restore(db: &Transaction<'_, '_>, user_id: i64, by: ChangedBy) -> Result<u64, WriteError> {
    let mut rows = rows(db, user_id, by.at).await?;
    // All commits lock several slots in the same order.
    rows.sort_by_key(|row| row.slot_id);
    let mut count = 0;
    for row in rows {
        let Some(slot) = sites::lock_slot(db, row.slot_id).await? else { continue };
        if obstacle(db, user_id, Some(&slot), by.at).await?.is_some() {
            continue;
        }
        sites::take_place(db, slot.id).await?;
        let planned = plan::ActiveModel {
            status: Set(PlanStatus::Planned.name().to_owned()),
            // The slot may have moved meanwhile.
            starts_at: Set(slot.period.from.0),
            ends_at: Set(slot.period.to.0),
            given_back_at: Set(None),
            reminded_at: Set(None),
            missed_at: Set(None),
            updated_at: Set(by.at.0),
            ..Default::default()
        };
        plan::Entity::update_many()
            .set(planned)
            .col_expr(plan::Column::Version, Expr::col(plan::Column::Version).add(1))
            .filter(plan::Column::Id.eq(row.id))
            .exec(db)
            .await
            .map_err(constraint_refusal)?;
        by.audit(db, "plan restored", ("plan", row.id), json!({ "user": user_id })).await?;
        count += 1;
    }
    Ok(count)
}

/// Plans that were given back and are not over.
async fn rows(db: &impl ConnectionTrait, user_id: i64, now: Millis) -> Result<Vec<plan::Model>, DbErr> {
    let given_back = plan::Entity::find()
        .filter(plan::Column::UserId.eq(user_id))
        .filter(plan::Column::GivenBackAt.is_not_null())
        .filter(plan::Column::Status.eq(PlanStatus::Cancelled.name()))
        .filter(plan::Column::EndsAt.gt(now.0));
    given_back.order_by_asc(plan::Column::StartsAt).limit(MAX_PLANS).all(db).await
}

/// Why a place in the slot cannot be restored; None if it can.
async fn obstacle(
    db: &impl ConnectionTrait,
    user_id: i64,
    slot: Option<&Slot>,
    now: Millis,
) -> Result<Option<SiteRefusal>, DbErr> {
    let Some(slot) = slot.filter(|slot| slot.deleted_at.is_none()) else { return Ok(Some(SiteRefusal::Gone)) };
    if slot.period.from <= now {
        return Ok(Some(SiteRefusal::Past));
    }
    if slot.places_left() <= 0 {
        return Ok(Some(SiteRefusal::Full));
    }
    if sites::contract_for(db, user_id, slot.site_id, slot.about.day).await?.is_none() {
        return Ok(Some(SiteRefusal::NoContract));
    }
    let live = [PlanStatus::Planned.name(), PlanStatus::InProgress.name()];
    let overlapping = plan::Entity::find()
        .filter(plan::Column::UserId.eq(user_id))
        .filter(plan::Column::Status.is_in(live))
        .filter(plan::Column::StartsAt.lt(slot.period.to.0))
        .filter(plan::Column::EndsAt.gt(slot.period.from.0));
    Ok(overlapping.limit(1).one(db).await?.map(|_| SiteRefusal::Overlap))
}
