//! The front door: what there is, and changes from pages.
//!
//! Every change checks the person's permission first, and its commit checks it again ([`Rights`]). In turns the functions
//! of the room are called within the turn's commit instead, after the same checks.

use chrono::NaiveDate;
use futures_util::future::BoxFuture;
use opora::store::WriteError;
use sea_orm::sea_query::{ExprTrait, IntoCondition, Query};
use sea_orm::{ColumnTrait, Condition, DatabaseConnection, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect};

use super::allowed::Rights;
use super::changes::{self, By};
use super::contracts::{self, AboutContract, Contract};
use super::records::{AboutSite, AboutSlot, AboutTask, Site, Slot, Task};
use super::tables::{contract, contract_site, site, slot, task};
use super::updates::{changed, hired, permitted_otherwise, rescheduled};
use super::{NotDone, Why, slots};
use crate::application::App;
use crate::domain::{Once, Writing};
use crate::notices;
use crate::person::{OWNERS, Permission, Person};
use crate::web::Event;

/// What pages name in `data-live` to hear of sites, slots, tasks and contracts.
pub const TOPIC: &str = "sites";

/// How many deleted slots are shown to be brought back.
const DELETED_MOST: u64 = 20;

/// The front door.
#[derive(Clone, Debug)]
pub struct Sites {
    pub(super) app: App,
    once: Once,
}

/// What there is.
impl Sites {
    pub fn of_app(app: &App) -> Self {
        Self { app: app.clone(), once: Once::default() }
    }

    /// The same for a form that counts once: what it changes is refused the second time.
    #[must_use]
    pub fn once(self, once: Once) -> Self {
        Self { once, ..self }
    }

    /// Every site that is not deleted, by name.
    pub async fn list(&self) -> Result<Vec<Site>, DbErr> {
        self.sites(site::Column::DeletedAt.is_null()).await
    }

    /// Every site: those that are there by name, then deleted ones.
    pub async fn all(&self) -> Result<Vec<Site>, DbErr> {
        let mut sites = self.sites(Condition::all()).await?;
        sites.sort_by_key(|site| site.deleted_at.is_some());
        Ok(sites)
    }

    /// Those that can be brought back, the last deleted first.
    pub async fn deleted(&self) -> Result<Vec<Site>, DbErr> {
        let mut sites = self.sites(site::Column::DeletedAt.is_not_null()).await?;
        sites.sort_by_key(|site| std::cmp::Reverse(site.deleted_at));
        Ok(sites)
    }

    /// One site, deleted or not.
    pub async fn of(&self, id: i64) -> Result<Option<Site>, DbErr> {
        changes::site(self.app.domain.read(), id).await
    }

    /// Those of these numbers, deleted or not.
    pub async fn with_ids(&self, ids: &[i64]) -> Result<Vec<Site>, DbErr> {
        self.sites(site::Column::Id.is_in(ids.iter().copied())).await
    }

    /// Where a person works by a contract that is active.
    pub async fn of_worker(&self, user_id: i64) -> Result<Vec<Site>, DbErr> {
        let by_contract = Query::select()
            .column(contract_site::Column::SiteId)
            .from(contract_site::Entity)
            .inner_join(
                contract::Entity,
                contract::Column::Id
                    .into_expr()
                    .eq(sea_orm::sea_query::Expr::col((contract_site::Entity, contract_site::Column::ContractId))),
            )
            .and_where(contract::Column::UserId.eq(user_id))
            .and_where(contract::Column::Status.eq(contracts::ContractStatus::Active.name()))
            .and_where(contract::Column::DeletedAt.is_null())
            .take();
        self.sites(site::Column::DeletedAt.is_null().and(site::Column::Id.in_subquery(by_contract))).await
    }

    /// The tasks of a site and of its slots, in their order; deleted ones only if they are asked for.
    pub async fn tasks(&self, site_id: i64, with_deleted: bool) -> Result<Vec<Task>, DbErr> {
        let mut found = task::Entity::find().filter(task::Column::SiteId.eq(site_id));
        if !with_deleted {
            found = found.filter(task::Column::DeletedAt.is_null());
        }
        let rows = found.order_by_asc(task::Column::Place).all(self.app.domain.read()).await?;
        Ok(rows.into_iter().map(Task::from).collect())
    }

    /// One slot, deleted or not.
    pub async fn slot(&self, id: i64) -> Result<Option<Slot>, DbErr> {
        slots::slot(self.app.domain.read(), id).await
    }

