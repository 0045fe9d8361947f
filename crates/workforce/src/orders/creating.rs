//! Creates orders: for a client of the office, for a client of the bot, or by a rule.

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ActiveModelTrait, ColumnTrait, EntityTrait, QueryFilter, Set};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::change::{OrderChange, check_actor};
use super::tables::{counter, equipment, order};
use super::{AboutOrder, Actor, Fact, FieldMistake, NewFile, Order, OrderRefusal, OrderSource, OrderStatus};
use super::{clients, fields, parts, words};
use crate::domain::Transaction;
use crate::notices::OrderNewsKind;
use crate::person::DISPATCHERS;
use crate::settings::order_rules;

/// An order that is to be created. A dialogue keeps it as its draft.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewOrder {
    pub about: AboutOrder,
    /// What the client owns, if it was chosen.
    #[serde(default)]
    pub equipment_id: Option<i64>,
    #[serde(default)]
    pub files: Vec<NewFile>,
}

/// The tick of a rule that makes an order.
#[derive(Clone, Copy, Debug)]
pub struct RecurrenceTick {
    pub recurrence_id: i64,
    pub client_id: i64,
    pub at: Millis,
}

/// All mistakes of an order, each field once. Empty: it can be created.
pub fn mistakes(about: &AboutOrder, now: Millis) -> Vec<FieldMistake> {
    let checks = [
        fields::equipment_type(&about.equipment_type).err(),
        fields::description(&about.description).err(),
        fields::client_name(&about.client_name).err(),
        fields::address(&about.address).err(),
        fields::phone(&about.phone).err(),
        fields::notes(about.notes.as_deref().unwrap_or_default()).err(),
        about.window.and_then(|window| fields::scheduled(window, now).err()),
    ];
    checks.into_iter().flatten().collect()
}

/// Creates an order of a dispatcher, whose client is found by the phone, or of a client.
pub async fn create(db: &Transaction<'_, '_>, actor: Actor, new: NewOrder, at: Millis) -> Result<Order, WriteError> {
    check_actor(db, &actor).await?;
    let about = cleaned(new.about, at).map_err(|mistake| OrderRefusal::from(mistake).refusal())?;
    let (source, client_id) = match &actor {
        Actor::Member(person) if person.may(DISPATCHERS) => {
            (OrderSource::Dispatcher, clients::find_or_create(db, &about.client_name, &about.phone, at).await?)
        }
        Actor::Client(client) => {
            if !order_rules(db).await?.clients_may_order {
                return Err(OrderRefusal::ClientsOff.refusal());
            }
            (OrderSource::Client, *client)
        }
        _ => return Err(OrderRefusal::NotAllowed.refusal()),
    };
    check_equipment(db, new.equipment_id, client_id).await?;
    let row = order::ActiveModel { equipment_id: Set(new.equipment_id), ..row(about, source, client_id, at) };
    let row = order::ActiveModel { created_by: Set(actor.member_id()), ..row };
    let order = insert(db, row).await?;
    for file in &new.files {
        parts::add_file(db, &actor, order.id, file, at).await?;
    }
    let news = (source == OrderSource::Client).then_some(OrderNewsKind::FromClient);
    announce(db, actor, order.id, news, at).await
}

/// Creates the order of a tick of a rule. None if the tick has one.
pub async fn create_by_rule(
    db: &Transaction<'_, '_>,
    about: AboutOrder,
    tick: RecurrenceTick,
    at: Millis,
) -> Result<Option<Order>, WriteError> {
    let same = order::Column::RecurrenceId.eq(tick.recurrence_id).and(order::Column::RecurrenceAt.eq(tick.at.0));
    if order::Entity::find().filter(same).one(db).await?.is_some() {
        return Ok(None);
    }
    let row = order::ActiveModel {
        recurrence_id: Set(Some(tick.recurrence_id)),
        recurrence_at: Set(Some(tick.at.0)),
        ..row(about, OrderSource::Recurring, tick.client_id, at)
    };
    let order = insert(db, row).await?;
    announce(db, Actor::Job, order.id, Some(OrderNewsKind::FromRule), at).await.map(Some)
}

/// The fields as they are stored.
pub fn cleaned(about: AboutOrder, now: Millis) -> Result<AboutOrder, FieldMistake> {
    Ok(AboutOrder {
        equipment_type: fields::equipment_type(&about.equipment_type)?,
        description: fields::description(&about.description)?,
        client_name: fields::client_name(&about.client_name)?,
        phone: fields::phone(&about.phone)?,
        address: fields::address(&about.address)?,
        position: about.position.filter(|position| position.is_on_earth()),
        notes: fields::notes(about.notes.as_deref().unwrap_or_default())?,
        window: about.window.map(|window| fields::scheduled(window, now)).transpose()?,
    })
}

fn row(about: AboutOrder, source: OrderSource, client_id: i64, at: Millis) -> order::ActiveModel {
    let confirmed = (source != OrderSource::Client).then_some(at.0);
    order::ActiveModel {
        status: Set(OrderStatus::New.name().to_owned()),
        status_since: Set(at.0),
        source: Set(source.name().to_owned()),
        client_id: Set(client_id),
        address_key: Set(words::address_key(&about.address)),
        equipment_type: Set(about.equipment_type),
        description: Set(about.description),
        client_name: Set(about.client_name),
        phone: Set(about.phone),
        address: Set(about.address),
        latitude: Set(about.position.map(|position| position.latitude)),
        longitude: Set(about.position.map(|position| position.longitude)),
        notes: Set(about.notes),
        scheduled_from: Set(about.window.map(|window| window.from.0)),
        scheduled_to: Set(about.window.map(|window| window.to.0)),
        confirmed_at: Set(confirmed),
        created_at: Set(at.0),
        updated_at: Set(at.0),
        version: Set(1),
        ..Default::default()
    }
}

/// Inserts an order with the next number and its words.
async fn insert(db: &Transaction<'_, '_>, row: order::ActiveModel) -> Result<Order, WriteError> {
    counter::Entity::update_many()
        .col_expr(counter::Column::LastNumber, Expr::col(counter::Column::LastNumber).add(1))
        .filter(counter::Column::Id.eq(1))
        .exec(db)
        .await?;
    let last = counter::Entity::find_by_id(1).one(db).await?.map_or(0, |row| row.last_number);
    let row = order::ActiveModel { number: Set(last), ..row };
    let order = Order::try_from(row.insert(db).await?)?;
    words::replace(db, &order).await?;
    Ok(order)
}

async fn announce(
    db: &Transaction<'_, '_>,
    actor: Actor,
    id: i64,
    news: Option<OrderNewsKind>,
    at: Millis,
) -> Result<Order, WriteError> {
    let mut change = OrderChange::open(db, actor, id, None, at).await?;
    change.note(Fact::Created, None, None, json!({}));
    if let Some(news) = news {
        change.tell_dispatchers(news);
    }
    change.finish().await
}

/// Refuses equipment of another client.
async fn check_equipment(db: &Transaction<'_, '_>, id: Option<i64>, client_id: i64) -> Result<(), WriteError> {
    let Some(id) = id else { return Ok(()) };
    let found = equipment::Entity::find_by_id(id).one(db).await?;
    let is_own = found.is_some_and(|one| one.client_id == client_id && one.deleted_at.is_none());
    if is_own { Ok(()) } else { Err(OrderRefusal::NoItem.refusal()) }
}
