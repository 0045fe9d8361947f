//! Contracts and the permissions of managers: queries, and changes within a commit.

use std::collections::{HashMap, HashSet};
use std::str::FromStr;

use chrono::{Datelike, NaiveDate};
use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::{Expr, ExprTrait, IntoCondition, OnConflict, Query, SelectStatement};
use sea_orm::{
    ActiveModelTrait, ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Set,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::changes::{ChangedBy, change_row, differences, lock_sites_shared, refuse_mistakes, restore_row};
use super::records::{invalid_fields, is_price};
use super::tables::{contract, contract_site, permission};
use super::{SiteRefusal, constraint_refusal};
use crate::domain::{Transaction, days};
use crate::people;
use crate::person::{Permission, Status};

/// The number of the last day of a contract without an end.
const LAST_DAY: i64 = 9_999_999;

/// A contract of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contract {
    pub id: i64,
    pub user_id: i64,
    pub about: AboutContract,
    pub deleted_at: Option<Millis>,
    pub version: i64,
}

/// The fields of a contract that staff fill in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AboutContract {
    pub status: ContractStatus,
    /// Per hour; takes precedence over the rates of slot and site.
    pub rate_kopecks: Option<i64>,
    /// Whether shifts may be opened without a plan.
    pub allows_spontaneous: bool,
    /// The ids of the sites where it is valid. An active contract has at least one.
    pub sites: Vec<i64>,
    /// The first day, by the clock of each site; None without a bound.
    pub valid_from: Option<NaiveDate>,
    /// The last day.
    pub valid_until: Option<NaiveDate>,
}

/// The status of a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContractStatus {
    Draft,
    Active,
    Suspended,
    Terminated,
}

impl ContractStatus {
    pub const ALL: [Self; 4] = [Self::Draft, Self::Active, Self::Suspended, Self::Terminated];

    /// Its name in the database and in forms.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Active => "active",
            Self::Suspended => "suspended",
            Self::Terminated => "terminated",
        }
    }
}

impl FromStr for ContractStatus {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|status| status.name() == name).ok_or_else(|| format!("no contract status `{name}`"))
    }
}

impl AboutContract {
    /// An active contract for these sites, without dates, at the rates of slot and site.
    pub const fn active(sites: Vec<i64>) -> Self {
        Self {
            status: ContractStatus::Active,
            rate_kopecks: None,
            allows_spontaneous: false,
            sites,
            valid_from: None,
            valid_until: None,
        }
    }

    /// The names of the invalid fields.
    pub fn invalid_fields(&self) -> Vec<&'static str> {
        let is_kept = |day: Option<NaiveDate>| day.is_none_or(days::is_kept);
        let is_in_order = self.valid_from.zip(self.valid_until).is_none_or(|(from, until)| from <= until);
        invalid_fields(&[
            ("rate", self.rate_kopecks.is_none_or(is_price)),
            ("sites", self.status != ContractStatus::Active || !self.sites.is_empty()),
            ("valid_from", is_kept(self.valid_from)),
            ("valid_until", is_kept(self.valid_until) && is_in_order),
        ])
    }

    /// Whether the day lies within the dates. Days are by the clock of the site.
    pub fn is_valid_on(&self, day: NaiveDate) -> bool {
        self.valid_from.is_none_or(|from| from <= day) && self.valid_until.is_none_or(|until| day <= until)
    }

    /// Whether it is a contract for the site on a day by the site's clock.
    pub fn covers(&self, site_id: i64, day: NaiveDate) -> bool {
        self.status == ContractStatus::Active && self.sites.contains(&site_id) && self.is_valid_on(day)
    }

    /// Whether two active contracts of one person would cover the same site on the same day.
    pub fn conflicts_with(&self, other: &Self) -> bool {
        let is_active = |about: &Self| about.status == ContractStatus::Active;
        let starts_before_end =
            |one: &Self, other: &Self| one.valid_from.zip(other.valid_until).is_none_or(|(from, until)| from <= until);
        is_active(self)
            && is_active(other)
            && self.sites.iter().any(|site| other.sites.contains(site))
            && starts_before_end(self, other)
            && starts_before_end(other, self)
    }

    fn row(&self) -> contract::ActiveModel {
        contract::ActiveModel {
            status: Set(self.status.name().to_owned()),
            rate_kopecks: Set(self.rate_kopecks),
            allows_spontaneous: Set(self.allows_spontaneous),
            valid_from: Set(self.valid_from.map(|day| day.to_string())),
            valid_until: Set(self.valid_until.map(|day| day.to_string())),
            ..Default::default()
        }
    }
}

