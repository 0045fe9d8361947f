//! The public functions of this room: queries, and changes from pages.
//!
//! Every change checks the person's permission first, and its commit checks it again ([`Rights`]). Dialogues call the
//! room's functions inside the commit of the turn instead, after the same checks.

use chrono::NaiveDate;
use futures_util::future::BoxFuture;
use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::IntoCondition;
use sea_orm::{ColumnTrait, Condition, DatabaseConnection, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect};

use super::changes::{self, ChangedBy};
use super::contracts::{self, AboutContract, Contract};
use super::events::{changed, contract_changed, permissions_changed, schedule_changed};
use super::records::{AboutSite, AboutSlot, AboutTask, Site, Slot, Task};
use super::rights::Rights;
use super::slots::FillDays;
use super::tables::{contract, site, slot, task};
use super::{ActionError, SiteRefusal, contract_notice, slots};
use crate::application::App;
use crate::domain::{FormKey, Transaction};
use crate::notices::{self, Notice};
use crate::person::{OWNERS, Permission, Person};
use crate::web::Event;

/// The topic that pages name in `data-live` to follow changes of sites, slots, tasks and contracts.
pub const TOPIC: &str = "sites";

/// How many deleted slots are listed for restoring.
const MAX_DELETED_SLOTS: u64 = 20;

/// The public functions of this room.
#[derive(Clone, Debug)]
pub struct Sites {
    pub(super) app: App,
    once: FormKey,
}

/// The slots that one action has created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NewSlots {
    pub count: u64,
    /// The instant of the action, in milliseconds. It is the same for all of them.
    pub created_at_ms: i64,
}

/// Queries.
impl Sites {
    pub fn of_app(app: &App) -> Self {
        Self { app: app.clone(), once: FormKey::default() }
    }

    /// These functions for a form that counts once: a second submission is refused.
    #[must_use]
    pub fn once(self, once: FormKey) -> Self {
        Self { once, ..self }
    }

    /// All sites that are not deleted, by name.
    pub async fn list(&self) -> Result<Vec<Site>, DbErr> {
        self.sites(site::Column::DeletedAt.is_null()).await
    }

    /// All sites: existing ones by name, then deleted ones.
    pub async fn all(&self) -> Result<Vec<Site>, DbErr> {
        let mut sites = self.sites(Condition::all()).await?;
        sites.sort_by_key(|site| site.deleted_at.is_some());
        Ok(sites)
    }

    /// Deleted sites, the last deleted first.
    pub async fn deleted(&self) -> Result<Vec<Site>, DbErr> {
        let mut sites = self.sites(site::Column::DeletedAt.is_not_null()).await?;
        sites.sort_by_key(|site| std::cmp::Reverse(site.deleted_at));
        Ok(sites)
    }

    /// One site, deleted or not.
    pub async fn site(&self, id: i64) -> Result<Option<Site>, DbErr> {
        changes::site(self.app.domain.read(), id).await
    }

    /// The sites with these ids, deleted or not.
    pub async fn with_ids(&self, ids: &[i64]) -> Result<Vec<Site>, DbErr> {
        self.sites(site::Column::Id.is_in(ids.iter().copied())).await
    }

    /// The tasks of a site and of its slots, in order; deleted ones only on request.
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

    /// Deleted slots of a site, the last deleted first.
    pub async fn deleted_slots(&self, site_id: i64) -> Result<Vec<Slot>, DbErr> {
        let deleted = slot::Entity::find().filter(slot::Column::SiteId.eq(site_id));
        let deleted = deleted.filter(slot::Column::DeletedAt.is_not_null()).order_by_desc(slot::Column::DeletedAt);
        let deleted = deleted.limit(MAX_DELETED_SLOTS);
        deleted.all(self.app.domain.read()).await?.into_iter().map(Slot::try_from).collect()
    }

    /// All contracts of a person, including deleted ones.
    pub async fn contracts_of(&self, user_id: i64) -> Result<Vec<Contract>, DbErr> {
        contracts::contracts(self.app.domain.read(), contract::Column::UserId.eq(user_id)).await
    }

