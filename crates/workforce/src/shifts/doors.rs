//! The front door: who plans, who works, what was done; and changes from pages.
//!
//! Lists are asked for as wholes: a page of a hundred shifts takes as many queries as a page of one.

use std::collections::{BTreeSet, HashMap};

use futures_util::future::BoxFuture;
use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::{Expr, ExprTrait, IntoCondition, Query};
use sea_orm::{
    ColumnTrait, Condition, DatabaseConnection, DbErr, EntityTrait, JoinType, QueryFilter, QueryOrder, QuerySelect,
    Select,
};
use serde_json::json;

use super::plans::{self, Fines};
use super::records::{
    self, Cancellation, ClosedBy, Judgement, Medium, Opening, Plan, PlanStatus, Shift, ShiftStatus, ShiftTask,
};
use super::rules::overdue;
use super::settings_of;
use super::tables::{cancellation, medium, opening, plan, shift, task};
use super::updates::{Happened, Update};
use super::working::{self, End};
use crate::application::App;
use crate::domain::{Writing, among};
use crate::money::Money;
use crate::notices;
use crate::person::{Permission, Person};
use crate::settings;
use crate::sites::{By, LONGEST_DAY_MS, NotDone, Period, Rights, Sites, Slot, Why};

/// How many reasons are judged in one go; more come as these are done.
const WAITING_MOST: u64 = 100;
/// What plans are called where they are compared with other plans.
const OWN: &str = "own";

/// The front door.
#[derive(Clone, Debug)]
pub struct Shifts {
    app: App,
}

/// A period at some sites, as a dashboard shows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overview {
    /// Plans that begin in it, by their beginning; cancelled ones are left out.
    pub plans: Vec<Plan>,
    /// Shifts that began in it, and those that are still open.
    pub shifts: Vec<Shift>,
    /// Sites that are open now.
    pub openings: Vec<Opening>,
}

/// When a shift has ended that staff close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Now,
    /// When it would have ended by itself, if that is over.
    ByItself,
    At(Millis),
}

/// What there is.
impl Shifts {
    pub fn of_app(app: &App) -> Self {
        Self { app: app.clone() }
    }

    /// One shift.
    pub async fn of(&self, id: i64) -> Result<Option<Shift>, DbErr> {
        records::shift(self.app.domain.read(), id).await
    }

    /// The shift that a person works in now.
    pub async fn active_of(&self, user_id: i64) -> Result<Option<Shift>, DbErr> {
        let active = shift::Column::UserId.eq(user_id).and(shift::Column::Status.eq(ShiftStatus::Active.name()));
        Ok(self.shifts(active).await?.pop())
    }

    /// The shifts of a person that began in a period, the newest first.
    pub async fn of_person(&self, user_id: i64, period: Period) -> Result<Vec<Shift>, DbErr> {
        self.shifts(began_in(period).add(shift::Column::UserId.eq(user_id))).await
    }

    /// The shifts at these sites that began in a period, the newest first.
    pub async fn of_period(&self, sites: &[i64], period: Period) -> Result<Vec<Shift>, DbErr> {
        self.shifts(began_in(period).add(among(shift::Column::SiteId, sites))).await
    }

    /// The tasks of these shifts, by shift and in their order.
    pub async fn tasks(&self, shifts: &[i64]) -> Result<Vec<ShiftTask>, DbErr> {
        records::tasks_of_all(self.app.domain.read(), shifts).await
    }

    /// What was sent for the tasks of a shift.
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

    /// One plan.
    pub async fn plan_of(&self, id: i64) -> Result<Option<Plan>, DbErr> {
        records::plan(self.app.domain.read(), id).await
    }

    /// Plans of a person that are not over at an instant, by their beginning.
    pub async fn plans_of(&self, user_id: i64, from: Millis) -> Result<Vec<Plan>, DbErr> {
        let live = [PlanStatus::Planned.name(), PlanStatus::InProgress.name()];
        let which = Condition::all()
            .add(plan::Column::UserId.eq(user_id))
            .add(plan::Column::EndsAt.gt(from.0))
            .add(plan::Column::Status.is_in(live));
        self.plans(which).await
    }

    /// The hours of somebody's days: what these plans of theirs are for, and what was worked by none of them within a day
    /// of now.
    pub async fn hours_of(&self, user_id: i64, plans: &[Plan], now: Millis) -> Result<Vec<Period>, DbErr> {
        let mut hours: Vec<_> = plans.iter().map(|plan| plan.period).collect();
        let is_planned = |shift: &Shift| plans.iter().any(|plan| Some(plan.id) == shift.plan_id);
        let worked = self.of_person(user_id, Period::around(now)).await?;
        let of_shift = |shift: &Shift| Period { from: shift.started_at, to: shift.ended_at.unwrap_or(now) };
        hours.extend(worked.iter().filter(|shift| !is_planned(shift)).map(of_shift));
        Ok(hours)
    }

