//! Queries about who works where.

use std::collections::{BTreeSet, HashMap, HashSet};

use chrono::{NaiveDate, TimeDelta};
use chrono_tz::Tz;
use sea_orm::sea_query::{ExprTrait, Query};
use sea_orm::{ColumnTrait, DbErr, EntityTrait, QueryFilter, QuerySelect, Select};

use super::api::Sites;
use super::contracts::{active_on, day_number};
use super::records::{Site, Slot};
use super::rules::local;
use super::tables::{contract, contract_site, site};
use crate::domain::in_ids;
use crate::person::{Permission, Person};

impl Sites {
    /// The people with an active contract for a site on a day by the site's clock.
    pub async fn workers_at(&self, site_id: i64, day: NaiveDate) -> Result<BTreeSet<i64>, DbErr> {
        let active = active_on(day).and_where(contract_site::Column::SiteId.eq(site_id)).take();
        self.people(contract::Entity::find().filter(contract::Column::Id.in_subquery(active))).await
    }

    /// The sites of a person's active contracts that have not ended by the clock of the site. A contract that begins
    /// later counts: its person may plan ahead. What is done on a day is checked by [`Sites::contract_for`].
    pub async fn sites_of_worker(&self, user_id: i64) -> Result<Vec<Site>, DbErr> {
        let own = contract_site::Entity::find()
            .filter(contract_site::Column::UserId.eq(user_id))
            .filter(contract_site::Column::IsActive.eq(true));
        let last_days = own.select_only().column(contract_site::Column::SiteId).column(contract_site::Column::LastDay);
        let last_days: Vec<(i64, i64)> = last_days.into_tuple().all(self.db()).await?;
        let ids: Vec<i64> = last_days.iter().map(|(site, _)| *site).collect();
        let mut sites = self.sites(site::Column::DeletedAt.is_null().and(site::Column::Id.is_in(ids))).await?;
        sites.retain(|site| {
            let today = day_number(self.today_at(site));
            last_days.iter().any(|(id, last_day)| *id == site.id && today <= *last_day)
        });
        Ok(sites)
    }

    /// The present day by a site's clock.
    pub fn today_at(&self, site: &Site) -> NaiveDate {
        local(self.app.clock.now(), site.about.time_zone).date()
    }

    /// A site of [`Sites::sites_of_worker`]. The data of a button may name any site, so dialogues of workers look sites
    /// up here and say nothing about others.
    pub async fn site_of_worker(&self, user_id: i64, site_id: i64) -> Result<Option<Site>, DbErr> {
        Ok(self.sites_of_worker(user_id).await?.into_iter().find(|site| site.id == site_id))
    }

    /// A site where the person has an active contract today.
    pub async fn site_of_worker_today(&self, user_id: i64, site_id: i64) -> Result<Option<Site>, DbErr> {
        let Some(site) = self.site_of_worker(user_id, site_id).await? else { return Ok(None) };
        let contract = self.contract_for(user_id, site_id, self.today_at(&site)).await?;
        Ok(contract.map(|_| site))
    }

    /// A slot at such a site, on a day that the contract covers, unless it is deleted.
    pub async fn slot_of_worker(&self, user_id: i64, slot_id: i64) -> Result<Option<(Slot, Site)>, DbErr> {
        let slot = self.slot(slot_id).await?.filter(|slot| slot.deleted_at.is_none());
        let Some(slot) = slot else { return Ok(None) };
        let Some(site) = self.site_of_worker(user_id, slot.site_id).await? else { return Ok(None) };
        let contract = self.contract_for(user_id, site.id, slot.about.day).await?;
        Ok(contract.map(|_| (slot, site)))
    }

    /// The people with a contract for any of these sites, whatever its status; deleted contracts do not count.
    pub async fn people_with_contracts_at(&self, sites: &[i64]) -> Result<BTreeSet<i64>, DbErr> {
        self.people(contracts_at(sites)).await
    }

    /// The people with a contract for the sites where the manager has the permission for employees; None without such a
    /// site.
    pub async fn managed_people(&self, viewer: &Person) -> Result<Option<Vec<i64>>, DbErr> {
        let sites = self.permitted_sites(viewer, Permission::Employees).await?;
        if sites.is_empty() {
            return Ok(None);
        }
        let sites: Vec<i64> = sites.iter().map(|site| site.id).collect();
        Ok(Some(self.people_with_contracts_at(&sites).await?.into_iter().collect()))
    }

    /// The workplaces of these people by active contracts that have not ended: pairs of site and person.
    pub async fn workplaces(&self, people: &BTreeSet<i64>) -> Result<HashSet<(i64, i64)>, DbErr> {
        // The last day is by the clock of each site. No clock is more than a day behind this one.
        let yesterday = local(self.app.clock.now(), Tz::UTC).date() - TimeDelta::days(1);
        let places = contract_site::Entity::find()
            .filter(contract_site::Column::IsActive.eq(true))
            .filter(contract_site::Column::LastDay.gte(day_number(yesterday)))
            .filter(contract_site::Column::UserId.is_in(people.iter().copied()));
        let pairs = places.select_only().column(contract_site::Column::SiteId).column(contract_site::Column::UserId);
        Ok(pairs.into_tuple().all(self.db()).await?.into_iter().collect())
    }

    /// The time zone of each person's workplace; of several, of the first in the order of sites.
    pub async fn time_zones_of(&self, people: &[i64]) -> Result<HashMap<i64, Tz>, DbErr> {
        let places = self.workplaces(&people.iter().copied().collect()).await?;
        let ids: BTreeSet<i64> = places.iter().map(|(site, _)| *site).collect();
        let sites = self.with_ids(&ids.into_iter().collect::<Vec<_>>()).await?;
        let mut zones = HashMap::new();
        for site in sites {
            for (_, person) in places.iter().filter(|(id, _)| *id == site.id) {
                zones.entry(*person).or_insert(site.about.time_zone);
            }
        }
        Ok(zones)
    }

    async fn people(&self, contracts: Select<contract::Entity>) -> Result<BTreeSet<i64>, DbErr> {
        let people = contracts.select_only().column(contract::Column::UserId).distinct().into_tuple::<i64>();
        Ok(people.all(self.db()).await?.into_iter().collect())
    }
}

fn contracts_at(sites: &[i64]) -> Select<contract::Entity> {
    let contracts_of_sites = Query::select()
        .column(contract_site::Column::ContractId)
        .from(contract_site::Entity)
        .and_where(in_ids(contract_site::Column::SiteId, sites))
        .take();
    contract::Entity::find()
        .filter(contract::Column::DeletedAt.is_null())
        .filter(contract::Column::Id.in_subquery(contracts_of_sites))
}