    /// The active contracts of a person, whatever their dates.
    pub async fn active_contracts_of(&self, user_id: i64) -> Result<Vec<Contract>, DbErr> {
        contracts::active_contracts_of(self.app.domain.read(), user_id).await
    }

    pub async fn contract(&self, id: i64) -> Result<Option<Contract>, DbErr> {
        Ok(contracts::contracts(self.app.domain.read(), contract::Column::Id.eq(id)).await?.pop())
    }

    /// The active contract of a person for a site on a day by the site's clock.
    pub async fn contract_for(&self, user_id: i64, site_id: i64, day: NaiveDate) -> Result<Option<Contract>, DbErr> {
        contracts::contract_for(self.app.domain.read(), user_id, site_id, day).await
    }

    pub(super) fn db(&self) -> &DatabaseConnection {
        self.app.domain.read()
    }

    pub(super) async fn sites(&self, which: impl IntoCondition) -> Result<Vec<Site>, DbErr> {
        let found = site::Entity::find().filter(which).order_by_asc(site::Column::Name).order_by_asc(site::Column::Id);
        found.all(self.app.domain.read()).await?.into_iter().map(Site::try_from).collect()
    }
}

/// Changes from pages. `by` is the person who acts.
impl Sites {
    pub async fn create(&self, by: &Person, about: AboutSite) -> Result<i64, ActionError> {
        let rights = self.require_owner(by)?;
        // No manager has a permission for the new site yet.
        let events = [Event::to_roles(TOPIC, OWNERS)];
        self.change(by, rights, events, move |db, by| Box::pin(changes::create_site(db, about, by))).await
    }

    /// Refused as [`SiteRefusal::Stale`] if the site has changed since the form was loaded.
    pub async fn edit(&self, by: &Person, id: i64, version: i64, about: AboutSite) -> Result<(), ActionError> {
        let mut rights = self.require_permission(by, Permission::Edit, id).await?;
        let now = self.site(id).await?.filter(|site| site.deleted_at.is_none()).ok_or(SiteRefusal::Gone)?;
        // Check this first: a rate that another person has just changed is not a rate that this person wants to change.
        if now.version != version {
            return Err(SiteRefusal::Stale.into());
        }
        let rates = |about: &AboutSite| (about.rate_kopecks, about.late_minute_kopecks, about.late_threshold_minutes);
        if rates(&now.about) != rates(&about) {
            rights = rights.and(self.require_permission(by, Permission::Rates, id).await?);
        }
        let events = changed(&[id]);
        self.change(by, rights, events, move |db, by| Box::pin(changes::edit_site(db, id, version, about, by))).await
    }

    pub async fn delete(&self, by: &Person, id: i64, version: i64) -> Result<(), ActionError> {
        let rights = self.require_permission(by, Permission::Delete, id).await?;
        let events = changed(&[id]);
        self.change(by, rights, events, move |db, by| Box::pin(changes::delete_site(db, id, version, by))).await
    }

    /// Undoes a deletion.
    pub async fn restore(&self, by: &Person, id: i64) -> Result<(), ActionError> {
        let rights = self.require_permission(by, Permission::Delete, id).await?;
        self.change(by, rights, changed(&[id]), move |db, by| Box::pin(changes::restore_site(db, id, by))).await
    }

    /// Creates a task of a site or of one of its slots. A manager with a place in that slot may not change its tasks.
    pub async fn create_task(
        &self,
        by: &Person,
        site_id: i64,
        slot_id: Option<i64>,
        about: AboutTask,
    ) -> Result<i64, ActionError> {
        let rights = self.require_permission(by, Permission::Edit, site_id).await?;
        let own_case_user = own_case_user(by);
        self.change(by, rights, changed(&[site_id]), move |db, by| {
            Box::pin(async move {
                slots::refuse_own_slot_task(db, slot_id, own_case_user).await?;
                changes::create_task(db, site_id, slot_id, about, by).await
            })
        })
        .await
    }

