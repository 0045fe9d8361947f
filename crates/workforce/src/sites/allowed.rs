//! The front door, where it is asked who may do what: owners everything, managers what they were permitted, and where.
//!
//! A check before a change answers [`Rights`]. The change needs them, and its commit checks them again: a manager whose
//! permission was taken away in between is refused.

use opora::store::WriteError;
use sea_orm::sea_query::{IntoCondition, LockType, Query};
use sea_orm::{ColumnTrait, Condition, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect};

use super::contracts::Contract;
use super::doors::Sites;
use super::records::Site;
use super::tables::{permission, site};
use super::{NotDone, Why};
use crate::domain::{Writing, among};
use crate::people;
use crate::person::{MANAGERS, OWNERS, Permission, Person};

/// What a change needs of its actor, as it was checked before the commit.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Rights(Vec<Permitted>);

/// A site, and what a manager may do there. Owners need no permission.
pub type Permitted = (i64, Permission);

impl Rights {
    /// For what a person does for themselves. The commit only checks that the person may still act.
    pub fn own() -> Self {
        Self::default()
    }

    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// What a manager needs at these sites.
    pub fn at(what: Permission, sites: &[i64]) -> Self {
        Self(sites.iter().map(|site| (*site, what)).collect())
    }

    /// Checks the actor within a commit. Neither the roles nor the permissions can change before the commit is over.
    pub async fn hold(&self, db: &Writing<'_, '_>, actor: &Person) -> Result<(), WriteError> {
        people::unchanged(db, actor).await?;
        if actor.may(OWNERS) || self.0.is_empty() {
            return Ok(());
        }
        let own = permission::Entity::find().filter(permission::Column::UserId.eq(actor.id));
        let rows = own.order_by_asc(permission::Column::Id).lock(LockType::Share).all(db).await?;
        let own: Vec<_> = rows.into_iter().map(permitted).collect::<Result<_, _>>()?;
        let may = actor.may(MANAGERS) && self.0.iter().all(|right| own.contains(right));
        if may { Ok(()) } else { Err(Why::NotAllowed.refusal()) }
    }
}

impl Sites {
    /// Where a person may do something: owners everywhere, managers where they were permitted.
    pub async fn where_may(&self, person: &Person, what: Permission) -> Result<Vec<Site>, DbErr> {
        self.of_those(person, what, site::Column::DeletedAt.is_null().into_condition()).await
    }

    /// The same with sites that are deleted: what was worked there is still seen, judged and paid.
    pub async fn where_ever_may(&self, person: &Person, what: Permission) -> Result<Vec<Site>, DbErr> {
        self.of_those(person, what, Condition::all()).await
    }

    async fn of_those(&self, person: &Person, what: Permission, which: Condition) -> Result<Vec<Site>, DbErr> {
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

    /// Whether a person may do something at a site, deleted or not.
    pub async fn may(&self, person: &Person, what: Permission, site_id: i64) -> Result<bool, DbErr> {
        if person.may(OWNERS) {
            return Ok(true);
        }
        if !person.may(MANAGERS) {
            return Ok(false);
        }
        let here = permission::Entity::find().filter(permission::Column::UserId.eq(person.id));
        let here = here.filter(permission::Column::SiteId.eq(site_id));
        let found = here.filter(permission::Column::Permission.eq(what.name())).one(self.reading()).await?;
        Ok(found.is_some())
    }

    /// The managers who may do something at these sites: pairs of site and person.
    pub async fn permitted_at(&self, sites: &[i64], what: Permission) -> Result<Vec<(i64, i64)>, DbErr> {
        let here = permission::Entity::find().filter(among(permission::Column::SiteId, sites));
        let rows = here.filter(permission::Column::Permission.eq(what.name())).all(self.reading()).await?;
        Ok(rows.into_iter().map(|row| (row.site_id, row.user_id)).collect())
    }

    /// What a manager may do, and where.
    pub async fn permissions_of(&self, user_id: i64) -> Result<Vec<Permitted>, DbErr> {
        let own = permission::Entity::find().filter(permission::Column::UserId.eq(user_id));
        let rows = own.order_by_asc(permission::Column::Id).all(self.reading()).await?;
        rows.into_iter().map(permitted).collect()
    }

    /// Nobody decides on themselves but owners, above whom there is nobody.
    pub fn not_on_oneself(by: &Person, user_id: i64) -> Result<(), Why> {
        if by.id != user_id || by.may(OWNERS) { Ok(()) } else { Err(Why::OwnCase) }
    }

    pub(super) fn owners_only(&self, by: &Person) -> Result<Rights, NotDone> {
        allowed(by.may(OWNERS), Rights::default())
    }

    pub async fn permitted(&self, by: &Person, what: Permission, site_id: i64) -> Result<Rights, NotDone> {
        allowed(self.may(by, what, site_id).await?, Rights::at(what, &[site_id]))
    }

    pub(super) async fn permitted_at_all(
        &self,
        by: &Person,
        what: Permission,
        sites: &[i64],
    ) -> Result<Rights, NotDone> {
        let where_may = self.where_may(by, what).await?;
        let is_allowed = sites.iter().all(|id| where_may.iter().any(|site| site.id == *id));
        allowed(is_allowed && (by.may(OWNERS) || !sites.is_empty()), Rights::at(what, sites))
    }

    /// A rate that is another one than before is for those who may change rates.
    pub(super) async fn rate_permitted(
        &self,
        by: &Person,
        site_id: i64,
        before: Option<i64>,
        after: Option<i64>,
    ) -> Result<Rights, NotDone> {
        if before == after { Ok(Rights::default()) } else { self.permitted(by, Permission::Rates, site_id).await }
    }

    /// What is done with a contract is done at all of its sites, also at those that it loses. A contract without sites is
    /// for owners.
    pub(super) async fn permitted_with(
        &self,
        by: &Person,
        what: Permission,
        contract: &Contract,
        sites: &[i64],
    ) -> Result<Rights, NotDone> {
        let had = &contract.about.sites;
        let new: Vec<i64> = sites.iter().copied().filter(|site| !had.contains(site)).collect();
        let mut rights = Rights::at(what, had);
        if !new.is_empty() {
            rights = rights.and(self.permitted_at_all(by, what, &new).await?);
        }
        if by.may(OWNERS) {
            return Ok(rights);
        }
        let own = self.permissions_of(by.id).await?;
        let is_permitted = !had.is_empty() && had.iter().all(|site| own.contains(&(*site, what)));
        allowed(by.may(MANAGERS) && is_permitted, rights)
    }
}

fn allowed(is_allowed: bool, rights: Rights) -> Result<Rights, NotDone> {
    if is_allowed { Ok(rights) } else { Err(Why::NotAllowed.into()) }
}

fn permitted(row: permission::Model) -> Result<Permitted, DbErr> {
    Ok((row.site_id, row.permission.parse().map_err(DbErr::Custom)?))
}
