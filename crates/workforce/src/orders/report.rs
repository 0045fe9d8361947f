//! What closed orders brought in: by master and kind of equipment, and by day. Each is one query.

use std::iter::Sum;
use std::ops::Add;

use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, DbErr, EntityTrait, FromQueryResult, QueryFilter, QueryOrder, QuerySelect};

use super::api::Orders;
use super::tables::order;
use crate::money::Money;
use crate::sites::Period;

/// Sums over closed orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrderSums {
    pub closed: i64,
    pub total: Money,
    pub materials: Money,
    pub share: Money,
    /// From the creation until a master accepted.
    pub accept_ms: i64,
    /// From the creation until it was closed.
    pub finish_ms: i64,
}

/// The sums of a master with a kind of equipment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportLine {
    pub master_id: Option<i64>,
    pub equipment_type: String,
    pub sums: OrderSums,
}

impl OrderSums {
    /// What is left after materials and the master's share.
    pub fn margin(&self) -> Money {
        self.total - self.materials - self.share
    }

    /// The average time until a master accepted, in seconds; None without orders.
    pub const fn accept_seconds(&self) -> Option<i64> {
        (self.accept_ms / 1000).checked_div(self.closed)
    }

    /// The average time until the order was closed, in seconds.
    pub const fn finish_seconds(&self) -> Option<i64> {
        (self.finish_ms / 1000).checked_div(self.closed)
    }
}

impl Add for OrderSums {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            closed: self.closed + other.closed,
            total: self.total + other.total,
            materials: self.materials + other.materials,
            share: self.share + other.share,
            accept_ms: self.accept_ms.saturating_add(other.accept_ms),
            finish_ms: self.finish_ms.saturating_add(other.finish_ms),
        }
    }
}

impl Sum for OrderSums {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}

impl Orders {
    /// What was closed in a time, by master and kind of equipment.
    pub async fn report(&self, period: Period) -> Result<Vec<ReportLine>, DbErr> {
        #[derive(FromQueryResult)]
        struct Row {
            master_id: Option<i64>,
            equipment_type: String,
            closed: i64,
            total: i64,
            materials: i64,
            share: i64,
            accept_ms: i64,
            finish_ms: i64,
        }
        let sum = |sum: &'static str| Expr::cust(sum).cast_as("BIGINT");
        let rows = order::Entity::find()
            .select_only()
            .column(order::Column::MasterId)
            .column(order::Column::EquipmentType)
            .column_as(order::Column::Id.count(), "closed")
            .column_as(sum("SUM(COALESCE(total_kopecks, 0))"), "total")
            .column_as(sum("SUM(COALESCE(materials_kopecks, 0))"), "materials")
            .column_as(sum("SUM(COALESCE(share_kopecks, 0))"), "share")
            .column_as(sum("SUM(COALESCE(accepted_at, created_at) - created_at)"), "accept_ms")
            .column_as(sum("SUM(closed_at - created_at)"), "finish_ms")
            .filter(closed_in(period))
            .group_by(order::Column::MasterId)
            .group_by(order::Column::EquipmentType)
            .order_by_asc(order::Column::MasterId)
            .order_by_asc(order::Column::EquipmentType);
        let rows = rows.into_model::<Row>().all(self.db()).await?;
        let money = Money::from_kopecks;
        Ok(rows
            .into_iter()
            .map(|row| ReportLine {
                master_id: row.master_id,
                equipment_type: row.equipment_type,
                sums: OrderSums {
                    closed: row.closed,
                    total: money(row.total),
                    materials: money(row.materials),
                    share: money(row.share),
                    accept_ms: row.accept_ms,
                    finish_ms: row.finish_ms,
                },
            })
            .collect())
    }

    /// The total of the orders that were closed in each of these times, such as the days of a month.
    pub async fn revenue(&self, days: &[Period]) -> Result<Vec<Money>, DbErr> {
        let (Some(first), Some(last)) = (days.first(), days.last()) else { return Ok(Vec::new()) };
        let whole = Period { from: first.from, to: last.to };
        // The place of the day, so that a clock change moves no order to another day.
        let place = days
            .iter()
            .enumerate()
            .fold(String::from("CASE"), |case, (at, day)| format!("{case} WHEN closed_at < {} THEN {at}", day.to.0));
        let place = Expr::cust(format!("CAST({place} ELSE {} END AS BIGINT)", days.len()));
        let rows = order::Entity::find()
            .select_only()
            .column_as(place.clone(), "place")
            .column_as(Expr::cust("SUM(COALESCE(total_kopecks, 0))").cast_as("BIGINT"), "total")
            .filter(closed_in(whole))
            .group_by(place);
        let rows: Vec<(i64, i64)> = rows.into_tuple().all(self.db()).await?;
        let mut by_day = vec![Money::ZERO; days.len()];
        for (place, total) in rows {
            if let Some(day) = usize::try_from(place).ok().and_then(|place| by_day.get_mut(place)) {
                *day = Money::from_kopecks(total);
            }
        }
        Ok(by_day)
    }
}

fn closed_in(period: Period) -> Expr {
    order::Column::ClosedAt.gte(period.from.0).and(order::Column::ClosedAt.lt(period.to.0))
}
