//! The rows of attachments.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::{Expr, ExprTrait, OnConflict};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, DbErr, EntityTrait, PaginatorTrait, QueryFilter, QueryOrder, QuerySelect,
    Set,
};

use super::tables::attachment::{ActiveModel, Column, Entity, Model};
use crate::domain::{Domain, Transaction};
use crate::files::{MediaType, StoredFile, pending_files};

/// How often a failed file is requested again, and the delay before the first retry. The delay doubles each time.
const MAX_RETRIES: u32 = 5;
const FIRST_RETRY_AFTER: Duration = Duration::from_secs(60 * 60);

/// A limit on the number of values in one statement.
const FILES_PER_QUERY: usize = 500;

/// The state of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// It is being downloaded, or will be.
    Pending,
    Kept {
        /// The name in the file store.
        name: String,
        media_type: MediaType,
        size_bytes: i64,
        sha256: String,
    },
    /// Telegram does not give it to bots.
    TooLarge,
    /// It can be requested again.
    Failed,
}

/// Inserts a row for a file. Without `asked_at` its download has not been requested yet.
pub async fn insert(
    db: &Transaction<'_, '_>,
    telegram_file: String,
    asked_at: Option<Millis>,
    is_too_large: bool,
) -> Result<(), WriteError> {
    let failed_at = asked_at.filter(|_| is_too_large).map(|at| at.0);
    let row = ActiveModel {
        telegram_file: Set(telegram_file),
        asked_at: Set(asked_at.map(|at| at.0)),
        failed_at: Set(failed_at),
        is_too_large: Set(is_too_large),
        ..Default::default()
    };
    let once = OnConflict::new().do_nothing().to_owned();
    Entity::insert(row).on_conflict(once).exec_without_returning(db).await?;
    Ok(())
}

/// The states of these files, by Telegram's file id.
pub async fn find(
    db: &impl ConnectionTrait,
    telegram_files: impl IntoIterator<Item = &str>,
) -> Result<HashMap<String, Attachment>, DbErr> {
    let wanted: BTreeSet<&str> = telegram_files.into_iter().collect();
    let mut found = HashMap::with_capacity(wanted.len());
    for these in wanted.into_iter().collect::<Vec<_>>().chunks(FILES_PER_QUERY) {
        let rows = Entity::find().filter(Column::TelegramFile.is_in(these.iter().copied())).all(db).await?;
        found.extend(rows.into_iter().map(|row| (row.telegram_file.clone(), Attachment::from(row))));
    }
    Ok(found)
}

/// Makes a failed file pending again.
pub(super) async fn retry(db: &Transaction<'_, '_>, telegram_file: String) -> Result<(), WriteError> {
    let wanted = ActiveModel { asked_at: Set(None), failed_at: Set(None), ..Default::default() };
    let failed = Condition::all()
        .add(Column::TelegramFile.eq(telegram_file))
        .add(Column::FailedAt.is_not_null())
        .add(Column::IsTooLarge.eq(false));
    Entity::update_many().set(wanted).filter(failed).exec(db).await?;
    Ok(())
}

/// Deletes rows; returns the names of their files.
pub async fn forget(db: &Transaction<'_, '_>, telegram_files: &[String]) -> Result<Vec<String>, WriteError> {
    let mut names = Vec::new();
    for these in telegram_files.chunks(FILES_PER_QUERY) {
        let of_these = Column::TelegramFile.is_in(these.iter().map(String::as_str));
        let rows = Entity::find().filter(of_these.clone()).all(db).await?;
        names.extend(rows.into_iter().filter_map(|row| row.name));
        Entity::delete_many().filter(of_these).exec(db).await?;
    }
    Ok(names)
}

/// Records a stored file. Returns false if the row is gone or has a file already.
pub(super) async fn fill(
    db: &Transaction<'_, '_>,
    telegram_file: String,
    name: String,
    kept: StoredFile,
) -> Result<bool, WriteError> {
    let filled = ActiveModel {
        name: Set(Some(name.clone())),
        media_type: Set(Some(kept.media_type.name().to_owned())),
        size_bytes: Set(Some(i64::try_from(kept.size_bytes)?)),
        sha256: Set(Some(kept.sha256)),
        failed_at: Set(None),
        ..Default::default()
    };
    let row = Entity::update_many().set(filled).filter(Column::TelegramFile.eq(telegram_file));
    let done = row.filter(Column::Name.is_null()).exec(db).await?;
    if done.rows_affected == 0 {
        return Ok(false);
    }
    pending_files::claim(db, &[name]).await?;
    Ok(true)
}

