//! Sites: places of work with their slots, tasks and contracts, and the permissions of managers.
//!
//! [`Sites`] holds the public functions of this room. Rows that two people may edit at once have a version: the second
//! edit is refused as stale. Deleted rows can be restored. Plans and shifts belong to the room of
//! [shifts](crate::shifts).

use std::collections::{BTreeSet, HashMap};

use chrono_tz::Tz;
use futures_util::future::BoxFuture;
use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::DbErr;
use serde_json::Value;

pub use self::api::{NewSlots, Sites, TOPIC};
pub use self::attendance::Attendance;
pub use self::broadcasts::sending::FollowedPages;
pub use self::broadcasts::{BroadcastDraft, DeliveryState, MAX_TEXT_LENGTH as MAX_BROADCAST_LENGTH, SiteBroadcast};
pub use self::changes::{
    ChangedBy, MAX_TASKS, create_site, create_task, delete_site, delete_task, edit_site, edit_task,
    lock_site_for_change, lock_site_shared, lock_sites_shared, restore_site, restore_task, set_position, site,
    tasks_for,
};
pub use self::contracts::{
    AboutContract, Contract, ContractStatus, active_contracts_of, contract_for, create_contract, require_contract,
    set_permissions,
};
pub use self::events::{contract_changed, schedule_changed, site_changed};
pub use self::field_help::FIELD_HELP;
pub use self::position_text::{PositionMistake, read_position};
pub use self::records::{AboutSite, AboutSlot, AboutTask, MAX_KOPECKS, Site, Slot, Task, is_price};
pub use self::refusal::{ActionError, SiteRefusal, constraint_refusal};
pub use self::rights::Rights;
pub use self::rules::{Hours, LONGEST_DAY_MS, Period, Position, WorkingDays, local, monday_of};
pub use self::schedule::DaySlotCounts;
pub use self::slots::{
    FillDays, WhichDays, copy_week, create_slot, delete_slot, edit_slot, fill, fill_year, free_place, lock_slot,
    lock_slots, restore_slot, slot, slots_with_ids, take_place, take_places,
};
pub use self::task_price::{price_text, skipping_text};
use crate::application::App;
use crate::domain::{Domain, Transaction};
use crate::jobs::Jobs;
use crate::key;
use crate::person::{OWNERS, Permission, Person, SITE_STAFF, SitePermissions};
use crate::rooms::Room;
use crate::web::ui::Icon;
use crate::web::{NavGroup, NavItem, PageError, Permissions, Routes, SearchGroups, Section};

mod api;
mod attendance;
mod broadcasts;
mod changes;
mod contract_notice;
mod contracts;
mod events;
mod field_help;
pub mod import;
pub mod jobs;
pub mod pages;
mod permissions;
mod personal_data;
mod position_text;
mod records;
mod refusal;
mod rights;
mod rules;
mod schedule;
mod slots;
mod tables;
mod task_price;
mod workers;

#[derive(Debug)]
pub struct SitesRoom;

impl Room for SitesRoom {
    fn name(&self) -> &'static str {
        "sites"
    }

    fn routes(&self) -> Routes {
        pages::routes()
    }

    fn nav(&self) -> Vec<NavItem> {
        vec![
            NavItem::new(key!("cabinet-nav-sites"), "/sites", Icon::Site, SITE_STAFF)
                .needs(Permission::View)
                .in_group(NavGroup::Setup),
            NavItem::new(key!("cabinet-nav-managers"), "/managers", Icon::Key, OWNERS).under("/people"),
        ]
    }

    fn search<'a>(
        &'a self,
        app: &'a App,
        viewer: &'a Person,
        words: &'a str,
    ) -> BoxFuture<'a, Result<SearchGroups, PageError>> {
        Box::pin(pages::search(app, viewer, words))
    }

    fn person_sections<'a>(
        &'a self,
        app: &'a App,
        viewer: &'a Person,
        person: &'a Person,
    ) -> BoxFuture<'a, Result<Vec<Section>, PageError>> {
        Box::pin(pages::person_sections(app, viewer, person))
    }

    fn managed_people<'a>(
        &'a self,
        app: &'a App,
        viewer: &'a Person,
    ) -> BoxFuture<'a, Result<Option<Vec<i64>>, DbErr>> {
        Box::pin(async move { Sites::of_app(app).managed_people(viewer).await })
    }

    fn workplaces<'a>(&'a self, app: &'a App, viewer: &'a Person) -> BoxFuture<'a, Result<Vec<(i64, String)>, DbErr>> {
        Box::pin(async move {
            let sites = Sites::of_app(app).permitted_sites(viewer, Permission::Employees).await?;
            Ok(sites.into_iter().map(|site| (site.id, site.about.name)).collect())
        })
    }

    fn workers_at<'a>(&'a self, app: &'a App, place: i64) -> BoxFuture<'a, Result<Vec<i64>, DbErr>> {
        Box::pin(async move { Ok(Sites::of_app(app).people_with_contracts_at(&[place]).await?.into_iter().collect()) })
    }

    fn export<'a>(&'a self, domain: &'a Domain, person: &'a Person) -> BoxFuture<'a, anyhow::Result<Value>> {
        Box::pin(personal_data::export(domain, person.id))
    }

    fn forget<'a>(
        &'a self,
        db: &'a Transaction<'_, '_>,
        person: &'a Person,
        at: Millis,
    ) -> BoxFuture<'a, Result<Vec<String>, WriteError>> {
        Box::pin(async move {
            personal_data::forget(db, person.id, at).await?;
            Ok(Vec::new())
        })
    }

    fn time_zones_of<'a>(&'a self, app: &'a App, people: &'a [i64]) -> BoxFuture<'a, Result<HashMap<i64, Tz>, DbErr>> {
        Box::pin(async move { Sites::of_app(app).time_zones_of(people).await })
    }

    fn jobs(&self, jobs: Jobs) -> Jobs {
        // Hourly, because each site has its own clock.
        jobs.scheduled(jobs::FillNextYear {}, "0 * * * *", jobs::fill_next_year).worker(broadcasts::sending::run)
    }
}

impl Permissions for SitesRoom {
    fn site_permissions<'a>(&'a self, app: &'a App, user_id: i64) -> BoxFuture<'a, Result<SitePermissions, DbErr>> {
        Box::pin(async move { Sites::of_app(app).site_permissions(user_id).await })
    }

    fn permitted_anywhere<'a>(&'a self, app: &'a App, user_id: i64) -> BoxFuture<'a, Result<Vec<Permission>, DbErr>> {
        Box::pin(async move { Sites::of_app(app).permitted_anywhere(user_id).await })
    }

    fn works_at<'a>(&'a self, app: &'a App, user_id: i64) -> BoxFuture<'a, Result<BTreeSet<i64>, DbErr>> {
        Box::pin(async move {
            let pairs = Sites::of_app(app).workplaces(&BTreeSet::from([user_id])).await?;
            Ok(pairs.into_iter().map(|(site, _)| site).collect())
        })
    }
}
