//! Reading pay by site: what was earned in shifts there. What somebody wrote by hand, and payments, are of no site.

use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{
    ColumnTrait, DbErr, EntityTrait, FromQueryResult, PaginatorTrait, QueryFilter, QueryOrder, QuerySelect, Select,
};

use super::ledger::{line, whole_sum};
use super::tables::adjustment;
use super::{Earnings, Entry, Hours, Kind, Line, Money, PAGE, Payroll, Period, Sheet};

/// How many rows of one person and month are shown at most.
const LINES_MOST: u64 = 500;

#[derive(Debug, FromQueryResult)]
struct Sums {
    user_id: i64,
    hours: i64,
    earned: i64,
    bonus: i64,
    deduction: i64,
    total: i64,
}

impl Payroll {
    /// A month of those who earned something at these sites, and a page of them. Pages are counted from zero.
    pub async fn at_sites(&self, sites: &[i64], period: Period, page: u64) -> Result<Sheet, DbErr> {
        let db = self.domain.read();
        let by_person = summed(sites, period)
            .column(adjustment::Column::UserId)
            .group_by(adjustment::Column::UserId)
            .order_by_desc(whole_sum("amount_kopecks"))
            .order_by_asc(adjustment::Column::UserId)
            .limit(PAGE)
            .offset(page.saturating_mul(PAGE))
            .into_model::<Sums>();
        let all = summed(sites, period).column_as(Expr::cust("CAST(0 AS BIGINT)"), "user_id").into_model::<Sums>();
        let people = of_sites(sites, period).select_only().column(adjustment::Column::UserId).distinct();
        let (month, rows, sum, people) =
            tokio::try_join!(self.month(period), by_person.all(db), all.one(db), people.count(db))?;
        let sum = sum.ok_or_else(|| DbErr::RecordNotFound("the sums of a month".into()))?;
        let entries: Vec<Entry> = rows.into_iter().map(Entry::from).collect();
        let names = self.people.names(entries.iter().map(|entry| entry.user_id)).await?;
        Ok(Sheet { month, entries, people, sum: sum.into(), names })
    }

    /// A person's month as far as it was earned at these sites.
    pub async fn of_person_at(&self, sites: &[i64], user_id: i64, period: Period) -> Result<Earnings, DbErr> {
        let db = self.domain.read();
        let own = adjustment::Column::UserId.eq(user_id);
        let rows = of_sites(sites, period).filter(own.clone());
        let rows = rows.order_by_desc(adjustment::Column::Day).order_by_asc(adjustment::Column::Id).limit(LINES_MOST);
        let sums = summed(sites, period).filter(own).column_as(Expr::cust("CAST(0 AS BIGINT)"), "user_id");
        let (month, rows, sum) = tokio::try_join!(self.month(period), rows.all(db), sums.into_model::<Sums>().one(db))?;
        let none = std::collections::HashMap::new();
        let lines: Vec<Line> = rows.into_iter().map(|row| line(row, &none)).collect::<Result<_, _>>()?;
        let entry = sum.filter(|_| !lines.is_empty()).map(Entry::from);
        Ok(Earnings { month, entry, lines, payments: Vec::new(), changes: Vec::new() })
    }
}

fn of_sites(sites: &[i64], period: Period) -> Select<adjustment::Entity> {
    let there = adjustment::Column::SiteId.is_in(sites.iter().copied());
    let then = adjustment::Column::Period.eq(period.to_string());
    adjustment::Entity::find().filter(there.and(then).and(adjustment::Column::DeletedAt.is_null()))
}

/// The sums that a person's entry has, of what was earned there.
fn summed(sites: &[i64], period: Period) -> Select<adjustment::Entity> {
    let earned: Vec<String> =
        Kind::ALL.iter().filter(|kind| kind.is_earned()).map(|kind| format!("'{}'", kind.name())).collect();
    let earned = earned.join(", ");
    let only = |which: String| whole_sum(&format!("CASE WHEN {which} THEN amount_kopecks ELSE 0 END"));
    of_sites(sites, period)
        .select_only()
        .column_as(whole_sum("hours_hundredths"), "hours")
        .column_as(only(format!("kind IN ({earned})")), "earned")
        .column_as(only(format!("kind NOT IN ({earned}) AND amount_kopecks >= 0")), "bonus")
        .column_as(only(format!("kind NOT IN ({earned}) AND amount_kopecks < 0")), "deduction")
        .column_as(whole_sum("amount_kopecks"), "total")
}

impl From<Sums> for Entry {
    fn from(row: Sums) -> Self {
        Self {
            user_id: row.user_id,
            hours: Hours::from_hundredths(row.hours),
            earned: Money::from_kopecks(row.earned),
            bonus: Money::from_kopecks(row.bonus),
            deduction: Money::from_kopecks(row.deduction),
            total: Money::from_kopecks(row.total),
            paid: Money::ZERO,
            credit: Money::ZERO,
            version: 0,
        }
    }
}
