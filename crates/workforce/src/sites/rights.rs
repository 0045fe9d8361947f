//! Rights of people at sites: owners may do everything, managers what their permissions allow.
//!
//! A check before a change returns [`Rights`]. The change needs them, and its commit checks them again: if a permission
//! is withdrawn in between, the commit is refused.

use opora::store::WriteError;
use sea_orm::sea_query::{IntoCondition, LockType, Query};
use sea_orm::{ColumnTrait, Condition, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect};

use super::api::Sites;
use super::contracts::Contract;
use super::records::Site;
use super::tables::{permission, site};
use super::{ActionError, SiteRefusal};
use crate::domain::{Transaction, in_ids};
use crate::people;
use crate::person::{MANAGERS, OWNERS, Permission, Person};

/// The permissions that a change needs, as checked before the commit.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Rights(Vec<SitePermission>);

/// A site and a permission there. Owners need none.
pub type SitePermission = (i64, Permission);

impl Rights {
    /// For an action on the person's own behalf. The commit only checks that the person may still act.
    pub fn own() -> Self {
        Self::default()
    }

    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// The permission at each of these sites.
    pub fn at(what: Permission, sites: &[i64]) -> Self {
        Self(sites.iter().map(|site| (*site, what)).collect())
    }

    /// Checks the actor within a commit, and locks the actor's roles and permissions until it ends.
    pub async fn check(&self, db: &Transaction<'_, '_>, actor: &Person) -> Result<(), WriteError> {
        people::require_unchanged(db, actor).await?;
        if actor.may(OWNERS) || self.0.is_empty() {
            return Ok(());
        }
        let own = permission::Entity::find().filter(permission::Column::UserId.eq(actor.id));
        let rows = own.order_by_asc(permission::Column::Id).lock(LockType::Share).all(db).await?;
        let own: Vec<_> = rows.into_iter().map(site_permission).collect::<Result<_, _>>()?;
        let may = actor.may(MANAGERS) && self.0.iter().all(|right| own.contains(right));
        if may { Ok(()) } else { Err(SiteRefusal::NotAllowed.refusal()) }
    }
}

impl Sites {
    /// The sites where a person has a permission: all sites for owners.
    pub async fn permitted_sites(&self, person: &Person, what: Permission) -> Result<Vec<Site>, DbErr> {
        self.filter_permitted_sites(person, what, site::Column::DeletedAt.is_null().into_condition()).await
    }

    /// Like [`Sites::permitted_sites`], with deleted sites, whose shifts are still seen, judged and paid.
    pub async fn permitted_sites_with_deleted(&self, person: &Person, what: Permission) -> Result<Vec<Site>, DbErr> {
        self.filter_permitted_sites(person, what, Condition::all()).await
    }

    async fn filter_permitted_sites(
        &self,
        person: &Person,
        what: Permission,
        which: Condition,
    ) -> Result<Vec<Site>, DbErr> {
        if person.may(OWNERS) {
            return self.sites(which).await;
        }
        if !person.may(MANAGERS) {
            return Ok(Vec::new());
        }
        let permitted = Query::select()
            .column(permission::Column::SiteId)
            .from(permission::Entity)
            .and_where(permission::Column::UserId.eq(person.id))
            .and_where(permission::Column::Permission.eq(what.name()))
            .take();
        self.sites(which.add(site::Column::Id.in_subquery(permitted))).await
    }

    /// Whether a person has a permission at a site, deleted or not.
    pub async fn may(&self, person: &Person, what: Permission, site_id: i64) -> Result<bool, DbErr> {
        if person.may(OWNERS) {
            return Ok(true);
        }
        if !person.may(MANAGERS) {
            return Ok(false);
        }
        let query = permission::Entity::find().filter(permission::Column::UserId.eq(person.id));
        let query = query.filter(permission::Column::SiteId.eq(site_id));
        let found = query.filter(permission::Column::Permission.eq(what.name())).one(self.db()).await?;
        Ok(found.is_some())
    }

