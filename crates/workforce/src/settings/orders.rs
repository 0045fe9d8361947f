//! Settings of orders: shares of masters, and what a stage of the work requires.

use std::fmt;
use std::str::FromStr;

use chrono_tz::Tz;
use sea_orm::sea_query::ExprTrait;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter};

use super::tables::value;
use super::{Setting, SettingValue, TIME_ZONE, ValueKind, typed_in};
use crate::money::{Kopecks, Money};

/// From this net amount on a master gets the large share.
pub const ORDER_LARGE_FROM: Setting<Kopecks> = Setting { name: "order_large_from", default: Kopecks(700_000) };
pub const ORDER_LARGE_SHARE: Setting<Percent> = Setting { name: "order_large_share", default: Percent(50) };
pub const ORDER_SMALL_SHARE: Setting<Percent> = Setting { name: "order_small_share", default: Percent(40) };
/// What a master gets on top for a review of the client.
pub const ORDER_REVIEW_SHARE: Setting<Percent> = Setting { name: "order_review_share", default: Percent(10) };
pub const ORDER_OUT_OF_TOWN_SHARE: Setting<Percent> = Setting { name: "order_out_of_town_share", default: Percent(10) };

/// Whether people who are no employees may place orders in the bot.
pub const ORDERS_FROM_CLIENTS: Setting<bool> = Setting { name: "orders_from_clients", default: false };
/// What has to be there before an order is closed.
pub const ORDER_NEEDS_PHOTO_BEFORE: Setting<bool> = Setting { name: "order_needs_photo_before", default: false };
pub const ORDER_NEEDS_PHOTO_AFTER: Setting<bool> = Setting { name: "order_needs_photo_after", default: false };
pub const ORDER_NEEDS_CHECKLIST: Setting<bool> = Setting { name: "order_needs_checklist", default: true };
pub const ORDER_NEEDS_CONFIRMED_AMOUNT: Setting<bool> =
    Setting { name: "order_needs_confirmed_amount", default: false };

/// A part of an amount, from 0 to 100 per cent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percent(pub u16);

/// The settings of orders, as a commit reads them.
#[derive(Clone, Copy, Debug)]
pub struct OrderRules {
    pub large_from: Money,
    pub large_percent: i64,
    pub small_percent: i64,
    pub review_percent: i64,
    pub out_of_town_percent: i64,
    pub clients_may_order: bool,
    pub needs_photo_before: bool,
    pub needs_photo_after: bool,
    pub needs_checklist: bool,
    pub needs_confirmed_amount: bool,
    /// The time zone of the business, by whose clock days and times of orders are told.
    pub zone: Tz,
}

/// The rules of orders, within a commit or outside of one.
pub async fn order_rules(db: &impl ConnectionTrait) -> Result<OrderRules, DbErr> {
    let are_orders = value::Column::Name.starts_with("order").or(value::Column::Name.eq(TIME_ZONE.name));
    let rows = value::Entity::find().filter(are_orders).all(db).await?;
    let percent = |setting: &Setting<Percent>| i64::from(typed_in(&rows, setting).0);
    Ok(OrderRules {
        large_from: typed_in(&rows, &ORDER_LARGE_FROM).into(),
        large_percent: percent(&ORDER_LARGE_SHARE),
        small_percent: percent(&ORDER_SMALL_SHARE),
        review_percent: percent(&ORDER_REVIEW_SHARE),
        out_of_town_percent: percent(&ORDER_OUT_OF_TOWN_SHARE),
        clients_may_order: typed_in(&rows, &ORDERS_FROM_CLIENTS),
        needs_photo_before: typed_in(&rows, &ORDER_NEEDS_PHOTO_BEFORE),
        needs_photo_after: typed_in(&rows, &ORDER_NEEDS_PHOTO_AFTER),
        needs_checklist: typed_in(&rows, &ORDER_NEEDS_CHECKLIST),
        needs_confirmed_amount: typed_in(&rows, &ORDER_NEEDS_CONFIRMED_AMOUNT),
        zone: typed_in(&rows, &TIME_ZONE),
    })
}

impl SettingValue for Percent {
    const KIND: ValueKind = ValueKind::Number;
}

impl FromStr for Percent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let percent = text.parse().ok().filter(|percent| *percent <= 100);
        percent.map(Self).ok_or_else(|| format!("`{text}` is not between 0 and 100"))
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
