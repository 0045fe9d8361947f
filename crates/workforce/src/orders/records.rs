//! Orders as pages, dialogues and other rooms see them.

use std::str::FromStr;

use chrono::NaiveDate;
use opora::clock::Millis;
use sea_orm::DbErr;
use serde::{Deserialize, Serialize};

use super::OrderStatus;
use super::tables::order;
use crate::money::{Money, day_of};
use crate::sites::{Period, Position};

/// An order with everything that is known about it. People get a [`super::SeenOrder`].
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    pub id: i64,
    /// What people call it.
    pub number: i64,
    pub status: OrderStatus,
    pub status_since: Millis,
    pub source: OrderSource,
    pub client_id: i64,
    pub equipment_id: Option<i64>,
    pub about: AboutOrder,
    pub master_id: Option<i64>,
    pub progress: Progress,
    pub money: OrderMoney,
    pub refusal_reason: Option<String>,
    pub closed_at: Option<Millis>,
    pub created_at: Millis,
    pub created_by: Option<i64>,
    pub updated_at: Millis,
    /// Rises with every change. Commands compare it with what the person saw.
    pub version: i64,
}

/// What is to be done, where and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AboutOrder {
    pub equipment_type: String,
    pub description: String,
    pub client_name: String,
    /// `+7` and ten digits.
    pub phone: String,
    pub address: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// When the client expects the master.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Period>,
}

/// What has happened within the statuses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub assigned_at: Option<Millis>,
    pub accepted_at: Option<Millis>,
    pub on_the_way_at: Option<Millis>,
    /// When the master said that he will be there.
    pub arrives_at: Option<Millis>,
    pub arrived_at: Option<Millis>,
    /// When a dispatcher confirmed an order of a client.
    pub confirmed_at: Option<Millis>,
    pub long_repair_until: Option<NaiveDate>,
    pub overdue_noted_at: Option<Millis>,
}

/// The money of an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrderMoney {
    pub prepayment: Money,
    pub total: Option<Money>,
    pub materials: Option<Money>,
    /// The master's, once the order is closed.
    pub share: Option<Money>,
    pub has_review: bool,
    pub is_out_of_town: bool,
    pub confirmed: Option<AmountConfirmation>,
}

/// How the amount was confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AmountConfirmation {
    /// The client pressed a button.
    Client,
    /// The master took cash.
    Cash,
}

/// Where an order comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderSource {
    Dispatcher,
    Client,
    Recurring,
}

/// When a file was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileStage {
    /// With the order.
    Request,
    /// Before the work.
    Before,
    /// After the work.
    After,
}

/// What a file was sent as: Telegram shows it again only as that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    Photo,
    Video,
    Voice,
    Document,
}

/// Conversions to and from the names in the database.
macro_rules! named {
    ($type:ident, $($value:ident = $name:literal),+) => {
        impl $type {
            /// Its name in the database and in buttons.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }
        }

        impl FromStr for $type {
            type Err = String;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                match name {
                    $($name => Ok(Self::$value),)+
                    _ => Err(format!("unknown name `{name}`")),
                }
            }
        }
    };
}
named!(AmountConfirmation, Client = "client", Cash = "cash");
named!(OrderSource, Dispatcher = "dispatcher", Client = "client", Recurring = "recurring");
named!(FileStage, Request = "request", Before = "before", After = "after");
named!(FileKind, Photo = "photo", Video = "video", Voice = "voice", Document = "document");

impl OrderMoney {
    /// What is left after the materials.
    pub fn net(&self) -> Option<Money> {
        Some(self.total? - self.materials?)
    }
}

impl TryFrom<order::Model> for Order {
    type Error = DbErr;

    fn try_from(row: order::Model) -> Result<Self, DbErr> {
        let confirmed = row.amount_confirmed_by.as_deref().map(str::parse).transpose().map_err(DbErr::Custom)?;
        Ok(Self {
            status: row.status.parse().map_err(DbErr::Custom)?,
            source: row.source.parse().map_err(DbErr::Custom)?,
            progress: progress(&row),
            money: OrderMoney {
                prepayment: Money::from_kopecks(row.prepayment_kopecks),
                total: row.total_kopecks.map(Money::from_kopecks),
                materials: row.materials_kopecks.map(Money::from_kopecks),
                share: row.share_kopecks.map(Money::from_kopecks),
                has_review: row.has_review,
                is_out_of_town: row.is_out_of_town,
                confirmed,
            },
            id: row.id,
            number: row.number,
            status_since: Millis(row.status_since),
            client_id: row.client_id,
            equipment_id: row.equipment_id,
            master_id: row.master_id,
            refusal_reason: row.refusal_reason.clone(),
            closed_at: row.closed_at.map(Millis),
            created_at: Millis(row.created_at),
            created_by: row.created_by,
            updated_at: Millis(row.updated_at),
            version: row.version,
            about: about(row),
        })
    }
}

fn about(row: order::Model) -> AboutOrder {
    let position = row.latitude.zip(row.longitude);
    let window = row.scheduled_from.zip(row.scheduled_to);
    AboutOrder {
        equipment_type: row.equipment_type,
        description: row.description,
        client_name: row.client_name,
        phone: row.phone,
        address: row.address,
        position: position.map(|(latitude, longitude)| Position { latitude, longitude }),
        notes: row.notes,
        window: window.map(|(from, to)| Period { from: Millis(from), to: Millis(to) }),
    }
}

fn progress(row: &order::Model) -> Progress {
    Progress {
        assigned_at: row.assigned_at.map(Millis),
        accepted_at: row.accepted_at.map(Millis),
        on_the_way_at: row.on_the_way_at.map(Millis),
        arrives_at: row.arrives_at.map(Millis),
        arrived_at: row.arrived_at.map(Millis),
        confirmed_at: row.confirmed_at.map(Millis),
        long_repair_until: row.long_repair_until.as_deref().and_then(day_of),
        overdue_noted_at: row.overdue_noted_at.map(Millis),
    }
}
