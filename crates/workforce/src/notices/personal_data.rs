//! Personal data of this room: export and deletion.

use opora::store::WriteError;
use sea_orm::sea_query::{Expr, ExprTrait, LikeExpr};
use sea_orm::{ColumnTrait, Condition, DbErr, EntityTrait, QueryFilter, QueryOrder};
use serde_json::{Value, json};

use super::table::notice;
use super::{daily_summary, quiet};
use crate::domain::{Domain, Transaction};
use crate::person::Person;

/// Escapes special characters of a LIKE pattern.
const ESCAPE: char = '!';
/// A limit on the number of conditions in one statement.
const ORDERS_PER_QUERY: usize = 100;

/// All notices of a person, oldest first.
pub async fn notices_of(domain: &Domain, user_id: i64) -> Result<Vec<Value>, DbErr> {
    let own = notice::Entity::find().filter(notice::Column::UserId.eq(user_id));
    let rows = own.order_by_asc(notice::Column::Id).all(domain.read()).await?;
    Ok(rows.iter().map(|one| json!({ "at_ms": one.created_at, "notice": read(&one.body) })).collect())
}

/// Deletes the notices to a person and those that name the person.
pub async fn forget(db: &Transaction<'_, '_>, person: &Person) -> Result<(), WriteError> {
    let about = Expr::col(notice::Column::Body).like(naming(person)?);
    let about = Condition::any().add(notice::Column::UserId.eq(person.id)).add(about);
    notice::Entity::delete_many().filter(about).exec(db).await?;
    daily_summary::forget(db, person.id).await?;
    quiet::forget(db, person.id).await
}

/// Deletes the notices about orders: messages and reasons in them are the client's.
pub async fn forget_orders(db: &Transaction<'_, '_>, orders: &[i64]) -> Result<(), WriteError> {
    for orders in orders.chunks(ORDERS_PER_QUERY) {
        let about = orders.iter().fold(Condition::any(), |about, order| {
            about.add(Expr::col(notice::Column::Body).like(format!("{{\"is\":\"order\",\"order\":{order},%")))
        });
        notice::Entity::delete_many().filter(about).exec(db).await?;
    }
    Ok(())
}

/// A body as JSON. An unreadable one is exported as text, because it concerns the person too.
fn read(body: &str) -> Value {
    serde_json::from_str(body).unwrap_or_else(|_| body.into())
}

/// A pattern for bodies that name the person, in JSON notation.
fn naming(person: &Person) -> Result<LikeExpr, WriteError> {
    let mut pattern = String::from("%\"name\":");
    for character in serde_json::to_string(&person.full_name)?.chars() {
        if matches!(character, '%' | '_' | ESCAPE) {
            pattern.push(ESCAPE);
        }
        pattern.push(character);
    }
    pattern.push('%');
    Ok(LikeExpr::new(pattern).escape(ESCAPE))
}
