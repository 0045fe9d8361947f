//! Personal data of this room: export and deletion.
//!
//! Worked time and pay stay, linked to the person's id. Positions, files and texts are deleted.

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
use crate::domain::{Domain, Transaction};
use crate::sites::{self, ChangedBy};

/// Plans, shifts with positions, tasks with media, cancellations, and sites that the person opened.
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
    let files = attachments::find(db, media.iter().map(|one| one.telegram_file.as_str()).chain(photos)).await?;
    let mut sent = group_by_id(media.iter().map(|one| (one.shift_task_id, medium_json(one, &files))));
    let mut tasks = group_by_id(tasks.iter().map(|one| (one.shift_id, task_json(one, sent.remove(&one.id)))));
    Ok(json!({
        "plans": plans.iter().map(plan_json).collect::<Value>(),
        "shifts": shifts.iter().map(|one| shift_json(one, tasks.remove(&one.id))).collect::<Value>(),
        "cancellations": reasons.iter().map(|one| cancellation_json(one, &files)).collect::<Value>(),
        "sites_opened": opened.iter().map(|one| json!({ "site": one.site_id, "opened_at_ms": one.opened_at })).collect::<Value>(),
    }))
}

/// Deletes positions, files and texts, and frees the places of future plans. Returns the names of files to delete.
pub async fn forget(db: &Transaction<'_, '_>, user_id: i64, at: Millis) -> Result<Vec<String>, WriteError> {
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
    // The number of media stays with the task.
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
    // Past plans are cancelled as well, so a forgotten person is never reported as missing.
    give_places_back(db, user_id, Millis(0), ChangedBy { person: None, at }).await?;
    attachments::forget(db, &files_of_no_other_person(db, files).await?).await
}

/// Cancels a person's unused plans for slots that end after an instant and frees their places. No notice is sent, and
/// no reason is judged. Returns how many plans were cancelled. [`super::given_back`] can restore them.
pub async fn give_places_back(
    db: &Transaction<'_, '_>,
    user_id: i64,
    ending_after: Millis,
    by: ChangedBy,
) -> Result<u64, WriteError> {
    // An unblock restores what its own block has given back, not what an earlier one has.
    plan::Entity::update_many()
        .set(plan::ActiveModel { given_back_at: Set(None), ..Default::default() })
        .filter(plan::Column::UserId.eq(user_id))
        .filter(plan::Column::GivenBackAt.is_not_null())
        .exec(db)
        .await?;
    let mut count = 0;
    let planned = plan::Entity::find()
        .filter(plan::Column::UserId.eq(user_id))
        .filter(plan::Column::Status.eq(PlanStatus::Planned.name()))
        .filter(plan::Column::EndsAt.gt(ending_after.0))
        // All commits lock several slots in the same order.
        .order_by_asc(plan::Column::SlotId);
    for row in planned.all(db).await? {
        sites::lock_slot(db, row.slot_id).await?;
        // If the person has started to work meanwhile, the plan stays.
        if plans::try_end(db, row.id, PlanStatus::Cancelled, by.at).await? {
            sites::free_place(db, row.slot_id).await?;
            let given_back = plan::ActiveModel { given_back_at: Set(Some(by.at.0)), ..Default::default() };
            plan::Entity::update_many().set(given_back).filter(plan::Column::Id.eq(row.id)).exec(db).await?;
            by.audit(db, "plan cancelled", ("plan", row.id), json!({})).await?;
            count += 1;
        }
    }
    Ok(count)
}

/// The files that no other person has sent.
async fn files_of_no_other_person(db: &Transaction<'_, '_>, files: Vec<String>) -> Result<Vec<String>, WriteError> {
    let mut unshared = Vec::with_capacity(files.len());
    for files in files.chunks(500) {
        let these = || files.iter().map(String::as_str);
        let in_tasks = medium::Entity::find().filter(medium::Column::TelegramFile.is_in(these()));
        let in_reasons = cancellation::Entity::find().filter(cancellation::Column::PhotoFile.is_in(these()));
        let mut used_by_others: Vec<_> = in_tasks.all(db).await?.into_iter().map(|one| one.telegram_file).collect();
        used_by_others.extend(in_reasons.all(db).await?.into_iter().filter_map(|one| one.photo_file));
        unshared.extend(files.iter().filter(|file| !used_by_others.contains(file)).cloned());
    }
    Ok(unshared)
}

fn shifts_of(user_id: i64) -> SelectStatement {
    let own = shift::Column::UserId.eq(user_id);
    Query::select().column(shift::Column::Id).from(shift::Entity).and_where(own).take()
}

fn tasks_of(user_id: i64) -> SelectStatement {
    let own = task::Column::ShiftId.in_subquery(shifts_of(user_id));
    Query::select().column(task::Column::Id).from(task::Entity).and_where(own).take()
}

fn plan_json(row: &plan::Model) -> Value {
    json!({
        "id": row.id, "site": row.site_id, "starts_at_ms": row.starts_at, "ends_at_ms": row.ends_at, "status": row.status,
    })
}

/// Groups values by id, in order.
fn group_by_id(parts: impl Iterator<Item = (i64, Value)>) -> HashMap<i64, Vec<Value>> {
    let mut by: HashMap<i64, Vec<Value>> = HashMap::new();
    for (of, part) in parts {
        by.entry(of).or_default().push(part);
    }
    by
}

fn shift_json(row: &shift::Model, tasks: Option<Vec<Value>>) -> Value {
    json!({
        "id": row.id, "site": row.site_id, "status": row.status, "rate_kopecks": row.rate_kopecks,
        "started_at_ms": row.started_at, "ended_at_ms": row.ended_at,
        "opened_at": position(row.opened_latitude, row.opened_longitude),
        "closed_at": position(row.closed_latitude, row.closed_longitude),
        "tasks": tasks.unwrap_or_default(),
    })
}

fn task_json(row: &task::Model, sent: Option<Vec<Value>>) -> Value {
    json!({
        "text": row.text, "amount_kopecks": row.amount_kopecks, "done_at_ms": row.done_at, "sent": sent.unwrap_or_default(),
    })
}

fn medium_json(row: &medium::Model, files: &HashMap<String, Attachment>) -> Value {
    json!({ "kind": row.kind, "sent_at_ms": row.created_at, "file": file_json(files.get(&row.telegram_file)) })
}

fn cancellation_json(row: &cancellation::Model, files: &HashMap<String, Attachment>) -> Value {
    let photo = row.photo_file.as_ref().and_then(|file| files.get(file));
    json!({
        "plan": row.plan_id, "reason": row.reason, "words": row.words, "document": row.document,
        "photo": file_json(photo), "cancelled_at_ms": row.cancelled_at, "status": row.status,
    })
}

fn file_json(file: Option<&Attachment>) -> Value {
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
