//! Personal data of this room: export and deletion.

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, Set};
use serde_json::{Value, json};

use super::tables::{contract, contract_site, permission};
use super::{ContractStatus, broadcasts};
use crate::domain::{Domain, Transaction};
use crate::notices;

/// Contracts with their sites, permissions, and notices to the person.
pub async fn export(domain: &Domain, user_id: i64) -> anyhow::Result<Value> {
    let contracts = contract::Entity::find().filter(contract::Column::UserId.eq(user_id));
    let contracts = contracts.order_by_asc(contract::Column::Id).all(domain.read()).await?;
    let places = contract_site::Column::ContractId.is_in(contracts.iter().map(|one| one.id));
    let places = contract_site::Entity::find().filter(places).all(domain.read()).await?;
    let permissions = permission::Entity::find().filter(permission::Column::UserId.eq(user_id));
    let permissions = permissions.order_by_asc(permission::Column::Id).all(domain.read()).await?;
    let notices = notices::notices_of(domain, user_id).await?;
    let broadcasts = broadcasts::export(domain, user_id).await?;
    if contracts.is_empty() && permissions.is_empty() && notices.is_empty() && broadcasts.is_empty() {
        return Ok(Value::Null);
    }
    let contracts = contracts.iter().map(|one| {
        let sites: Vec<_> = places.iter().filter(|at| at.contract_id == one.id).map(|at| at.site_id).collect();
        json!({
            "id": one.id, "status": one.status, "rate_kopecks": one.rate_kopecks, "sites": sites,
            "allows_spontaneous": one.allows_spontaneous, "created_at_ms": one.created_at,
            "valid_from": one.valid_from, "valid_until": one.valid_until,
        })
    });
    let allowed = permissions.iter().map(|one| json!({ "permission": one.permission, "site": one.site_id }));
    Ok(json!({
        "contracts": contracts.collect::<Value>(), "permissions": allowed.collect::<Value>(),
        "notices": notices, "broadcasts": broadcasts,
    }))
}

/// Deletes permissions and terminates contracts. Contracts stay because pay refers to them.
pub async fn forget(db: &Transaction<'_, '_>, person_id: i64, at: Millis) -> Result<(), WriteError> {
    broadcasts::forget(db, person_id).await?;
    permission::Entity::delete_many().filter(permission::Column::UserId.eq(person_id)).exec(db).await?;
    let ended = contract::ActiveModel {
        status: Set(ContractStatus::Terminated.name().to_owned()),
        updated_at: Set(at.0),
        ..Default::default()
    };
    contract::Entity::update_many()
        .set(ended)
        .col_expr(contract::Column::Version, Expr::col(contract::Column::Version).add(1))
        .filter(contract::Column::UserId.eq(person_id))
        .filter(contract::Column::Status.ne(ContractStatus::Terminated.name()))
        .exec(db)
        .await?;
    let inactive = contract_site::ActiveModel { is_active: Set(false), ..Default::default() };
    contract_site::Entity::update_many()
        .set(inactive)
        .filter(contract_site::Column::UserId.eq(person_id))
        .exec(db)
        .await?;
    Ok(())
}
