//! Contracts and the permissions of managers: queries, and changes within a commit.

use std::collections::HashMap;
use std::str::FromStr;

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::{Expr, ExprTrait, IntoCondition, OnConflict, Query};
use sea_orm::{ActiveModelTrait, ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, Set};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::changes::{ChangedBy, change_row, differences, refuse_mistakes, restore_row};
use super::records::{invalid_fields, is_price};
use super::tables::{contract, contract_site, permission};
use super::{SiteRefusal, constraint_refusal};
use crate::domain::Transaction;
use crate::person::Permission;

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
    /// The ids of the sites where it is valid.
    pub sites: Vec<i64>,
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
    /// The names of the invalid fields.
    pub fn invalid_fields(&self) -> Vec<&'static str> {
        invalid_fields(&[("rate", self.rate_kopecks.is_none_or(is_price))])
    }

    fn row(&self) -> contract::ActiveModel {
        contract::ActiveModel {
            status: Set(self.status.name().to_owned()),
            rate_kopecks: Set(self.rate_kopecks),
            allows_spontaneous: Set(self.allows_spontaneous),
            ..Default::default()
        }
    }
}

pub async fn create_contract(
    db: &Transaction<'_, '_>,
    user_id: i64,
    about: AboutContract,
    by: ChangedBy,
) -> Result<i64, WriteError> {
    refuse_mistakes(&about.invalid_fields())?;
    let row = contract::ActiveModel {
        user_id: Set(user_id),
        created_at: Set(by.at.0),
        updated_at: Set(by.at.0),
        ..about.row()
    };
    let id = row.insert(db).await.map_err(constraint_refusal)?.id;
    set_sites(db, id, &about.sites).await?;
    by.audit(db, "contract created", ("contract", id), json!(about)).await?;
    Ok(id)
}

pub async fn edit_contract(
    db: &Transaction<'_, '_>,
    id: i64,
    version: i64,
    about: AboutContract,
    by: ChangedBy,
) -> Result<(), WriteError> {
    refuse_mistakes(&about.invalid_fields())?;
    let before = contracts(db, contract::Column::Id.eq(id)).await?.pop().ok_or_else(|| SiteRefusal::Gone.refusal())?;
    change_row!(contract, db, id, version, about.row(), by);
    set_sites(db, id, &about.sites).await?;
    by.audit(db, "contract changed", ("contract", id), differences(&before.about, &about)).await
}

pub async fn delete_contract(db: &Transaction<'_, '_>, id: i64, version: i64, by: ChangedBy) -> Result<(), WriteError> {
    let deleted = contract::ActiveModel { deleted_at: Set(Some(by.at.0)), ..Default::default() };
    change_row!(contract, db, id, version, deleted, by);
    by.audit(db, "contract deleted", ("contract", id), json!({})).await
}

pub async fn restore_contract(db: &Transaction<'_, '_>, id: i64, by: ChangedBy) -> Result<(), WriteError> {
    restore_row!(contract, db, id, by);
    by.audit(db, "contract restored", ("contract", id), json!({})).await
}

/// The active contract of a person for a site; the newest if there are several.
pub async fn contract_for(db: &impl ConnectionTrait, user_id: i64, site_id: i64) -> Result<Option<Contract>, DbErr> {
    let contracts_of_site = Query::select()
        .column(contract_site::Column::ContractId)
        .from(contract_site::Entity)
        .and_where(contract_site::Column::SiteId.eq(site_id))
        .take();
    let which = contract::Column::UserId
        .eq(user_id)
        .and(contract::Column::Status.eq(ContractStatus::Active.name()))
        .and(contract::Column::DeletedAt.is_null())
        .and(contract::Column::Id.in_subquery(contracts_of_site));
    Ok(contracts(db, which).await?.pop())
}

/// Refuses unless the person has an active contract for the site.
pub async fn require_contract(db: &impl ConnectionTrait, user_id: i64, site_id: i64) -> Result<(), WriteError> {
    let contract = contract_for(db, user_id, site_id).await?;
    if contract.is_some() { Ok(()) } else { Err(SiteRefusal::NoContract.refusal()) }
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
        let about = AboutContract {
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

async fn set_sites(db: &Transaction<'_, '_>, contract_id: i64, sites: &[i64]) -> Result<(), WriteError> {
    contract_site::Entity::delete_many().filter(contract_site::Column::ContractId.eq(contract_id)).exec(db).await?;
    let mut sites = sites.to_vec();
    sites.sort_unstable();
    sites.dedup();
    if sites.is_empty() {
        return Ok(());
    }
    let rows = sites
        .into_iter()
        .map(|site_id| contract_site::ActiveModel { contract_id: Set(contract_id), site_id: Set(site_id) });
    contract_site::Entity::insert_many(rows).exec_without_returning(db).await?;
    Ok(())
}