    /// Slots of a site that can be brought back, those that were deleted last.
    pub async fn deleted_slots(&self, site_id: i64) -> Result<Vec<Slot>, DbErr> {
        let gone = slot::Entity::find().filter(slot::Column::SiteId.eq(site_id));
        let gone = gone.filter(slot::Column::DeletedAt.is_not_null()).order_by_desc(slot::Column::DeletedAt);
        let gone = gone.limit(DELETED_MOST);
        gone.all(self.app.domain.read()).await?.into_iter().map(Slot::try_from).collect()
    }

    /// The contracts of a person, deleted ones too.
    pub async fn contracts_of(&self, user_id: i64) -> Result<Vec<Contract>, DbErr> {
        contracts::contracts(self.app.domain.read(), contract::Column::UserId.eq(user_id)).await
    }

    /// All contracts that are not deleted.
    pub async fn contracts(&self) -> Result<Vec<Contract>, DbErr> {
        contracts::contracts(self.app.domain.read(), contract::Column::DeletedAt.is_null()).await
    }

    pub async fn contract(&self, id: i64) -> Result<Option<Contract>, DbErr> {
        Ok(contracts::contracts(self.app.domain.read(), contract::Column::Id.eq(id)).await?.pop())
    }

    /// The contract by which somebody works at a site.
    pub async fn contract_for(&self, user_id: i64, site_id: i64) -> Result<Option<Contract>, DbErr> {
        contracts::contract_for(self.app.domain.read(), user_id, site_id).await
    }

    pub(super) fn reading(&self) -> &DatabaseConnection {
        self.app.domain.read()
    }

    pub(super) async fn sites(&self, which: impl IntoCondition) -> Result<Vec<Site>, DbErr> {
        let found = site::Entity::find().filter(which).order_by_asc(site::Column::Name).order_by_asc(site::Column::Id);
        found.all(self.app.domain.read()).await?.into_iter().map(Site::try_from).collect()
    }
}

/// Changes, from pages. Each says who wants it.
impl Sites {
    pub async fn create(&self, by: &Person, about: AboutSite) -> Result<i64, NotDone> {
        let rights = self.owners_only(by)?;
        // No manager may see it yet.
        let told = [Event::to_roles(TOPIC, OWNERS)];
        self.change(by, rights, told, move |db, by| Box::pin(changes::create_site(db, about, by))).await
    }

    /// Refused as [`Why::Stale`] where the site has another version than the one that was looked at.
    pub async fn edit(&self, by: &Person, id: i64, version: i64, about: AboutSite) -> Result<(), NotDone> {
        let mut rights = self.permitted(by, Permission::Edit, id).await?;
        let now = self.of(id).await?.filter(|site| site.deleted_at.is_none()).ok_or(Why::Gone)?;
        // First of all: a rate that somebody else has changed meanwhile is no rate that this person wants to change.
        if now.version != version {
            return Err(Why::Stale.into());
        }
        let rates = |about: &AboutSite| (about.rate_kopecks, about.late_minute_kopecks, about.late_threshold_minutes);
        if rates(&now.about) != rates(&about) {
            rights = rights.and(self.permitted(by, Permission::Rates, id).await?);
        }
        let told = changed(&[id]);
        self.change(by, rights, told, move |db, by| Box::pin(changes::edit_site(db, id, version, about, by))).await
    }

    pub async fn delete(&self, by: &Person, id: i64, version: i64) -> Result<(), NotDone> {
        let rights = self.permitted(by, Permission::Delete, id).await?;
        let told = changed(&[id]);
        self.change(by, rights, told, move |db, by| Box::pin(changes::delete_site(db, id, version, by))).await
    }

    /// Undoes a deletion.
    pub async fn restore(&self, by: &Person, id: i64) -> Result<(), NotDone> {
        let rights = self.permitted(by, Permission::Delete, id).await?;
        self.change(by, rights, changed(&[id]), move |db, by| Box::pin(changes::restore_site(db, id, by))).await
    }

    /// A task of a site, or of one of its slots. Who has a place in that slot decides on none of its tasks, but owners.
    pub async fn create_task(
        &self,
        by: &Person,
        site_id: i64,
        slot_id: Option<i64>,
        about: AboutTask,
    ) -> Result<i64, NotDone> {
        let rights = self.permitted(by, Permission::Edit, site_id).await?;
        let judged = judged(by);
        self.change(by, rights, changed(&[site_id]), move |db, by| {
            Box::pin(async move {
                slots::not_a_task_of_ones_own(db, slot_id, judged).await?;
                changes::create_task(db, site_id, slot_id, about, by).await
            })
        })
        .await
    }

    pub async fn edit_task(&self, by: &Person, id: i64, version: i64, about: AboutTask) -> Result<(), NotDone> {
        self.change_task(by, id, move |db, by| Box::pin(changes::edit_task(db, id, version, about, by))).await
    }

