//! Who may open and close a site.
//!
//! A worker may open a site on the days of a contract there, and before midnight of its first day as early as a planned
//! shift may start. A worker may close a site on the days of a contract there. The person who has opened the site or
//! works there may close it in any case, also after the contract has ended.

use opora::clock::Millis;
use opora::prelude::BoxError;
use opora::store::WriteError;
use sea_orm::sea_query::ExprTrait;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QuerySelect};

use super::records::{Opening, ShiftStatus};
use super::rules::EARLY_START_MS;
use super::tables::{opening, shift};
use super::{Shifts, working};
use crate::application::App;
use crate::domain::{Transaction, in_ids};
use crate::person::Person;
use crate::sites::{self, Site, SiteRefusal, Sites, local};

/// The closed sites that the person may open now, by name.
pub async fn openable(app: &App, person: &Person, now: Millis) -> Result<Vec<Site>, BoxError> {
    let mut sites = permitted_to_open(app, person, now).await?;
    let ids: Vec<_> = sites.iter().map(|site| site.id).collect();
    let open = Shifts::of_app(app).openings(&ids).await?;
    sites.retain(|site| open.iter().all(|opening| opening.site_id != site.id));
    Ok(sites)
}

/// The sites that the person may open now, open or closed.
pub async fn permitted_to_open(app: &App, person: &Person, now: Millis) -> Result<Vec<Site>, BoxError> {
    let api = Sites::of_app(app);
    let mut sites = api.sites_of_worker(person.id).await?;
    let contracts = api.active_contracts_of(person.id).await?;
    sites.retain(|site| {
        days_to_open(site, now).iter().any(|day| contracts.iter().any(|one| one.about.covers(site.id, *day)))
    });
    Ok(sites)
}

/// The open sites that the person may close now, by name.
pub async fn closable(app: &App, person: &Person) -> Result<Vec<Site>, BoxError> {
    let api = Sites::of_app(app);
    let contracts = api.active_contracts_of(person.id).await?;
    let by_contract: Vec<_> = contracts.iter().flat_map(|one| one.about.sites.iter().copied()).collect();
    let open = openings_of(app, person.id, &by_contract).await?;
    let mut sites = api.with_ids(&open.iter().map(|opening| opening.site_id).collect::<Vec<_>>()).await?;
    let at_work = Shifts::of_app(app).active_of(person.id).await?.map(|shift| shift.site_id);
    sites.retain(|site| {
        let is_own = open.iter().any(|opening| opening.site_id == site.id && opening.opened_by == person.id);
        let has_contract = contracts.iter().any(|one| one.about.covers(site.id, api.today_at(site)));
        site.deleted_at.is_none() && (is_own || has_contract || at_work == Some(site.id))
    });
    Ok(sites)
}

/// The present openings at these sites, at the one where the person works, and those that the person has made.
pub async fn openings_of(app: &App, user_id: i64, sites: &[i64]) -> Result<Vec<Opening>, DbErr> {
    let works_here = shift::Entity::find()
        .select_only()
        .column(shift::Column::SiteId)
        .filter(shift::Column::UserId.eq(user_id))
        .filter(shift::Column::Status.eq(ShiftStatus::Active.name()));
    let works_here = opening::Column::SiteId.in_subquery(QuerySelect::query(&mut { works_here }).take());
    let own = opening::Column::OpenedBy.eq(user_id);
    let found = opening::Entity::find()
        .filter(opening::Column::ClosedAt.is_null())
        .filter(own.or(works_here).or(in_ids(opening::Column::SiteId, sites)));
    Ok(found.all(app.domain.read()).await?.into_iter().map(Opening::from).collect())
}

/// Opens a site, unless the person may not.
pub async fn open(db: &Transaction<'_, '_>, site: &Site, user_id: i64, at: Millis) -> Result<(), WriteError> {
    let mut may_open = false;
    for day in days_to_open(site, at) {
        may_open = may_open || sites::contract_for(db, user_id, site.id, day).await?.is_some();
    }
    if !may_open {
        return Err(SiteRefusal::NoContract.refusal());
    }
    working::open_site(db, site.id, user_id, at).await
}

/// Closes a site, unless the person may not.
pub async fn close(db: &Transaction<'_, '_>, site: &Site, user_id: i64, at: Millis) -> Result<(), WriteError> {
    if !has_opened_or_works(db, site.id, user_id).await? {
        sites::require_contract(db, user_id, site.id, local(at, site.about.time_zone).date()).await?;
    }
    working::close_site(db, site.id, user_id, at).await
}

async fn has_opened_or_works(db: &impl ConnectionTrait, site_id: i64, user_id: i64) -> Result<bool, DbErr> {
    let open = opening::Entity::find().filter(opening::Column::ClosedAt.is_null());
    let own = open.filter(opening::Column::SiteId.eq(site_id)).filter(opening::Column::OpenedBy.eq(user_id));
    if own.limit(1).one(db).await?.is_some() {
        return Ok(true);
    }
    let active = shift::Entity::find().filter(shift::Column::Status.eq(ShiftStatus::Active.name()));
    let own = active.filter(shift::Column::SiteId.eq(site_id)).filter(shift::Column::UserId.eq(user_id));
    Ok(own.limit(1).one(db).await?.is_some())
}

/// The days whose contracts allow to open the site now: today, and tomorrow shortly before midnight.
fn days_to_open(site: &Site, now: Millis) -> [chrono::NaiveDate; 2] {
    [now, Millis(now.0 + EARLY_START_MS)].map(|at| local(at, site.about.time_zone).date())
}
