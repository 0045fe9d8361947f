//! Shifts' part of what is known of a person, and of forgetting it.
//!
//! What was worked and what it was worth stays under the number of the person. Where they were, what they sent and what they
//! wrote does not.

use std::collections::HashMap;

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::{Query, SelectStatement};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Set};
use serde_json::{Value, json};

use super::plans;
use super::records::PlanStatus;
use super::tables::{cancellation, medium, opening, plan, shift, task};
use crate::attachments::{self, Attachment};
use crate::domain::{Domain, Writing};
use crate::sites::{self, By};

/// Plans, shifts with positions, tasks and what was sent for them, reasons of cancellations, and sites that were opened.
pub async fn export(domain: &Domain, user_id: i64) -> anyhow::Result<Value> {
    let db = domain.read();
    let plans = plan::Entity::find().filter(plan::Column::UserId.eq(user_id)).order_by_asc(plan::Column::Id);
    let shifts = shift::Entity::find().filter(shift::Column::UserId.eq(user_id)).order_by_asc(shift::Column::Id);
    let tasks = task::Entity::find().filter(task::Column::ShiftId.in_subquery(shifts_of(user_id)));
    let media = medium::Entity::find().filter(medium::Column::ShiftTaskId.in_subquery(tasks_of(user_id)));
    let reasons = cancellation::Entity::find().filter(cancellation::Column::UserId.eq(user_id));
    let opened = opening::Entity::find().filter(opening::Column::OpenedBy.eq(user_id));
    let (plans, shifts) = (plans.all(db).await?, shifts.all(db).await?);
    let tasks = tasks.order_by_asc(task::Column::ShiftId).order_by_asc(task::Column::Place).all(db).await?;
    let media = media.order_by_asc(medium::Column::Id).all(db).await?;
    let reasons = reasons.order_by_asc(cancellation::Column::Id).all(db).await?;
    let opened = opened.order_by_asc(opening::Column::Id).all(db).await?;
    if plans.is_empty() && shifts.is_empty() && opened.is_empty() {
        return Ok(Value::Null);
    }
    let photos = reasons.iter().filter_map(|one| one.photo_file.as_deref());
    let files = attachments::of(db, media.iter().map(|one| one.telegram_file.as_str()).chain(photos)).await?;
    let mut sent = told_by(media.iter().map(|one| (one.shift_task_id, told_medium(one, &files))));
    let mut tasks = told_by(tasks.iter().map(|one| (one.shift_id, told_task(one, sent.remove(&one.id)))));
    Ok(json!({
        "plans": plans.iter().map(told_plan).collect::<Value>(),
        "shifts": shifts.iter().map(|one| told_shift(one, tasks.remove(&one.id))).collect::<Value>(),
        "cancellations": reasons.iter().map(|one| told_reason(one, &files)).collect::<Value>(),
        "sites_opened": opened.iter().map(|one| json!({ "site": one.site_id, "opened_at_ms": one.opened_at })).collect::<Value>(),
    }))
}

/// Takes positions, files and free texts away, and gives places back that are still to come; answers the names of files.
pub async fn forget(db: &Writing<'_, '_>, user_id: i64, at: Millis) -> Result<Vec<String>, WriteError> {
    let nowhere = shift::ActiveModel {
        opened_latitude: Set(None),
        opened_longitude: Set(None),
        closed_latitude: Set(None),
        closed_longitude: Set(None),
        ..Default::default()
    };
    shift::Entity::update_many().set(nowhere).filter(shift::Column::UserId.eq(user_id)).exec(db).await?;
    let own = medium::Column::ShiftTaskId.in_subquery(tasks_of(user_id));
    let mut files: Vec<String> = medium::Entity::find()
        .select_only()
        .column(medium::Column::TelegramFile)
        .filter(own.clone())
        .into_tuple()
        .all(db)
        .await?;
    // How many there were stays: a task that is done with a photo was done with one.
    medium::Entity::delete_many().filter(own).exec(db).await?;
    let reasons = cancellation::Column::UserId.eq(user_id);
    let photos = cancellation::Entity::find().filter(reasons.clone()).all(db).await?;
    files.extend(photos.into_iter().filter_map(|one| one.photo_file));
    let wordless = cancellation::ActiveModel {
        words: Set(None),
        document: Set(None),
        photo_file: Set(None),
        photo_kind: Set(None),
        ..Default::default()
    };
    cancellation::Entity::update_many().set(wordless).filter(reasons).exec(db).await?;
    // Those of before too: nobody misses a number.
    give_places_back(db, user_id, Millis(0), By { person: None, at }).await?;
    attachments::forget(db, &nobody_elses(db, files).await?).await
}

