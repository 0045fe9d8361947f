//! Changes of sites and tasks, within a commit. What was done leaves a line in the audit, with what it changed.
//!
//! Who changes something says which version was looked at. A change of another version is refused, and so is one of what
//! was deleted meanwhile.

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
use super::{Why, kept};
use crate::audit;
use crate::domain::Writing;
use crate::rooms;

/// Tasks of a shift, at most, so that each has its button under one message.
pub const TASKS_MOST: u64 = 90;

/// Who does something, and when.
#[derive(Clone, Copy, Debug)]
pub struct By {
    /// Nobody if it comes from the command line or by itself.
    pub person: Option<i64>,
    pub at: Millis,
}

/// Changes a row at a version, and raises it. Rows of every table here have the same three columns.
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
            .map_err($crate::sites::kept)?;
        if changed.rows_affected == 0 {
            let is_there = $table::Entity::find_by_id(id).filter($table::Column::DeletedAt.is_null()).one($db).await?;
            return Err(if is_there.is_some() { Why::Stale } else { Why::Gone }.refusal());
        }
    }};
}
/// Brings back what was deleted.
macro_rules! restore_row {
    ($table:ident, $db:expr, $id:expr, $by:expr) => {{
        let restored = $table::Entity::update_many()
            .set($table::ActiveModel { deleted_at: Set(None), updated_at: Set($by.at.0), ..Default::default() })
            .col_expr($table::Column::Version, Expr::col($table::Column::Version).add(1))
            .filter($table::Column::Id.eq($id))
            .filter($table::Column::DeletedAt.is_not_null())
            .exec($db)
            .await
            .map_err($crate::sites::kept)?;
        if restored.rows_affected == 0 {
            return Err(Why::Gone.refusal());
        }
    }};
}
pub(super) use {change_row, restore_row};

