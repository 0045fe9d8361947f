//! Random tokens that stand for a person until they expire: sign-in links and known devices.
//!
//! Only hashes are stored, so a reader of the table cannot sign in.

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::{ExprTrait, OnConflict};
use sea_orm::{ColumnTrait, DbErr, EntityTrait, QueryFilter, Set};

use crate::application::App;
use crate::domain::Transaction;
use crate::web::secrets;

/// The purpose of a token. A token is found only by its own purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Signs a person in, once.
    Link,
    /// Marks a browser in which the person has signed in before.
    Device,
}

impl Purpose {
    const fn name(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Device => "device",
        }
    }

    fn hash(self, token: &str) -> String {
        secrets::hash(&["sign-in token", self.name(), token])
    }
}

/// The person of a token, if it is valid.
pub async fn owner(app: &App, purpose: Purpose, token: &str) -> Result<Option<i64>, DbErr> {
    let valid = table::Column::ExpiresAt.gt(app.clock.now().0);
    let row = table::Entity::find_by_id(purpose.hash(token)).filter(valid).one(app.domain.read()).await?;
    Ok(row.map(|row| row.user_id))
}

/// Stores a token until then; extends one that is stored already.
pub async fn store(
    db: &Transaction<'_, '_>,
    purpose: Purpose,
    user_id: i64,
    token: &str,
    until: Millis,
) -> Result<(), WriteError> {
    let row = table::ActiveModel {
        token_hash: Set(purpose.hash(token)),
        purpose: Set(purpose.name().to_owned()),
        user_id: Set(user_id),
        expires_at: Set(until.0),
    };
    let on_conflict = OnConflict::column(table::Column::TokenHash).update_column(table::Column::ExpiresAt).to_owned();
    table::Entity::insert(row).on_conflict(on_conflict).exec_without_returning(db).await?;
    Ok(())
}

/// Uses a token up; false if it is invalid. Of two concurrent uses one succeeds.
pub async fn consume(db: &Transaction<'_, '_>, purpose: Purpose, token: &str, now: Millis) -> Result<bool, WriteError> {
    let valid = table::Column::TokenHash.eq(purpose.hash(token)).and(table::Column::ExpiresAt.gt(now.0));
    let deleted = table::Entity::delete_many().filter(valid).exec(db).await?;
    Ok(deleted.rows_affected > 0)
}

/// Deletes a person's tokens of a purpose, except `but`.
pub async fn remove(
    db: &Transaction<'_, '_>,
    purpose: Purpose,
    user_id: i64,
    but: Option<&str>,
) -> Result<(), WriteError> {
    let kept_hash = but.map(|token| purpose.hash(token)).unwrap_or_default();
    let own = table::Column::UserId.eq(user_id).and(table::Column::Purpose.eq(purpose.name()));
    table::Entity::delete_many().filter(own.and(table::Column::TokenHash.ne(kept_hash))).exec(db).await?;
    Ok(())
}

/// Deletes all tokens of a person.
pub async fn forget(db: &Transaction<'_, '_>, user_id: i64) -> Result<(), WriteError> {
    table::Entity::delete_many().filter(table::Column::UserId.eq(user_id)).exec(db).await?;
    Ok(())
}

/// Deletes expired tokens.
pub async fn delete_expired(db: &Transaction<'_, '_>, now: Millis) -> Result<(), WriteError> {
    table::Entity::delete_many().filter(table::Column::ExpiresAt.lte(now.0)).exec(db).await?;
    Ok(())
}

mod table {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "sign_in_tokens")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub token_hash: String,
        pub purpose: String,
        pub user_id: i64,
        pub expires_at: i64,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}