    pub async fn delete_task(&self, by: &Person, id: i64, version: i64) -> Result<(), NotDone> {
        self.change_task(by, id, move |db, by| Box::pin(changes::delete_task(db, id, version, by))).await
    }

    pub async fn restore_task(&self, by: &Person, id: i64) -> Result<(), NotDone> {
        self.change_task(by, id, move |db, by| Box::pin(changes::restore_task(db, id, by))).await
    }

    pub async fn create_slot(&self, by: &Person, site_id: i64, about: AboutSlot) -> Result<i64, NotDone> {
        let rights = self.permitted(by, Permission::Schedule, site_id).await?;
        let rights = rights.and(self.rate_permitted(by, site_id, None, about.rate_kopecks).await?);
        let told = rescheduled(by.id, site_id);
        self.change(by, rights, told, move |db, by| Box::pin(slots::create_slot(db, site_id, about, by))).await
    }

    /// Who has a place in it decides on no part of it that their pay depends on, but owners.
    pub async fn edit_slot(&self, by: &Person, id: i64, version: i64, about: AboutSlot) -> Result<(), NotDone> {
        let now = self.slot(id).await?.ok_or(Why::Gone)?;
        let rights = self.permitted(by, Permission::Schedule, now.site_id).await?;
        if now.deleted_at.is_some() {
            return Err(Why::Gone.into());
        }
        // As with a site: what somebody else has changed meanwhile is told before it is compared.
        if now.version != version {
            return Err(Why::Stale.into());
        }
        let rates = self.rate_permitted(by, now.site_id, now.about.rate_kopecks, about.rate_kopecks).await?;
        let judged = judged(by).filter(|_| !now.about.pays_like(&about));
        self.change(by, rights.and(rates), rescheduled(by.id, now.site_id), move |db, by| {
            Box::pin(async move {
                slots::not_ones_own(db, id, judged).await?;
                slots::edit_slot(db, id, version, about, by).await
            })
        })
        .await
    }

    /// Who has a place in it gives that back in the bot instead, with a reason like everybody else, but owners.
    pub async fn delete_slot(&self, by: &Person, id: i64, version: i64) -> Result<(), NotDone> {
        let site_id = self.site_of_slot(id).await?;
        let rights = self.permitted(by, Permission::Schedule, site_id).await?;
        let judged = judged(by);
        self.change(by, rights, rescheduled(by.id, site_id), move |db, by| {
            Box::pin(async move {
                slots::not_ones_own(db, id, judged).await?;
                slots::delete_slot(db, id, version, by).await
            })
        })
        .await
    }

    pub async fn restore_slot(&self, by: &Person, id: i64) -> Result<(), NotDone> {
        let site_id = self.site_of_slot(id).await?;
        let rights = self.permitted(by, Permission::Schedule, site_id).await?;
        let told = rescheduled(by.id, site_id);
        self.change(by, rights, told, move |db, by| Box::pin(slots::restore_slot(db, id, by))).await
    }

    /// Copies a week of slots; both days are Mondays. Answers how many are new. Rates of their own are copied by those who
    /// may set them; otherwise the site's count.
    pub async fn copy_week(&self, by: &Person, site_id: i64, from: NaiveDate, to: NaiveDate) -> Result<u64, NotDone> {
        let rights = self.permitted(by, Permission::Schedule, site_id).await?;
        let (with_rates, rates) = match self.permitted(by, Permission::Rates, site_id).await {
            Ok(rates) => (true, rates),
            Err(NotDone::Refused(_)) => (false, Rights::default()),
            Err(failed) => return Err(failed),
        };
        self.change(by, rights.and(rates), rescheduled(by.id, site_id), move |db, by| {
            Box::pin(slots::copy_week(db, site_id, (from, to), with_rates, by))
        })
        .await
    }

    /// A slot like this one on every working day of these. Answers how many are new.
    pub async fn fill(
        &self,
        by: &Person,
        site_id: i64,
        days: (NaiveDate, NaiveDate),
        like: AboutSlot,
    ) -> Result<u64, NotDone> {
        let rights = self.permitted(by, Permission::Schedule, site_id).await?;
        let rights = rights.and(self.rate_permitted(by, site_id, None, like.rate_kopecks).await?);
        let told = rescheduled(by.id, site_id);
        self.change(by, rights, told, move |db, by| Box::pin(slots::fill(db, site_id, days, like, by))).await
    }

