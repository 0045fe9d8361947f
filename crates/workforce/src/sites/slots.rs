//! Changes of time slots, within a commit.
//!
//! People who have planned to come move along with their slot and are told; when it is deleted their plans are cancelled,
//! and come back with it. Copying and filling skip what is there, so doing it twice does nothing twice.

use std::collections::HashMap;

use chrono::{Datelike, Days, NaiveDate};
use opora::store::WriteError;
use sea_orm::sea_query::{Expr, ExprTrait, LockType, OnConflict};
use sea_orm::{ActiveModelTrait, ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QuerySelect, Set};
use serde_json::json;

use super::changes::{By, change_row, differences, good, live_site, restore_row};
use super::records::{AboutSlot, Site, Slot};
use super::tables::{site, slot, task};
use super::{Why, kept};
use crate::domain::{Writing, days};
use crate::rooms;

/// Databases take only so many values at once.
const ROWS_AT_ONCE: usize = 200;
/// What is filled at once, at most: two years.
const DAYS_MOST: i64 = 732;

/// A slot, also as a commit under way has it; deleted ones too.
pub async fn slot(db: &impl ConnectionTrait, id: i64) -> Result<Option<Slot>, DbErr> {
    slot::Entity::find_by_id(id).one(db).await?.map(Slot::try_from).transpose()
}

/// The same, and nobody else changes it, takes a place or gives one back until this commits. Whoever changes a slot and
/// its plans holds the slot first, so that what is read of both fits together and nobody waits in a circle.
pub async fn hold_slot(db: &Writing<'_, '_>, id: i64) -> Result<Option<Slot>, DbErr> {
    slot::Entity::find_by_id(id).lock(LockType::NoKeyUpdate).one(db).await?.map(Slot::try_from).transpose()
}

pub async fn create_slot(db: &Writing<'_, '_>, site_id: i64, about: AboutSlot, by: By) -> Result<i64, WriteError> {
    let site = live_site(db, site_id).await?;
    let row = new_row(&about, &site, by)?;
    let id = row.insert(db).await.map_err(kept)?.id;
    by.note(db, "slot created", ("slot", id), json!(about)).await?;
    Ok(id)
}

/// Whoever has planned to come moves along; refused where that meets another plan of theirs, or where there are too many. What
/// somebody works in, or has worked in, keeps its day and its beginning.
pub async fn edit_slot(
    db: &Writing<'_, '_>,
    id: i64,
    version: i64,
    about: AboutSlot,
    by: By,
) -> Result<(), WriteError> {
    good(&about.mistakes())?;
    let before = live_slot(db, id).await?;
    if before.version != version {
        return Err(Why::Stale.refusal());
    }
    if about.capacity < before.taken {
        return Err(Why::Taken.refusal());
    }
    let site = live_site(db, before.site_id).await?;
    let row = about.row(&site).map_err(Why::refusal)?;
    change_row!(slot, db, id, version, row, by);
    let after = live_slot(db, id).await?;
    if after.period != before.period {
        rooms::attendance().slot_moved(db, &before, &after, &site, by).await?;
    }
    by.note(db, "slot changed", ("slot", id), differences(&before.about, &about)).await
}

/// Refuses somebody who has a place in a slot, where they would decide on what it pays them. Nobody takes one meanwhile.
pub async fn not_ones_own(db: &Writing<'_, '_>, id: i64, user_id: Option<i64>) -> Result<(), WriteError> {
    let Some(user_id) = user_id else { return Ok(()) };
    hold_slot(db, id).await?;
    if rooms::attendance().has_place_in(db, user_id, id).await? { Err(Why::OwnCase.refusal()) } else { Ok(()) }
}

/// The same of a task; those of a whole site are nobody's own.
pub async fn not_a_task_of_ones_own(
    db: &Writing<'_, '_>,
    slot_id: Option<i64>,
    user_id: Option<i64>,
) -> Result<(), WriteError> {
    match slot_id {
        Some(id) => not_ones_own(db, id, user_id).await,
        None => Ok(()),
    }
}

