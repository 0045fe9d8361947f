//! Changes of time slots, within a commit.
//!
//! When a slot moves, its plans move with it; when it is deleted they are cancelled, and restoring the slot restores
//! them. The people concerned get notices. Copying and filling skip slots that exist, so they can be repeated.

use std::collections::HashMap;

use chrono::{Datelike, Days, NaiveDate};
use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::{Expr, ExprTrait, LockType, OnConflict};
use sea_orm::{
    ActiveModelTrait, ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Set,
};
use serde_json::json;

use super::changes::{ChangedBy, change_row, differences, lock_site_shared, refuse_mistakes, restore_row};
use super::records::{AboutSlot, Site, Slot};
use super::tables::{site, slot, task};
use super::{SiteRefusal, constraint_refusal};
use crate::domain::{Transaction, days};
use crate::rooms;

/// A limit on the number of values in one statement.
const ROWS_PER_INSERT: usize = 200;
/// The longest range to fill: two years.
const MAX_DAYS: i64 = 732;

/// A slot by id, deleted or not. Works within a commit.
pub async fn slot(db: &impl ConnectionTrait, id: i64) -> Result<Option<Slot>, DbErr> {
    slot::Entity::find_by_id(id).one(db).await?.map(Slot::try_from).transpose()
}

/// Locks a slot until the commit: it cannot be changed, and no place is taken or freed. Every change of a slot and
/// its plans locks the slot first, which keeps both consistent and avoids deadlocks.
pub async fn lock_slot(db: &Transaction<'_, '_>, id: i64) -> Result<Option<Slot>, DbErr> {
    slot::Entity::find_by_id(id).lock(LockType::NoKeyUpdate).one(db).await?.map(Slot::try_from).transpose()
}

/// The slots with these ids, deleted or not.
pub async fn slots_with_ids(db: &impl ConnectionTrait, ids: &[i64]) -> Result<Vec<Slot>, DbErr> {
    let found = slot::Entity::find().filter(slot::Column::Id.is_in(ids.iter().copied()));
    found.all(db).await?.into_iter().map(Slot::try_from).collect()
}

/// Locks several slots, as [`lock_slot`] does. All commits lock them in the order of their ids.
pub async fn lock_slots(db: &Transaction<'_, '_>, ids: &[i64]) -> Result<Vec<Slot>, DbErr> {
    let found = slot::Entity::find().filter(slot::Column::Id.is_in(ids.iter().copied()));
    let locked = found.order_by_asc(slot::Column::Id).lock(LockType::NoKeyUpdate);
    locked.all(db).await?.into_iter().map(Slot::try_from).collect()
}

pub async fn create_slot(
    db: &Transaction<'_, '_>,
    site_id: i64,
    about: AboutSlot,
    by: ChangedBy,
) -> Result<i64, WriteError> {
    let site = lock_site_shared(db, site_id).await?;
    let row = new_row(&about, &site, by)?;
    let id = row.insert(db).await.map_err(constraint_refusal)?.id;
    by.audit(db, "slot created", ("slot", id), json!(about)).await?;
    Ok(id)
}

/// Plans move with the slot. Refused if a moved plan overlaps another plan of its person, or if the capacity is too
/// low. A slot in which a shift has started keeps its day and its start.
pub async fn edit_slot(
    db: &Transaction<'_, '_>,
    id: i64,
    version: i64,
    about: AboutSlot,
    by: ChangedBy,
) -> Result<(), WriteError> {
    refuse_mistakes(&about.invalid_fields())?;
    let before = lock_live_slot(db, id).await?;
    if before.version != version {
        return Err(SiteRefusal::Stale.refusal());
    }
    if about.capacity < before.taken {
        return Err(SiteRefusal::Taken.refusal());
    }
    let site = lock_site_shared(db, before.site_id).await?;
    let row = about.row(&site).map_err(SiteRefusal::refusal)?;
    change_row!(slot, db, id, version, row, by);
    let after = lock_live_slot(db, id).await?;
    if after.period != before.period {
        rooms::attendance().slot_moved(db, &before, &after, &site, by).await?;
    }
    by.audit(db, "slot changed", ("slot", id), differences(&before.about, &about)).await
}

