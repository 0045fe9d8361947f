//! Changes of sites and tasks, within a commit. Each writes a line to the audit log with what it changed.
//!
//! The caller passes the version that the person saw. The change is refused if the row has another version or is
//! deleted.

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::{Expr, ExprTrait, LockType};
use sea_orm::{
    ActiveModelTrait, ColumnTrait, ConnectionTrait, DbErr, EntityTrait, PaginatorTrait, QueryFilter, QueryOrder,
    QuerySelect, Set,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::records::{AboutSite, AboutTask, Site, Task};
use super::tables::{site, slot, task};
use super::{Position, SiteRefusal, constraint_refusal};
use crate::audit;
use crate::domain::Transaction;
use crate::rooms;

/// The most tasks of a shift: each needs a button under one message.
pub const MAX_TASKS: u64 = 90;

/// Who makes a change, and when.
#[derive(Clone, Copy, Debug)]
pub struct ChangedBy {
    /// None for the command line and for jobs.
    pub person: Option<i64>,
    pub at: Millis,
}

/// Updates a row at a version and raises the version. All tables here have the same three columns.
macro_rules! change_row {
    ($table:ident, $db:expr, $id:expr, $version:expr, $row:expr, $by:expr) => {{
        let (id, version): (i64, i64) = ($id, $version);
        let changed = $table::Entity::update_many()
            .set($table::ActiveModel { updated_at: Set($by.at.0), ..$row })
            .col_expr($table::Column::Version, Expr::col($table::Column::Version).add(1))
            .filter($table::Column::Id.eq(id))
            .filter($table::Column::Version.eq(version))
            .filter($table::Column::DeletedAt.is_null())
            .exec($db)
            .await
            .map_err($crate::sites::constraint_refusal)?;
        if changed.rows_affected == 0 {
            let is_there = $table::Entity::find_by_id(id).filter($table::Column::DeletedAt.is_null()).one($db).await?;
            return Err(if is_there.is_some() { SiteRefusal::Stale } else { SiteRefusal::Gone }.refusal());
        }
    }};
}
/// Restores a deleted row.
macro_rules! restore_row {
    ($table:ident, $db:expr, $id:expr, $by:expr) => {{
        let restored = $table::Entity::update_many()
            .set($table::ActiveModel { deleted_at: Set(None), updated_at: Set($by.at.0), ..Default::default() })
            .col_expr($table::Column::Version, Expr::col($table::Column::Version).add(1))
            .filter($table::Column::Id.eq($id))
            .filter($table::Column::DeletedAt.is_not_null())
            .exec($db)
            .await
            .map_err($crate::sites::constraint_refusal)?;
        if restored.rows_affected == 0 {
            return Err(SiteRefusal::Gone.refusal());
        }
    }};
}
pub(super) use {change_row, restore_row};

impl ChangedBy {
    /// Writes a line to the audit log.
    pub async fn audit(
        self,
        db: &Transaction<'_, '_>,
        action: &'static str,
        subject: (&'static str, i64),
        detail: Value,
    ) -> Result<(), WriteError> {
        audit::record(db, audit::Entry { at: self.at, actor: self.person, action, subject, detail }).await
    }
}

/// A site by id, deleted or not. Works within a commit.
pub async fn site(db: &impl ConnectionTrait, id: i64) -> Result<Option<Site>, DbErr> {
    site::Entity::find_by_id(id).one(db).await?.map(Site::try_from).transpose()
}

/// The names of all sites that are not deleted, in lower case.
pub(super) async fn site_names(db: &impl ConnectionTrait) -> Result<Vec<String>, DbErr> {
    let names = site::Entity::find().filter(site::Column::DeletedAt.is_null()).select_only().column(site::Column::Name);
    let names: Vec<String> = names.into_tuple().all(db).await?;
    Ok(names.iter().map(|name| name.to_lowercase()).collect())
}

/// Locks a site against changes until the commit. Refused if the site is missing or deleted.
pub async fn lock_site_shared(db: &Transaction<'_, '_>, id: i64) -> Result<Site, WriteError> {
    lock_site(db, id, LockType::Share).await
}

/// Locks several sites against changes until the commit, in the order of their ids. Returns those that exist and are
/// not deleted.
pub async fn lock_sites_shared(db: &Transaction<'_, '_>, ids: &[i64]) -> Result<Vec<Site>, DbErr> {
    let live = site::Entity::find().filter(site::Column::Id.is_in(ids.iter().copied()));
    let live = live.filter(site::Column::DeletedAt.is_null()).order_by_asc(site::Column::Id).lock(LockType::Share);
    live.all(db).await?.into_iter().map(Site::try_from).collect()
}

/// Locks a site in order to change it. Planning and working hold a shared lock, so they run before or after the change.
pub async fn lock_site_for_change(db: &Transaction<'_, '_>, id: i64) -> Result<Site, WriteError> {
    lock_site(db, id, LockType::NoKeyUpdate).await
}

async fn lock_site(db: &Transaction<'_, '_>, id: i64, lock: LockType) -> Result<Site, WriteError> {
    let found = site::Entity::find_by_id(id).lock(lock).one(db).await?.map(Site::try_from).transpose()?;
    found.filter(|site| site.deleted_at.is_none()).ok_or_else(|| SiteRefusal::Gone.refusal())
}

pub async fn create_site(db: &Transaction<'_, '_>, about: AboutSite, by: ChangedBy) -> Result<i64, WriteError> {
    refuse_mistakes(&about.invalid_fields())?;
    let row = site::ActiveModel { created_at: Set(by.at.0), updated_at: Set(by.at.0), ..about.row() };
    let id = row.insert(db).await.map_err(constraint_refusal)?.id;
    by.audit(db, "site created", ("site", id), json!(about)).await?;
    Ok(id)
}

/// Slots store their hours by the site's clock, so the time zone stays fixed while there are future slots.
pub async fn edit_site(
    db: &Transaction<'_, '_>,
    id: i64,
    version: i64,
    about: AboutSite,
    by: ChangedBy,
) -> Result<(), WriteError> {
    refuse_mistakes(&about.invalid_fields())?;
    let before = lock_site_for_change(db, id).await?;
    if before.about.time_zone != about.time_zone && has_slots_to_come(db, id, by.at).await? {
        return Err(SiteRefusal::InUse.refusal());
    }
    change_row!(site, db, id, version, about.row(), by);
    by.audit(db, "site changed", ("site", id), differences(&before.about, &about)).await
}

/// Changes only the position of a site.
pub async fn set_position(
    db: &Transaction<'_, '_>,
    id: i64,
    position: Position,
    by: ChangedBy,
) -> Result<(), WriteError> {
    let site = lock_site_for_change(db, id).await?;
    edit_site(db, id, site.version, AboutSite { position: Some(position), ..site.about }, by).await
}

/// Refused while the site has active shifts or future plans.
pub async fn delete_site(db: &Transaction<'_, '_>, id: i64, version: i64, by: ChangedBy) -> Result<(), WriteError> {
    lock_site_for_change(db, id).await?;
    rooms::attendance().site_deleted(db, id, by).await?;
    let deleted = site::ActiveModel { deleted_at: Set(Some(by.at.0)), ..Default::default() };
    change_row!(site, db, id, version, deleted, by);
    by.audit(db, "site deleted", ("site", id), json!({})).await
}

pub async fn restore_site(db: &Transaction<'_, '_>, id: i64, by: ChangedBy) -> Result<(), WriteError> {
    restore_row!(site, db, id, by);
    by.audit(db, "site restored", ("site", id), json!({})).await
}

/// Adds a task to a site or to one of its slots, behind the others. Refused if a shift would have too many tasks.
pub async fn create_task(
    db: &Transaction<'_, '_>,
    site_id: i64,
    slot_id: Option<i64>,
    about: AboutTask,
    by: ChangedBy,
) -> Result<i64, WriteError> {
    refuse_mistakes(&about.invalid_fields())?;
    lock_site_shared(db, site_id).await?;
    check_task_limit(db, site_id, slot_id).await?;
    let last: Option<i64> = task::Entity::find()
        .filter(task::Column::SiteId.eq(site_id))
        .select_only()
        .column_as(task::Column::Place.max(), "last")
        .into_tuple()
        .one(db)
        .await?
        .flatten();
    let row = task::ActiveModel {
        site_id: Set(site_id),
        slot_id: Set(slot_id),
        place: Set(last.unwrap_or_default() + 1),
        created_at: Set(by.at.0),
        updated_at: Set(by.at.0),
        ..about.row()
    };
    let id = row.insert(db).await?.id;
    by.audit(db, "task created", ("task", id), json!(about)).await?;
    Ok(id)
}

pub async fn edit_task(
    db: &Transaction<'_, '_>,
    id: i64,
    version: i64,
    about: AboutTask,
    by: ChangedBy,
) -> Result<(), WriteError> {
    refuse_mistakes(&about.invalid_fields())?;
    let before =
        task::Entity::find_by_id(id).one(db).await?.map(Task::from).ok_or_else(|| SiteRefusal::Gone.refusal())?;
    change_row!(task, db, id, version, about.row(), by);
    by.audit(db, "task changed", ("task", id), differences(&before.about, &about)).await
}

pub async fn delete_task(db: &Transaction<'_, '_>, id: i64, version: i64, by: ChangedBy) -> Result<(), WriteError> {
    let deleted = task::ActiveModel { deleted_at: Set(Some(by.at.0)), ..Default::default() };
    change_row!(task, db, id, version, deleted, by);
    by.audit(db, "task deleted", ("task", id), json!({})).await
}

pub async fn restore_task(db: &Transaction<'_, '_>, id: i64, by: ChangedBy) -> Result<(), WriteError> {
    let deleted = task::Entity::find_by_id(id).one(db).await?.ok_or_else(|| SiteRefusal::Gone.refusal())?;
    check_task_limit(db, deleted.site_id, deleted.slot_id).await?;
    restore_row!(task, db, id, by);
    by.audit(db, "task restored", ("task", id), json!({})).await
}

/// The tasks of a shift: those of the slot, then those of the site unless the slot ignores them.
pub async fn tasks_for(db: &impl ConnectionTrait, site_id: i64, slot_id: Option<i64>) -> Result<Vec<Task>, DbErr> {
    let slot = match slot_id {
        Some(id) => slot::Entity::find_by_id(id).one(db).await?,
        None => None,
    };
    let of_site = task::Column::SlotId.is_null();
    let of_slot = task::Column::SlotId.eq(slot_id);
    let wanted = match slot {
        Some(slot) if slot.ignores_site_tasks => of_slot,
        Some(_) => of_slot.or(of_site),
        None => of_site,
    };
    let live = task::Entity::find().filter(task::Column::SiteId.eq(site_id)).filter(task::Column::DeletedAt.is_null());
    let mut rows = live.filter(wanted).all(db).await?;
    rows.sort_by_key(|row| (row.slot_id.is_none(), row.place));
    Ok(rows.into_iter().map(Task::from).collect())
}

/// Refuses a form with invalid fields, and names the first one.
pub fn refuse_mistakes(invalid_fields: &[&str]) -> Result<(), WriteError> {
    invalid_fields.first().map_or(Ok(()), |field| Err(SiteRefusal::bad(field).refusal()))
}

/// The changed fields, each with its old and its new value.
pub fn differences<T: Serialize>(before: &T, after: &T) -> Value {
    let fields = |value: &T| match serde_json::to_value(value) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    let (before, after) = (fields(before), fields(after));
    let changed = after.into_iter().filter_map(|(name, new)| {
        let old = before.get(&name).cloned().unwrap_or_default();
        (old != new).then(|| (name, json!([old, new])))
    });
    Value::Object(changed.collect())
}

/// Refuses another task if a shift would then have too many. For a task of the site, the slot with the most tasks
/// counts.
async fn check_task_limit(db: &Transaction<'_, '_>, site_id: i64, slot_id: Option<i64>) -> Result<(), WriteError> {
    let live = task::Entity::find().filter(task::Column::SiteId.eq(site_id)).filter(task::Column::DeletedAt.is_null());
    let of_site = live.clone().filter(task::Column::SlotId.is_null()).count(db).await?;
    let of_slots = match slot_id {
        Some(id) => live.filter(task::Column::SlotId.eq(id)),
        None => live.filter(task::Column::SlotId.is_not_null()),
    };
    let fullest: Option<i64> = of_slots
        .select_only()
        .column_as(task::Column::Id.count(), "tasks")
        .group_by(task::Column::SlotId)
        .order_by_desc(Expr::col("tasks"))
        .into_tuple()
        .one(db)
        .await?;
    let count = of_site + u64::try_from(fullest.unwrap_or_default()).unwrap_or_default();
    if count < MAX_TASKS { Ok(()) } else { Err(SiteRefusal::TooManyTasks.refusal()) }
}

async fn has_slots_to_come(db: &Transaction<'_, '_>, site_id: i64, at: Millis) -> Result<bool, DbErr> {
    let to_come = slot::Column::SiteId.eq(site_id).and(slot::Column::EndsAt.gt(at.0));
    let found = slot::Entity::find().filter(to_come).filter(slot::Column::DeletedAt.is_null()).limit(1).one(db).await?;
    Ok(found.is_some())
}
