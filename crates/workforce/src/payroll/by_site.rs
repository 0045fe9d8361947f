//! Pay by site: what was earned in shifts there. Manual adjustments and payments belong to no site.

use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, DbErr, EntityTrait, FromQueryResult, QueryFilter, QueryOrder, QuerySelect, Select};

use super::ledger::{bigint_sum, line, page_of_lines};
use super::tables::adjustment;
use super::{
    Adjustment, AdjustmentCursor, Earnings, Entry, Money, PAGE_SIZE, PaidHours, Payroll, PayrollMonth, PayrollSheet,
};
use crate::money::earned_kinds_sql;

#[derive(Debug, Default, FromQueryResult)]
struct Sums {
    user_id: i64,
    hours: i64,
    earned: i64,
    bonus: i64,
    deduction: i64,
    total: i64,
}

impl Payroll {
    /// A page of the people who earned something at these sites in a month. Pages are counted from zero.
    pub async fn at_sites(&self, sites: &[i64], period: PayrollMonth, page: u64) -> Result<PayrollSheet, DbErr> {
        // One pass over the rows: the number of people and the total follow from the sums by person.
        let by_person = summed(sites, period)
            .column(adjustment::Column::UserId)
            .group_by(adjustment::Column::UserId)
            .order_by_desc(bigint_sum("amount_kopecks"))
            .order_by_asc(adjustment::Column::UserId)
            .into_model::<Sums>();
        let (month, rows) = tokio::try_join!(self.month(period), by_person.all(self.domain.read()))?;
        let (people, sum) = (rows.len() as u64, rows.iter().fold(Sums::default(), Sums::plus));
        let (first, page_size) = (usize::try_from(page.saturating_mul(PAGE_SIZE)), usize::try_from(PAGE_SIZE));
        let shown = rows.into_iter().skip(first.unwrap_or(usize::MAX)).take(page_size.unwrap_or(usize::MAX));
        let entries: Vec<Entry> = shown.map(Entry::from).collect();
        let names = self.people.names(entries.iter().map(|entry| entry.user_id)).await?;
        Ok(PayrollSheet { month, entries, people, sum: sum.into(), names })
    }

    /// A person's month, limited to these sites, with the page of adjustments after a cursor.
    pub async fn of_person_at(
        &self,
        sites: &[i64],
        user_id: i64,
        period: PayrollMonth,
        after: Option<&AdjustmentCursor>,
    ) -> Result<Earnings, DbErr> {
        let db = self.domain.read();
        let own = adjustment::Column::UserId.eq(user_id);
        let rows = page_of_lines(db, of_sites(sites, period).filter(own.clone()), after);
        let sums = summed(sites, period).filter(own).column_as(Expr::cust("CAST(0 AS BIGINT)"), "user_id");
        let (month, (rows, next_page), sum) =
            tokio::try_join!(self.month(period), rows, sums.into_model::<Sums>().one(db))?;
        let none = std::collections::HashMap::new();
        let lines: Vec<Adjustment> = rows.into_iter().map(|row| line(row, &none)).collect::<Result<_, _>>()?;
        let entry = sum.filter(|_| !lines.is_empty()).map(Entry::from);
        Ok(Earnings { month, entry, lines, next_page, payments: Vec::new(), changes: Vec::new() })
    }
}

fn of_sites(sites: &[i64], period: PayrollMonth) -> Select<adjustment::Entity> {
    let at_sites = adjustment::Column::SiteId.is_in(sites.iter().copied());
    let in_period = adjustment::Column::Period.eq(period.to_string());
    adjustment::Entity::find().filter(at_sites.and(in_period).and(adjustment::Column::DeletedAt.is_null()))
}

/// The sums of an entry, limited to these sites.
fn summed(sites: &[i64], period: PayrollMonth) -> Select<adjustment::Entity> {
    let earned = earned_kinds_sql();
    let only = |which: String| bigint_sum(&format!("CASE WHEN {which} THEN amount_kopecks ELSE 0 END"));
    of_sites(sites, period)
        .select_only()
        .column_as(bigint_sum("hours_hundredths"), "hours")
        .column_as(only(format!("kind IN ({earned})")), "earned")
        .column_as(only(format!("kind NOT IN ({earned}) AND amount_kopecks >= 0")), "bonus")
        .column_as(only(format!("kind NOT IN ({earned}) AND amount_kopecks < 0")), "deduction")
        .column_as(bigint_sum("amount_kopecks"), "total")
}

impl Sums {
    /// The sum of both.
    fn plus(self, other: &Self) -> Self {
        Self {
            user_id: 0,
            hours: self.hours + other.hours,
            earned: self.earned + other.earned,
            bonus: self.bonus + other.bonus,
            deduction: self.deduction + other.deduction,
            total: self.total + other.total,
        }
    }
}

impl From<Sums> for Entry {
    fn from(row: Sums) -> Self {
        Self {
            user_id: row.user_id,
            hours: PaidHours::from_hundredths(row.hours),
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
