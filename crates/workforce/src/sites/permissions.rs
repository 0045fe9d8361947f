//! The permissions of managers at sites: queries and changes.
//!
//! An owner changes several sites at once and passes the permissions that the form showed. If one of these has changed
//! since, the whole change is refused.

use std::collections::{BTreeMap, BTreeSet};

use opora::store::WriteError;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Set};
use serde_json::json;

use super::changes::ChangedBy;
use super::events::permissions_changed;
use super::tables::{permission, site};
use super::{ActionError, SiteRefusal, Sites};
use crate::audit;
use crate::domain::Transaction;
use crate::person::{Permission, Person, SitePermissions};

impl Sites {
    /// The permissions of all managers, by person.
    pub async fn all_permissions(&self) -> Result<BTreeMap<i64, SitePermissions>, DbErr> {
        let rows = permission::Entity::find().order_by_asc(permission::Column::Id);
        let rows = rows.all(self.app.domain.read()).await?;
        let mut all: BTreeMap<i64, SitePermissions> = BTreeMap::new();
        for row in rows {
            note(all.entry(row.user_id).or_default(), &row)?;
        }
        Ok(all)
    }

    /// The permissions of one manager, by site.
    pub async fn site_permissions(&self, user_id: i64) -> Result<SitePermissions, DbErr> {
        site_permissions(self.app.domain.read(), user_id).await
    }

    /// All permissions that a manager has at any site. At most seven, however many sites there are.
    pub async fn permitted_anywhere(&self, user_id: i64) -> Result<Vec<Permission>, DbErr> {
        let own = permission::Entity::find().filter(permission::Column::UserId.eq(user_id));
        let names = own.select_only().column(permission::Column::Permission).distinct().into_tuple::<String>();
        let names = names.all(self.app.domain.read()).await?;
        names.iter().map(|name| name.parse().map_err(DbErr::Custom)).collect()
    }

    /// Replaces a manager's permissions at these sites; `seen` is what the form showed.
    pub async fn set_permissions_at_sites(
        &self,
        by: &Person,
        user_id: i64,
        seen: SitePermissions,
        wanted: SitePermissions,
    ) -> Result<(), ActionError> {
        let rights = self.require_owner(by)?;
        let events = permissions_changed(user_id);
        self.change(by, rights, events, move |db, by| Box::pin(set_permissions_at_sites(db, user_id, seen, wanted, by)))
            .await
    }
}

/// Replaces a manager's permissions within a commit. Sites that are in neither argument stay as they are.
pub async fn set_permissions_at_sites(
    db: &Transaction<'_, '_>,
    user_id: i64,
    seen: SitePermissions,
    wanted: SitePermissions,
    by: ChangedBy,
) -> Result<(), WriteError> {
    let named_sites: BTreeSet<i64> = seen.keys().chain(wanted.keys()).copied().collect();
    let changed: Vec<i64> = named_sites.into_iter().filter(|site| seen.get(site) != wanted.get(site)).collect();
    if changed.is_empty() {
        return Ok(());
    }
    // A concurrent change of these sites waits here and then sees what was written.
    let query = site::Entity::find().filter(site::Column::Id.is_in(changed.iter().copied()));
    let sites = query.order_by_asc(site::Column::Id).lock_exclusive().all(db).await?;
    if sites.len() != changed.len() {
        return Err(SiteRefusal::Gone.refusal());
    }
    let now = site_permissions(db, user_id).await?;
    if changed.iter().any(|site| now.get(site) != seen.get(site)) {
        return Err(SiteRefusal::Stale.refusal());
    }
    let of_person = permission::Column::UserId.eq(user_id);
    let deletion = permission::Entity::delete_many().filter(of_person);
    deletion.filter(permission::Column::SiteId.is_in(changed.iter().copied())).exec(db).await?;
    let rows = changed.iter().flat_map(|site| wanted.get(site).into_iter().flatten().map(move |one| (*site, *one)));
    let rows = rows.map(|(site_id, allowed)| permission::ActiveModel {
        user_id: Set(user_id),
        site_id: Set(site_id),
        permission: Set(allowed.name().to_owned()),
        ..Default::default()
    });
    let rows: Vec<_> = rows.collect();
    if !rows.is_empty() {
        permission::Entity::insert_many(rows).exec_without_returning(db).await?;
    }
    let lines = sites.iter().map(|site| audit::Entry {
        at: by.at,
        actor: by.person,
        action: "permissions given",
        subject: ("manager", user_id),
        detail: json!({
            "site": site.id,
            "place": site.name,
            "before": names(seen.get(&site.id)),
            "allowed": names(wanted.get(&site.id)),
        }),
    });
    audit::record_all(db, lines.collect()).await
}

async fn site_permissions(db: &impl ConnectionTrait, user_id: i64) -> Result<SitePermissions, DbErr> {
    let own = permission::Entity::find().filter(permission::Column::UserId.eq(user_id));
    let mut permissions = SitePermissions::new();
    for row in own.all(db).await? {
        note(&mut permissions, &row)?;
    }
    Ok(permissions)
}

fn note(permissions: &mut SitePermissions, row: &permission::Model) -> Result<(), DbErr> {
    let allowed = row.permission.parse().map_err(DbErr::Custom)?;
    permissions.entry(row.site_id).or_default().insert(allowed);
    Ok(())
}

fn names(allowed: Option<&BTreeSet<Permission>>) -> Vec<&'static str> {
    allowed.into_iter().flatten().map(|one| one.name()).collect()
}
