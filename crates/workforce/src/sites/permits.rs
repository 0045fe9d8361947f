//! What managers may do at sites: how it is seen as a whole, and changing it.
//!
//! An owner changes several sites at once and says what was seen of each. Where somebody else was faster nothing is
//! changed, and the owner is told.

use std::collections::{BTreeMap, BTreeSet};

use opora::store::WriteError;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Set};
use serde_json::json;

use super::changes::By;
use super::tables::{permission, site};
use super::updates::permitted_otherwise;
use super::{NotDone, Sites, Why};
use crate::audit;
use crate::domain::Writing;
use crate::person::{Permission, Permits, Person};

impl Sites {
    /// What each manager may do, by person.
    pub async fn permits(&self) -> Result<BTreeMap<i64, Permits>, DbErr> {
        let rows = permission::Entity::find().order_by_asc(permission::Column::Id);
        let rows = rows.all(self.app.domain.read()).await?;
        let mut all: BTreeMap<i64, Permits> = BTreeMap::new();
        for row in rows {
            note(all.entry(row.user_id).or_default(), &row)?;
        }
        Ok(all)
    }

    /// What one manager may do.
    pub async fn permits_of(&self, user_id: i64) -> Result<Permits, DbErr> {
        permits_of(self.app.domain.read(), user_id).await
    }

    /// What a manager may do anywhere: a handful, however many sites there are.
    pub async fn permitted_anywhere(&self, user_id: i64) -> Result<Vec<Permission>, DbErr> {
        let own = permission::Entity::find().filter(permission::Column::UserId.eq(user_id));
        let names = own.select_only().column(permission::Column::Permission).distinct().into_tuple::<String>();
        let names = names.all(self.app.domain.read()).await?;
        names.iter().map(|name| name.parse().map_err(DbErr::Custom)).collect()
    }

    /// What a manager may do from now on at all of these sites; `seen` is what was looked at.
    pub async fn permit_at_sites(
        &self,
        by: &Person,
        user_id: i64,
        seen: Permits,
        wanted: Permits,
    ) -> Result<(), NotDone> {
        let rights = self.owners_only(by)?;
        let told = permitted_otherwise(user_id);
        self.change(by, rights, told, move |db, by| Box::pin(permit_at_sites(db, user_id, seen, wanted, by))).await
    }
}

/// The same within a commit. What was not looked at stays as it is.
pub async fn permit_at_sites(
    db: &Writing<'_, '_>,
    user_id: i64,
    seen: Permits,
    wanted: Permits,
    by: By,
) -> Result<(), WriteError> {
    let places: BTreeSet<i64> = seen.keys().chain(wanted.keys()).copied().collect();
    let changed: Vec<i64> = places.into_iter().filter(|site| seen.get(site) != wanted.get(site)).collect();
    if changed.is_empty() {
        return Ok(());
    }
    // Whoever changes the same waits here, and sees what was written.
    let here = site::Entity::find().filter(site::Column::Id.is_in(changed.iter().copied()));
    let sites = here.order_by_asc(site::Column::Id).lock_exclusive().all(db).await?;
    if sites.len() != changed.len() {
        return Err(Why::Gone.refusal());
    }
    let now = permits_of(db, user_id).await?;
    if changed.iter().any(|site| now.get(site) != seen.get(site)) {
        return Err(Why::Stale.refusal());
    }
    let of_person = permission::Column::UserId.eq(user_id);
    let gone = permission::Entity::delete_many().filter(of_person);
    gone.filter(permission::Column::SiteId.is_in(changed.iter().copied())).exec(db).await?;
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

async fn permits_of(db: &impl ConnectionTrait, user_id: i64) -> Result<Permits, DbErr> {
    let own = permission::Entity::find().filter(permission::Column::UserId.eq(user_id));
    let mut permits = Permits::new();
    for row in own.all(db).await? {
        note(&mut permits, &row)?;
    }
    Ok(permits)
}

fn note(permits: &mut Permits, row: &permission::Model) -> Result<(), DbErr> {
    let allowed = row.permission.parse().map_err(DbErr::Custom)?;
    permits.entry(row.site_id).or_default().insert(allowed);
    Ok(())
}

fn names(allowed: Option<&BTreeSet<Permission>>) -> Vec<&'static str> {
    allowed.into_iter().flatten().map(|one| one.name()).collect()
}
