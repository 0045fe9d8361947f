//! The front door, where pages look at slots and tasks: of a period, of a day, of one slot.
//!
//! What is asked for is found by an index, so that a long history makes no page slower.

use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, DbErr, EntityTrait, FromQueryResult, QueryFilter, QueryOrder, QuerySelect, Select};
use serde_json::json;

use super::doors::{Sites, TOPIC};
use super::records::{Slot, Task};
use super::rules::Period;
use super::tables::{slot, task};
use crate::domain::among;
use crate::shifts::WORKERS;
use crate::web::{Event, STAFF};

/// The slots of a day, counted.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult)]
pub struct DayOfSlots {
    /// `2026-01-31`, by the clocks of the sites.
    pub day: String,
    pub slots: i64,
    pub places: i64,
    pub taken: i64,
}

impl Sites {
    /// The slots of these sites that begin in a period, by their beginning.
    pub async fn slots(&self, sites: &[i64], period: Period) -> Result<Vec<Slot>, DbErr> {
        self.ordered(slots_in(sites, period)).await
    }

    /// The same on some days of it only.
    pub async fn slots_on(&self, sites: &[i64], period: Period, days: &[&str]) -> Result<Vec<Slot>, DbErr> {
        self.ordered(slots_in(sites, period).filter(slot::Column::Day.is_in(days.iter().copied()))).await
    }

    /// How many slots these sites have on each day of a period, and how many places.
    pub async fn days(&self, sites: &[i64], period: Period) -> Result<Vec<DayOfSlots>, DbErr> {
        let days = slots_in(sites, period).select_only().column(slot::Column::Day);
        let sums = [("slots", "COUNT(*)"), ("places", "SUM(capacity)"), ("taken", "SUM(taken)")];
        let sum = |sql: &str| Expr::cust(format!("CAST({sql} AS BIGINT)"));
        let days = sums.into_iter().fold(days, |days, (name, sql)| days.column_as(sum(sql), name));
        days.group_by(slot::Column::Day).into_model().all(self.reading()).await
    }

    /// The tasks of a site itself, deleted ones too, in their order.
    pub async fn tasks_of_site(&self, site_id: i64) -> Result<Vec<Task>, DbErr> {
        let own = task::Entity::find().filter(task::Column::SiteId.eq(site_id)).filter(task::Column::SlotId.is_null());
        let rows = own.order_by_asc(task::Column::Place).all(self.reading()).await?;
        Ok(rows.into_iter().map(Task::from).collect())
    }

    /// The tasks of a slot alone, deleted ones too, in their order.
    pub async fn tasks_of_slot(&self, slot_id: i64) -> Result<Vec<Task>, DbErr> {
        let own = task::Entity::find().filter(task::Column::SlotId.eq(slot_id)).order_by_asc(task::Column::Place);
        Ok(own.all(self.reading()).await?.into_iter().map(Task::from).collect())
    }

    async fn ordered(&self, slots: Select<slot::Entity>) -> Result<Vec<Slot>, DbErr> {
        let ordered = slots.order_by_asc(slot::Column::StartsAt).order_by_asc(slot::Column::Id);
        ordered.all(self.reading()).await?.into_iter().map(Slot::try_from).collect()
    }
}

fn slots_in(sites: &[i64], period: Period) -> Select<slot::Entity> {
    let of_these = among(slot::Column::SiteId, sites);
    let then = slot::Column::StartsAt.gte(period.from.0).and(slot::Column::StartsAt.lt(period.to.0));
    slot::Entity::find().filter(of_these).filter(then).filter(slot::Column::DeletedAt.is_null())
}

/// That somebody has changed the schedule: staff is told who, and whoever plans looks at the places again.
pub fn rescheduled(by: i64) -> [Event; 2] {
    let update = json!({ "type": "schedule_changed", "shift_id": null, "user_id": by });
    [Event::to_roles(TOPIC, STAFF).with(&update), Event::to_roles(TOPIC, WORKERS)]
}
