//! The public functions of this room: queries, and changes from pages.
//!
//! Lists are loaded as a whole: a page of a hundred shifts takes as many queries as a page of one.

use std::collections::{BTreeSet, HashMap};

use futures_util::future::BoxFuture;
use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::{Expr, ExprTrait, IntoCondition, Query};
use sea_orm::{
    ColumnTrait, Condition, DatabaseConnection, DbErr, EntityTrait, JoinType, PaginatorTrait, QueryFilter, QueryOrder,
    QuerySelect, Select,
};
use serde_json::json;

use super::events::{ShiftEvent, ShiftEventKind};
use super::plans;
use super::records::{
    self, Cancellation, CancellationStatus, ClosedBy, Medium, Opening, Plan, PlanStatus, Shift, ShiftStatus, ShiftTask,
};
use super::rules::overdue;
use super::tables::{cancellation, medium, opening, plan, shift, task};
use super::working::{self, ShiftEnd};
use crate::application::App;
use crate::domain::{Transaction, in_ids};
use crate::money::Money;
use crate::person::{OWNERS, Permission, Person};
use crate::settings;
use crate::sites::{ActionError, ChangedBy, LONGEST_DAY_MS, Period, Rights, SiteRefusal, Sites, Slot};

/// How many cancellations are listed for judging. More appear once these are decided.
const MAX_CANCELLATIONS: u64 = 100;
/// The table alias of the plans that are compared with other plans.
const OWN: &str = "own";

/// The public functions of this room.
#[derive(Clone, Debug)]
pub struct Shifts {
    app: App,
}

/// The plans, shifts and openings of a period, for a dashboard.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dashboard {
    /// Plans that start in the period, by start, without cancelled ones.
    pub plans: Vec<Plan>,
    /// Shifts that started in the period, and those that are still open.
    pub shifts: Vec<Shift>,
    /// Sites that are open now.
    pub openings: Vec<Opening>,
}

/// When a shift that staff close has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndTime {
    Now,
    /// When it would have ended automatically, if that time has passed.
    ByItself,
    At(Millis),
}

/// Queries.
impl Shifts {
    pub fn of_app(app: &App) -> Self {
        Self { app: app.clone() }
    }

    pub async fn shift(&self, id: i64) -> Result<Option<Shift>, DbErr> {
        records::shift(self.app.domain.read(), id).await
    }

    /// The active shift of a person.
    pub async fn active_of(&self, user_id: i64) -> Result<Option<Shift>, DbErr> {
        let active = shift::Column::UserId.eq(user_id).and(shift::Column::Status.eq(ShiftStatus::Active.name()));
        Ok(self.shifts(active).await?.pop())
    }

    /// The active shifts of these people.
    pub async fn active_of_people(&self, people: &[i64]) -> Result<Vec<Shift>, DbErr> {
        let active = shift::Entity::find().filter(shift::Column::Status.eq(ShiftStatus::Active.name()));
        let rows = active.filter(in_ids(shift::Column::UserId, people)).all(self.app.domain.read()).await?;
        rows.into_iter().map(Shift::try_from).collect()
    }

    /// The shifts of a person that started in a period, newest first.
    pub async fn of_person(&self, user_id: i64, period: Period) -> Result<Vec<Shift>, DbErr> {
        self.shifts(began_in(period).add(shift::Column::UserId.eq(user_id))).await
    }

    /// The tasks of these shifts, by shift and in order.
    pub async fn tasks(&self, shifts: &[i64]) -> Result<Vec<ShiftTask>, DbErr> {
        records::tasks_of_all(self.app.domain.read(), shifts).await
    }

    /// The media that were sent for the tasks of a shift.
    pub async fn media(&self, shift_id: i64) -> Result<Vec<Medium>, DbErr> {
        let tasks = Query::select()
            .column(task::Column::Id)
            .from(task::Entity)
            .and_where(task::Column::ShiftId.eq(shift_id))
            .take();
        let found = medium::Entity::find().filter(medium::Column::ShiftTaskId.in_subquery(tasks));
        let rows = found.order_by_asc(medium::Column::Id).all(self.app.domain.read()).await?;
        rows.into_iter().map(Medium::try_from).collect()
    }

    pub async fn plan_of(&self, id: i64) -> Result<Option<Plan>, DbErr> {
        records::plan(self.app.domain.read(), id).await
    }