/// Refuses a user who has a place in the slot and would change its pay. No place is taken until the commit.
pub async fn refuse_own_slot(db: &Transaction<'_, '_>, id: i64, user_id: Option<i64>) -> Result<(), WriteError> {
    let Some(user_id) = user_id else { return Ok(()) };
    lock_slot(db, id).await?;
    if rooms::attendance().has_place_in(db, user_id, id).await? { Err(SiteRefusal::OwnCase.refusal()) } else { Ok(()) }
}

/// Refuses a user who has a place in the slot of a task and would change the task. Tasks of a whole site are exempt.
pub async fn refuse_own_slot_task(
    db: &Transaction<'_, '_>,
    slot_id: Option<i64>,
    user_id: Option<i64>,
) -> Result<(), WriteError> {
    match slot_id {
        Some(id) => refuse_own_slot(db, id, user_id).await,
        None => Ok(()),
    }
}

/// Cancels the plans of the slot without a fine, and writes notices.
pub async fn delete_slot(db: &Transaction<'_, '_>, id: i64, version: i64, by: ChangedBy) -> Result<(), WriteError> {
    let before = lock_live_slot(db, id).await?;
    let site = lock_site_shared(db, before.site_id).await?;
    let taken = rooms::attendance().slot_deleted(db, &before, &site, by).await?;
    let deleted = slot::ActiveModel { deleted_at: Set(Some(by.at.0)), taken: Set(taken), ..Default::default() };
    change_row!(slot, db, id, version, deleted, by);
    by.audit(db, "slot deleted", ("slot", id), json!({})).await
}

/// Also restores the plans that were cancelled with the slot, if their people are still free.
pub async fn restore_slot(db: &Transaction<'_, '_>, id: i64, by: ChangedBy) -> Result<(), WriteError> {
    let before = lock_slot(db, id).await?.ok_or_else(|| SiteRefusal::Gone.refusal())?;
    let site = lock_site_shared(db, before.site_id).await?;
    restore_row!(slot, db, id, by);
    let taken = rooms::attendance().slot_restored(db, &before, &site, by).await?;
    let places = slot::ActiveModel { taken: Set(taken), ..Default::default() };
    slot::Entity::update_many()
        .set(places)
        .filter(slot::Column::Id.eq(id))
        .exec(db)
        .await
        .map_err(constraint_refusal)?;
    by.audit(db, "slot restored", ("slot", id), json!({ "taken": taken })).await
}

/// Copies the slots of a week with their tasks; both days are Mondays. Returns how many are new.
pub async fn copy_week(
    db: &Transaction<'_, '_>,
    site_id: i64,
    (from, to): (NaiveDate, NaiveDate),
    with_rates: bool,
    by: ChangedBy,
) -> Result<u64, WriteError> {
    let site = lock_site_shared(db, site_id).await?;
    refuse_days(from, to)?;
    let week = week_of(db, site_id, from).await?;
    let ahead = (to - from).num_days();
    let mut rows = Vec::with_capacity(week.len());
    for slot in &week {
        let day = slot.about.day + chrono::TimeDelta::days(ahead);
        let rate_kopecks = slot.about.rate_kopecks.filter(|_| with_rates);
        rows.push(new_row(&AboutSlot { day, rate_kopecks, ..slot.about.clone() }, &site, by)?);
    }
    let added = insert(db, rows).await?;
    copy_tasks(db, &week, &added, ahead, by).await?;
    by.audit(db, "week copied", ("site", site_id), json!({ "from": from, "to": to, "slots": added.len() })).await?;
    Ok(added.len() as u64)
}

/// Refuses days that are too far away.
fn refuse_days(from: NaiveDate, to: NaiveDate) -> Result<(), WriteError> {
    let far = [("from", from), ("to", to)].into_iter().find(|(_, day)| !days::is_kept(*day));
    far.map_or(Ok(()), |(field, _)| Err(SiteRefusal::bad(field).refusal()))
}

/// The days of a range that get a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FillDays {
    pub first: NaiveDate,
    pub last: NaiveDate,
    pub which: WhichDays,
}

/// Which days of a range get a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhichDays {
    Every,
    /// The working days of the site.
    Working,
}

