//! Pay over days, whatever month they are in: by person for the report, by day for the charts.

use chrono::{Datelike, NaiveDate};
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{
    ColumnTrait, Condition, DbErr, EntityTrait, FromQueryResult, QueryFilter, QueryOrder, QuerySelect, Select,
};

use super::super::tables::adjustment;
use super::super::{Hours, Money, Payroll};
use super::whole_sum;
use crate::money::day_of;

/// A person's sums over some days.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult)]
pub struct Reported {
    pub user_id: i64,
    hours_hundredths: i64,
    total_kopecks: i64,
}

/// What a day was worth to everybody together.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult)]
pub struct DayOfMonth {
    /// `2026-01-31`.
    pub day: String,
    hours_hundredths: i64,
    total_kopecks: i64,
}

impl Reported {
    pub fn hours(&self) -> Hours {
        Hours::from_hundredths(self.hours_hundredths)
    }

    pub fn total(&self) -> Money {
        Money::from_kopecks(self.total_kopecks)
    }
}

impl DayOfMonth {
    pub fn hours(&self) -> Hours {
        Hours::from_hundredths(self.hours_hundredths)
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
    /// What people earned on some days, both ends included; those with the most first.
    pub async fn of_days(&self, from: NaiveDate, to: NaiveDate) -> Result<Vec<Reported>, DbErr> {
        let within = adjustment::Column::Day.between(from.to_string(), to.to_string());
        counted(within.and(adjustment::Column::DeletedAt.is_null()))
            .group_by(adjustment::Column::UserId)
            .order_by_desc(whole_sum("amount_kopecks"))
            .into_model()
            .all(self.domain.read())
            .await
    }

    /// What each of these days was worth, both ends included.
    pub async fn by_day(&self, from: NaiveDate, to: NaiveDate) -> Result<Vec<DayOfMonth>, DbErr> {
        let within = adjustment::Column::Day.between(from.to_string(), to.to_string());
        adjustment::Entity::find()
            .select_only()
            .column(adjustment::Column::Day)
            .column_as(whole_sum("hours_hundredths"), "hours_hundredths")
            .column_as(whole_sum("amount_kopecks"), "total_kopecks")
            .filter(within.and(adjustment::Column::DeletedAt.is_null()))
            .group_by(adjustment::Column::Day)
            .order_by_asc(adjustment::Column::Day)
            .into_model()
            .all(self.domain.read())
            .await
    }
}

/// Sums of people over what fits.
fn counted(which: impl Into<Expr>) -> Select<adjustment::Entity> {
    adjustment::Entity::find()
        .select_only()
        .column(adjustment::Column::UserId)
        .column_as(whole_sum("hours_hundredths"), "hours_hundredths")
        .column_as(whole_sum("amount_kopecks"), "total_kopecks")
        .filter(Condition::all().add(which.into()))
}