/// Plans for it are cancelled, without a fine, and their people are told.
pub async fn delete_slot(db: &Writing<'_, '_>, id: i64, version: i64, by: By) -> Result<(), WriteError> {
    let before = live_slot(db, id).await?;
    let site = live_site(db, before.site_id).await?;
    let taken = rooms::attendance().slot_deleted(db, &before, &site, by).await?;
    let deleted = slot::ActiveModel { deleted_at: Set(Some(by.at.0)), taken: Set(taken), ..Default::default() };
    change_row!(slot, db, id, version, deleted, by);
    by.note(db, "slot deleted", ("slot", id), json!({})).await
}

/// The plans that were cancelled with it come back, where their people are still free.
pub async fn restore_slot(db: &Writing<'_, '_>, id: i64, by: By) -> Result<(), WriteError> {
    let before = hold_slot(db, id).await?.ok_or_else(|| Why::Gone.refusal())?;
    let site = live_site(db, before.site_id).await?;
    restore_row!(slot, db, id, by);
    let taken = rooms::attendance().slot_restored(db, &before, &site, by).await?;
    let places = slot::ActiveModel { taken: Set(taken), ..Default::default() };
    slot::Entity::update_many().set(places).filter(slot::Column::Id.eq(id)).exec(db).await.map_err(kept)?;
    by.note(db, "slot restored", ("slot", id), json!({ "taken": taken })).await
}

/// Copies the slots of a week, with their tasks; answers how many are new. Both days are Mondays.
pub async fn copy_week(
    db: &Writing<'_, '_>,
    site_id: i64,
    (from, to): (NaiveDate, NaiveDate),
    with_rates: bool,
    by: By,
) -> Result<u64, WriteError> {
    let site = live_site(db, site_id).await?;
    if !days::is_kept(from) || !days::is_kept(to) {
        return Err(Why::Bad.refusal());
    }
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
    by.note(db, "week copied", ("site", site_id), json!({ "from": from, "to": to, "slots": added.len() })).await?;
    Ok(added.len() as u64)
}

/// Makes a slot like this one on every working day of the site from one day to another; answers how many are new.
pub async fn fill(
    db: &Writing<'_, '_>,
    site_id: i64,
    (first, last): (NaiveDate, NaiveDate),
    like: AboutSlot,
    by: By,
) -> Result<u64, WriteError> {
    let site = live_site(db, site_id).await?;
    if !days::is_kept(first) || !days::is_kept(last) {
        return Err(Why::Bad.refusal());
    }
    if !(0..DAYS_MOST).contains(&(last - first).num_days()) {
        return Err(Why::Bad.refusal());
    }
    let days = first.iter_days().take_while(|day| *day <= last);
    let working = days.filter(|day| site.about.working_days.has(day.weekday()));
    let rows = working.map(|day| new_row(&AboutSlot { day, ..like.clone() }, &site, by)).collect::<Result<_, _>>()?;
    let added = insert(db, rows).await?.len();
    by.note(db, "slots filled", ("site", site_id), json!({ "from": first, "to": last, "slots": added })).await?;
    Ok(added as u64)
}

/// Makes the slots of a year by the site's working days and hours, once; what an owner has deleted does not come again.
pub async fn fill_year(db: &Writing<'_, '_>, site_id: i64, year: i32, by: By) -> Result<u64, WriteError> {
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
    let (Some(days), 1) = (days, filled.rows_affected) else { return Ok(0) };
    let hours = live_site(db, site_id).await?.about.hours;
    fill(db, site_id, days, AboutSlot::usual(days.0, hours), by).await
}