    pub async fn edit_task(&self, by: &Person, id: i64, version: i64, about: AboutTask) -> Result<(), ActionError> {
        self.change_task(by, id, move |db, by| Box::pin(changes::edit_task(db, id, version, about, by))).await
    }

    pub async fn delete_task(&self, by: &Person, id: i64, version: i64) -> Result<(), ActionError> {
        self.change_task(by, id, move |db, by| Box::pin(changes::delete_task(db, id, version, by))).await
    }

    pub async fn restore_task(&self, by: &Person, id: i64) -> Result<(), ActionError> {
        self.change_task(by, id, move |db, by| Box::pin(changes::restore_task(db, id, by))).await
    }

    pub async fn create_slot(&self, by: &Person, site_id: i64, about: AboutSlot) -> Result<i64, ActionError> {
        let rights = self.require_permission(by, Permission::Schedule, site_id).await?;
        let rights = rights.and(self.require_rate_permission(by, site_id, None, about.rate_kopecks).await?);
        let events = schedule_changed(by.id, site_id);
        self.change(by, rights, events, move |db, by| Box::pin(slots::create_slot(db, site_id, about, by))).await
    }

    /// A manager with a place in the slot may not change anything that affects its pay.
    pub async fn edit_slot(&self, by: &Person, id: i64, version: i64, about: AboutSlot) -> Result<(), ActionError> {
        let now = self.slot(id).await?.ok_or(SiteRefusal::Gone)?;
        let rights = self.require_permission(by, Permission::Schedule, now.site_id).await?;
        if now.deleted_at.is_some() {
            return Err(SiteRefusal::Gone.into());
        }
        // As for a site: a stale form is refused before the rates are compared.
        if now.version != version {
            return Err(SiteRefusal::Stale.into());
        }
        let rates = self.require_rate_permission(by, now.site_id, now.about.rate_kopecks, about.rate_kopecks).await?;
        let own_case_user = own_case_user(by).filter(|_| !now.about.has_same_pay(&about));
        self.change(by, rights.and(rates), schedule_changed(by.id, now.site_id), move |db, by| {
            Box::pin(async move {
                slots::refuse_own_slot(db, id, own_case_user).await?;
                slots::edit_slot(db, id, version, about, by).await
            })
        })
        .await
    }

    /// A manager with a place in the slot cancels the plan in the bot instead, with a reason.
    pub async fn delete_slot(&self, by: &Person, id: i64, version: i64) -> Result<(), ActionError> {
        let site_id = self.site_of_slot(id).await?;
        let rights = self.require_permission(by, Permission::Schedule, site_id).await?;
        let own_case_user = own_case_user(by);
        self.change(by, rights, schedule_changed(by.id, site_id), move |db, by| {
            Box::pin(async move {
                slots::refuse_own_slot(db, id, own_case_user).await?;
                slots::delete_slot(db, id, version, by).await
            })
        })
        .await
    }

    pub async fn restore_slot(&self, by: &Person, id: i64) -> Result<(), ActionError> {
        let site_id = self.site_of_slot(id).await?;
        let rights = self.require_permission(by, Permission::Schedule, site_id).await?;
        let events = schedule_changed(by.id, site_id);
        self.change(by, rights, events, move |db, by| Box::pin(slots::restore_slot(db, id, by))).await
    }

    /// Copies the slots of a week; both days are Mondays. Returns how many are new. A person without the permission for
    /// rates copies slots without their own rates, so the site's rate applies.
    pub async fn copy_week(
        &self,
        by: &Person,
        site_id: i64,
        from: NaiveDate,
        to: NaiveDate,
    ) -> Result<NewSlots, ActionError> {
        let rights = self.require_permission(by, Permission::Schedule, site_id).await?;
        let (with_rates, rates) = match self.require_permission(by, Permission::Rates, site_id).await {
            Ok(rates) => (true, rates),
            Err(ActionError::Refused(_)) => (false, Rights::default()),
            Err(failed) => return Err(failed),
        };
        self.change(by, rights.and(rates), schedule_changed(by.id, site_id), move |db, by| {
            Box::pin(async move {
                let count = slots::copy_week(db, site_id, (from, to), with_rates, by).await?;
                Ok(NewSlots { count, created_at_ms: by.at.0 })
            })
        })
        .await
    }