/// Refused if a site is deleted or the person has no access, also when that happened after the caller's check.
pub async fn create_contract(
    db: &Transaction<'_, '_>,
    user_id: i64,
    about: AboutContract,
    by: ChangedBy,
) -> Result<i64, WriteError> {
    refuse_mistakes(&about.invalid_fields())?;
    require_sites(db, &about.sites, &[]).await?;
    require_member(db, user_id).await?;
    let row = contract::ActiveModel {
        user_id: Set(user_id),
        created_at: Set(by.at.0),
        updated_at: Set(by.at.0),
        ..about.row()
    };
    let id = row.insert(db).await.map_err(constraint_refusal)?.id;
    set_sites(db, (id, user_id), &about).await?;
    by.audit(db, "contract created", ("contract", id), json!(about)).await?;
    Ok(id)
}

/// Refused if an added site is deleted, or if the contract would be active for a person without access. Sites that were
/// deleted since stay in the contract.
pub async fn edit_contract(
    db: &Transaction<'_, '_>,
    id: i64,
    version: i64,
    about: AboutContract,
    by: ChangedBy,
) -> Result<(), WriteError> {
    refuse_mistakes(&about.invalid_fields())?;
    let before = contracts(db, contract::Column::Id.eq(id)).await?.pop().ok_or_else(|| SiteRefusal::Gone.refusal())?;
    require_sites(db, &about.sites, &before.about.sites).await?;
    if about.status == ContractStatus::Active {
        require_member(db, before.user_id).await?;
    }
    change_row!(contract, db, id, version, about.row(), by);
    set_sites(db, (id, before.user_id), &about).await?;
    by.audit(db, "contract changed", ("contract", id), differences(&before.about, &about)).await
}

pub async fn delete_contract(db: &Transaction<'_, '_>, id: i64, version: i64, by: ChangedBy) -> Result<(), WriteError> {
    let deleted = contract::ActiveModel { deleted_at: Set(Some(by.at.0)), ..Default::default() };
    change_row!(contract, db, id, version, deleted, by);
    let inactive = contract_site::ActiveModel { is_active: Set(false), ..Default::default() };
    let of_contract = contract_site::Column::ContractId.eq(id);
    contract_site::Entity::update_many().set(inactive).filter(of_contract).exec(db).await?;
    by.audit(db, "contract deleted", ("contract", id), json!({})).await
}

/// Refused if an active contract names a deleted site or belongs to a person without access.
pub async fn restore_contract(db: &Transaction<'_, '_>, id: i64, by: ChangedBy) -> Result<(), WriteError> {
    let contract =
        contracts(db, contract::Column::Id.eq(id)).await?.pop().ok_or_else(|| SiteRefusal::Gone.refusal())?;
    if contract.about.status == ContractStatus::Active {
        require_sites(db, &contract.about.sites, &[]).await?;
        require_member(db, contract.user_id).await?;
    }
    restore_row!(contract, db, id, by);
    set_sites(db, (id, contract.user_id), &contract.about).await?;
    by.audit(db, "contract restored", ("contract", id), json!({})).await
}

/// The active contract of a person for a site on a day by the site's clock. The database allows one.
pub async fn contract_for(
    db: &impl ConnectionTrait,
    user_id: i64,
    site_id: i64,
    day: NaiveDate,
) -> Result<Option<Contract>, DbErr> {
    let active = active_on(day).and_where(contract_site::Column::SiteId.eq(site_id)).take();
    let which = contract::Column::UserId.eq(user_id).and(contract::Column::Id.in_subquery(active));
    Ok(contracts(db, which).await?.pop())
}

/// The active contracts of a person, whatever their dates.
pub async fn active_contracts_of(db: &impl ConnectionTrait, user_id: i64) -> Result<Vec<Contract>, DbErr> {
    let own = contract::Column::UserId.eq(user_id).and(contract::Column::DeletedAt.is_null());
    contracts(db, own.and(contract::Column::Status.eq(ContractStatus::Active.name()))).await
}