    /// The live plans of a person that end after an instant, by start.
    pub async fn plans_of(&self, user_id: i64, from: Millis) -> Result<Vec<Plan>, DbErr> {
        let live = [PlanStatus::Planned.name(), PlanStatus::InProgress.name()];
        let which = Condition::all()
            .add(plan::Column::UserId.eq(user_id))
            .add(plan::Column::EndsAt.gt(from.0))
            .add(plan::Column::Status.is_in(live));
        self.plans(which).await
    }

    /// The person's working hours: those of these plans, and those of other shifts within a day of now.
    pub async fn hours_of(&self, user_id: i64, plans: &[Plan], now: Millis) -> Result<Vec<Period>, DbErr> {
        let mut hours: Vec<_> = plans.iter().map(|plan| plan.period).collect();
        let is_planned = |shift: &Shift| plans.iter().any(|plan| Some(plan.id) == shift.plan_id);
        let worked = self.of_person(user_id, Period::around(now)).await?;
        let of_shift = |shift: &Shift| Period { from: shift.started_at, to: shift.ended_at.unwrap_or(now) };
        hours.extend(worked.iter().filter(|shift| !is_planned(shift)).map(of_shift));
        Ok(hours)
    }

    /// Plans at these sites that start in a period, by start, without cancelled ones.
    pub async fn plans_of_period(&self, sites: &[i64], period: Period) -> Result<Vec<Plan>, DbErr> {
        let which = Condition::all()
            .add(in_ids(plan::Column::SiteId, sites))
            .add(plan::Column::StartsAt.gte(period.from.0))
            .add(plan::Column::StartsAt.lt(period.to.0))
            .add(plan::Column::Status.ne(PlanStatus::Cancelled.name()));
        self.plans(which).await
    }

    /// Plans for these slots, by start, without cancelled ones.
    pub async fn plans_for(&self, slots: &[Slot]) -> Result<Vec<Plan>, DbErr> {
        // With hundreds of slots, a lookup by time is faster than one by id.
        let begins = || slots.iter().map(|slot| slot.period.from.0);
        let which = Condition::all()
            .add(plan::Column::StartsAt.between(begins().min().unwrap_or(0), begins().max().unwrap_or(0)))
            .add(plan::Column::SlotId.is_in(slots.iter().map(|slot| slot.id)))
            .add(plan::Column::Status.ne(PlanStatus::Cancelled.name()));
        self.plans(which).await
    }

    /// Plans at these sites that start when these slots start, and all other plans of the same people within a day of
    /// them; by start. All conditions are on times: a generic query plan would compare each row with every slot and
    /// every person of a list.
    pub async fn plans_around(&self, sites: &[i64], slots: &[Slot]) -> Result<Vec<Plan>, DbErr> {
        let start_ranges = start_ranges(slots);
        let (first, last) =
            (start_ranges.first().map_or(0, |spell| spell.0), start_ranges.last().map_or(0, |spell| spell.1));
        let (begins, own) = (plan::Column::StartsAt, |column: plan::Column| Expr::col((OWN, column)));
        let then = start_ranges.iter().map(|(from, to)| own(begins).between(*from, *to));
        let of_slots = Condition::all()
            .add(then.fold(Condition::any(), Condition::add))
            .add(in_ids(own(plan::Column::SiteId), sites))
            .add(own(plan::Column::Status).ne(PlanStatus::Cancelled.name()));
        let around = Condition::all()
            .add(own(plan::Column::UserId).equals((plan::Entity, plan::Column::UserId)))
            .add(begins.into_expr().gt(own(begins).sub(LONGEST_DAY_MS)))
            .add(begins.into_expr().lt(own(begins).add(LONGEST_DAY_MS)))
            .add(begins.between(first - LONGEST_DAY_MS, last + LONGEST_DAY_MS))
            .add(plan::Column::Status.ne(PlanStatus::Cancelled.name()));
        let mut found = plan::Entity::find().distinct().filter(of_slots);
        QuerySelect::query(&mut found).join_as(JoinType::InnerJoin, plan::Entity, OWN, around);
        self.by_beginning(found).await
    }

    /// All plans of these people in a period, at any site, by start.
    pub async fn plans_of_people(&self, people: &BTreeSet<i64>, period: Period) -> Result<Vec<Plan>, DbErr> {
        let which = Condition::all()
            .add(plan::Column::UserId.is_in(people.iter().copied()))
            .add(plan::Column::StartsAt.gte(period.from.0))
            .add(plan::Column::StartsAt.lt(period.to.0))
            .add(plan::Column::Status.ne(PlanStatus::Cancelled.name()));
        self.plans(which).await
    }