/// Creates a slot like `like` on the days of a range. Returns how many are new.
pub async fn fill(
    db: &Transaction<'_, '_>,
    site_id: i64,
    FillDays { first, last, which }: FillDays,
    like: AboutSlot,
    by: ChangedBy,
) -> Result<u64, WriteError> {
    let site = lock_site_shared(db, site_id).await?;
    refuse_days(first, last)?;
    if !(0..MAX_DAYS).contains(&(last - first).num_days()) {
        return Err(SiteRefusal::bad("to").refusal());
    }
    let days = first.iter_days().take_while(|day| *day <= last);
    let wanted = days.filter(|day| which == WhichDays::Every || site.about.working_days.has(day.weekday()));
    let rows = wanted.map(|day| new_row(&AboutSlot { day, ..like.clone() }, &site, by)).collect::<Result<_, _>>()?;
    let added = insert(db, rows).await?.len();
    by.audit(db, "slots filled", ("site", site_id), json!({ "from": first, "to": last, "slots": added })).await?;
    Ok(added as u64)
}

/// Creates the slots of a year from the site's working days and hours, once. Deleted slots are not created again.
pub async fn fill_year(db: &Transaction<'_, '_>, site_id: i64, year: i32, by: ChangedBy) -> Result<u64, WriteError> {
    if !days::YEARS.contains(&year) {
        return Ok(0);
    }
    let filled = site::Entity::update_many()
        .set(site::ActiveModel { filled_year: Set(i64::from(year)), ..Default::default() })
        .filter(site::Column::Id.eq(site_id))
        .filter(site::Column::FilledYear.lt(i64::from(year)))
        .exec(db)
        .await?;
    let days = NaiveDate::from_ymd_opt(year, 1, 1).zip(NaiveDate::from_ymd_opt(year, 12, 31));
    let (Some((first, last)), 1) = (days, filled.rows_affected) else { return Ok(0) };
    let hours = lock_site_shared(db, site_id).await?.about.hours;
    let days = FillDays { first, last, which: WhichDays::Working };
    fill(db, site_id, days, AboutSlot::usual(first, hours), by).await
}

/// Deletes the slots of a site that one action has created, known by its instant. Slots that were changed since, or in
/// which a place was taken, stay. Returns how many are deleted.
pub async fn take_back(
    db: &Transaction<'_, '_>,
    site_id: i64,
    created_at: Millis,
    by: ChangedBy,
) -> Result<u64, WriteError> {
    lock_site_shared(db, site_id).await?;
    let deleted = slot::ActiveModel { deleted_at: Set(Some(by.at.0)), updated_at: Set(by.at.0), ..Default::default() };
    let deleted = slot::Entity::update_many()
        .set(deleted)
        .col_expr(slot::Column::Version, Expr::col(slot::Column::Version).add(1))
        .filter(slot::Column::SiteId.eq(site_id))
        .filter(slot::Column::CreatedAt.eq(created_at.0))
        .filter(slot::Column::DeletedAt.is_null())
        .filter(slot::Column::Version.eq(1))
        .filter(slot::Column::Taken.eq(0))
        .exec(db)
        .await?
        .rows_affected;
    by.audit(db, "slots taken back", ("site", site_id), json!({ "slots": deleted })).await?;
    Ok(deleted)
}

/// Takes a place; refused if none is left.
pub async fn take_place(db: &Transaction<'_, '_>, slot_id: i64) -> Result<(), WriteError> {
    take_places(db, &[slot_id]).await
}

/// Takes a place in each of these slots; refused if one of them has none left.
pub async fn take_places(db: &Transaction<'_, '_>, slot_ids: &[i64]) -> Result<(), WriteError> {
    let taken = slot::Entity::update_many()
        .col_expr(slot::Column::Taken, Expr::col(slot::Column::Taken).add(1))
        .filter(slot::Column::Id.is_in(slot_ids.iter().copied()))
        .filter(slot::Column::DeletedAt.is_null())
        .filter(Expr::col(slot::Column::Taken).lt(Expr::col(slot::Column::Capacity)))
        .exec(db)
        .await
        .map_err(constraint_refusal)?;
    if taken.rows_affected < slot_ids.len() as u64 { Err(SiteRefusal::Full.refusal()) } else { Ok(()) }
}