/// Gives the places back that somebody has in slots which end after this. Nobody is told, and nothing has to be judged.
pub async fn give_places_back(
    db: &Writing<'_, '_>,
    user_id: i64,
    ending_after: Millis,
    by: By,
) -> Result<(), WriteError> {
    let planned = plan::Entity::find()
        .filter(plan::Column::UserId.eq(user_id))
        .filter(plan::Column::Status.eq(PlanStatus::Planned.name()))
        .filter(plan::Column::EndsAt.gt(ending_after.0))
        // Whoever holds several slots takes them in one order.
        .order_by_asc(plan::Column::SlotId);
    for row in planned.all(db).await? {
        sites::hold_slot(db, row.slot_id).await?;
        // Who has begun to work meanwhile keeps the place.
        if plans::is_ended(db, row.id, PlanStatus::Cancelled, by.at).await? {
            sites::free_place(db, row.slot_id).await?;
            by.note(db, "plan cancelled", ("plan", row.id), json!({})).await?;
        }
    }
    Ok(())
}

/// The same picture may have been sent by others: theirs stays.
async fn nobody_elses(db: &Writing<'_, '_>, files: Vec<String>) -> Result<Vec<String>, WriteError> {
    let mut left = Vec::with_capacity(files.len());
    for files in files.chunks(500) {
        let these = || files.iter().map(String::as_str);
        let in_tasks = medium::Entity::find().filter(medium::Column::TelegramFile.is_in(these()));
        let in_reasons = cancellation::Entity::find().filter(cancellation::Column::PhotoFile.is_in(these()));
        let mut taken: Vec<_> = in_tasks.all(db).await?.into_iter().map(|one| one.telegram_file).collect();
        taken.extend(in_reasons.all(db).await?.into_iter().filter_map(|one| one.photo_file));
        left.extend(files.iter().filter(|file| !taken.contains(file)).cloned());
    }
    Ok(left)
}

fn shifts_of(user_id: i64) -> SelectStatement {
    let own = shift::Column::UserId.eq(user_id);
    Query::select().column(shift::Column::Id).from(shift::Entity).and_where(own).take()
}

fn tasks_of(user_id: i64) -> SelectStatement {
    let own = task::Column::ShiftId.in_subquery(shifts_of(user_id));
    Query::select().column(task::Column::Id).from(task::Entity).and_where(own).take()
}

fn told_plan(row: &plan::Model) -> Value {
    json!({
        "id": row.id, "site": row.site_id, "starts_at_ms": row.starts_at, "ends_at_ms": row.ends_at, "status": row.status,
    })
}

/// What belongs together by a number, in its order.
fn told_by(parts: impl Iterator<Item = (i64, Value)>) -> HashMap<i64, Vec<Value>> {
    let mut by: HashMap<i64, Vec<Value>> = HashMap::new();
    for (of, part) in parts {
        by.entry(of).or_default().push(part);
    }
    by
}

fn told_shift(row: &shift::Model, tasks: Option<Vec<Value>>) -> Value {
    json!({
        "id": row.id, "site": row.site_id, "status": row.status, "rate_kopecks": row.rate_kopecks,
        "started_at_ms": row.started_at, "ended_at_ms": row.ended_at,
        "opened_at": position(row.opened_latitude, row.opened_longitude),
        "closed_at": position(row.closed_latitude, row.closed_longitude),
        "tasks": tasks.unwrap_or_default(),
    })
}

fn told_task(row: &task::Model, sent: Option<Vec<Value>>) -> Value {
    json!({
        "text": row.text, "amount_kopecks": row.amount_kopecks, "done_at_ms": row.done_at, "sent": sent.unwrap_or_default(),
    })
}

fn told_medium(row: &medium::Model, files: &HashMap<String, Attachment>) -> Value {
    json!({ "kind": row.kind, "sent_at_ms": row.created_at, "file": told_file(files.get(&row.telegram_file)) })
}

fn told_reason(row: &cancellation::Model, files: &HashMap<String, Attachment>) -> Value {
    let photo = row.photo_file.as_ref().and_then(|file| files.get(file));
    json!({
        "plan": row.plan_id, "reason": row.reason, "words": row.words, "document": row.document,
        "photo": told_file(photo), "cancelled_at_ms": row.cancelled_at, "status": row.status,
    })
}

fn told_file(file: Option<&Attachment>) -> Value {
    match file {
        Some(Attachment::Kept { name, media_type, size_bytes, sha256 }) => {
            json!({ "name": name, "media_type": media_type.name(), "size_bytes": size_bytes, "sha256": sha256 })
        }
        _ => Value::Null,
    }
}

fn position(latitude: Option<f64>, longitude: Option<f64>) -> Value {
    latitude.zip(longitude).map_or(Value::Null, |(latitude, longitude)| json!([latitude, longitude]))
}