    /// Nobody gives one to themselves but owners.
    pub async fn create_contract(&self, by: &Person, user_id: i64, about: AboutContract) -> Result<i64, NotDone> {
        let mut rights = self.permitted_at_all(by, Permission::Employees, &about.sites).await?;
        if about.rate_kopecks.is_some() {
            rights = rights.and(self.permitted_at_all(by, Permission::Rates, &about.sites).await?);
        }
        Self::not_on_oneself(by, user_id)?;
        self.app.people.by_id(user_id).await?.ok_or(Why::Gone)?;
        let told = hired(user_id, &about.sites);
        self.change(by, rights, told, move |db, by| Box::pin(contracts::create_contract(db, user_id, about, by))).await
    }

    /// Whoever changes a contract needs to be permitted wherever it counts, before and after; one's own is for owners.
    pub async fn edit_contract(&self, by: &Person, id: i64, version: i64, about: AboutContract) -> Result<(), NotDone> {
        let contract = self.contract(id).await?.ok_or(Why::Gone)?;
        let mut rights = self.permitted_with(by, Permission::Employees, &contract, &about.sites).await?;
        if contract.about.rate_kopecks != about.rate_kopecks {
            rights = rights.and(self.permitted_with(by, Permission::Rates, &contract, &about.sites).await?);
        }
        Self::not_on_oneself(by, contract.user_id)?;
        let told = hired(contract.user_id, &[contract.about.sites, about.sites.clone()].concat());
        self.change(by, rights, told, move |db, by| Box::pin(contracts::edit_contract(db, id, version, about, by)))
            .await
    }

    pub async fn delete_contract(&self, by: &Person, id: i64, version: i64) -> Result<(), NotDone> {
        let rights = self.owners_only(by)?;
        let contract = self.contract(id).await?.ok_or(Why::Gone)?;
        let told = hired(contract.user_id, &contract.about.sites);
        self.change(by, rights, told, move |db, by| Box::pin(contracts::delete_contract(db, id, version, by))).await
    }

    pub async fn restore_contract(&self, by: &Person, id: i64) -> Result<(), NotDone> {
        let rights = self.owners_only(by)?;
        let contract = self.contract(id).await?.ok_or(Why::Gone)?;
        let told = hired(contract.user_id, &contract.about.sites);
        self.change(by, rights, told, move |db, by| Box::pin(contracts::restore_contract(db, id, by))).await
    }

    /// What a manager may do at a site from now on.
    pub async fn permit(
        &self,
        by: &Person,
        user_id: i64,
        site_id: i64,
        allowed: Vec<Permission>,
    ) -> Result<(), NotDone> {
        let rights = self.owners_only(by)?;
        self.change(by, rights, permitted_otherwise(user_id), move |db, by| {
            Box::pin(contracts::permit(db, user_id, site_id, allowed, by))
        })
        .await
    }

    /// Writes, tells those who are concerned, and has open pages look anew by these events.
    pub(super) async fn change<T, F>(
        &self,
        actor: &Person,
        rights: Rights,
        events: impl IntoIterator<Item = Event>,
        run: F,
    ) -> Result<T, NotDone>
    where
        T: Send + 'static,
        F: for<'w> FnOnce(&'w Writing<'_, '_>, By) -> BoxFuture<'w, Result<T, WriteError>> + Send + 'static,
    {
        let by = By { person: Some(actor.id), at: self.app.clock.now() };
        let (once, actor) = (self.once.clone(), actor.clone());
        let run = self.app.domain.write_and_get(move |db| {
            Box::pin(async move {
                rights.hold(db, &actor).await?;
                once.keep(db, by.at).await?;
                run(db, by).await
            })
        });
        let got = run.await?;
        events.into_iter().for_each(|event| self.app.events.publish(event));
        notices::soon(&self.app);
        Ok(got)
    }

    async fn site_of_slot(&self, id: i64) -> Result<i64, NotDone> {
        Ok(self.slot(id).await?.ok_or(Why::Gone)?.site_id)
    }

    /// A task that is there: it stays with its site and its slot.
    async fn change_task<F>(&self, by: &Person, id: i64, run: F) -> Result<(), NotDone>
    where
        F: for<'w> FnOnce(&'w Writing<'_, '_>, By) -> BoxFuture<'w, Result<(), WriteError>> + Send + 'static,
    {
        let found = task::Entity::find_by_id(id).one(self.app.domain.read()).await?.ok_or(Why::Gone)?;
        let rights = self.permitted(by, Permission::Edit, found.site_id).await?;
        let judged = judged(by);
        self.change(by, rights, changed(&[found.site_id]), move |db, by| {
            Box::pin(async move {
                slots::not_a_task_of_ones_own(db, found.slot_id, judged).await?;
                run(db, by).await
            })
        })
        .await
    }
}

/// Somebody who does not decide on themselves.
fn judged(by: &Person) -> Option<i64> {
    Sites::not_on_oneself(by, by.id).is_err().then_some(by.id)
}
