//! The front door, where it is asked who works where.

use std::collections::{BTreeSet, HashSet};

use sea_orm::sea_query::{Expr, ExprTrait, Query};
use sea_orm::{ColumnTrait, DbErr, EntityTrait, QueryFilter, QuerySelect, Select};

use super::contracts::ContractStatus;
use super::doors::Sites;
use super::records::{Site, Slot};
use super::tables::{contract, contract_site};
use crate::domain::among;
use crate::person::{Permission, Person};

impl Sites {
    /// Who works at a site by a contract that is active.
    pub async fn workers_at(&self, site_id: i64) -> Result<BTreeSet<i64>, DbErr> {
        let active = contract::Column::Status.eq(ContractStatus::Active.name());
        self.people(for_any_of(&[site_id]).filter(active)).await
    }

    /// A site where this person works by an active contract. A button may name any site, so dialogues of workers find sites
    /// by this: nothing is said of others.
    pub async fn site_of_worker(&self, user_id: i64, site_id: i64) -> Result<Option<Site>, DbErr> {
        Ok(self.of_worker(user_id).await?.into_iter().find(|site| site.id == site_id))
    }

    /// A slot at such a site, unless it is deleted.
    pub async fn slot_of_worker(&self, user_id: i64, slot_id: i64) -> Result<Option<(Slot, Site)>, DbErr> {
        let slot = self.slot(slot_id).await?.filter(|slot| slot.deleted_at.is_none());
        let Some(slot) = slot else { return Ok(None) };
        let site = self.site_of_worker(user_id, slot.site_id).await?;
        Ok(site.map(|site| (slot, site)))
    }

    /// Who has a contract for any of these sites, however it stands; one that is deleted does not count.
    pub async fn people_at(&self, sites: &[i64]) -> Result<BTreeSet<i64>, DbErr> {
        self.people(for_any_of(sites)).await
    }

    /// The people with a contract for the sites whose employees a manager looks after; nothing if there is no such site.
    pub async fn looked_after(&self, viewer: &Person) -> Result<Option<Vec<i64>>, DbErr> {
        let sites = self.where_may(viewer, Permission::Employees).await?;
        if sites.is_empty() {
            return Ok(None);
        }
        let sites: Vec<i64> = sites.iter().map(|site| site.id).collect();
        Ok(Some(self.people_at(&sites).await?.into_iter().collect()))
    }

    /// Where these people work by contracts that are active: pairs of site and person.
    pub async fn where_they_work(&self, people: &BTreeSet<i64>) -> Result<HashSet<(i64, i64)>, DbErr> {
        let (of, at) = ((contract::Entity, contract::Column::Id), |column| (contract_site::Entity, column));
        let mut theirs = contract::Entity::find()
            .filter(contract::Column::DeletedAt.is_null())
            .filter(contract::Column::Status.eq(ContractStatus::Active.name()))
            .filter(contract::Column::UserId.is_in(people.iter().copied()))
            .select_only();
        QuerySelect::query(&mut theirs)
            .column(at(contract_site::Column::SiteId))
            .column((contract::Entity, contract::Column::UserId))
            .inner_join(contract_site::Entity, Expr::col(at(contract_site::Column::ContractId)).equals(of));
        Ok(theirs.into_tuple().all(self.reading()).await?.into_iter().collect())
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
