//! Edits a field of an order.

use opora::store::WriteError;
use sea_orm::{EntityTrait, Set};
use serde_json::json;

use super::change::OrderChange;
use super::tables::{equipment, order};
use super::{Fact, FieldChange, FieldMistake, OrderRefusal, OrderStatus, fields, words};
use crate::notices::OrderNewsKind;
use crate::sites::Position;

/// Changes one field; the words by which the order is found follow.
pub async fn edit(change: &mut OrderChange<'_, '_, '_>, field: FieldChange) -> Result<(), WriteError> {
    change.require(super::assigning::DISPATCH)?;
    change.require_status(&OrderStatus::OPEN)?;
    if let FieldChange::Equipment(Some(id)) = &field {
        let found = equipment::Entity::find_by_id(*id).one(change.db).await?;
        let is_own = found.is_some_and(|one| one.client_id == change.order.client_id && one.deleted_at.is_none());
        if !is_own {
            return Err(OrderRefusal::NoItem.refusal());
        }
    }
    let moves = matches!(field, FieldChange::Window(_));
    let (name, columns) = columns_of(field, change).map_err(|mistake| OrderRefusal::from(mistake).refusal())?;
    change.fact(Fact::Edited, None, json!({ "field": name }), columns).await?;
    words::replace(change.db, &change.order).await?;
    if moves {
        let news = OrderNewsKind::Rescheduled { when: change.local(change.order.about.window), reason: String::new() };
        change.tell_master(news.clone());
        change.tell_client(news);
    }
    Ok(())
}

fn columns_of(
    field: FieldChange,
    change: &OrderChange<'_, '_, '_>,
) -> Result<(&'static str, order::ActiveModel), FieldMistake> {
    let none = order::ActiveModel::default;
    Ok(match field {
        FieldChange::EquipmentType(text) => {
            ("equipment_type", order::ActiveModel { equipment_type: Set(fields::equipment_type(&text)?), ..none() })
        }
        FieldChange::Description(text) => {
            ("description", order::ActiveModel { description: Set(fields::description(&text)?), ..none() })
        }
        FieldChange::ClientName(text) => {
            ("client_name", order::ActiveModel { client_name: Set(fields::client_name(&text)?), ..none() })
        }
        FieldChange::Phone(text) => {
            ("client_phone", order::ActiveModel { phone: Set(fields::phone(&text)?), ..none() })
        }
        FieldChange::Address(text, position) => ("client_address", address(&text, position)?),
        FieldChange::Notes(text) => ("notes", order::ActiveModel { notes: Set(fields::notes(&text)?), ..none() }),
        FieldChange::Window(window) => {
            let window = window.map(|window| fields::scheduled(window, change.at)).transpose()?;
            let (scheduled_from, scheduled_to) = (window.map(|one| one.from.0), window.map(|one| one.to.0));
            let columns =
                order::ActiveModel { scheduled_from: Set(scheduled_from), scheduled_to: Set(scheduled_to), ..none() };
            ("scheduled_time", columns)
        }
        FieldChange::Equipment(id) => ("equipment", order::ActiveModel { equipment_id: Set(id), ..none() }),
    })
}

fn address(text: &str, position: Option<Position>) -> Result<order::ActiveModel, FieldMistake> {
    let address = fields::address(text)?;
    let position = position.filter(|position| position.is_on_earth());
    Ok(order::ActiveModel {
        address_key: Set(words::address_key(&address)),
        address: Set(address),
        latitude: Set(position.map(|position| position.latitude)),
        longitude: Set(position.map(|position| position.longitude)),
        ..Default::default()
    })
}
