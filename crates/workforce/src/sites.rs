//! Sites: where people work, the times for which people are wanted there, what is to be done, and by which contract.
//!
//! The front door is [`Sites`]. What two people edit at once has a version: whoever comes second is told, and nothing is
//! lost silently. What is deleted can come back. Who comes when, and what came of it, is the room of [shifts](crate::shifts).

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::BoxFuture;
use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::DbErr;
use serde_json::Value;

pub use self::allowed::Rights;
pub use self::attendance::Attendance;
pub use self::changes::{
    By, TASKS_MOST, create_site, create_task, delete_site, delete_task, edit_site, edit_task, live_site, restore_site,
    restore_task, site, site_to_change, tasks_for,
};
pub use self::contracts::{AboutContract, Contract, ContractStatus, contract_for, create_contract, permit, works_at};
pub use self::doors::{Sites, TOPIC};
pub use self::records::{AboutSite, AboutSlot, AboutTask, KOPECKS_MOST, Site, Slot, Task, is_price};
pub use self::rules::{Hours, LONGEST_DAY_MS, Period, Position, WorkingDays, local, monday_of};
pub use self::schedule::DayOfSlots;
pub use self::slots::{
    copy_week, create_slot, delete_slot, edit_slot, fill, fill_year, free_place, hold_slot, restore_slot, slot,
    take_place,
};
pub use self::updates::rescheduled;
pub use self::why::{NotDone, Why, kept};
use crate::application::App;
use crate::domain::{Domain, Writing};
use crate::key;
use crate::person::{KEEPERS, OWNERS, Permission, Permits, Person};
use crate::rooms::{Job, Room};
use crate::web::{NavItem, Oops, Permissions, Routes, Section};

mod allowed;
mod attendance;
mod changes;
mod contracts;
mod doors;
pub mod jobs;
mod leaving;
pub mod pages;
mod permits;
mod records;
mod rules;
mod schedule;
mod slots;
mod tables;
mod updates;
mod why;
mod workers;

/// The room.
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
            NavItem {
                caption: key!("cabinet-nav-sites"),
                path: "/sites",
                roles: KEEPERS,
                needs: Some(Permission::View),
            },
            NavItem { caption: key!("cabinet-nav-managers"), path: "/managers", roles: OWNERS, needs: None },
        ]
    }

    fn about_person<'a>(
        &'a self,
        app: &'a App,
        viewer: &'a Person,
        person: &'a Person,
    ) -> BoxFuture<'a, Result<Vec<Section>, Oops>> {
        Box::pin(pages::about_person(app, viewer, person))
    }

    fn looked_after<'a>(&'a self, app: &'a App, viewer: &'a Person) -> BoxFuture<'a, Result<Option<Vec<i64>>, DbErr>> {
        Box::pin(async move { Sites::of_app(app).looked_after(viewer).await })
    }

    fn export<'a>(&'a self, domain: &'a Domain, person: &'a Person) -> BoxFuture<'a, anyhow::Result<Value>> {
        Box::pin(leaving::export(domain, person.id))
    }

    fn forget<'a>(
        &'a self,
        db: &'a Writing<'_, '_>,
        person: &'a Person,
        at: Millis,
    ) -> BoxFuture<'a, Result<Vec<String>, WriteError>> {
        Box::pin(async move {
            leaving::forget(db, person.id, at).await?;
            Ok(Vec::new())
        })
    }

    fn jobs(&self) -> Vec<Job> {
        let minutes = |count: u64| Duration::from_secs(60 * count);
        vec![Job { name: "slots-of-next-year", every: minutes(60), run: |app| Box::pin(jobs::fill_next_year(app)) }]
    }
}

impl Permissions for SitesRoom {
    fn permits_of<'a>(&'a self, app: &'a App, user_id: i64) -> BoxFuture<'a, Result<Permits, DbErr>> {
        Box::pin(async move { Sites::of_app(app).permits_of(user_id).await })
    }

    fn permitted_anywhere<'a>(&'a self, app: &'a App, user_id: i64) -> BoxFuture<'a, Result<Vec<Permission>, DbErr>> {
        Box::pin(async move { Sites::of_app(app).permitted_anywhere(user_id).await })
    }

    fn works_at<'a>(&'a self, app: &'a App, user_id: i64) -> BoxFuture<'a, Result<BTreeSet<i64>, DbErr>> {
        Box::pin(async move {
            let pairs = Sites::of_app(app).where_they_work(&BTreeSet::from([user_id])).await?;
            Ok(pairs.into_iter().map(|(site, _)| site).collect())
        })
    }
}
