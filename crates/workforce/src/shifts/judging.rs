//! Decisions about the reasons of cancelled plans, and taking them back, within a commit.
//!
//! A rejected reason costs what [`Fines::cost`] says, posted in the same commit. While its month is open a decision can
//! be taken back: the fine is removed and the reason waits again.

use std::collections::HashMap;

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::{ExprTrait, Query, SimpleExpr};
use sea_orm::{ColumnTrait, Condition, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Set};
use serde_json::json;

use super::Shifts;
use super::cancellation_cost::Fines;
use super::events::{ShiftEvent, ShiftEventKind};
use super::records::{self, Cancellation, CancellationStatus, Plan, Reason};
use super::tables::{cancellation, plan};
use crate::domain::{Transaction, in_ids};
use crate::money::{Kind, Money};
use crate::notices::{self, Notice};
use crate::payroll::{Basis, NewAdjustment, Payroll, PlanFine, Source};
use crate::person::{Permission, Person};
use crate::sites::{self, ActionError, ChangedBy, Rights, Site, SiteRefusal, Sites, local};
use crate::text;
use crate::texts::Language;

const MINUTE_MS: i64 = 60_000;
/// Decided cancellations on a page.
const PAGE_SIZE: u64 = 50;

/// A decision about a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judgement {
    pub is_accepted: bool,
    /// The fine that the judge saw before rejecting. Another fine is refused. None: whatever it is now.
    pub seen_fine: Option<Money>,
}

impl Judgement {
    /// What the judge reads after the decision.
    pub fn done_text(self, language: Language) -> String {
        match self.seen_fine.filter(|_| !self.is_accepted) {
            None => text!(language, "sites-accepted"),
            Some(fine) if fine.is_positive() => text!(language, "sites-rejected", fine = fine.shown(language)),
            Some(_) => text!(language, "sites-rejected-free"),
        }
    }
}

/// A decided cancellation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecidedCancellation {
    pub cancelled: Cancellation,
    pub plan: Plan,
    /// What the person pays for it now. None if nothing was deducted.
    pub fine: Option<PlanFine>,
}

/// A page of decided cancellations, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecidedPage {
    pub cases: Vec<DecidedCancellation>,
    /// When the first case of the next page was decided, with its id.
    pub older: Option<(Millis, i64)>,
}

/// Judges a reason. A rejected reason costs a fine, and a second one for short notice.
pub async fn judge(
    db: &Transaction<'_, '_>,
    id: i64,
    judgement: Judgement,
    fines: Fines,
    by: ChangedBy,
) -> Result<(), WriteError> {
    let is_accepted = judgement.is_accepted;
    let status = if is_accepted { CancellationStatus::Accepted } else { CancellationStatus::Rejected };
    let decided = cancellation::ActiveModel {
        status: Set(status.name().to_owned()),
        decided_by: Set(by.person),
        decided_at: Set(Some(by.at.0)),
        ..Default::default()
    };
    let pending = cancellation::Column::Status.eq(CancellationStatus::Pending.name());
    let Case { row, plan, site } = change(db, id, decided, pending).await?;
    let when = plan.period.local(site.about.time_zone);
    let fine = fines.cost(row.is_short_notice).total();
    if !is_accepted && judgement.seen_fine.is_some_and(|seen| seen != fine) {
        return Err(SiteRefusal::FineChanged.refusal());
    }
    let site_name = site.about.name.clone();
    let notice = if is_accepted {
        Notice::ReasonAccepted { site: site_name, when }
    } else {
        Payroll::post_at(db, plan.site_id, fines_of(&plan, &row, fines, &site), by.at).await?;
        Notice::ReasonRejected { site: site_name, when, fine: fine.as_deduction() }
    };
    notices::write(db, vec![(plan.user_id, notice)], by.at).await?;
    by.audit(db, "cancellation judged", ("plan", plan.id), json!({ "accepted": is_accepted })).await
}

/// Takes back a decision: the fine is removed, and the reason waits for a decision again. `decided_at` is when the
/// decision was made that the person saw. Refused once the month of the fine is closed.
pub async fn take_back(
    db: &Transaction<'_, '_>,
    id: i64,
    decided_at: Millis,
    (actor, by): (i64, ChangedBy),
) -> Result<(), WriteError> {
    let pending = cancellation::ActiveModel {
        status: Set(CancellationStatus::Pending.name().to_owned()),
        decided_by: Set(None),
        decided_at: Set(None),
        reversed_by: Set(by.person),
        reversed_at: Set(Some(by.at.0)),
        ..Default::default()
    };
    let is_as_seen =
        cancellation::Column::DecidedAt.eq(decided_at.0).and(cancellation::Column::Reason.ne(Reason::ByStaff.name()));
    let Case { plan, site, .. } = change(db, id, pending, is_as_seen).await?;
    let fine = Payroll::remove_fine(db, plan.id, actor, by.at).await?;
    let fine = fine.ok_or_else(|| SiteRefusal::MonthClosed.refusal())?;
    let (name, when) = (site.about.name.clone(), plan.period.local(site.about.time_zone));
    let notice = Notice::DecisionTakenBack { site: name, when, fine };
    notices::write(db, vec![(plan.user_id, notice)], by.at).await?;
    by.audit(db, "cancellation decision taken back", ("plan", plan.id), json!({})).await
}

/// A cancellation with its plan and site.
struct Case {
    row: cancellation::Model,
    plan: Plan,
    site: Site,
}

