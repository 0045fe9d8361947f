//! What the room of sites needs from this room.

use std::collections::BTreeSet;

use chrono::NaiveDate;
use futures_util::future::BoxFuture;
use opora::store::WriteError;
use sea_orm::DbErr;

use super::{Plan, PlanStatus, Shifts, ShiftsRoom, plans, working};
use crate::application::App;
use crate::domain::Transaction;
use crate::person::Person;
use crate::sites::{ActionError, Attendance, ChangedBy, Site, SiteRefusal, Sites, Slot, local};

impl Attendance for ShiftsRoom {
    fn open_sites<'a>(&'a self, app: &'a App, sites: &'a [i64]) -> BoxFuture<'a, Result<BTreeSet<i64>, DbErr>> {
        Box::pin(async move {
            let openings = Shifts::of_app(app).openings(sites).await?;
            Ok(openings.iter().map(|opening| opening.site_id).collect())
        })
    }

    fn open_site<'a>(&'a self, app: &'a App, by: &'a Person, site_id: i64) -> BoxFuture<'a, Result<(), ActionError>> {
        Box::pin(async move { Shifts::of_app(app).open_site(by, site_id).await })
    }

    fn close_site<'a>(&'a self, app: &'a App, by: &'a Person, site_id: i64) -> BoxFuture<'a, Result<(), ActionError>> {
        Box::pin(async move { Shifts::of_app(app).close_site(by, site_id).await })
    }

    fn planned_days<'a>(&'a self, app: &'a App, user_id: i64) -> BoxFuture<'a, Result<Vec<(i64, NaiveDate)>, DbErr>> {
        Box::pin(async move {
            let mut plans = Shifts::of_app(app).plans_of(user_id, app.clock.now()).await?;
            plans.retain(|plan| plan.status == PlanStatus::Planned);
            let ids: Vec<i64> = plans.iter().map(|plan| plan.site_id).collect();
            let sites = Sites::of_app(app).with_ids(&ids).await?;
            let day = |plan: &Plan| {
                let site = sites.iter().find(|site| site.id == plan.site_id)?;
                Some((site.id, local(plan.period.from, site.about.time_zone).date()))
            };
            Ok(plans.iter().filter_map(day).collect())
        })
    }

    fn site_deleted<'a>(
        &'a self,
        db: &'a Transaction<'_, '_>,
        site_id: i64,
        by: ChangedBy,
    ) -> BoxFuture<'a, Result<(), WriteError>> {
        Box::pin(async move {
            if plans::is_site_in_use(db, site_id, by.at).await? {
                return Err(SiteRefusal::InUse.refusal());
            }
            // The site is empty. The person who opened the site cannot close it once it is deleted.
            working::end_opening(db, site_id, by.person, by.at).await?;
            Ok(())
        })
    }

    fn slot_moved<'a>(
        &'a self,
        db: &'a Transaction<'_, '_>,
        before: &'a Slot,
        after: &'a Slot,
        site: &'a Site,
        by: ChangedBy,
    ) -> BoxFuture<'a, Result<(), WriteError>> {
        Box::pin(plans::move_plans(db, before, after, site, by))
    }

    fn slot_deleted<'a>(
        &'a self,
        db: &'a Transaction<'_, '_>,
        slot: &'a Slot,
        site: &'a Site,
        by: ChangedBy,
    ) -> BoxFuture<'a, Result<i64, WriteError>> {
        Box::pin(plans::cancel_plans(db, slot, site, by))
    }

    fn slot_restored<'a>(
        &'a self,
        db: &'a Transaction<'_, '_>,
        slot: &'a Slot,
        site: &'a Site,
        by: ChangedBy,
    ) -> BoxFuture<'a, Result<i64, WriteError>> {
        Box::pin(plans::restore_plans(db, slot, site, by))
    }

    fn has_place_in<'a>(
        &'a self,
        db: &'a Transaction<'_, '_>,
        user_id: i64,
        slot_id: i64,
    ) -> BoxFuture<'a, Result<bool, DbErr>> {
        Box::pin(plans::has_place_in(db, user_id, slot_id))
    }
}
