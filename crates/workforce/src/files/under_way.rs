//! Files that are being kept and that no row names yet.
//!
//! A name is noted before its file is put into its place, and the commit that writes the row takes the note away; without
//! the note it is refused. Whoever removes a file takes its note first: so no row is ever written whose file is gone.

use std::collections::HashSet;

use opora::clock::Millis;
use opora::store::{Refusal, WriteError};
use sea_orm::sea_query::OnConflict;
use sea_orm::{ColumnTrait, DbErr, EntityTrait, QueryFilter, QuerySelect, Set};

use crate::application::App;
use crate::domain::{Domain, NotWritten, Writing};

/// Why a commit is refused whose files the cleanup has taken.
pub const GONE: &str = "the files of this commit are gone";

/// Databases take only so many values at once.
const AT_ONCE: usize = 500;

/// Notes names, in a commit of its own.
pub async fn begin(domain: &Domain, names: Vec<String>, at: Millis) -> Result<(), NotWritten> {
    domain.write(move |db| Box::pin(note(db, names, at))).await
}

/// Takes notes away for the commit that names these files; refused if any is gone.
pub async fn take(db: &Writing<'_, '_>, names: &[String]) -> Result<(), WriteError> {
    let of_these = table::Column::Id.is_in(names.iter().map(String::as_str));
    let taken = table::Entity::delete_many().filter(of_these).exec(db).await?;
    if taken.rows_affected == names.len() as u64 { Ok(()) } else { Err(Refusal::because(GONE)) }
}

/// A commit that still wants these files is refused from now on.
pub async fn release(domain: &Domain, names: Vec<String>) -> Result<(), NotWritten> {
    domain.write(move |db| Box::pin(forget(db, names))).await
}

/// Removes files that nobody owns, and the notes that they were under way.
pub async fn discard(app: &App, names: Vec<String>) -> anyhow::Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    // In this order: either the commit that wants these files is done, or it is refused.
    release(&app.domain, names.clone()).await?;
    let owned = app.rooms.owned_files(&app.domain, &names).await?;
    app.files.remove(names.into_iter().filter(|name| !owned.contains(name)).collect()).await?;
    Ok(())
}

/// What was noted at this moment or later.
pub async fn since(domain: &Domain, at: Millis) -> Result<HashSet<String>, DbErr> {
    let young = table::Entity::find().select_only().column(table::Column::Id).filter(table::Column::Since.gte(at.0));
    Ok(young.into_tuple().all(domain.read()).await?.into_iter().collect())
}

/// Which of these names are noted, however long ago.
pub async fn among(domain: &Domain, names: &[String]) -> Result<Vec<String>, DbErr> {
    let mut noted = Vec::new();
    for names in names.chunks(AT_ONCE) {
        let of_these = table::Column::Id.is_in(names.iter().map(String::as_str));
        let found = table::Entity::find().select_only().column(table::Column::Id).filter(of_these);
        noted.extend(found.into_tuple::<String>().all(domain.read()).await?);
    }
    Ok(noted)
}

async fn note(db: &Writing<'_, '_>, names: Vec<String>, at: Millis) -> Result<(), WriteError> {
    let rows = names.into_iter().map(|id| table::ActiveModel { id: Set(id), since: Set(at.0) });
    let again = OnConflict::column(table::Column::Id).update_column(table::Column::Since).to_owned();
    table::Entity::insert_many(rows).on_conflict(again).exec_without_returning(db).await?;
    Ok(())
}

async fn forget(db: &Writing<'_, '_>, names: Vec<String>) -> Result<(), WriteError> {
    for names in names.chunks(AT_ONCE) {
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