/// The people with an active contract for a site on a day by the site's clock.
pub(super) async fn people_with_contract(
    db: &impl ConnectionTrait,
    site_id: i64,
    day: NaiveDate,
) -> Result<HashSet<i64>, DbErr> {
    let active = active_on(day).and_where(contract_site::Column::SiteId.eq(site_id)).take();
    let people = contract::Entity::find().select_only().column(contract::Column::UserId);
    let people: Vec<i64> = people.filter(contract::Column::Id.in_subquery(active)).into_tuple().all(db).await?;
    Ok(people.into_iter().collect())
}

/// Refuses unless the person has an active contract for the site on a day by the site's clock.
pub async fn require_contract(
    db: &impl ConnectionTrait,
    user_id: i64,
    site_id: i64,
    day: NaiveDate,
) -> Result<(), WriteError> {
    let contract = contract_for(db, user_id, site_id, day).await?;
    if contract.is_some() { Ok(()) } else { Err(SiteRefusal::NoContract.refusal()) }
}

/// Locks the sites, and refuses unless each exists or is one of `kept`.
async fn require_sites(db: &Transaction<'_, '_>, sites: &[i64], kept: &[i64]) -> Result<(), WriteError> {
    let live = lock_sites_shared(db, sites).await?;
    let is_allowed = |id: &i64| kept.contains(id) || live.iter().any(|site| site.id == *id);
    if sites.iter().all(is_allowed) { Ok(()) } else { Err(SiteRefusal::Gone.refusal()) }
}

/// Locks the person, and refuses if the person has no access.
async fn require_member(db: &Transaction<'_, '_>, user_id: i64) -> Result<(), WriteError> {
    let is_member = people::lock_status(db, user_id).await? == Some(Status::Verified);
    if is_member { Ok(()) } else { Err(SiteRefusal::NotMember.refusal()) }
}

/// Whether another active contract of the person covers a site of this one on the same day.
pub(super) async fn has_conflict(
    db: &impl ConnectionTrait,
    user_id: i64,
    about: &AboutContract,
) -> Result<bool, DbErr> {
    Ok(active_contracts_of(db, user_id).await?.iter().any(|one| one.about.conflicts_with(about)))
}

/// The ids of contracts that are active on a day.
pub(super) fn active_on(day: NaiveDate) -> SelectStatement {
    Query::select()
        .column(contract_site::Column::ContractId)
        .from(contract_site::Entity)
        .and_where(contract_site::Column::IsActive.eq(true))
        .and_where(contract_site::Column::FirstDay.lte(day_number(day)))
        .and_where(contract_site::Column::LastDay.gte(day_number(day)))
        .take()
}

/// A day as a number that the database compares.
pub(super) fn day_number(day: NaiveDate) -> i64 {
    day.num_days_from_ce().into()
}

/// Contracts, the oldest first.
pub async fn contracts(db: &impl ConnectionTrait, which: impl IntoCondition) -> Result<Vec<Contract>, DbErr> {
    let rows = contract::Entity::find().filter(which).order_by_asc(contract::Column::Id).all(db).await?;
    let of_these = contract_site::Column::ContractId.is_in(rows.iter().map(|row| row.id));
    let places =
        contract_site::Entity::find().filter(of_these).order_by_asc(contract_site::Column::SiteId).all(db).await?;
    let mut sites: HashMap<i64, Vec<i64>> = HashMap::new();
    for place in places {
        sites.entry(place.contract_id).or_default().push(place.site_id);
    }
    let contract = |row: contract::Model| {
        let day = |text: &Option<String>| text.as_deref().and_then(days::day_of);
        let about = AboutContract {
            valid_from: day(&row.valid_from),
            valid_until: day(&row.valid_until),
            status: row.status.parse().map_err(DbErr::Custom)?,
            rate_kopecks: row.rate_kopecks,
            allows_spontaneous: row.allows_spontaneous,
            sites: sites.remove(&row.id).unwrap_or_default(),
        };
        let deleted_at = row.deleted_at.map(Millis);
        Ok(Contract { id: row.id, user_id: row.user_id, about, deleted_at, version: row.version })
    };
    rows.into_iter().map(contract).collect()
}