    /// Plans at these sites that begin in a period and were not cancelled, by their beginning.
    pub async fn plans_of_period(&self, sites: &[i64], period: Period) -> Result<Vec<Plan>, DbErr> {
        let which = Condition::all()
            .add(among(plan::Column::SiteId, sites))
            .add(plan::Column::StartsAt.gte(period.from.0))
            .add(plan::Column::StartsAt.lt(period.to.0))
            .add(plan::Column::Status.ne(PlanStatus::Cancelled.name()));
        self.plans(which).await
    }

    /// Plans for these slots that were not cancelled, by their beginning.
    pub async fn plans_for(&self, slots: &[Slot]) -> Result<Vec<Plan>, DbErr> {
        // Of hundreds of slots their time is found faster than each of them.
        let begins = || slots.iter().map(|slot| slot.period.from.0);
        let which = Condition::all()
            .add(plan::Column::StartsAt.between(begins().min().unwrap_or(0), begins().max().unwrap_or(0)))
            .add(plan::Column::SlotId.is_in(slots.iter().map(|slot| slot.id)))
            .add(plan::Column::Status.ne(PlanStatus::Cancelled.name()));
        self.plans(which).await
    }

    /// Plans at these sites that begin while these slots do, and what else their people have planned within a day of them,
    /// wherever that is; by their beginning. All of it is found by times: a plan that the database keeps for all such
    /// questions would compare each row with every slot and every person of a list.
    pub async fn plans_around(&self, sites: &[i64], slots: &[Slot]) -> Result<Vec<Plan>, DbErr> {
        let spells = spells(slots);
        let (first, last) = (spells.first().map_or(0, |spell| spell.0), spells.last().map_or(0, |spell| spell.1));
        let (begins, own) = (plan::Column::StartsAt, |column: plan::Column| Expr::col((OWN, column)));
        let then = spells.iter().map(|(from, to)| own(begins).between(*from, *to));
        let of_slots = Condition::all()
            .add(then.fold(Condition::any(), Condition::add))
            .add(among(own(plan::Column::SiteId), sites))
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

    /// What these people have planned in a period, wherever that is, by its beginning.
    pub async fn plans_of_people(&self, people: &BTreeSet<i64>, period: Period) -> Result<Vec<Plan>, DbErr> {
        let which = Condition::all()
            .add(plan::Column::UserId.is_in(people.iter().copied()))
            .add(plan::Column::StartsAt.gte(period.from.0))
            .add(plan::Column::StartsAt.lt(period.to.0))
            .add(plan::Column::Status.ne(PlanStatus::Cancelled.name()));
        self.plans(which).await
    }

    /// Everything that a dashboard needs of a period: three queries.
    pub async fn today(&self, sites: &[i64], period: Period) -> Result<Overview, DbErr> {
        let here = among(shift::Column::SiteId, sites);
        let active = shift::Column::Status.eq(ShiftStatus::Active.name());
        let which = Condition::all().add(here).add(Condition::any().add(active).add(began_in(period)));
        Ok(Overview {
            plans: self.plans_of_period(sites, period).await?,
            shifts: self.shifts(which).await?,
            openings: self.openings(sites).await?,
        })
    }

    /// Which of these sites are open now.
    pub async fn openings(&self, sites: &[i64]) -> Result<Vec<Opening>, DbErr> {
        let open = opening::Entity::find().filter(opening::Column::ClosedAt.is_null());
        let here = open.filter(among(opening::Column::SiteId, sites));
        let rows = here.order_by_asc(opening::Column::OpenedAt).all(self.app.domain.read()).await?;
        Ok(rows.into_iter().map(Opening::from).collect())
    }

    /// Whether somebody works at a site in another shift than this one.
    pub async fn works_somebody_else(&self, site_id: i64, shift_id: i64) -> Result<bool, DbErr> {
        let active = shift::Column::SiteId.eq(site_id).and(shift::Column::Status.eq(ShiftStatus::Active.name()));
        let others = shift::Entity::find().filter(active).filter(shift::Column::Id.ne(shift_id)).limit(1);
        Ok(others.one(self.app.domain.read()).await?.is_some())
    }

    /// Reasons at these sites that wait to be judged, with their plans, the oldest first; so many at most.
    pub async fn cancellations(&self, sites: &[i64]) -> Result<Vec<(Cancellation, Plan)>, DbErr> {
        let here = Query::select()
            .column(plan::Column::Id)
            .from(plan::Entity)
            .and_where(among(plan::Column::SiteId, sites))
            .take();
        let pending = cancellation::Column::Status.eq(Judgement::Pending.name());
        let rows = cancellation::Entity::find().filter(pending).filter(cancellation::Column::PlanId.in_subquery(here));
        let rows = rows.order_by_asc(cancellation::Column::Id).limit(WAITING_MOST).all(self.app.domain.read()).await?;
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

    /// What a mandatory task without a price costs whoever leaves it undone.
    pub async fn mandatory_task_penalty(&self) -> Result<Money, DbErr> {
        Ok(self.app.settings.get(&settings::MANDATORY_TASK_PENALTY).await?.into())
    }

    /// What cancelling costs.
    pub async fn fines(&self) -> Result<Fines, DbErr> {
        settings_of(&self.app).await
    }

    pub(super) fn app(&self) -> &App {
        &self.app
    }

    pub(super) fn reading(&self) -> &DatabaseConnection {
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

/// Changes, from pages. Each says who wants it.
impl Shifts {
    /// Plans for oneself, or for somebody whom the person may plan for, and who is told.
    pub async fn plan(&self, by: &Person, user_id: i64, slot_id: i64) -> Result<i64, NotDone> {
        let slot = Sites::of_app(&self.app).slot(slot_id).await?.ok_or(Why::Gone)?;
        let update = Update::new(Happened::PlanCreated, user_id).at(slot.site_id);
        if by.id == user_id {
            let rights = Rights::own();
            return self
                .change(by, rights, update, move |db, by| Box::pin(plans::plan(db, user_id, slot_id, by.at)))
                .await;
        }
        let rights = self.permitted(by, Permission::Schedule, slot.site_id).await?;
        self.change(by, rights, update, move |db, by| Box::pin(plans::plan_for(db, user_id, slot_id, by))).await
    }

    /// Cancels somebody's plan; the person is told, and it costs nothing. One's own is cancelled in the bot, with a reason.
    pub async fn cancel(&self, by: &Person, plan_id: i64) -> Result<(), NotDone> {
        let plan = self.plan_of(plan_id).await?.ok_or(Why::Gone)?;
        let rights = self.permitted(by, Permission::Schedule, plan.site_id).await?;
        Sites::not_on_oneself(by, plan.user_id)?;
        let update = Update::new(Happened::PlanCancelled, plan.user_id).at(plan.site_id);
        self.change(by, rights, update, move |db, by| Box::pin(plans::cancel_by_staff(db, plan_id, by))).await
    }

    /// Judges the reason of a cancellation; whose it is does not, but owners.
    pub async fn judge(&self, by: &Person, id: i64, is_accepted: bool) -> Result<(), NotDone> {
        let cancelled = self.cancellation(id).await?.ok_or(Why::Gone)?;
        let plan = self.plan_of(cancelled.plan_id).await?.ok_or(Why::Gone)?;
        let rights = self.permitted(by, Permission::Employees, plan.site_id).await?;
        Sites::not_on_oneself(by, plan.user_id)?;
        let fines = self.fines().await?;
        let update = Update::new(Happened::CancellationJudged, plan.user_id).at(plan.site_id);
        self.change(by, rights, update, move |db, by| Box::pin(plans::judge(db, id, is_accepted, fines, by))).await
    }

    /// Closes somebody's shift now; the person is told.
    pub async fn close(&self, by: &Person, shift_id: i64) -> Result<(), NotDone> {
        self.close_as_of(by, shift_id, Ending::Now).await
    }

    /// Closes somebody's shift as of now or of some time before, up to which it is paid; the person is told. One's own is closed
    /// in the bot, with a position.
    pub async fn close_as_of(&self, by: &Person, shift_id: i64, ending: Ending) -> Result<(), NotDone> {
        let shift = self.of(shift_id).await?.ok_or(Why::Gone)?;
        let rights = self.permitted(by, Permission::Schedule, shift.site_id).await?;
        Sites::not_on_oneself(by, shift.user_id)?;
        let mandatory_task_penalty = self.mandatory_task_penalty().await?;
        let ended_at = match ending {
            Ending::Now => None,
            Ending::ByItself => {
                let site = Sites::of_app(&self.app).of(shift.site_id).await?.ok_or(Why::Gone)?;
                Some(overdue(shift.started_at, shift.planned.map(|planned| planned.to), &site.about).ends_at)
            }
            Ending::At(at) => Some(at),
        };
        let worked = shift.started_at..=self.app.clock.now();
        if ended_at.is_some_and(|at| !worked.contains(&at)) {
            return Err(Why::NotThen.into());
        }
        let end = move |at| End {
            shift_id,
            // Whoever has moved the end of its slot meanwhile has moved its own.
            version: (ending == Ending::ByItself).then_some(shift.version),
            position: None,
            closed_by: ClosedBy::Staff,
            ended_at: ended_at.unwrap_or(at),
            mandatory_task_penalty,
            at,
        };
        let update = Update::of_shift(Happened::ShiftClosed, shift_id, shift.user_id).at(shift.site_id);
        let is_own = by.id == shift.user_id;
        self.change(by, rights, update, move |db, by| Box::pin(close_by_staff(db, end(by.at), is_own, by))).await
    }

    pub async fn open_site(&self, by: &Person, site_id: i64) -> Result<(), NotDone> {
        let rights = self.permitted(by, Permission::Schedule, site_id).await?;
        let id = by.id;
        let update = Update::new(Happened::SiteOpened, id).at(site_id);
        self.change(by, rights, update, move |db, by| Box::pin(open_by_staff(db, site_id, id, by))).await
    }

    pub async fn close_site(&self, by: &Person, site_id: i64) -> Result<(), NotDone> {
        let rights = self.permitted(by, Permission::Schedule, site_id).await?;
        let id = by.id;
        let update = Update::new(Happened::SiteClosed, id).at(site_id);
        self.change(by, rights, update, move |db, by| Box::pin(shut_by_staff(db, site_id, id, by))).await
    }

    /// Writes, tells those who are concerned, and has open pages look anew.
    async fn change<T, F>(&self, actor: &Person, rights: Rights, update: Update, run: F) -> Result<T, NotDone>
    where
        T: Send + 'static,
        F: for<'w> FnOnce(&'w Writing<'_, '_>, By) -> BoxFuture<'w, Result<T, WriteError>> + Send + 'static,
    {
        let (by, actor) = (By { person: Some(actor.id), at: self.app.clock.now() }, actor.clone());
        let write = self.app.domain.write_and_get(move |db| {
            Box::pin(async move {
                rights.hold(db, &actor).await?;
                run(db, by).await
            })
        });
        let got = write.await?;
        update.publish(&self.app);
        notices::soon(&self.app);
        Ok(got)
    }

    async fn permitted(&self, by: &Person, what: Permission, site_id: i64) -> Result<Rights, NotDone> {
        Sites::of_app(&self.app).permitted(by, what, site_id).await
    }
}

async fn close_by_staff(db: &Writing<'_, '_>, end: End, is_own: bool, by: By) -> Result<(), WriteError> {
    if is_own {
        working::close(db, end).await?;
    } else {
        working::close_for(db, end).await?;
    }
    let is_as_of_now = end.ended_at == end.at;
    let detail = if is_as_of_now { json!({}) } else { json!({ "ended_at": end.ended_at }) };
    by.note(db, "shift closed", ("shift", end.shift_id), detail).await
}

async fn open_by_staff(db: &Writing<'_, '_>, site_id: i64, user_id: i64, by: By) -> Result<(), WriteError> {
    working::open_site(db, site_id, user_id, by.at).await?;
    by.note(db, "site opened", ("site", site_id), json!({})).await
}

async fn shut_by_staff(db: &Writing<'_, '_>, site_id: i64, user_id: i64, by: By) -> Result<(), WriteError> {
    working::close_site(db, site_id, user_id, by.at).await?;
    by.note(db, "site closed", ("site", site_id), json!({})).await
}

/// From when to when slots begin without the pause of a day; a spell that nothing begins in where there are no slots.
fn spells(slots: &[Slot]) -> Vec<(i64, i64)> {
    let mut begins: Vec<i64> = slots.iter().map(|slot| slot.period.from.0).collect();
    begins.sort_unstable();
    let together = begins.chunk_by(|one, next| next - one <= LONGEST_DAY_MS);
    let spells: Vec<_> = together.filter_map(|spell| Some((*spell.first()?, *spell.last()?))).collect();
    if spells.is_empty() { vec![(0, 0)] } else { spells }
}

fn began_in(period: Period) -> Condition {
    Condition::all().add(shift::Column::StartedAt.gte(period.from.0)).add(shift::Column::StartedAt.lt(period.to.0))
}
