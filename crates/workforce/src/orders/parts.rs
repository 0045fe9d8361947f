//! Parts of an order: its checklist, files, messages and rating.

use opora::store::WriteError;
use sea_orm::sea_query::ExprTrait;
use sea_orm::{
    ActiveModelTrait, ColumnTrait, ConnectionTrait, DbErr, EntityTrait, PaginatorTrait, QueryFilter, QueryOrder,
    QuerySelect, Set,
};
use serde_json::json;

use super::change::OrderChange;
use super::tables::{check, checklist_item, equipment_type, file, message, rating};
use super::{Actor, Fact, FileStage, NewFile, OrderRefusal, OrderRole, OrderStatus, fields, search_name};
use crate::attachments;
use crate::domain::{Transaction, user_text};
use crate::notices::OrderNewsKind;

/// The most files of one order.
pub const MAX_FILES: u64 = 30;
const MAX_COMMENT: usize = 1000;
/// A rating up to this reaches the dispatchers.
const LOW_STARS: u8 = 3;
/// How long after the end of an order both sides can still write.
const MESSAGES_AFTER_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// Copies the checklist of the kind of equipment to the order, once.
pub async fn take_checklist(change: &OrderChange<'_, '_, '_>) -> Result<(), WriteError> {
    let (db, id) = (change.db, change.order.id);
    if check::Entity::find().filter(check::Column::OrderId.eq(id)).count(db).await? > 0 {
        return Ok(());
    }
    let name = search_name(&change.order.about.equipment_type);
    let of_kind = equipment_type::Column::SearchName.eq(name).and(equipment_type::Column::DeletedAt.is_null());
    let Some(kind) = equipment_type::Entity::find().filter(of_kind).one(db).await? else { return Ok(()) };
    let items = checklist_item::Entity::find()
        .filter(checklist_item::Column::EquipmentTypeId.eq(kind.id))
        .filter(checklist_item::Column::DeletedAt.is_null());
    let items =
        items.order_by_asc(checklist_item::Column::Place).order_by_asc(checklist_item::Column::Id).all(db).await?;
    let rows = items.into_iter().zip(1_i64..).map(|(item, place)| check::ActiveModel {
        order_id: Set(id),
        place: Set(place),
        text: Set(item.text),
        is_required: Set(item.is_required),
        ..Default::default()
    });
    let rows: Vec<_> = rows.collect();
    if !rows.is_empty() {
        check::Entity::insert_many(rows).exec_without_returning(db).await?;
    }
    Ok(())
}

/// Marks an item of the checklist, or takes the mark away. Repeated, it changes nothing.
pub async fn mark_item(change: &mut OrderChange<'_, '_, '_>, item: i64, is_done: bool) -> Result<(), WriteError> {
    change.require(&[OrderRole::Master, OrderRole::Owner])?;
    change.require_status(&[OrderStatus::OnSite, OrderStatus::LongRepair])?;
    let own = check::Column::Id.eq(item).and(check::Column::OrderId.eq(change.order.id));
    let Some(row) = check::Entity::find().filter(own.clone()).one(change.db).await? else {
        return Err(OrderRefusal::NoItem.refusal());
    };
    if row.done_at.is_some() == is_done {
        return Ok(());
    }
    let marked = check::ActiveModel {
        done_at: Set(is_done.then_some(change.at.0)),
        done_by: Set(change.actor.member_id().filter(|_| is_done)),
        ..Default::default()
    };
    check::Entity::update_many().set(marked).filter(own).exec(change.db).await?;
    change.fact(Fact::ItemMarked, None, json!({ "place": row.place, "done": is_done }), Default::default()).await
}

/// Whether an item is required and not done.
pub async fn has_undone_required_item(db: &impl ConnectionTrait, order_id: i64) -> Result<bool, DbErr> {
    let undone = check::Entity::find()
        .filter(check::Column::OrderId.eq(order_id))
        .filter(check::Column::IsRequired.eq(true))
        .filter(check::Column::DoneAt.is_null());
    Ok(undone.count(db).await? > 0)
}

/// Adds a photo or a voice message. The same one again changes nothing.
pub async fn attach(change: &mut OrderChange<'_, '_, '_>, sent: NewFile) -> Result<(), WriteError> {
    check_may_attach(change, sent.stage)?;
    if !add_file(change.db, &change.actor, change.order.id, &sent, change.at).await? {
        return Ok(());
    }
    let detail = json!({ "stage": sent.stage.name(), "kind": sent.kind.name() });
    change.fact(Fact::FileAttached, None, detail, Default::default()).await
}

fn check_may_attach(change: &OrderChange<'_, '_, '_>, stage: FileStage) -> Result<(), WriteError> {
    match stage {
        FileStage::Request => {
            change.require(&[OrderRole::Dispatcher, OrderRole::Owner, OrderRole::Client])?;
            change.require_status(&OrderStatus::OPEN)
        }
        FileStage::Before | FileStage::After => {
            change.require(&[OrderRole::Master, OrderRole::Owner])?;
            change.require_status(&[OrderStatus::Accepted, OrderStatus::OnSite, OrderStatus::LongRepair])
        }
    }
}