    /// The managers who have a permission at these sites: pairs of site and person.
    pub async fn managers_permitted_at(&self, sites: &[i64], what: Permission) -> Result<Vec<(i64, i64)>, DbErr> {
        let query = permission::Entity::find().filter(in_ids(permission::Column::SiteId, sites));
        let rows = query.filter(permission::Column::Permission.eq(what.name())).all(self.db()).await?;
        Ok(rows.into_iter().map(|row| (row.site_id, row.user_id)).collect())
    }

    /// A manager's permissions with their sites.
    pub async fn permissions_of(&self, user_id: i64) -> Result<Vec<SitePermission>, DbErr> {
        let own = permission::Entity::find().filter(permission::Column::UserId.eq(user_id));
        let rows = own.order_by_asc(permission::Column::Id).all(self.db()).await?;
        rows.into_iter().map(site_permission).collect()
    }

    /// Refuses a decision on oneself. Owners are exempt, because no role ranks above them.
    pub fn refuse_own_case(by: &Person, user_id: i64) -> Result<(), SiteRefusal> {
        if by.id != user_id || by.may(OWNERS) { Ok(()) } else { Err(SiteRefusal::OwnCase) }
    }

    pub(super) fn require_owner(&self, by: &Person) -> Result<Rights, ActionError> {
        rights_if(by.may(OWNERS), Rights::default())
    }

    pub async fn require_permission(&self, by: &Person, what: Permission, site_id: i64) -> Result<Rights, ActionError> {
        rights_if(self.may(by, what, site_id).await?, Rights::at(what, &[site_id]))
    }

    pub(super) async fn require_permission_at_all(
        &self,
        by: &Person,
        what: Permission,
        sites: &[i64],
    ) -> Result<Rights, ActionError> {
        let permitted_sites = self.permitted_sites(by, what).await?;
        let is_allowed = sites.iter().all(|id| permitted_sites.iter().any(|site| site.id == *id));
        rights_if(is_allowed && (by.may(OWNERS) || !sites.is_empty()), Rights::at(what, sites))
    }

    /// Needs the permission for rates if the rate changes.
    pub(super) async fn require_rate_permission(
        &self,
        by: &Person,
        site_id: i64,
        before: Option<i64>,
        after: Option<i64>,
    ) -> Result<Rights, ActionError> {
        if before == after {
            Ok(Rights::default())
        } else {
            self.require_permission(by, Permission::Rates, site_id).await
        }
    }

    /// Needs the permission at all sites of a contract, before and after the change. A contract without sites is for
    /// owners.
    pub(super) async fn require_contract_permission(
        &self,
        by: &Person,
        what: Permission,
        contract: &Contract,
        sites: &[i64],
    ) -> Result<Rights, ActionError> {
        let sites_before = &contract.about.sites;
        let new: Vec<i64> = sites.iter().copied().filter(|site| !sites_before.contains(site)).collect();
        let mut rights = Rights::at(what, sites_before);
        if !new.is_empty() {
            rights = rights.and(self.require_permission_at_all(by, what, &new).await?);
        }
        if by.may(OWNERS) {
            return Ok(rights);
        }
        let own = self.permissions_of(by.id).await?;
        let is_permitted = !sites_before.is_empty() && sites_before.iter().all(|site| own.contains(&(*site, what)));
        rights_if(by.may(MANAGERS) && is_permitted, rights)
    }
}

fn rights_if(is_allowed: bool, rights: Rights) -> Result<Rights, ActionError> {
    if is_allowed { Ok(rights) } else { Err(SiteRefusal::NotAllowed.into()) }
}

fn site_permission(row: permission::Model) -> Result<SitePermission, DbErr> {
    Ok((row.site_id, row.permission.parse().map_err(DbErr::Custom)?))
}
