//! Queries about who works where.

use std::collections::{BTreeSet, HashSet};

use sea_orm::sea_query::{Expr, ExprTrait, Query};
use sea_orm::{ColumnTrait, DbErr, EntityTrait, QueryFilter, QuerySelect, Select};

use super::api::Sites;
use super::contracts::ContractStatus;
use super::records::{Site, Slot};
use super::tables::{contract, contract_site};
use crate::domain::in_ids;
use crate::person::{Permission, Person};

impl Sites {
    /// The people with an active contract for a site.
    pub async fn workers_at(&self, site_id: i64) -> Result<BTreeSet<i64>, DbErr> {
        let active = contract::Column::Status.eq(ContractStatus::Active.name());
        self.people(contracts_at(&[site_id]).filter(active)).await
    }

    /// A site where the person has an active contract. The data of a button may name any site, so dialogues of workers
    /// look sites up here and say nothing about others.
    pub async fn site_of_worker(&self, user_id: i64, site_id: i64) -> Result<Option<Site>, DbErr> {
        Ok(self.sites_of_worker(user_id).await?.into_iter().find(|site| site.id == site_id))
    }

    /// A slot at such a site, unless it is deleted.
    pub async fn slot_of_worker(&self, user_id: i64, slot_id: i64) -> Result<Option<(Slot, Site)>, DbErr> {
        let slot = self.slot(slot_id).await?.filter(|slot| slot.deleted_at.is_none());
        let Some(slot) = slot else { return Ok(None) };
        let site = self.site_of_worker(user_id, slot.site_id).await?;
        Ok(site.map(|site| (slot, site)))
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

    /// The workplaces of these people by active contracts: pairs of site and person.
    pub async fn workplaces(&self, people: &BTreeSet<i64>) -> Result<HashSet<(i64, i64)>, DbErr> {
        let (of, at) = ((contract::Entity, contract::Column::Id), |column| (contract_site::Entity, column));
        let mut contracts = contract::Entity::find()
            .filter(contract::Column::DeletedAt.is_null())
            .filter(contract::Column::Status.eq(ContractStatus::Active.name()))
            .filter(contract::Column::UserId.is_in(people.iter().copied()))
            .select_only();
        QuerySelect::query(&mut contracts)
            .column(at(contract_site::Column::SiteId))
            .column((contract::Entity, contract::Column::UserId))
            .inner_join(contract_site::Entity, Expr::col(at(contract_site::Column::ContractId)).equals(of));
        Ok(contracts.into_tuple().all(self.db()).await?.into_iter().collect())
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
