//! Plans that a block gives back, and their way back when the person is unblocked.
//!
//! A plan is restored if its slot and site exist, the slot is still to come and has a free place, and the person has a
//! contract for that day and no other plan at that time. A plan that cannot be restored stays cancelled, and the owner
//! reads why. The number of queries does not depend on the number of plans.

use std::collections::HashMap;

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::{CaseStatement, Expr, ExprTrait};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Set};
use serde_json::json;

use super::records::PlanStatus;
use super::tables::plan;
use super::{Shifts, when};
use crate::application::App;
use crate::audit::{self, Entry};
use crate::domain::Transaction;
use crate::rooms::{GivenBack, PendingWork};
use crate::sites::{self, ChangedBy, Contract, Period, Site, SiteRefusal, Sites, Slot, constraint_refusal};
use crate::texts::Language;

/// How many plans a page lists, and how many an unblock restores.
const MAX_PLANS: u64 = 200;

/// The plans that a block would give back now, and whether the person is at work.
pub async fn pending_work(app: &App, user_id: i64, language: Language) -> Result<PendingWork, DbErr> {
    let shifts = Shifts::of_app(app);
    let mut plans = shifts.plans_of(user_id, app.clock.now()).await?;
    plans.retain(|plan| plan.status == PlanStatus::Planned);
    let site_ids: Vec<i64> = plans.iter().map(|plan| plan.site_id).collect();
    let sites = Sites::of_app(app).with_ids(&site_ids).await?;
    let line = |plan: &super::Plan| {
        let site = sites.iter().find(|site| site.id == plan.site_id)?;
        Some(format!("{} · {}", when(plan.period, site, language), site.about.name))
    };
    let is_at_work = shifts.active_of(user_id).await?.is_some();
    Ok(PendingWork { plans: plans.iter().filter_map(line).collect(), is_at_work })
}

/// A plan that was given back, with what stands in its way now.
struct Candidate {
    plan_id: i64,
    slot_id: i64,
    site: Option<Site>,
    /// The hours of the slot, which may have moved meanwhile.
    period: Period,
    obstacle: Option<SiteRefusal>,
}

/// The plans that a block has given back, in order of time, unless they are over.
pub async fn given_back(app: &App, user_id: i64, language: Language) -> Result<Vec<GivenBack>, DbErr> {
    let (db, now) = (app.domain.read(), app.clock.now());
    let rows = rows(db, user_id).await?;
    let slots = sites::slots_with_ids(db, &ids(&rows, |row| row.slot_id)).await?;
    let sites = Sites::of_app(app).with_ids(&ids(&rows, |row| row.site_id)).await?;
    let candidates = candidates(db, user_id, rows, (slots, sites), now).await?;
    let line = |one: &Candidate| {
        let site = one.site.as_ref()?;
        let text = format!("{} · {}", when(one.period, site, language), site.about.name);
        Some(GivenBack { text, obstacle: one.obstacle.map(|why| why.text(language)) })
    };
    Ok(candidates.iter().filter_map(line).collect())
}

/// Restores the plans that can be restored, within the commit of the unblock. Returns how many.
pub async fn restore(db: &Transaction<'_, '_>, user_id: i64, by: ChangedBy) -> Result<u64, WriteError> {
    let rows = rows(db, user_id).await?;
    let slots = sites::lock_slots(db, &ids(&rows, |row| row.slot_id)).await?;
    let sites = sites::lock_sites_shared(db, &ids(&rows, |row| row.site_id)).await?;
    let mut restored = candidates(db, user_id, rows, (slots, sites), by.at).await?;
    restored.retain(|one| one.obstacle.is_none());
    if restored.is_empty() {
        return Ok(0);
    }
    let slots: Vec<i64> = restored.iter().map(|one| one.slot_id).collect();
    sites::take_places(db, &slots).await?;
    set_planned(db, &restored, by.at).await?;
    let entry = |one: &Candidate| Entry {
        at: by.at,
        actor: by.person,
        action: "plan restored",
        subject: ("plan", one.plan_id),
        detail: json!({ "user": user_id }),
    };
    audit::record_all(db, restored.iter().map(entry).collect()).await?;
    Ok(restored.len() as u64)
}