    /// Creates a slot like `like` on these days. Returns how many are new.
    pub async fn fill(
        &self,
        by: &Person,
        site_id: i64,
        days: FillDays,
        like: AboutSlot,
    ) -> Result<NewSlots, ActionError> {
        let rights = self.require_permission(by, Permission::Schedule, site_id).await?;
        let rights = rights.and(self.require_rate_permission(by, site_id, None, like.rate_kopecks).await?);
        let events = schedule_changed(by.id, site_id);
        self.change(by, rights, events, move |db, by| {
            Box::pin(async move {
                let count = slots::fill(db, site_id, days, like, by).await?;
                Ok(NewSlots { count, created_at_ms: by.at.0 })
            })
        })
        .await
    }

    /// Takes back the slots that were created at an instant and are untouched since. Returns how many.
    pub async fn take_back_slots(&self, by: &Person, site_id: i64, created_at: Millis) -> Result<u64, ActionError> {
        let rights = self.require_permission(by, Permission::Schedule, site_id).await?;
        let events = schedule_changed(by.id, site_id);
        self.change(by, rights, events, move |db, by| Box::pin(slots::take_back(db, site_id, created_at, by))).await
    }

    /// Only owners may create a contract for themselves.
    pub async fn create_contract(&self, by: &Person, user_id: i64, about: AboutContract) -> Result<i64, ActionError> {
        self.add_contract(by, user_id, about, None).await
    }

    /// Like [`Self::create_contract`]; the bot tells the person where they work now.
    pub async fn give_contract(&self, by: &Person, user_id: i64, about: AboutContract) -> Result<i64, ActionError> {
        let notice = contract_notice::of(&about, &self.sites_of(&about).await?, self.app.clock.now());
        self.add_contract(by, user_id, about, notice).await
    }

    /// The sites of a contract that are not deleted.
    async fn sites_of(&self, about: &AboutContract) -> Result<Vec<Site>, DbErr> {
        let mut sites = self.with_ids(&about.sites).await?;
        sites.retain(|site| site.deleted_at.is_none());
        Ok(sites)
    }

    async fn add_contract(
        &self,
        by: &Person,
        user_id: i64,
        about: AboutContract,
        notice: Option<Notice>,
    ) -> Result<i64, ActionError> {
        let mut rights = self.require_permission_at_all(by, Permission::Employees, &about.sites).await?;
        if about.rate_kopecks.is_some() {
            rights = rights.and(self.require_permission_at_all(by, Permission::Rates, &about.sites).await?);
        }
        Self::refuse_own_case(by, user_id)?;
        self.app.people.by_id(user_id).await?.ok_or(SiteRefusal::Gone)?;
        let events = contract_changed(user_id, &about.sites);
        self.change(by, rights, events, move |db, by| {
            Box::pin(async move {
                let id = contracts::create_contract(db, user_id, about, by).await?;
                notices::write(db, notice.into_iter().map(|notice| (user_id, notice)).collect(), by.at).await?;
                Ok(id)
            })
        })
        .await
    }

    /// Needs the permission at every site of the contract, before and after the change. Only owners may edit their own.
    /// The bot tells the person if the contract becomes active.
    pub async fn edit_contract(
        &self,
        by: &Person,
        id: i64,
        version: i64,
        about: AboutContract,
    ) -> Result<(), ActionError> {
        let contract = self.contract(id).await?.ok_or(SiteRefusal::Gone)?;
        let mut rights = self.require_contract_permission(by, Permission::Employees, &contract, &about.sites).await?;
        if contract.about.rate_kopecks != about.rate_kopecks {
            rights =
                rights.and(self.require_contract_permission(by, Permission::Rates, &contract, &about.sites).await?);
        }
        Self::refuse_own_case(by, contract.user_id)?;
        let events = contract_changed(contract.user_id, &[&*contract.about.sites, &about.sites].concat());
        let (user_id, sites) = (contract.user_id, self.sites_of(&about).await?);
        let notice = contract_notice::of_change(&contract.about, &about, &sites, self.app.clock.now());
        self.change(by, rights, events, move |db, by| {
            Box::pin(async move {
                contracts::edit_contract(db, id, version, about, by).await?;
                notices::write(db, notice.into_iter().map(|notice| (user_id, notice)).collect(), by.at).await
            })
        })
        .await
    }