/// Changes a cancellation if it still is as expected; else another person has decided.
async fn change(
    db: &Transaction<'_, '_>,
    id: i64,
    to: cancellation::ActiveModel,
    expected: SimpleExpr,
) -> Result<Case, WriteError> {
    let this = cancellation::Column::Id.eq(id);
    let changed = cancellation::Entity::update_many().set(to).filter(this).filter(expected).exec(db).await?;
    let gone = || SiteRefusal::Gone.refusal();
    let row = cancellation::Entity::find_by_id(id).one(db).await?.ok_or_else(gone)?;
    if changed.rows_affected == 0 {
        return Err(SiteRefusal::Decided.refusal());
    }
    let plan = records::plan(db, row.plan_id).await?.ok_or_else(gone)?;
    let site = sites::site(db, plan.site_id).await?.ok_or_else(gone)?;
    Ok(Case { row, plan, site })
}

/// The fines to post. A fine of zero is none.
fn fines_of(plan: &Plan, cancelled: &cancellation::Model, fines: Fines, site: &Site) -> Vec<NewAdjustment> {
    let day = local(plan.period.from, site.about.time_zone).date().to_string();
    let cost = fines.cost(cancelled.is_short_notice);
    let invalid = Some((Kind::CancelledInvalid, cost.invalid_reason));
    let short = cost.short_notice.map(|price| (Kind::CancelledLate, price));
    let basis = Basis::Cancellation {
        notice_hours: cancelled.notice_hours.unwrap_or(fines.notice_hours),
        notice_minutes: (plan.period.from.0 - cancelled.cancelled_at).div_euclid(MINUTE_MS),
    };
    let row = |(kind, price): (Kind, Money)| NewAdjustment {
        user_id: plan.user_id,
        kind,
        source: Source::Plan(plan.id),
        day: day.clone(),
        amount: price.as_deduction(),
        basis: basis.clone(),
    };
    [invalid, short].into_iter().flatten().filter(|(_, price)| price.is_positive()).map(row).collect()
}

impl Shifts {
    /// Judges the reason of a cancellation, whatever it costs. Only owners may judge their own.
    pub async fn judge(&self, by: &Person, id: i64, is_accepted: bool) -> Result<(), ActionError> {
        self.judge_as_seen(by, id, Judgement { is_accepted, seen_fine: None }).await
    }

    /// Like [`Shifts::judge`], but refused if rejecting costs another fine than the judge saw.
    pub async fn judge_as_seen(&self, by: &Person, id: i64, judgement: Judgement) -> Result<(), ActionError> {
        let (rights, event) = self.rights_to_judge(by, id).await?;
        let fines = self.fines().await?;
        self.change(by, rights, event, move |db, by| Box::pin(judge(db, id, judgement, fines, by))).await
    }

    /// Takes back the decision that was made at that time.
    pub async fn take_back(&self, by: &Person, id: i64, decided_at: Millis) -> Result<(), ActionError> {
        let (rights, event) = self.rights_to_judge(by, id).await?;
        let actor = by.id;
        self.change(by, rights, event, move |db, by| Box::pin(take_back(db, id, decided_at, (actor, by)))).await
    }

    async fn rights_to_judge(&self, by: &Person, id: i64) -> Result<(Rights, ShiftEvent), ActionError> {
        let cancelled = self.cancellation(id).await?.ok_or(SiteRefusal::Gone)?;
        let plan = self.plan_of(cancelled.plan_id).await?.ok_or(SiteRefusal::Gone)?;
        let rights = self.require_permission(by, Permission::Employees, plan.site_id).await?;
        Sites::refuse_own_case(by, plan.user_id)?;
        Ok((rights, ShiftEvent::new(ShiftEventKind::CancellationJudged, plan.user_id).at(plan.site_id)))
    }

    /// Decided cancellations at these sites, the latest decision first, from a page's start on. Cancellations by staff
    /// had nothing to decide.
    pub async fn decided_cancellations(
        &self,
        sites: &[i64],
        from: Option<(Millis, i64)>,
    ) -> Result<DecidedPage, DbErr> {
        let plans_at_sites = Query::select()
            .column(plan::Column::Id)
            .from(plan::Entity)
            .and_where(in_ids(plan::Column::SiteId, sites))
            .take();
        let (decided_at, id) = (cancellation::Column::DecidedAt, cancellation::Column::Id);
        let earlier = from.map(|(at, last)| {
            Condition::any().add(decided_at.lt(at.0)).add(Condition::all().add(decided_at.eq(at.0)).add(id.lte(last)))
        });
        let mut rows = cancellation::Entity::find()
            .filter(decided_at.is_not_null())
            .filter(cancellation::Column::Reason.ne(Reason::ByStaff.name()))
            .filter(cancellation::Column::PlanId.in_subquery(plans_at_sites))
            .filter(Condition::all().add_option(earlier))
            .order_by_desc(decided_at)
            .order_by_desc(id)
            .limit(PAGE_SIZE + 1)
            .all(self.db())
            .await?;
        let has_more = rows.len() as u64 > PAGE_SIZE;
        let older = rows.pop_if(|_| has_more).and_then(|row| Some((Millis(row.decided_at?), row.id)));
        let ids: Vec<i64> = rows.iter().map(|row| row.plan_id).collect();
        let plans = plan::Entity::find().filter(plan::Column::Id.is_in(ids.iter().copied())).all(self.db()).await?;
        let mut plans: HashMap<i64, plan::Model> = plans.into_iter().map(|plan| (plan.id, plan)).collect();
        let mut fines = self.app().payroll.fines_of_plans(&ids).await?;
        let mut cases = Vec::with_capacity(rows.len());
        for row in rows {
            let Some(plan) = plans.remove(&row.plan_id) else { continue };
            let fine = fines.remove(&row.plan_id);
            cases.push(DecidedCancellation { cancelled: row.try_into()?, plan: plan.try_into()?, fine });
        }
        Ok(DecidedPage { cases, older })
    }
}