/// Makes plans live again, with the hours that their slots have now.
async fn set_planned(db: &Transaction<'_, '_>, restored: &[Candidate], at: Millis) -> Result<(), WriteError> {
    let hours = |value: fn(Period) -> Millis| {
        restored.iter().fold(CaseStatement::new(), |case, one| {
            case.case(plan::Column::Id.eq(one.plan_id), Expr::val(value(one.period).0))
        })
    };
    let planned = plan::ActiveModel {
        status: Set(PlanStatus::Planned.name().to_owned()),
        given_back_at: Set(None),
        reminded_at: Set(None),
        missed_at: Set(None),
        updated_at: Set(at.0),
        ..Default::default()
    };
    plan::Entity::update_many()
        .set(planned)
        .col_expr(plan::Column::StartsAt, hours(|period| period.from).into())
        .col_expr(plan::Column::EndsAt, hours(|period| period.to).into())
        .col_expr(plan::Column::Version, Expr::col(plan::Column::Version).add(1))
        .filter(plan::Column::Id.is_in(restored.iter().map(|one| one.plan_id)))
        .exec(db)
        .await
        .map_err(constraint_refusal)?;
    Ok(())
}

/// Plans that were given back, the latest first.
async fn rows(db: &impl ConnectionTrait, user_id: i64) -> Result<Vec<plan::Model>, DbErr> {
    let given_back = plan::Entity::find()
        .filter(plan::Column::UserId.eq(user_id))
        .filter(plan::Column::GivenBackAt.is_not_null())
        .filter(plan::Column::Status.eq(PlanStatus::Cancelled.name()));
    given_back.order_by_desc(plan::Column::StartsAt).limit(MAX_PLANS).all(db).await
}

fn ids(rows: &[plan::Model], id: fn(&plan::Model) -> i64) -> Vec<i64> {
    rows.iter().map(id).collect()
}

/// What can become of these plans, in order of time. Plans whose slot is over are left out.
async fn candidates(
    db: &impl ConnectionTrait,
    user_id: i64,
    rows: Vec<plan::Model>,
    (slots, sites): (Vec<Slot>, Vec<Site>),
    now: Millis,
) -> Result<Vec<Candidate>, DbErr> {
    let contracts = sites::active_contracts_of(db, user_id).await?;
    let mut taken = live_periods(db, user_id, now).await?;
    let slots: HashMap<i64, Slot> = slots.into_iter().map(|slot| (slot.id, slot)).collect();
    let sites: HashMap<i64, Site> = sites.into_iter().map(|site| (site.id, site)).collect();
    let planned = |row: &plan::Model| Period { from: Millis(row.starts_at), to: Millis(row.ends_at) };
    let period_of = |row: &plan::Model| slots.get(&row.slot_id).map_or(planned(row), |slot| slot.period);
    let mut rows: Vec<_> = rows.into_iter().map(|row| (period_of(&row), row)).collect();
    rows.retain(|(period, _)| period.to > now);
    rows.sort_by_key(|(period, row)| (period.from, row.id));
    let mut found = Vec::with_capacity(rows.len());
    for (period, row) in rows {
        let site = sites.get(&row.site_id).cloned();
        let slot = slots.get(&row.slot_id).filter(|slot| slot.deleted_at.is_none());
        let slot = slot.filter(|_| site.as_ref().is_some_and(|site| site.deleted_at.is_none()));
        let obstacle = obstacle(slot, &contracts, &taken, now);
        if obstacle.is_none() {
            taken.push(period);
        }
        found.push(Candidate { plan_id: row.id, slot_id: row.slot_id, site, period, obstacle });
    }
    Ok(found)
}

/// The hours of a person's live plans that are not over.
async fn live_periods(db: &impl ConnectionTrait, user_id: i64, now: Millis) -> Result<Vec<Period>, DbErr> {
    let live = plan::Entity::find()
        .filter(plan::Column::UserId.eq(user_id))
        .filter(plan::Column::Status.is_in([PlanStatus::Planned.name(), PlanStatus::InProgress.name()]))
        .filter(plan::Column::EndsAt.gt(now.0));
    let hours = live.select_only().column(plan::Column::StartsAt).column(plan::Column::EndsAt).into_tuple();
    let hours: Vec<(i64, i64)> = hours.all(db).await?;
    Ok(hours.into_iter().map(|(from, to)| Period { from: Millis(from), to: Millis(to) }).collect())
}

/// Why a place in the slot cannot be restored; None if it can. A slot that is missing was deleted, or its site was.
fn obstacle(slot: Option<&Slot>, contracts: &[Contract], taken: &[Period], now: Millis) -> Option<SiteRefusal> {
    let Some(slot) = slot else { return Some(SiteRefusal::Gone) };
    let overlaps = |other: &Period| other.from < slot.period.to && slot.period.from < other.to;
    if slot.period.from <= now {
        Some(SiteRefusal::Past)
    } else if slot.places_left() <= 0 {
        Some(SiteRefusal::Full)
    } else if !contracts.iter().any(|one| one.about.covers(slot.site_id, slot.about.day)) {
        Some(SiteRefusal::NoContract)
    } else if taken.iter().any(overlaps) {
        Some(SiteRefusal::Overlap)
    } else {
        None
    }
}