/// Frees a place.
pub async fn free_place(db: &Transaction<'_, '_>, slot_id: i64) -> Result<(), WriteError> {
    slot::Entity::update_many()
        .col_expr(slot::Column::Taken, Expr::col(slot::Column::Taken).sub(1))
        .filter(slot::Column::Id.eq(slot_id))
        .filter(slot::Column::Taken.gt(0))
        .exec(db)
        .await?;
    Ok(())
}

async fn lock_live_slot(db: &Transaction<'_, '_>, id: i64) -> Result<Slot, WriteError> {
    let found = lock_slot(db, id).await?.filter(|slot| slot.deleted_at.is_none());
    found.ok_or_else(|| SiteRefusal::Gone.refusal())
}

async fn week_of(db: &Transaction<'_, '_>, site_id: i64, monday: NaiveDate) -> Result<Vec<Slot>, DbErr> {
    // Days sort as text.
    let days = slot::Column::Day.between(monday.to_string(), (monday + Days::new(6)).to_string());
    let live = slot::Entity::find().filter(slot::Column::SiteId.eq(site_id)).filter(slot::Column::DeletedAt.is_null());
    live.filter(days).all(db).await?.into_iter().map(Slot::try_from).collect()
}

fn new_row(about: &AboutSlot, site: &Site, by: ChangedBy) -> Result<slot::ActiveModel, WriteError> {
    refuse_mistakes(&about.invalid_fields())?;
    let row = about.row(site).map_err(SiteRefusal::refusal)?;
    Ok(slot::ActiveModel { created_at: Set(by.at.0), updated_at: Set(by.at.0), ..row })
}

/// Inserts rows and returns those that did not exist yet.
async fn insert(db: &Transaction<'_, '_>, rows: Vec<slot::ActiveModel>) -> Result<Vec<Slot>, WriteError> {
    let mut added = Vec::new();
    for rows in rows.chunks(ROWS_PER_INSERT) {
        let skip = OnConflict::new().do_nothing().to_owned();
        let new = slot::Entity::insert_many(rows.to_vec()).on_conflict(skip).exec_with_returning(db).await?;
        for row in new {
            added.push(Slot::try_from(row)?);
        }
    }
    Ok(added)
}

/// Copies the tasks of slots to their copies.
async fn copy_tasks(
    db: &Transaction<'_, '_>,
    from: &[Slot],
    to: &[Slot],
    ahead_days: i64,
    by: ChangedBy,
) -> Result<(), WriteError> {
    let of_week = task::Column::SlotId.is_in(from.iter().map(|slot| slot.id));
    let tasks = task::Entity::find().filter(of_week).filter(task::Column::DeletedAt.is_null()).all(db).await?;
    let identity = |slot: &Slot, ahead: i64| {
        (
            slot.about.day + chrono::TimeDelta::days(ahead),
            slot.about.hours.from_minute,
            slot.about.hours.to_minute,
            slot.about.title.clone(),
        )
    };
    let copies: HashMap<_, _> = to.iter().map(|slot| (identity(slot, 0), slot.id)).collect();
    let copy_of: HashMap<_, _> =
        from.iter().filter_map(|slot| Some((slot.id, *copies.get(&identity(slot, ahead_days))?))).collect();
    let rows: Vec<_> = tasks
        .into_iter()
        .filter_map(|row| {
            let slot_id = *copy_of.get(&row.slot_id?)?;
            Some(task::ActiveModel {
                site_id: Set(row.site_id),
                slot_id: Set(Some(slot_id)),
                place: Set(row.place),
                text: Set(row.text),
                amount_kopecks: Set(row.amount_kopecks),
                is_mandatory: Set(row.is_mandatory),
                needs_media: Set(row.needs_media),
                created_at: Set(by.at.0),
                updated_at: Set(by.at.0),
                ..Default::default()
            })
        })
        .collect();
    for rows in rows.chunks(ROWS_PER_INSERT) {
        task::Entity::insert_many(rows.to_vec()).exec_without_returning(db).await?;
    }
    Ok(())
}