    /// The data of a dashboard, in three queries.
    pub async fn dashboard(&self, sites: &[i64], period: Period) -> Result<Dashboard, DbErr> {
        let at_sites = in_ids(shift::Column::SiteId, sites);
        let active = shift::Column::Status.eq(ShiftStatus::Active.name());
        let which = Condition::all().add(at_sites).add(Condition::any().add(active).add(began_in(period)));
        Ok(Dashboard {
            plans: self.plans_of_period(sites, period).await?,
            shifts: self.shifts(which).await?,
            openings: self.openings(sites).await?,
        })
    }

    /// The current openings of these sites.
    pub async fn openings(&self, sites: &[i64]) -> Result<Vec<Opening>, DbErr> {
        let open = opening::Entity::find().filter(opening::Column::ClosedAt.is_null());
        let at_sites = open.filter(in_ids(opening::Column::SiteId, sites));
        let rows = at_sites.order_by_asc(opening::Column::OpenedAt).all(self.app.domain.read()).await?;
        Ok(rows.into_iter().map(Opening::from).collect())
    }

    /// Whether a site has an active shift other than this one.
    pub async fn has_other_active_shift(&self, site_id: i64, shift_id: i64) -> Result<bool, DbErr> {
        let active = shift::Column::SiteId.eq(site_id).and(shift::Column::Status.eq(ShiftStatus::Active.name()));
        let others = shift::Entity::find().filter(active).filter(shift::Column::Id.ne(shift_id)).limit(1);
        Ok(others.one(self.app.domain.read()).await?.is_some())
    }

    /// Number of undecided cancellations that a person may judge.
    pub async fn count_cancellations(&self, viewer: &Person) -> Result<u64, DbErr> {
        let pending = cancellation::Column::Status.eq(CancellationStatus::Pending.name());
        let mut found = cancellation::Entity::find().filter(pending);
        if !viewer.may(OWNERS) {
            let permitted = Sites::of_app(&self.app).site_permissions(viewer.id).await?;
            let judged = permitted.iter().filter(|(_, may)| may.contains(&Permission::Employees));
            let sites: Vec<i64> = judged.map(|(site, _)| *site).collect();
            if sites.is_empty() {
                return Ok(0);
            }
            let at_sites = Query::select()
                .column(plan::Column::Id)
                .from(plan::Entity)
                .and_where(in_ids(plan::Column::SiteId, &sites))
                .take();
            found = found.filter(cancellation::Column::PlanId.in_subquery(at_sites));
        }
        found.count(self.app.domain.read()).await
    }

    /// Undecided cancellations at these sites with their plans, oldest first, up to a limit.
    pub async fn cancellations(&self, sites: &[i64]) -> Result<Vec<(Cancellation, Plan)>, DbErr> {
        let plans_at_sites = Query::select()
            .column(plan::Column::Id)
            .from(plan::Entity)
            .and_where(in_ids(plan::Column::SiteId, sites))
            .take();
        let pending = cancellation::Column::Status.eq(CancellationStatus::Pending.name());
        let rows = cancellation::Entity::find()
            .filter(pending)
            .filter(cancellation::Column::PlanId.in_subquery(plans_at_sites));
        let rows =
            rows.order_by_asc(cancellation::Column::Id).limit(MAX_CANCELLATIONS).all(self.app.domain.read()).await?;
        let plans = self.plans(plan::Column::Id.is_in(rows.iter().map(|row| row.plan_id))).await?;
        let plans: HashMap<i64, Plan> = plans.into_iter().map(|plan| (plan.id, plan)).collect();
        let mut waiting = Vec::with_capacity(rows.len());
        for row in rows {
            if let Some(plan) = plans.get(&row.plan_id).cloned() {
                waiting.push((Cancellation::try_from(row)?, plan));
            }
        }
        Ok(waiting)
    }

    pub async fn cancellation(&self, id: i64) -> Result<Option<Cancellation>, DbErr> {
        let found = cancellation::Entity::find_by_id(id).one(self.app.domain.read()).await?;
        found.map(Cancellation::try_from).transpose()
    }

    /// The penalty for an undone mandatory task without its own price.
    pub async fn mandatory_task_penalty(&self) -> Result<Money, DbErr> {
        Ok(self.app.settings.get(&settings::MANDATORY_TASK_PENALTY).await?.into())
    }