/// Marks a file as failed.
pub(super) async fn fail(db: &Transaction<'_, '_>, telegram_file: String, at: Millis) -> Result<(), WriteError> {
    let failed = ActiveModel { failed_at: Set(Some(at.0)), ..Default::default() };
    let row = Entity::update_many().set(failed).filter(Column::TelegramFile.eq(telegram_file));
    row.filter(Column::Name.is_null()).exec(db).await?;
    Ok(())
}

/// Pending files whose download has not been requested.
pub(super) async fn unrequested(domain: &Domain, max: u64) -> Result<Vec<String>, DbErr> {
    let rows = Entity::find().filter(pending()).filter(Column::AskedAt.is_null()).order_by_asc(Column::TelegramFile);
    rows.select_only().column(Column::TelegramFile).limit(max).into_tuple().all(domain.read()).await
}

pub(super) async fn mark_requested(
    db: &Transaction<'_, '_>,
    telegram_files: Vec<String>,
    at: Millis,
) -> Result<(), WriteError> {
    let requested = ActiveModel { asked_at: Set(Some(at.0)), ..Default::default() };
    Entity::update_many()
        .set(requested)
        .col_expr(Column::Tries, Expr::col(Column::Tries).add(1))
        .filter(Column::TelegramFile.is_in(telegram_files))
        .exec(db)
        .await?;
    Ok(())
}

/// Makes failed files pending again after a delay, a few times.
pub(super) async fn retry_failed(db: &Transaction<'_, '_>, now: Millis) -> Result<(), WriteError> {
    let wanted = ActiveModel { asked_at: Set(None), failed_at: Set(None), ..Default::default() };
    let is_due = (0..MAX_RETRIES).fold(Condition::any(), |is_due, tries| {
        let before = now.minus(FIRST_RETRY_AFTER * 2_u32.pow(tries));
        is_due.add(Column::Tries.eq(i64::from(tries)).and(Column::FailedAt.lt(before.0)))
    });
    let failed = Condition::all().add(Column::Name.is_null()).add(Column::IsTooLarge.eq(false)).add(is_due);
    Entity::update_many().set(wanted).filter(failed).exec(db).await?;
    Ok(())
}

/// Makes files pending again whose download was requested before an instant and never finished.
pub(super) async fn retry_lost(db: &Transaction<'_, '_>, before: Millis) -> Result<(), WriteError> {
    let wanted = ActiveModel { asked_at: Set(None), ..Default::default() };
    Entity::update_many().set(wanted).filter(pending()).filter(Column::AskedAt.lt(before.0)).exec(db).await?;
    Ok(())
}

/// Those of these names that belong to attachments.
pub(super) async fn owned(domain: &Domain, names: &[String]) -> Result<Vec<String>, DbErr> {
    let found = Entity::find().filter(Column::Name.is_in(names.iter().map(String::as_str)));
    found.select_only().column(Column::Name).into_tuple().all(domain.read()).await
}

/// The number of stored files.
pub(super) async fn count(domain: &Domain) -> Result<u64, DbErr> {
    Entity::find().filter(Column::Name.is_not_null()).count(domain.read()).await
}

fn pending() -> Condition {
    Condition::all().add(Column::Name.is_null()).add(Column::FailedAt.is_null())
}

impl From<Model> for Attachment {
    fn from(row: Model) -> Self {
        match (row.name, row.failed_at) {
            (Some(name), _) => Self::Kept {
                name,
                media_type: MediaType::of_name(row.media_type.as_deref().unwrap_or_default()),
                size_bytes: row.size_bytes.unwrap_or_default(),
                sha256: row.sha256.unwrap_or_default(),
            },
            (None, Some(_)) if row.is_too_large => Self::TooLarge,
            (None, Some(_)) => Self::Failed,
            (None, None) => Self::Pending,
        }
    }
}