/// Replaces a manager's permissions at a site.
pub async fn set_permissions(
    db: &Transaction<'_, '_>,
    user_id: i64,
    site_id: i64,
    allowed: Vec<Permission>,
    by: ChangedBy,
) -> Result<(), WriteError> {
    let at_site = permission::Column::SiteId.eq(site_id);
    permission::Entity::delete_many().filter(permission::Column::UserId.eq(user_id)).filter(at_site).exec(db).await?;
    let names: Vec<_> = allowed.iter().map(|one| one.name()).collect();
    let rows = allowed.iter().map(|one| permission::ActiveModel {
        user_id: Set(user_id),
        site_id: Set(site_id),
        permission: Set(one.name().to_owned()),
        ..Default::default()
    });
    let rows: Vec<_> = rows.collect();
    if !rows.is_empty() {
        let once = OnConflict::new().do_nothing().to_owned();
        permission::Entity::insert_many(rows).on_conflict(once).exec_without_returning(db).await?;
    }
    let detail = json!({ "site": site_id, "allowed": names });
    by.audit(db, "permissions changed", ("manager", user_id), detail).await
}

/// Replaces the sites of a contract. Refused as [`SiteRefusal::ContractExists`] by the database if another active
/// contract of the person covers one of them on the same day.
async fn set_sites(
    db: &Transaction<'_, '_>,
    (contract_id, user_id): (i64, i64),
    about: &AboutContract,
) -> Result<(), WriteError> {
    contract_site::Entity::delete_many().filter(contract_site::Column::ContractId.eq(contract_id)).exec(db).await?;
    let mut sites = about.sites.clone();
    sites.sort_unstable();
    sites.dedup();
    if sites.is_empty() {
        return Ok(());
    }
    let rows = sites.into_iter().map(|site_id| contract_site::ActiveModel {
        contract_id: Set(contract_id),
        site_id: Set(site_id),
        user_id: Set(user_id),
        is_active: Set(about.status == ContractStatus::Active),
        first_day: Set(about.valid_from.map_or(0, day_number)),
        last_day: Set(about.valid_until.map_or(LAST_DAY, day_number)),
    });
    contract_site::Entity::insert_many(rows).exec_without_returning(db).await.map_err(constraint_refusal)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(sites: &[i64], from: &str, until: &str) -> AboutContract {
        let day = |text: &str| text.parse().ok();
        AboutContract { valid_from: day(from), valid_until: day(until), ..AboutContract::active(sites.to_vec()) }
    }

    #[test]
    fn contracts_conflict_at_a_shared_site_on_a_shared_day() {
        let spring = about(&[1, 2], "2026-03-01", "2026-05-31");
        let cases = [
            (about(&[2], "2026-05-31", ""), true),
            (about(&[2], "2026-06-01", ""), false),
            (about(&[2], "", "2026-03-01"), true),
            (about(&[2], "", "2026-02-28"), false),
            (about(&[3], "", ""), false),
            (about(&[1], "", ""), true),
            (AboutContract { status: ContractStatus::Suspended, ..about(&[1], "", "") }, false),
        ];
        for (other, conflicts) in cases {
            assert_eq!(spring.conflicts_with(&other), conflicts, "{other:?}");
            assert_eq!(other.conflicts_with(&spring), conflicts, "{other:?}");
        }
    }

    #[test]
    fn an_active_contract_needs_a_site_and_ordered_days() {
        assert_eq!(about(&[], "", "").invalid_fields(), ["sites"]);
        let draft = AboutContract { status: ContractStatus::Draft, ..about(&[], "", "") };
        assert_eq!(draft.invalid_fields(), [""; 0]);
        assert_eq!(about(&[1], "2026-02-02", "2026-02-01").invalid_fields(), ["valid_until"]);
        let day = about(&[1], "2026-02-01", "2026-02-01");
        assert_eq!(day.invalid_fields(), [""; 0]);
        let is_valid_on = |text: &str| day.is_valid_on(text.parse().unwrap());
        assert!(is_valid_on("2026-02-01") && !is_valid_on("2026-01-31") && !is_valid_on("2026-02-02"));
    }
}
