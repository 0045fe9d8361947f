//! The audit log: what staff did.
//!
//! A line is written in the commit of the action that it describes.

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::ExprTrait;
use sea_orm::{ActiveModelTrait, ColumnTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Select, Set};

use crate::domain::{Domain, Transaction};

pub use self::words::{in_words, key};

mod words;

/// One action.
#[derive(Clone, Debug)]
pub struct Entry {
    pub at: Millis,
    /// None for the command line and for jobs.
    pub actor: Option<i64>,
    /// A few lower-case words: `role granted`. Pages show the text of its [`key`].
    pub action: &'static str,
    /// What was changed: a kind, such as `user`, and an id.
    pub subject: (&'static str, i64),
    /// Further data, without personal data.
    pub detail: serde_json::Value,
}

pub async fn record(db: &Transaction<'_, '_>, entry: Entry) -> Result<(), WriteError> {
    row(entry).insert(db).await?;
    Ok(())
}

pub async fn record_all(db: &Transaction<'_, '_>, entries: Vec<Entry>) -> Result<(), WriteError> {
    if !entries.is_empty() {
        table::Entity::insert_many(entries.into_iter().map(row)).exec_without_returning(db).await?;
    }
    Ok(())
}

fn row(entry: Entry) -> table::ActiveModel {
    let (subject_kind, subject_id) = entry.subject;
    table::ActiveModel {
        at: Set(entry.at.0),
        actor: Set(entry.actor),
        action: Set(entry.action.to_owned()),
        subject_kind: Set(subject_kind.to_owned()),
        subject_id: Set(subject_id),
        detail: Set(entry.detail.to_string()),
        ..Default::default()
    }
}

/// A stored line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub at: Millis,
    pub actor: Option<i64>,
    pub action: String,
    pub detail: serde_json::Value,
}

/// The lines about a subject, oldest first.
pub async fn about(domain: &Domain, (kind, id): (&str, i64)) -> Result<Vec<Line>, DbErr> {
    let rows = lines_of(kind, id).order_by_asc(table::Column::Id).all(domain.read()).await?;
    Ok(rows.into_iter().map(Line::from).collect())
}

/// The latest lines about a subject, newest first.
pub async fn latest(domain: &Domain, (kind, id): (&str, i64), max_lines: u64) -> Result<Vec<Line>, DbErr> {
    let newest = lines_of(kind, id).order_by_desc(table::Column::Id).limit(max_lines);
    Ok(newest.all(domain.read()).await?.into_iter().map(Line::from).collect())
}

/// The latest lines about several subjects of a kind, newest first, each with the id of its subject.
pub async fn latest_of(domain: &Domain, kind: &str, ids: &[i64], max_lines: u64) -> Result<Vec<(i64, Line)>, DbErr> {
    let of_kind = table::Entity::find().filter(table::Column::SubjectKind.eq(kind));
    let newest = of_kind.filter(table::Column::SubjectId.is_in(ids.iter().copied()));
    let rows = newest.order_by_desc(table::Column::Id).limit(max_lines).all(domain.read()).await?;
    Ok(rows.into_iter().map(|row| (row.subject_id, Line::from(row))).collect())
}

fn lines_of(kind: &str, id: i64) -> Select<table::Entity> {
    table::Entity::find().filter(table::Column::SubjectKind.eq(kind).and(table::Column::SubjectId.eq(id)))
}

impl From<table::Model> for Line {
    fn from(row: table::Model) -> Self {
        let detail = serde_json::from_str(&row.detail).unwrap_or_default();
        Self { at: Millis(row.at), actor: row.actor, action: row.action, detail }
    }
}

mod table {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "audit")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub at: i64,
        pub actor: Option<i64>,
        pub action: String,
        pub subject_kind: String,
        pub subject_id: i64,
        pub detail: String,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}
