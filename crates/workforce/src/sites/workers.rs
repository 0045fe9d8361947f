//! The front door, where pages ask who works where.

use std::collections::BTreeSet;

use sea_orm::sea_query::Query;
use sea_orm::{ColumnTrait, DbErr, EntityTrait, QueryFilter, QuerySelect, Select};

use super::contracts::ContractStatus;
use super::doors::Sites;
use super::tables::{contract, contract_site};
use crate::domain::among;

impl Sites {
    /// Who works at a site by a contract that is active.
    pub async fn workers_at(&self, site_id: i64) -> Result<BTreeSet<i64>, DbErr> {
        let active = contract::Column::Status.eq(ContractStatus::Active.name());
        self.people(for_any_of(&[site_id]).filter(active)).await
    }

    /// Who has a contract for any of these sites, however it stands; one that is deleted does not count.
    pub async fn people_at(&self, sites: &[i64]) -> Result<BTreeSet<i64>, DbErr> {
        self.people(for_any_of(sites)).await
    }

    async fn people(&self, contracts: Select<contract::Entity>) -> Result<BTreeSet<i64>, DbErr> {
        let people = contracts.select_only().column(contract::Column::UserId).distinct().into_tuple::<i64>();
        Ok(people.all(self.reading()).await?.into_iter().collect())
    }
}

fn for_any_of(sites: &[i64]) -> Select<contract::Entity> {
    let here = Query::select()
        .column(contract_site::Column::ContractId)
        .from(contract_site::Entity)
        .and_where(among(contract_site::Column::SiteId, sites))
        .take();
    contract::Entity::find()
        .filter(contract::Column::DeletedAt.is_null())
        .filter(contract::Column::Id.in_subquery(here))
}
