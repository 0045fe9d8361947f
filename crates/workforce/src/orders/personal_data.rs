//! Personal data of this room: export and deletion.
//!
//! A member may also be a client by the same Telegram account. What was worked and billed stays, under a number.

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Set};
use serde_json::{Value, json};

use super::board::ids_of_client;
use super::tables::{client, equipment, file, history, message, notice, offer, order, rating, recurrence, word};
use super::{OrderRefusal, OrderStatus, assigning};
use crate::attachments;
use crate::domain::{Domain, Transaction};
use crate::notices;
use crate::person::Person;

/// A limit on the number of values in one statement.
const IDS_PER_QUERY: usize = 500;
/// What stands in the place of a text that was forgotten.
const FORGOTTEN: &str = "–";

/// The orders of a member as a master, and everything of the client with the same account.
pub async fn export(domain: &Domain, person: &Person) -> anyhow::Result<Value> {
    let db = domain.read();
    let worked = order::Entity::find().filter(order::Column::MasterId.eq(person.id));
    let worked = worked.order_by_asc(order::Column::Id).all(db).await?;
    let wrote = message::Entity::find().filter(message::Column::ById.eq(person.id));
    let wrote = wrote.order_by_asc(message::Column::Id).all(db).await?;
    let own = client::Entity::find().filter(client::Column::TelegramId.eq(person.telegram_id)).one(db).await?;
    let as_client = match &own {
        Some(client) => export_client(domain, client.id).await?,
        None => Value::Null,
    };
    if worked.is_empty() && wrote.is_empty() && as_client == Value::Null {
        return Ok(Value::Null);
    }
    Ok(json!({
        "worked": worked.iter().map(worked_json).collect::<Value>(),
        "messages": wrote.iter().map(message_json).collect::<Value>(),
        "as_client": as_client,
    }))
}

/// Everything that is known about a client.
pub async fn export_client(domain: &Domain, client_id: i64) -> anyhow::Result<Value> {
    let db = domain.read();
    let Some(row) = client::Entity::find_by_id(client_id).one(db).await? else { return Ok(Value::Null) };
    let orders = order::Entity::find().filter(order::Column::ClientId.eq(client_id)).order_by_asc(order::Column::Id);
    let owned = equipment::Entity::find().filter(equipment::Column::ClientId.eq(client_id));
    let rules = recurrence::Entity::find().filter(recurrence::Column::ClientId.eq(client_id));
    let messages = message::Entity::find().filter(message::Column::OrderId.in_subquery(ids_of_client(client_id)));
    let ratings = rating::Entity::find().filter(rating::Column::OrderId.in_subquery(ids_of_client(client_id)));
    let (orders, owned, rules, messages, ratings) = tokio::try_join!(
        orders.all(db),
        owned.all(db),
        rules.all(db),
        messages.order_by_asc(message::Column::Id).all(db),
        ratings.all(db)
    )?;
    Ok(json!({
        "name": row.name, "phone": row.phone, "telegram_id": row.telegram_id, "notes": row.notes,
        "orders": orders.iter().map(order_json).collect::<Value>(),
        "equipment": owned.iter().map(|one| json!({ "type": one.equipment_type, "model": one.model,
            "serial": one.serial, "warranty_until": one.warranty_until, "notes": one.notes })).collect::<Value>(),
        "recurrences": rules.iter().map(|one| json!({ "rule": one.rule, "order": one.draft })).collect::<Value>(),
        "messages": messages.iter().map(message_json).collect::<Value>(),
        "ratings": ratings.iter().map(|one| json!({ "order": one.order_id, "stars": one.stars,
            "comment": one.comment })).collect::<Value>(),
    }))
}

/// Forgets a member: open orders become new, and texts that the member wrote go. Also forgets the client with the same
/// account. Returns the names of files to delete.
pub async fn forget(db: &Transaction<'_, '_>, person: &Person, at: Millis) -> Result<Vec<String>, WriteError> {
    assigning::release_all(db, person.id, at).await?;
    let silent = message::ActiveModel { text: Set(FORGOTTEN.to_owned()), ..Default::default() };
    message::Entity::update_many().set(silent).filter(message::Column::ById.eq(person.id)).exec(db).await?;
    let own = history::Column::ById.eq(person.id).and(history::Column::Actor.eq("member"));
    let silent = history::ActiveModel { reason: Set(None), ..Default::default() };
    history::Entity::update_many().set(silent).filter(own).exec(db).await?;
    let silent = offer::ActiveModel { reason: Set(None), ..Default::default() };
    offer::Entity::update_many().set(silent).filter(offer::Column::MasterId.eq(person.id)).exec(db).await?;
    let client = client::Entity::find().filter(client::Column::TelegramId.eq(person.telegram_id)).one(db).await?;
    match client {
        Some(client) => {
            assigning::refuse_all_of(db, client.id, at).await?;
            forget_client(db, client.id, at).await
        }
        None => Ok(Vec::new()),
    }
}

