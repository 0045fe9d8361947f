//! Reading pay by site: what was earned in shifts there. What somebody wrote by hand, and payments, are of no site.

use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, DbErr, EntityTrait, FromQueryResult, QueryFilter, QueryOrder, QuerySelect, Select};

use super::ledger::{line, page_of_lines, whole_sum};
use super::tables::adjustment;
use super::{Earnings, Entry, Hours, Line, LineMark, Money, PAGE, Payroll, Period, Sheet};
use crate::money::earned_names;

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
    /// A month of those who earned something at these sites, and a page of them. Pages are counted from zero.
    pub async fn at_sites(&self, sites: &[i64], period: Period, page: u64) -> Result<Sheet, DbErr> {
        // The rows are gone through once: how many people there are and what they sum up to follows from each one's sums.
        let by_person = summed(sites, period)
            .column(adjustment::Column::UserId)
            .group_by(adjustment::Column::UserId)
            .order_by_desc(whole_sum("amount_kopecks"))
            .order_by_asc(adjustment::Column::UserId)
            .into_model::<Sums>();
        let (month, rows) = tokio::try_join!(self.month(period), by_person.all(self.domain.read()))?;
        let (people, sum) = (rows.len() as u64, rows.iter().fold(Sums::default(), Sums::plus));
        let (first, most) = (usize::try_from(page.saturating_mul(PAGE)), usize::try_from(PAGE));
        let shown = rows.into_iter().skip(first.unwrap_or(usize::MAX)).take(most.unwrap_or(usize::MAX));
        let entries: Vec<Entry> = shown.map(Entry::from).collect();
        let names = self.people.names(entries.iter().map(|entry| entry.user_id)).await?;
        Ok(Sheet { month, entries, people, sum: sum.into(), names })
    }

    /// A person's month as far as it was earned at these sites, with the page of rows that begins after this place.
    pub async fn of_person_at(
        &self,
        sites: &[i64],
        user_id: i64,
        period: Period,
        after: Option<&LineMark>,
    ) -> Result<Earnings, DbErr> {
        let db = self.domain.read();
        let own = adjustment::Column::UserId.eq(user_id);
        let rows = page_of_lines(db, of_sites(sites, period).filter(own.clone()), after);
        let sums = summed(sites, period).filter(own).column_as(Expr::cust("CAST(0 AS BIGINT)"), "user_id");
        let (month, (rows, further), sum) =
            tokio::try_join!(self.month(period), rows, sums.into_model::<Sums>().one(db))?;
        let none = std::collections::HashMap::new();
        let lines: Vec<Line> = rows.into_iter().map(|row| line(row, &none)).collect::<Result<_, _>>()?;
        let entry = sum.filter(|_| !lines.is_empty()).map(Entry::from);
        Ok(Earnings { month, entry, lines, further, payments: Vec::new(), changes: Vec::new() })
    }
}

fn of_sites(sites: &[i64], period: Period) -> Select<adjustment::Entity> {
    let there = adjustment::Column::SiteId.is_in(sites.iter().copied());
    let then = adjustment::Column::Period.eq(period.to_string());
    adjustment::Entity::find().filter(there.and(then).and(adjustment::Column::DeletedAt.is_null()))
}

/// The sums that a person's entry has, of what was earned there.
fn summed(sites: &[i64], period: Period) -> Select<adjustment::Entity> {
    let earned = earned_names();
    let only = |which: String| whole_sum(&format!("CASE WHEN {which} THEN amount_kopecks ELSE 0 END"));
    of_sites(sites, period)
        .select_only()
        .column_as(whole_sum("hours_hundredths"), "hours")
        .column_as(only(format!("kind IN ({earned})")), "earned")
        .column_as(only(format!("kind NOT IN ({earned}) AND amount_kopecks >= 0")), "bonus")
        .column_as(only(format!("kind NOT IN ({earned}) AND amount_kopecks < 0")), "deduction")
        .column_as(whole_sum("amount_kopecks"), "total")
}

impl Sums {
    /// Everybody's together.
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