    pub(super) fn app(&self) -> &App {
        &self.app
    }

    pub(super) fn db(&self) -> &DatabaseConnection {
        self.app.domain.read()
    }

    async fn shifts(&self, which: impl IntoCondition) -> Result<Vec<Shift>, DbErr> {
        let newest = shift::Entity::find().filter(which).order_by_desc(shift::Column::StartedAt);
        let rows = newest.order_by_desc(shift::Column::Id).all(self.app.domain.read()).await?;
        rows.into_iter().map(Shift::try_from).collect()
    }

    async fn plans(&self, which: impl IntoCondition) -> Result<Vec<Plan>, DbErr> {
        self.by_beginning(plan::Entity::find().filter(which)).await
    }

    async fn by_beginning(&self, plans: Select<plan::Entity>) -> Result<Vec<Plan>, DbErr> {
        let ordered = plans.order_by_asc(plan::Column::StartsAt).order_by_asc(plan::Column::Id);
        let rows = ordered.all(self.app.domain.read()).await?;
        rows.into_iter().map(Plan::try_from).collect()
    }
}

/// Changes from pages. `by` is the person who acts.
impl Shifts {
    /// Plans a slot for oneself, or for another person, who gets a notice.
    pub async fn plan(&self, by: &Person, user_id: i64, slot_id: i64) -> Result<i64, ActionError> {
        let slot = Sites::of_app(&self.app).slot(slot_id).await?.ok_or(SiteRefusal::Gone)?;
        let event = ShiftEvent::new(ShiftEventKind::PlanCreated, user_id).at(slot.site_id);
        if by.id == user_id {
            let rights = Rights::own();
            return self
                .change(by, rights, event, move |db, by| Box::pin(plans::plan(db, user_id, slot_id, by.at)))
                .await;
        }
        let rights = self.require_permission(by, Permission::Schedule, slot.site_id).await?;
        self.change(by, rights, event, move |db, by| Box::pin(plans::plan_for(db, user_id, slot_id, by))).await
    }

    /// Cancels another person's plan without a fine and sends a notice. People cancel their own plans in the bot, with
    /// a reason.
    pub async fn cancel(&self, by: &Person, plan_id: i64) -> Result<(), ActionError> {
        let plan = self.plan_of(plan_id).await?.ok_or(SiteRefusal::Gone)?;
        let rights = self.require_permission(by, Permission::Schedule, plan.site_id).await?;
        Sites::refuse_own_case(by, plan.user_id)?;
        let event = ShiftEvent::new(ShiftEventKind::PlanCancelled, plan.user_id).at(plan.site_id);
        self.change(by, rights, event, move |db, by| Box::pin(plans::cancel_by_staff(db, plan_id, by))).await
    }

    /// Closes another person's shift as of now and sends a notice.
    pub async fn close(&self, by: &Person, shift_id: i64) -> Result<(), ActionError> {
        self.close_as_of(by, shift_id, EndTime::Now).await
    }

    /// Closes another person's shift as of now or an earlier time, up to which it is paid, and sends a notice. People
    /// close their own shifts in the bot, with a position.
    pub async fn close_as_of(&self, by: &Person, shift_id: i64, ending: EndTime) -> Result<(), ActionError> {
        let shift = self.shift(shift_id).await?.ok_or(SiteRefusal::Gone)?;
        let rights = self.require_permission(by, Permission::Schedule, shift.site_id).await?;
        Sites::refuse_own_case(by, shift.user_id)?;
        let mandatory_task_penalty = self.mandatory_task_penalty().await?;
        let ended_at = match ending {
            EndTime::Now => None,
            EndTime::ByItself => {
                let site = Sites::of_app(&self.app).site(shift.site_id).await?.ok_or(SiteRefusal::Gone)?;
                Some(overdue(shift.started_at, shift.planned.map(|planned| planned.to), &site.about).ends_at)
            }
            EndTime::At(at) => Some(at),
        };
        let worked = shift.started_at..=self.app.clock.now();
        if ended_at.is_some_and(|at| !worked.contains(&at)) {
            return Err(SiteRefusal::NotThen.into());
        }
        let end = move |at| ShiftEnd {
            shift_id,
            // If the end of the slot was moved meanwhile, the end of this shift was moved too.
            version: (ending == EndTime::ByItself).then_some(shift.version),
            position: None,
            closed_by: ClosedBy::Staff,
            ended_at: ended_at.unwrap_or(at),
            mandatory_task_penalty,
            at,
        };
        let event = ShiftEvent::of_shift(ShiftEventKind::ShiftClosed, shift_id, shift.user_id).at(shift.site_id);
        let is_own = by.id == shift.user_id;
        self.change(by, rights, event, move |db, by| Box::pin(close_by_staff(db, end(by.at), is_own, by))).await
    }

