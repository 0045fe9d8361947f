//! Pay over days of any month: by person for the report, by day for the charts.

use chrono::{Datelike, NaiveDate};
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{
    ColumnTrait, Condition, DbErr, EntityTrait, FromQueryResult, QueryFilter, QueryOrder, QuerySelect, Select,
};

use super::super::tables::adjustment;
use super::super::{Money, PaidHours, Payroll};
use super::bigint_sum;
use crate::money::day_of;

/// The sums of a person over some days.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult)]
pub struct PersonTotals {
    pub user_id: i64,
    hours_hundredths: i64,
    total_kopecks: i64,
}

/// The sums of all people on a day.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult)]
pub struct DayPay {
    /// `2026-01-31`.
    pub day: String,
    hours_hundredths: i64,
    total_kopecks: i64,
}

impl PersonTotals {
    pub fn hours(&self) -> PaidHours {
        PaidHours::from_hundredths(self.hours_hundredths)
    }

    pub fn total(&self) -> Money {
        Money::from_kopecks(self.total_kopecks)
    }
}

impl DayPay {
    pub fn hours(&self) -> PaidHours {
        PaidHours::from_hundredths(self.hours_hundredths)
    }

    pub fn cost(&self) -> Money {
        Money::from_kopecks(self.total_kopecks)
    }

    /// 1 to 31.
    pub fn day_of_month(&self) -> Option<u32> {
        day_of(&self.day).map(|day| day.day())
    }
}

impl Payroll {
    /// The earnings of people over some days, both ends included, highest first.
    pub async fn of_days(&self, from: NaiveDate, to: NaiveDate) -> Result<Vec<PersonTotals>, DbErr> {
        let within = adjustment::Column::Day.between(from.to_string(), to.to_string());
        totals_by_person(within.and(adjustment::Column::DeletedAt.is_null()))
            .group_by(adjustment::Column::UserId)
            .order_by_desc(bigint_sum("amount_kopecks"))
            .into_model()
            .all(self.domain.read())
            .await
    }

    /// The sums of each day, both ends included.
    pub async fn by_day(&self, from: NaiveDate, to: NaiveDate) -> Result<Vec<DayPay>, DbErr> {
        let within = adjustment::Column::Day.between(from.to_string(), to.to_string());
        adjustment::Entity::find()
            .select_only()
            .column(adjustment::Column::Day)
            .column_as(bigint_sum("hours_hundredths"), "hours_hundredths")
            .column_as(bigint_sum("amount_kopecks"), "total_kopecks")
            .filter(within.and(adjustment::Column::DeletedAt.is_null()))
            .group_by(adjustment::Column::Day)
            .order_by_asc(adjustment::Column::Day)
            .into_model()
            .all(self.domain.read())
            .await
    }
}

/// The sums by person of the matching rows.
fn totals_by_person(which: impl Into<Expr>) -> Select<adjustment::Entity> {
    adjustment::Entity::find()
        .select_only()
        .column(adjustment::Column::UserId)
        .column_as(bigint_sum("hours_hundredths"), "hours_hundredths")
        .column_as(bigint_sum("amount_kopecks"), "total_kopecks")
        .filter(Condition::all().add(which.into()))
}