/// Stores a file of an order; false if the order has it.
pub async fn add_file(
    db: &Transaction<'_, '_>,
    actor: &Actor,
    order_id: i64,
    sent: &NewFile,
    at: opora::clock::Millis,
) -> Result<bool, WriteError> {
    let of_order = file::Entity::find().filter(file::Column::OrderId.eq(order_id));
    let same = file::Column::UniqueId.eq(sent.unique_id.as_str()).and(file::Column::Stage.eq(sent.stage.name()));
    if of_order.clone().filter(same).one(db).await?.is_some() {
        return Ok(false);
    }
    if of_order.count(db).await? >= MAX_FILES {
        return Err(OrderRefusal::TooManyFiles.refusal());
    }
    let row = file::ActiveModel {
        order_id: Set(order_id),
        stage: Set(sent.stage.name().to_owned()),
        kind: Set(sent.kind.name().to_owned()),
        telegram_file: Set(sent.telegram_file.clone()),
        unique_id: Set(sent.unique_id.clone()),
        created_at: Set(at.0),
        actor: Set(actor.kind().to_owned()),
        by_id: Set(actor.id()),
        ..Default::default()
    };
    row.insert(db).await?;
    attachments::insert(db, sent.telegram_file.clone(), sent.asked_at, sent.is_too_large).await?;
    Ok(true)
}

/// The stages of which the order has files.
pub async fn stages_with_files(db: &impl ConnectionTrait, order_id: i64) -> Result<Vec<FileStage>, DbErr> {
    let stages = file::Entity::find().select_only().column(file::Column::Stage).distinct();
    let stages: Vec<String> = stages.filter(file::Column::OrderId.eq(order_id)).into_tuple().all(db).await?;
    Ok(stages.iter().filter_map(|stage| stage.parse().ok()).collect())
}

/// A message to the other side. A client's reaches the master, or the dispatchers while there is none.
pub async fn message(change: &mut OrderChange<'_, '_, '_>, text: &str) -> Result<(), WriteError> {
    let text = fields::message(text).map_err(|mistake| OrderRefusal::from(mistake).refusal())?;
    let is_recent = change.order.updated_at.0 + MESSAGES_AFTER_MS > change.at.0;
    if !change.order.status.is_open() && !is_recent {
        return Err(OrderRefusal::WrongStatus.refusal());
    }
    let from_client = matches!(change.actor, Actor::Client(_));
    let holds = change.order.master_id.is_some() && change.order.master_id == change.actor.member_id();
    // A master to whom the order is only offered does not write to the client.
    if !from_client && !holds && !change.is_any(super::assigning::DISPATCH) {
        return Err(OrderRefusal::NotAllowed.refusal());
    }
    let row = message::ActiveModel {
        order_id: Set(change.order.id),
        from_client: Set(from_client),
        by_id: Set(change.actor.member_id()),
        text: Set(text.clone()),
        at: Set(change.at.0),
        ..Default::default()
    };
    row.insert(change.db).await?;
    let news = OrderNewsKind::Message { text };
    match (from_client, change.order.master_id) {
        (true, Some(_)) => change.tell_master(news),
        (true, None) => change.tell_dispatchers(news),
        (false, _) => change.tell_client(news),
    }
    change.note(Fact::Messaged, None, None, json!({}));
    Ok(())
}

/// The client rates a closed order, once. A low rating reaches the dispatchers.
pub async fn rate(change: &mut OrderChange<'_, '_, '_>, stars: u8, comment: Option<String>) -> Result<(), WriteError> {
    change.require(&[OrderRole::Client])?;
    change.require_status(&[OrderStatus::Closed])?;
    let comment = comment.map(|comment| user_text::lines(&comment)).filter(|comment| !comment.is_empty());
    let is_long = comment.as_ref().is_some_and(|comment| comment.chars().count() > MAX_COMMENT);
    if !(1..=5).contains(&stars) || is_long {
        return Err(OrderRefusal::Stars.refusal());
    }
    if rating::Entity::find_by_id(change.order.id).one(change.db).await?.is_some() {
        return Err(OrderRefusal::Exists.refusal());
    }
    let master = change.order.master_id.ok_or_else(|| OrderRefusal::NoMaster.refusal())?;
    let row = rating::ActiveModel {
        order_id: Set(change.order.id),
        master_id: Set(master),
        stars: Set(stars.into()),
        comment: Set(comment),
        at: Set(change.at.0),
    };
    rating::Entity::insert(row).exec_without_returning(change.db).await?;
    change.fact(Fact::Rated, None, json!({ "stars": stars }), Default::default()).await?;
    if stars <= LOW_STARS {
        change.tell_dispatchers(OrderNewsKind::LowRating { stars: stars.into() });
    }
    Ok(())
}