impl By {
    /// Writes down what was done.
    pub async fn note(
        self,
        db: &Writing<'_, '_>,
        action: &'static str,
        subject: (&'static str, i64),
        detail: Value,
    ) -> Result<(), WriteError> {
        audit::record(db, audit::Entry { at: self.at, actor: self.person, action, subject, detail }).await
    }
}

/// A site, also as a commit under way has it; deleted ones too.
pub async fn site(db: &impl ConnectionTrait, id: i64) -> Result<Option<Site>, DbErr> {
    site::Entity::find_by_id(id).one(db).await?.map(Site::try_from).transpose()
}

/// A site that is there, as it will be until the commit; refused otherwise.
pub async fn live_site(db: &Writing<'_, '_>, id: i64) -> Result<Site, WriteError> {
    held_site(db, id, LockType::Share).await
}

/// A site for whoever changes it. Those who plan or work there hold it shared, so they come before or after.
pub async fn site_to_change(db: &Writing<'_, '_>, id: i64) -> Result<Site, WriteError> {
    held_site(db, id, LockType::NoKeyUpdate).await
}

async fn held_site(db: &Writing<'_, '_>, id: i64, lock: LockType) -> Result<Site, WriteError> {
    let found = site::Entity::find_by_id(id).lock(lock).one(db).await?.map(Site::try_from).transpose()?;
    found.filter(|site| site.deleted_at.is_none()).ok_or_else(|| Why::Gone.refusal())
}

pub async fn create_site(db: &Writing<'_, '_>, about: AboutSite, by: By) -> Result<i64, WriteError> {
    good(&about.mistakes())?;
    let row = site::ActiveModel { created_at: Set(by.at.0), updated_at: Set(by.at.0), ..about.row() };
    let id = row.insert(db).await.map_err(kept)?.id;
    by.note(db, "site created", ("site", id), json!(about)).await?;
    Ok(id)
}

/// Slots keep their hours by the site's clock, so the clock stays while there are some to come.
pub async fn edit_site(
    db: &Writing<'_, '_>,
    id: i64,
    version: i64,
    about: AboutSite,
    by: By,
) -> Result<(), WriteError> {
    good(&about.mistakes())?;
    let before = site_to_change(db, id).await?;
    if before.about.time_zone != about.time_zone && has_slots_to_come(db, id, by.at).await? {
        return Err(Why::InUse.refusal());
    }
    change_row!(site, db, id, version, about.row(), by);
    by.note(db, "site changed", ("site", id), differences(&before.about, &about)).await
}

/// Refused while somebody works there or means to.
pub async fn delete_site(db: &Writing<'_, '_>, id: i64, version: i64, by: By) -> Result<(), WriteError> {
    site_to_change(db, id).await?;
    rooms::attendance().site_deleted(db, id, by).await?;
    let deleted = site::ActiveModel { deleted_at: Set(Some(by.at.0)), ..Default::default() };
    change_row!(site, db, id, version, deleted, by);
    by.note(db, "site deleted", ("site", id), json!({})).await
}

pub async fn restore_site(db: &Writing<'_, '_>, id: i64, by: By) -> Result<(), WriteError> {
    restore_row!(site, db, id, by);
    by.note(db, "site restored", ("site", id), json!({})).await
}

/// A task of a site, or of one of its slots; it stands behind the others. Refused where a shift would have too many.
pub async fn create_task(
    db: &Writing<'_, '_>,
    site_id: i64,
    slot_id: Option<i64>,
    about: AboutTask,
    by: By,
) -> Result<i64, WriteError> {
    good(&about.mistakes())?;
    live_site(db, site_id).await?;
    has_room(db, site_id, slot_id).await?;
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
    by.note(db, "task created", ("task", id), json!(about)).await?;
    Ok(id)
}

pub async fn edit_task(
    db: &Writing<'_, '_>,
    id: i64,
    version: i64,
    about: AboutTask,
    by: By,
) -> Result<(), WriteError> {
    good(&about.mistakes())?;
    let before = task::Entity::find_by_id(id).one(db).await?.map(Task::from).ok_or_else(|| Why::Gone.refusal())?;
    change_row!(task, db, id, version, about.row(), by);
    by.note(db, "task changed", ("task", id), differences(&before.about, &about)).await
}

pub async fn delete_task(db: &Writing<'_, '_>, id: i64, version: i64, by: By) -> Result<(), WriteError> {
    let deleted = task::ActiveModel { deleted_at: Set(Some(by.at.0)), ..Default::default() };
    change_row!(task, db, id, version, deleted, by);
    by.note(db, "task deleted", ("task", id), json!({})).await
}

pub async fn restore_task(db: &Writing<'_, '_>, id: i64, by: By) -> Result<(), WriteError> {
    let gone = task::Entity::find_by_id(id).one(db).await?.ok_or_else(|| Why::Gone.refusal())?;
    has_room(db, gone.site_id, gone.slot_id).await?;
    restore_row!(task, db, id, by);
    by.note(db, "task restored", ("task", id), json!({})).await
}

/// The tasks of a shift, wherever they are wanted: the slot's, then the site's unless the slot ignores them.
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

/// Refuses a form that has mistakes.
pub fn good(mistakes: &[&str]) -> Result<(), WriteError> {
    if mistakes.is_empty() { Ok(()) } else { Err(Why::Bad.refusal()) }
}

/// What a change changed: for each field how it was, and how it is.
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

/// Refuses one more task where a shift has as many as it may: those of its site and of its slot, of whichever it may be.
async fn has_room(db: &Writing<'_, '_>, site_id: i64, slot_id: Option<i64>) -> Result<(), WriteError> {
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
    if count < TASKS_MOST { Ok(()) } else { Err(Why::TooManyTasks.refusal()) }
}

async fn has_slots_to_come(db: &Writing<'_, '_>, site_id: i64, at: Millis) -> Result<bool, DbErr> {
    let to_come = slot::Column::SiteId.eq(site_id).and(slot::Column::EndsAt.gt(at.0));
    let found = slot::Entity::find().filter(to_come).filter(slot::Column::DeletedAt.is_null()).limit(1).one(db).await?;
    Ok(found.is_some())
}
