//! Files that are being stored and have no row yet.
//!
//! A name is registered before its file is stored. The commit that writes the file's row claims the registration, and
//! is refused without it. A removal of the file releases the registration first. So no row is written for a missing
//! file.

use std::collections::HashSet;

use opora::clock::Millis;
use opora::store::{Refusal, WriteError};
use sea_orm::sea_query::OnConflict;
use sea_orm::{ColumnTrait, DbErr, EntityTrait, QueryFilter, QuerySelect, Set};

use crate::application::App;
use crate::domain::{Domain, NotWritten, Transaction};

/// The refusal of a commit whose files the cleanup has removed.
pub const GONE: &str = "the files of this commit are gone";

/// Databases limit the number of bound values in a statement.
const NAMES_PER_QUERY: usize = 500;

/// Registers names, in a commit of its own.
pub async fn register(domain: &Domain, names: Vec<String>, at: Millis) -> Result<(), NotWritten> {
    domain.write(move |db| Box::pin(note(db, names, at))).await
}

/// Claims registrations within the commit that writes these files' rows; refused if any is gone.
pub async fn claim(db: &Transaction<'_, '_>, names: &[String]) -> Result<(), WriteError> {
    let of_these = table::Column::Id.is_in(names.iter().map(String::as_str));
    let deleted = table::Entity::delete_many().filter(of_these).exec(db).await?;
    if deleted.rows_affected == names.len() as u64 { Ok(()) } else { Err(Refusal::because(GONE)) }
}

/// Releases registrations: a commit that still wants these files is refused from now on.
pub async fn release(domain: &Domain, names: Vec<String>) -> Result<(), NotWritten> {
    domain.write(move |db| Box::pin(forget(db, names))).await
}

/// Removes files without an owner, and their registrations.
pub async fn discard(app: &App, names: Vec<String>) -> anyhow::Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    // In this order: the commit that wants these files is either done or refused.
    release(&app.domain, names.clone()).await?;
    let owned = app.rooms.owned_files(&app.domain, &names).await?;
    app.files.remove(names.into_iter().filter(|name| !owned.contains(name)).collect()).await?;
    Ok(())
}

/// Names registered at this time or later.
pub async fn since(domain: &Domain, at: Millis) -> Result<HashSet<String>, DbErr> {
    let young = table::Entity::find().select_only().column(table::Column::Id).filter(table::Column::Since.gte(at.0));
    Ok(young.into_tuple().all(domain.read()).await?.into_iter().collect())
}

/// Which of these names are registered, however long ago.
pub async fn registered(domain: &Domain, names: &[String]) -> Result<Vec<String>, DbErr> {
    let mut noted = Vec::new();
    for names in names.chunks(NAMES_PER_QUERY) {
        let of_these = table::Column::Id.is_in(names.iter().map(String::as_str));
        let found = table::Entity::find().select_only().column(table::Column::Id).filter(of_these);
        noted.extend(found.into_tuple::<String>().all(domain.read()).await?);
    }
    Ok(noted)
}

async fn note(db: &Transaction<'_, '_>, names: Vec<String>, at: Millis) -> Result<(), WriteError> {
    let rows = names.into_iter().map(|id| table::ActiveModel { id: Set(id), since: Set(at.0) });
    let on_conflict = OnConflict::column(table::Column::Id).update_column(table::Column::Since).to_owned();
    table::Entity::insert_many(rows).on_conflict(on_conflict).exec_without_returning(db).await?;
    Ok(())
}

async fn forget(db: &Transaction<'_, '_>, names: Vec<String>) -> Result<(), WriteError> {
    for names in names.chunks(NAMES_PER_QUERY) {
        let of_these = table::Column::Id.is_in(names.iter().map(String::as_str));
        table::Entity::delete_many().filter(of_these).exec(db).await?;
    }
    Ok(())
}

mod table {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "files_under_way")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub id: String,
        pub since: i64,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}
