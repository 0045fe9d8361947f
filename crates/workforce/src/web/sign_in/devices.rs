//! Known devices: browsers in which a person has signed in before.
//!
//! A stranger can use up what a name or an address may ask for. A known device has counters of its own, so its person can
//! still get a PIN. The cookie of a device opens nothing by itself, and only its hash is kept.

use std::time::Duration;

use axum::http::HeaderMap;
use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::{ExprTrait, OnConflict};
use sea_orm::{ColumnTrait, DbErr, EntityTrait, QueryFilter, Set};

use crate::application::App;
use crate::domain::Writing;
use crate::web::cookies::Cookie;
use crate::web::secrets;
use crate::web::visit::Visit;

/// How long a device is known after the last sign-in.
pub const LIFE: Duration = Duration::from_secs(180 * 24 * 3600);

/// The cookie of this browser, if this person has signed in with it before.
pub async fn known(app: &App, visit: &Visit, headers: &HeaderMap, user_id: i64) -> Result<Option<String>, DbErr> {
    let Some(cookie) = Cookie::Device.read(headers, visit.is_https()) else { return Ok(None) };
    let own = table::Column::UserId.eq(user_id).and(table::Column::ExpiresAt.gt(app.clock.now().0));
    let row = table::Entity::find_by_id(hash(&cookie)).filter(own).one(app.domain.read()).await?;
    Ok(row.map(|_| cookie))
}

/// Knows a device from now on, or for longer.
pub async fn remember(db: &Writing<'_, '_>, user_id: i64, cookie: &str, now: Millis) -> Result<(), WriteError> {
    let row =
        table::ActiveModel { token_hash: Set(hash(cookie)), user_id: Set(user_id), expires_at: Set(now.plus(LIFE).0) };
    let known = OnConflict::column(table::Column::TokenHash).update_column(table::Column::ExpiresAt).to_owned();
    table::Entity::insert(row).on_conflict(known).exec_without_returning(db).await?;
    Ok(())
}

/// Forgets all devices of a person but the one with this cookie.
pub async fn forget_others(db: &Writing<'_, '_>, user_id: i64, cookie: Option<&str>) -> Result<(), WriteError> {
    let kept = cookie.map(hash).unwrap_or_default();
    let others = table::Column::UserId.eq(user_id).and(table::Column::TokenHash.ne(kept));
    table::Entity::delete_many().filter(others).exec(db).await?;
    Ok(())
}

/// Removes what is over.
pub async fn forget_expired(db: &Writing<'_, '_>, now: Millis) -> Result<(), WriteError> {
    table::Entity::delete_many().filter(table::Column::ExpiresAt.lte(now.0)).exec(db).await?;
    Ok(())
}

fn hash(cookie: &str) -> String {
    secrets::hash(&["device", cookie])
}

mod table {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "known_devices")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub token_hash: String,
        pub user_id: i64,
        pub expires_at: i64,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}