/// Forgets a client. Refused while an order is open. Amounts, times and who worked stay. Returns the names of files to
/// delete.
pub async fn forget_client(db: &Transaction<'_, '_>, client_id: i64, at: Millis) -> Result<Vec<String>, WriteError> {
    if client::Entity::find_by_id(client_id).one(db).await?.is_none() {
        return Err(OrderRefusal::Gone.refusal());
    }
    let of_client = order::Entity::find().select_only().column(order::Column::Id);
    let ids: Vec<i64> = of_client.filter(order::Column::ClientId.eq(client_id)).into_tuple().all(db).await?;
    let mut files = Vec::new();
    for ids in ids.chunks(IDS_PER_QUERY) {
        files.extend(forget_parts(db, ids).await?);
    }
    notices::forget_orders(db, &ids).await?;
    forget_texts(db, client_id).await?;
    let anonymous = client::ActiveModel {
        name: Set(format!("#{client_id}")),
        phone: Set(None),
        phone_is_known: Set(false),
        telegram_id: Set(None),
        notes: Set(None),
        forgotten_at: Set(Some(at.0)),
        updated_at: Set(at.0),
        ..Default::default()
    };
    client::Entity::update_many().set(anonymous).filter(client::Column::Id.eq(client_id)).exec(db).await?;
    attachments::forget(db, &files).await
}

/// Deletes files, words and messages of orders; returns Telegram's ids of files that no other order has.
async fn forget_parts(db: &Transaction<'_, '_>, orders: &[i64]) -> Result<Vec<String>, WriteError> {
    let these = || orders.iter().copied();
    let sent = file::Entity::find().select_only().column(file::Column::TelegramFile);
    let sent: Vec<String> = sent.filter(file::Column::OrderId.is_in(these())).into_tuple().all(db).await?;
    file::Entity::delete_many().filter(file::Column::OrderId.is_in(these())).exec(db).await?;
    word::Entity::delete_many().filter(word::Column::OrderId.is_in(these())).exec(db).await?;
    message::Entity::delete_many().filter(message::Column::OrderId.is_in(these())).exec(db).await?;
    let silent = rating::ActiveModel { comment: Set(None), ..Default::default() };
    rating::Entity::update_many().set(silent).filter(rating::Column::OrderId.is_in(these())).exec(db).await?;
    let silent = history::ActiveModel { reason: Set(None), detail: Set("{}".to_owned()), ..Default::default() };
    history::Entity::update_many().set(silent).filter(history::Column::OrderId.is_in(these())).exec(db).await?;
    let kept = file::Entity::find().select_only().column(file::Column::TelegramFile);
    let kept = kept.filter(file::Column::TelegramFile.is_in(sent.iter().map(String::as_str)));
    let kept: Vec<String> = kept.into_tuple().all(db).await?;
    Ok(sent.into_iter().filter(|file| !kept.contains(file)).collect())
}

/// Replaces what identifies a client in orders, and deletes the equipment, rules and news.
async fn forget_texts(db: &Transaction<'_, '_>, client_id: i64) -> Result<(), WriteError> {
    let open = order::Column::Status.is_in(OrderStatus::OPEN.map(OrderStatus::name));
    let own = order::Column::ClientId.eq(client_id);
    if order::Entity::find().filter(own.clone().and(open)).one(db).await?.is_some() {
        return Err(OrderRefusal::WrongStatus.refusal());
    }
    let anonymous = order::ActiveModel {
        client_name: Set(FORGOTTEN.to_owned()),
        phone: Set(FORGOTTEN.to_owned()),
        address: Set(FORGOTTEN.to_owned()),
        address_key: Set(format!("#{client_id}")),
        latitude: Set(None),
        longitude: Set(None),
        description: Set(FORGOTTEN.to_owned()),
        notes: Set(None),
        equipment_id: Set(None),
        ..Default::default()
    };
    let orders = order::Entity::update_many().set(anonymous);
    let orders = orders.col_expr(order::Column::Version, Expr::col(order::Column::Version).add(1));
    orders.filter(own.clone()).exec(db).await?;
    // A refused order keeps a reason; the database requires one.
    let silent = order::ActiveModel { refusal_reason: Set(Some(FORGOTTEN.to_owned())), ..Default::default() };
    let refused = own.and(order::Column::RefusalReason.is_not_null());
    order::Entity::update_many().set(silent).filter(refused).exec(db).await?;
    equipment::Entity::delete_many().filter(equipment::Column::ClientId.eq(client_id)).exec(db).await?;
    let stopped = recurrence::ActiveModel { next_at: Set(None), draft: Set("{}".to_owned()), ..Default::default() };
    recurrence::Entity::update_many().set(stopped).filter(recurrence::Column::ClientId.eq(client_id)).exec(db).await?;
    notice::Entity::delete_many().filter(notice::Column::ClientId.eq(client_id)).exec(db).await?;
    Ok(())
}

fn worked_json(row: &order::Model) -> Value {
    json!({
        "number": row.number, "status": row.status, "assigned_at_ms": row.assigned_at, "closed_at_ms": row.closed_at,
        "share_kopecks": row.share_kopecks,
    })
}

fn order_json(row: &order::Model) -> Value {
    json!({
        "number": row.number, "status": row.status, "created_at_ms": row.created_at, "closed_at_ms": row.closed_at,
        "equipment": row.equipment_type, "description": row.description, "name": row.client_name, "phone": row.phone,
        "address": row.address, "position": row.latitude.zip(row.longitude), "notes": row.notes,
        "total_kopecks": row.total_kopecks,
    })
}

fn message_json(row: &message::Model) -> Value {
    json!({ "order": row.order_id, "at_ms": row.at, "text": row.text })
}