    pub async fn open_site(&self, by: &Person, site_id: i64) -> Result<(), ActionError> {
        let rights = self.require_permission(by, Permission::Schedule, site_id).await?;
        let id = by.id;
        let event = ShiftEvent::new(ShiftEventKind::SiteOpened, id).at(site_id);
        self.change(by, rights, event, move |db, by| Box::pin(open_site_by_staff(db, site_id, id, by))).await
    }

    pub async fn close_site(&self, by: &Person, site_id: i64) -> Result<(), ActionError> {
        let rights = self.require_permission(by, Permission::Schedule, site_id).await?;
        let id = by.id;
        let event = ShiftEvent::new(ShiftEventKind::SiteClosed, id).at(site_id);
        self.change(by, rights, event, move |db, by| Box::pin(close_site_by_staff(db, site_id, id, by))).await
    }

    /// Commits a change, then sends notices and publishes the event to open pages.
    pub(super) async fn change<T, F>(
        &self,
        actor: &Person,
        rights: Rights,
        event: ShiftEvent,
        run: F,
    ) -> Result<T, ActionError>
    where
        T: Send + 'static,
        F: for<'w> FnOnce(&'w Transaction<'_, '_>, ChangedBy) -> BoxFuture<'w, Result<T, WriteError>> + Send + 'static,
    {
        let (by, actor) = (ChangedBy { person: Some(actor.id), at: self.app.clock.now() }, actor.clone());
        let write = self.app.domain.write_and_get(move |db| {
            Box::pin(async move {
                rights.check(db, &actor).await?;
                run(db, by).await
            })
        });
        let got = write.await?;
        event.publish(&self.app);
        self.app.bot.wake_jobs();
        Ok(got)
    }

    pub(super) async fn require_permission(
        &self,
        by: &Person,
        what: Permission,
        site_id: i64,
    ) -> Result<Rights, ActionError> {
        Sites::of_app(&self.app).require_permission(by, what, site_id).await
    }
}

async fn close_by_staff(
    db: &Transaction<'_, '_>,
    end: ShiftEnd,
    is_own: bool,
    by: ChangedBy,
) -> Result<(), WriteError> {
    if is_own {
        working::close(db, end).await?;
    } else {
        working::close_for_worker(db, end).await?;
    }
    let is_as_of_now = end.ended_at == end.at;
    let detail = if is_as_of_now { json!({}) } else { json!({ "ended_at": end.ended_at }) };
    by.audit(db, "shift closed", ("shift", end.shift_id), detail).await
}

async fn open_site_by_staff(
    db: &Transaction<'_, '_>,
    site_id: i64,
    user_id: i64,
    by: ChangedBy,
) -> Result<(), WriteError> {
    working::open_site(db, site_id, user_id, by.at).await?;
    by.audit(db, "site opened", ("site", site_id), json!({})).await
}

async fn close_site_by_staff(
    db: &Transaction<'_, '_>,
    site_id: i64,
    user_id: i64,
    by: ChangedBy,
) -> Result<(), WriteError> {
    working::close_site(db, site_id, user_id, by.at).await?;
    by.audit(db, "site closed", ("site", site_id), json!({})).await
}

/// The ranges in which slots start without a gap of a day. Without slots: one range in which nothing starts.
fn start_ranges(slots: &[Slot]) -> Vec<(i64, i64)> {
    let mut begins: Vec<i64> = slots.iter().map(|slot| slot.period.from.0).collect();
    begins.sort_unstable();
    let together = begins.chunk_by(|one, next| next - one <= LONGEST_DAY_MS);
    let start_ranges: Vec<_> = together.filter_map(|spell| Some((*spell.first()?, *spell.last()?))).collect();
    if start_ranges.is_empty() { vec![(0, 0)] } else { start_ranges }
}

fn began_in(period: Period) -> Condition {
    Condition::all().add(shift::Column::StartedAt.gte(period.from.0)).add(shift::Column::StartedAt.lt(period.to.0))
}