    pub async fn delete_contract(&self, by: &Person, id: i64, version: i64) -> Result<(), ActionError> {
        let rights = self.require_owner(by)?;
        let contract = self.contract(id).await?.ok_or(SiteRefusal::Gone)?;
        let events = contract_changed(contract.user_id, &contract.about.sites);
        self.change(by, rights, events, move |db, by| Box::pin(contracts::delete_contract(db, id, version, by))).await
    }

    pub async fn restore_contract(&self, by: &Person, id: i64) -> Result<(), ActionError> {
        let rights = self.require_owner(by)?;
        let contract = self.contract(id).await?.ok_or(SiteRefusal::Gone)?;
        let events = contract_changed(contract.user_id, &contract.about.sites);
        self.change(by, rights, events, move |db, by| Box::pin(contracts::restore_contract(db, id, by))).await
    }

    /// Replaces a manager's permissions at a site.
    pub async fn set_permissions(
        &self,
        by: &Person,
        user_id: i64,
        site_id: i64,
        allowed: Vec<Permission>,
    ) -> Result<(), ActionError> {
        let rights = self.require_owner(by)?;
        self.change(by, rights, permissions_changed(user_id), move |db, by| {
            Box::pin(contracts::set_permissions(db, user_id, site_id, allowed, by))
        })
        .await
    }

    /// Commits a change, then sends notices and publishes the events to open pages.
    pub(super) async fn change<T, F>(
        &self,
        actor: &Person,
        rights: Rights,
        events: impl IntoIterator<Item = Event>,
        run: F,
    ) -> Result<T, ActionError>
    where
        T: Send + 'static,
        F: for<'w> FnOnce(&'w Transaction<'_, '_>, ChangedBy) -> BoxFuture<'w, Result<T, WriteError>> + Send + 'static,
    {
        let by = ChangedBy { person: Some(actor.id), at: self.app.clock.now() };
        let (once, actor) = (self.once.clone(), actor.clone());
        let run = self.app.domain.write_and_get(move |db| {
            Box::pin(async move {
                rights.check(db, &actor).await?;
                once.store(db, by.at).await?;
                run(db, by).await
            })
        });
        let got = run.await?;
        events.into_iter().for_each(|event| self.app.events.publish(event));
        self.app.bot.wake_jobs();
        Ok(got)
    }

    async fn site_of_slot(&self, id: i64) -> Result<i64, ActionError> {
        Ok(self.slot(id).await?.ok_or(SiteRefusal::Gone)?.site_id)
    }

    /// Changes an existing task. It stays with its site and its slot.
    async fn change_task<F>(&self, by: &Person, id: i64, run: F) -> Result<(), ActionError>
    where
        F: for<'w> FnOnce(&'w Transaction<'_, '_>, ChangedBy) -> BoxFuture<'w, Result<(), WriteError>> + Send + 'static,
    {
        let found = task::Entity::find_by_id(id).one(self.app.domain.read()).await?.ok_or(SiteRefusal::Gone)?;
        let rights = self.require_permission(by, Permission::Edit, found.site_id).await?;
        let own_case_user = own_case_user(by);
        self.change(by, rights, changed(&[found.site_id]), move |db, by| {
            Box::pin(async move {
                slots::refuse_own_slot_task(db, found.slot_id, own_case_user).await?;
                run(db, by).await
            })
        })
        .await
    }
}

/// The person's id, unless the person is an owner: only owners may decide on their own pay.
fn own_case_user(by: &Person) -> Option<i64> {
    Sites::refuse_own_case(by, by.id).is_err().then_some(by.id)
}