/// Takes a place; refused where none is left.
pub async fn take_place(db: &Writing<'_, '_>, slot_id: i64) -> Result<(), WriteError> {
    let taken = slot::Entity::update_many()
        .col_expr(slot::Column::Taken, Expr::col(slot::Column::Taken).add(1))
        .filter(slot::Column::Id.eq(slot_id))
        .filter(slot::Column::DeletedAt.is_null())
        .filter(Expr::col(slot::Column::Taken).lt(Expr::col(slot::Column::Capacity)))
        .exec(db)
        .await
        .map_err(kept)?;
    if taken.rows_affected == 0 { Err(Why::Full.refusal()) } else { Ok(()) }
}

/// Gives a place back.
pub async fn free_place(db: &Writing<'_, '_>, slot_id: i64) -> Result<(), WriteError> {
    slot::Entity::update_many()
        .col_expr(slot::Column::Taken, Expr::col(slot::Column::Taken).sub(1))
        .filter(slot::Column::Id.eq(slot_id))
        .filter(slot::Column::Taken.gt(0))
        .exec(db)
        .await?;
    Ok(())
}

async fn live_slot(db: &Writing<'_, '_>, id: i64) -> Result<Slot, WriteError> {
    let found = hold_slot(db, id).await?.filter(|slot| slot.deleted_at.is_none());
    found.ok_or_else(|| Why::Gone.refusal())
}

async fn week_of(db: &Writing<'_, '_>, site_id: i64, monday: NaiveDate) -> Result<Vec<Slot>, DbErr> {
    // Days are written so that they sort as texts.
    let days = slot::Column::Day.between(monday.to_string(), (monday + Days::new(6)).to_string());
    let live = slot::Entity::find().filter(slot::Column::SiteId.eq(site_id)).filter(slot::Column::DeletedAt.is_null());
    live.filter(days).all(db).await?.into_iter().map(Slot::try_from).collect()
}

fn new_row(about: &AboutSlot, site: &Site, by: By) -> Result<slot::ActiveModel, WriteError> {
    good(&about.mistakes())?;
    let row = about.row(site).map_err(Why::refusal)?;
    Ok(slot::ActiveModel { created_at: Set(by.at.0), updated_at: Set(by.at.0), ..row })
}

/// Those of the rows that were not there yet.
async fn insert(db: &Writing<'_, '_>, rows: Vec<slot::ActiveModel>) -> Result<Vec<Slot>, WriteError> {
    let mut added = Vec::new();
    for rows in rows.chunks(ROWS_AT_ONCE) {
        let skip = OnConflict::new().do_nothing().to_owned();
        let new = slot::Entity::insert_many(rows.to_vec()).on_conflict(skip).exec_with_returning(db).await?;
        for row in new {
            added.push(Slot::try_from(row)?);
        }
    }
    Ok(added)
}

/// What is to be done in a slot goes along with its copy.
async fn copy_tasks(
    db: &Writing<'_, '_>,
    from: &[Slot],
    to: &[Slot],
    ahead_days: i64,
    by: By,
) -> Result<(), WriteError> {
    let of_week = task::Column::SlotId.is_in(from.iter().map(|slot| slot.id));
    let tasks = task::Entity::find().filter(of_week).filter(task::Column::DeletedAt.is_null()).all(db).await?;
    let place = |slot: &Slot, ahead: i64| {
        (
            slot.about.day + chrono::TimeDelta::days(ahead),
            slot.about.hours.from_minute,
            slot.about.hours.to_minute,
            slot.about.title.clone(),
        )
    };
    let copies: HashMap<_, _> = to.iter().map(|slot| (place(slot, 0), slot.id)).collect();
    let copy_of: HashMap<_, _> =
        from.iter().filter_map(|slot| Some((slot.id, *copies.get(&place(slot, ahead_days))?))).collect();
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
    for rows in rows.chunks(ROWS_AT_ONCE) {
        task::Entity::insert_many(rows.to_vec()).exec_without_returning(db).await?;
    }
    Ok(())
}
