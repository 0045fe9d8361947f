//! Queries for slots and tasks: of a period, of a day, of one slot.
//!
//! All of them use an index, so a long history does not slow pages down.

use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, DbErr, EntityTrait, FromQueryResult, QueryFilter, QueryOrder, QuerySelect, Select};

use super::api::Sites;
use super::records::{Slot, Task};
use super::rules::Period;
use super::tables::{slot, task};
use crate::domain::in_ids;

/// The number of slots and places on a day.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult)]
pub struct DaySlotCounts {
    /// `2026-01-31`, in the time zones of the sites.
    pub day: String,
    pub slots: i64,
    pub places: i64,
    pub taken: i64,
}

/// What a new business has done so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromQueryResult)]
pub struct SetupProgress {
    pub has_slots: bool,
    pub has_contracts: bool,
}

impl Sites {
    /// Whether there is any slot and any contract, in one query that indexes answer.
    pub async fn setup_progress(&self) -> Result<SetupProgress, DbErr> {
        // The smallest id is at the end of an index, while EXISTS may scan the table.
        let any = |table: &str| Expr::cust(format!("(SELECT MIN(id) FROM {table}) IS NOT NULL"));
        let select = sea_orm::sea_query::Query::select()
            .expr_as(any("time_slots"), "has_slots")
            .expr_as(any("contracts"), "has_contracts")
            .take();
        let statement = self.db().get_database_backend().build(&select);
        let found = SetupProgress::find_by_statement(statement).one(self.db()).await?;
        Ok(found.unwrap_or(SetupProgress { has_slots: false, has_contracts: false }))
    }

    /// The slots of these sites that start in a period, by start.
    pub async fn slots(&self, sites: &[i64], period: Period) -> Result<Vec<Slot>, DbErr> {
        self.ordered(slots_in(sites, period)).await
    }

    /// The slots of these sites that start in a period and on one of these days, by start.
    pub async fn slots_on(&self, sites: &[i64], period: Period, days: &[&str]) -> Result<Vec<Slot>, DbErr> {
        self.ordered(slots_in(sites, period).filter(slot::Column::Day.is_in(days.iter().copied()))).await
    }

    /// The numbers of slots and places of these sites on each day of a period.
    pub async fn days(&self, sites: &[i64], period: Period) -> Result<Vec<DaySlotCounts>, DbErr> {
        let days = slots_in(sites, period).select_only().column(slot::Column::Day);
        let sums = [("slots", "COUNT(*)"), ("places", "SUM(capacity)"), ("taken", "SUM(taken)")];
        let sum = |sql: &str| Expr::cust(format!("CAST({sql} AS BIGINT)"));
        let days = sums.into_iter().fold(days, |days, (name, sql)| days.column_as(sum(sql), name));
        days.group_by(slot::Column::Day).into_model().all(self.db()).await
    }

    /// The tasks of a site without those of its slots, in order, including deleted ones.
    pub async fn tasks_of_site(&self, site_id: i64) -> Result<Vec<Task>, DbErr> {
        let own = task::Entity::find().filter(task::Column::SiteId.eq(site_id)).filter(task::Column::SlotId.is_null());
        let rows = own.order_by_asc(task::Column::Place).all(self.db()).await?;
        Ok(rows.into_iter().map(Task::from).collect())
    }

    /// The tasks of a slot, in order, including deleted ones.
    pub async fn tasks_of_slot(&self, slot_id: i64) -> Result<Vec<Task>, DbErr> {
        let own = task::Entity::find().filter(task::Column::SlotId.eq(slot_id)).order_by_asc(task::Column::Place);
        Ok(own.all(self.db()).await?.into_iter().map(Task::from).collect())
    }

    async fn ordered(&self, slots: Select<slot::Entity>) -> Result<Vec<Slot>, DbErr> {
        let ordered = slots.order_by_asc(slot::Column::StartsAt).order_by_asc(slot::Column::Id);
        ordered.all(self.db()).await?.into_iter().map(Slot::try_from).collect()
    }
}

fn slots_in(sites: &[i64], period: Period) -> Select<slot::Entity> {
    let of_these = in_ids(slot::Column::SiteId, sites);
    let then = slot::Column::StartsAt.gte(period.from.0).and(slot::Column::StartsAt.lt(period.to.0));
    slot::Entity::find().filter(of_these).filter(then).filter(slot::Column::DeletedAt.is_null())
}
