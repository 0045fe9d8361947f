//! Lists that dispatchers and owners edit: kinds of equipment with checklists, the price list, equipment of clients.

use chrono::NaiveDate;
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ActiveModelTrait, ColumnTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, Set};

use super::api::Orders;
use super::tables::{checklist_item, client, equipment, equipment_type, price_item};
use super::{ActionError, Actor, OrderRefusal, fields, search_name};
use crate::domain::user_text;
use crate::money::{Money, day_of};
use crate::sites::MAX_KOPECKS;

const MAX_NAME: usize = 200;
const MAX_ITEMS: usize = 50;

/// A kind of equipment, with its checklist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EquipmentType {
    pub id: i64,
    pub name: String,
    pub checklist: Vec<ChecklistItem>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChecklistItem {
    pub text: String,
    /// An order is closed only when it is done, if the settings say so.
    pub is_required: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriceItem {
    pub id: i64,
    pub name: String,
    /// None: for every kind of equipment.
    pub equipment_type_id: Option<i64>,
    pub price: Money,
    pub version: i64,
}

/// What a client owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Equipment {
    pub id: i64,
    pub client_id: i64,
    pub about: AboutEquipment,
    pub version: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AboutEquipment {
    pub equipment_type: String,
    pub model: Option<String>,
    pub serial: Option<String>,
    pub warranty_until: Option<NaiveDate>,
    pub notes: Option<String>,
}

impl From<equipment::Model> for Equipment {
    fn from(row: equipment::Model) -> Self {
        let about = AboutEquipment {
            equipment_type: row.equipment_type,
            model: row.model,
            serial: row.serial,
            warranty_until: row.warranty_until.as_deref().and_then(day_of),
            notes: row.notes,
        };
        Self { id: row.id, client_id: row.client_id, about, version: row.version }
    }
}

/// Queries.
impl Orders {
    /// The kinds of equipment that are offered, by name, with their checklists. Two queries.
    pub async fn equipment_types(&self) -> Result<Vec<EquipmentType>, DbErr> {
        let types = equipment_type::Entity::find().filter(equipment_type::Column::DeletedAt.is_null());
        let types = types.order_by_asc(equipment_type::Column::SearchName).all(self.db());
        let items = checklist_item::Entity::find().filter(checklist_item::Column::DeletedAt.is_null());
        let items =
            items.order_by_asc(checklist_item::Column::Place).order_by_asc(checklist_item::Column::Id).all(self.db());
        let (types, items) = tokio::try_join!(types, items)?;
        let of_type = |id| {
            let own = items.iter().filter(move |item| item.equipment_type_id == id);
            own.map(|item| ChecklistItem { text: item.text.clone(), is_required: item.is_required }).collect()
        };
        let types =
            types.into_iter().map(|row| EquipmentType { checklist: of_type(row.id), id: row.id, name: row.name });
        Ok(types.collect())
    }

    /// The price list, by name. With a kind of equipment only what fits it.
    pub async fn price_items(&self, equipment_type_id: Option<i64>) -> Result<Vec<PriceItem>, DbErr> {
        let mut items = price_item::Entity::find().filter(price_item::Column::DeletedAt.is_null());
        if let Some(id) = equipment_type_id {
            let fits = price_item::Column::EquipmentTypeId.is_null().or(price_item::Column::EquipmentTypeId.eq(id));
            items = items.filter(fits);
        }
        let rows = items.order_by_asc(price_item::Column::Name).order_by_asc(price_item::Column::Id);
        Ok(rows.all(self.db()).await?.into_iter().map(price_item_of).collect())
    }
}

/// Changes, for dispatchers and owners.
impl Orders {
    /// Adds a kind of equipment, or brings a deleted one back. Returns the id.
    pub async fn add_equipment_type(&self, by: &Actor, name: &str) -> Result<i64, ActionError> {
        let name = fields::equipment_type(name).map_err(OrderRefusal::from)?;
        self.write_as_staff(by, move |db, _| {
            Box::pin(async move {
                let key = search_name(&name);
                let same = equipment_type::Entity::find().filter(equipment_type::Column::SearchName.eq(key.as_str()));
                let row = equipment_type::ActiveModel {
                    name: Set(name),
                    search_name: Set(key),
                    deleted_at: Set(None),
                    ..Default::default()
                };
                match same.one(db).await? {
                    Some(found) if found.deleted_at.is_none() => Err(OrderRefusal::Exists.refusal()),
                    Some(found) => {
                        let back = equipment_type::Entity::update_many().set(row);
                        back.filter(equipment_type::Column::Id.eq(found.id)).exec(db).await?;
                        Ok(found.id)
                    }
                    None => Ok(row.insert(db).await?.id),
                }
            })
        })
        .await
    }

    /// Orders keep the name of a deleted kind.
    pub async fn delete_equipment_type(&self, by: &Actor, id: i64) -> Result<(), ActionError> {
        self.write_as_staff(by, move |db, at| {
            Box::pin(async move {
                let gone = equipment_type::ActiveModel { deleted_at: Set(Some(at.0)), ..Default::default() };
                let own = equipment_type::Column::Id.eq(id).and(equipment_type::Column::DeletedAt.is_null());
                let deleted = equipment_type::Entity::update_many().set(gone).filter(own).exec(db).await?;
                if deleted.rows_affected == 0 { Err(OrderRefusal::NoItem.refusal()) } else { Ok(()) }
            })
        })
        .await
    }

    /// Replaces the checklist of a kind of equipment. Orders at which a master is already keep theirs.
    pub async fn set_checklist(&self, by: &Actor, type_id: i64, items: Vec<ChecklistItem>) -> Result<(), ActionError> {
        let named = items.into_iter().map(|item| ChecklistItem { text: user_text::line(&item.text), ..item });
        let items: Vec<ChecklistItem> = named.filter(|item| !item.text.is_empty()).collect();
        if items.len() > MAX_ITEMS || items.iter().any(|item| item.text.chars().count() > MAX_NAME) {
            return Err(OrderRefusal::NoItem.into());
        }
        self.write_as_staff(by, move |db, at| {
            Box::pin(async move {
                if equipment_type::Entity::find_by_id(type_id).one(db).await?.is_none() {
                    return Err(OrderRefusal::NoItem.refusal());
                }
                let gone = checklist_item::ActiveModel { deleted_at: Set(Some(at.0)), ..Default::default() };
                let own = checklist_item::Column::EquipmentTypeId.eq(type_id);
                let present = own.and(checklist_item::Column::DeletedAt.is_null());
                checklist_item::Entity::update_many().set(gone).filter(present).exec(db).await?;
                let rows = items.into_iter().zip(1_i64..).map(|(item, place)| checklist_item::ActiveModel {
                    equipment_type_id: Set(type_id),
                    place: Set(place),
                    text: Set(item.text),
                    is_required: Set(item.is_required),
                    ..Default::default()
                });
                let rows: Vec<_> = rows.collect();
                if !rows.is_empty() {
                    checklist_item::Entity::insert_many(rows).exec_without_returning(db).await?;
                }
                Ok(())
            })
        })
        .await
    }

    /// Adds an item to the price list. Returns the id.
    pub async fn add_price_item(
        &self,
        by: &Actor,
        name: &str,
        equipment_type_id: Option<i64>,
        price: Money,
    ) -> Result<i64, ActionError> {
        let name = price_name(name, price)?;
        self.write_as_staff(by, move |db, _| {
            Box::pin(async move {
                let row = price_item::ActiveModel {
                    name: Set(name),
                    equipment_type_id: Set(equipment_type_id),
                    price_kopecks: Set(price.kopecks()),
                    version: Set(1),
                    ..Default::default()
                };
                Ok(row.insert(db).await?.id)
            })
        })
        .await
    }

    /// Changes an item of the price list, or deletes it without a price. Orders keep what they were billed.
    pub async fn change_price_item(
        &self,
        by: &Actor,
        (id, version): (i64, i64),
        name: &str,
        price: Option<Money>,
    ) -> Result<(), ActionError> {
        let name = price_name(name, price.unwrap_or_default())?;
        self.write_as_staff(by, move |db, at| {
            Box::pin(async move {
                let row = match price {
                    Some(price) => price_item::ActiveModel {
                        name: Set(name),
                        price_kopecks: Set(price.kopecks()),
                        ..Default::default()
                    },
                    None => price_item::ActiveModel { deleted_at: Set(Some(at.0)), ..Default::default() },
                };
                let seen = price_item::Column::Id.eq(id).and(price_item::Column::Version.eq(version));
                let changed = price_item::Entity::update_many()
                    .set(row)
                    .col_expr(price_item::Column::Version, Expr::col(price_item::Column::Version).add(1))
                    .filter(seen.and(price_item::Column::DeletedAt.is_null()))
                    .exec(db)
                    .await?;
                if changed.rows_affected == 0 { Err(OrderRefusal::Stale.refusal()) } else { Ok(()) }
            })
        })
        .await
    }

    /// Writes down what a client owns. Returns the id.
    pub async fn add_equipment(&self, by: &Actor, client_id: i64, about: AboutEquipment) -> Result<i64, ActionError> {
        let row = equipment_row(about)?;
        self.write_as_staff(by, move |db, _| {
            Box::pin(async move {
                let known = client::Entity::find_by_id(client_id).one(db).await?;
                if known.is_none_or(|client| client.forgotten_at.is_some()) {
                    return Err(OrderRefusal::Gone.refusal());
                }
                let row = equipment::ActiveModel { client_id: Set(client_id), version: Set(1), ..row };
                Ok(row.insert(db).await?.id)
            })
        })
        .await
    }

    /// Changes the equipment of a client, or deletes it without content.
    pub async fn change_equipment(
        &self,
        by: &Actor,
        (id, version): (i64, i64),
        about: Option<AboutEquipment>,
    ) -> Result<(), ActionError> {
        let row = about.map(equipment_row).transpose()?;
        self.write_as_staff(by, move |db, at| {
            Box::pin(async move {
                let deleted = equipment::ActiveModel { deleted_at: Set(Some(at.0)), ..Default::default() };
                let seen = equipment::Column::Id.eq(id).and(equipment::Column::Version.eq(version));
                let changed = equipment::Entity::update_many()
                    .set(row.unwrap_or(deleted))
                    .col_expr(equipment::Column::Version, Expr::col(equipment::Column::Version).add(1))
                    .filter(seen.and(equipment::Column::DeletedAt.is_null()))
                    .exec(db)
                    .await?;
                if changed.rows_affected == 0 { Err(OrderRefusal::Stale.refusal()) } else { Ok(()) }
            })
        })
        .await
    }
}

fn price_name(name: &str, price: Money) -> Result<String, OrderRefusal> {
    let name = user_text::line(name);
    if name.is_empty() || name.chars().count() > MAX_NAME {
        return Err(OrderRefusal::NoItem);
    }
    if price.is_negative() || price.kopecks() > MAX_KOPECKS { Err(OrderRefusal::Amount) } else { Ok(name) }
}

fn price_item_of(row: price_item::Model) -> PriceItem {
    let price = Money::from_kopecks(row.price_kopecks);
    PriceItem { id: row.id, name: row.name, equipment_type_id: row.equipment_type_id, price, version: row.version }
}

fn equipment_row(about: AboutEquipment) -> Result<equipment::ActiveModel, OrderRefusal> {
    let short = |text: Option<String>| {
        let text = text.map(|text| user_text::line(&text)).filter(|text| !text.is_empty());
        let is_long = text.as_ref().is_some_and(|text| text.chars().count() > fields::MAX_EQUIPMENT);
        if is_long { Err(OrderRefusal::Field(super::FieldMistake::EquipmentLong)) } else { Ok(text) }
    };
    Ok(equipment::ActiveModel {
        equipment_type: Set(fields::equipment_type(&about.equipment_type)?),
        model: Set(short(about.model)?),
        serial: Set(short(about.serial)?),
        warranty_until: Set(about.warranty_until.map(|day| day.to_string())),
        notes: Set(fields::notes(about.notes.as_deref().unwrap_or_default())?),
        ..Default::default()
    })
}
