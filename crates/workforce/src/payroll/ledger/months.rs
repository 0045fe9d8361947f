//! A month of all people: a page of entries, their sums, and whether it is closed.

use std::collections::HashMap;

use opora::clock::Millis;
use sea_orm::sea_query::{Expr, Query};
use sea_orm::{
    ColumnTrait, DbErr, EntityTrait, FromQueryResult, QueryFilter, QueryOrder, QuerySelect, QueryTrait, Select,
};

use super::super::tables::{entry, period};
use super::super::{Money, PaidHours, Payroll, PayrollMonth, posting};
use super::{Entry, MonthStatus, PAGE_SIZE, PayrollSheet, bigint_sum};

#[derive(Debug, FromQueryResult)]
struct SumRow {
    people: i64,
    hours: i64,
    earned: i64,
    bonus: i64,
    deduction: i64,
    total: i64,
    paid: i64,
    version: i64,
}

impl Payroll {
    /// A month with a page of its people. Pages are counted from zero.
    pub async fn of_period(&self, period: PayrollMonth, page: u64) -> Result<PayrollSheet, DbErr> {
        self.sheet(period, highest_paid_first(period).limit(PAGE_SIZE).offset(page.saturating_mul(PAGE_SIZE))).await
    }

    /// A month with all its people, for exports.
    pub async fn all_of_period(&self, period: PayrollMonth) -> Result<PayrollSheet, DbErr> {
        self.sheet(period, highest_paid_first(period)).await
    }

    /// The last month that pages link to: the current one, or a later one with amounts of this person; without a
    /// person, of all people.
    pub async fn last_month(
        &self,
        from: PayrollMonth,
        current: PayrollMonth,
        person: Option<i64>,
    ) -> Result<PayrollMonth, DbErr> {
        if from < current {
            return Ok(current);
        }
        let last: Option<String> = entry::Entity::find()
            .apply_if(person, |query, user_id| query.filter(entry::Column::UserId.eq(user_id)))
            .select_only()
            .column_as(entry::Column::Period.max(), "last")
            .into_tuple()
            .one(self.domain.read())
            .await?
            .flatten();
        Ok(last.and_then(|last| last.parse().ok()).map_or(current, |last: PayrollMonth| last.max(current)))
    }

    async fn sheet(&self, period: PayrollMonth, listed: Select<entry::Entity>) -> Result<PayrollSheet, DbErr> {
        let listed = listed.all(self.domain.read());
        let (month, sums, rows, credits) =
            tokio::try_join!(self.month(period), self.sums(period), listed, self.credits(period))?;
        let credit_of = |user_id| credits.get(&user_id).copied().unwrap_or(Money::ZERO);
        let entries = rows.into_iter().map(|row| Entry { credit: credit_of(row.user_id), ..Entry::from(row) });
        let entries: Vec<Entry> = entries.collect();
        let names = self.people.names(entries.iter().map(|entry| entry.user_id)).await?;
        let (people, sum) = sums;
        let credit = credits.values().fold(Money::ZERO, |all, one| all + *one);
        Ok(PayrollSheet { month, entries, people, sum: Entry { credit, ..sum }, names })
    }

    /// The credit from earlier months of the people in a month. Few people were ever overpaid, so only theirs is summed
    /// up.
    async fn credits(&self, period: PayrollMonth) -> Result<HashMap<i64, Money>, DbErr> {
        let month = period.to_string();
        // An index contains only the overpaid entries.
        let overpaid: Vec<i64> = entry::Entity::find()
            .filter(Expr::cust("paid_kopecks > total_kopecks"))
            .select_only()
            .column(entry::Column::UserId)
            .distinct()
            .into_tuple()
            .all(self.domain.read())
            .await?;
        if overpaid.is_empty() {
            return Ok(HashMap::new());
        }
        let mut people_of_month = Query::select();
        people_of_month
            .column(entry::Column::UserId)
            .from(entry::Entity)
            .and_where(entry::Column::Period.eq(month.as_str()));
        let rows: Vec<(i64, i64)> = entry::Entity::find()
            .filter(entry::Column::UserId.is_in(overpaid))
            .filter(entry::Column::UserId.in_subquery(people_of_month))
            .filter(entry::Column::Period.lt(month.as_str()))
            .select_only()
            .column(entry::Column::UserId)
            .column_as(bigint_sum("paid_kopecks - total_kopecks"), "beyond")
            .group_by(entry::Column::UserId)
            .having(Expr::cust("SUM(paid_kopecks - total_kopecks) > 0"))
            .into_tuple()
            .all(self.domain.read())
            .await?;
        Ok(rows.into_iter().map(|(user_id, overpaid_by)| (user_id, Money::from_kopecks(overpaid_by))).collect())
    }

    pub(in crate::payroll) async fn month(&self, period: PayrollMonth) -> Result<MonthStatus, DbErr> {
        let found = period::Entity::find_by_id(period.to_string()).one(self.domain.read()).await?;
        let closed = found.filter(|row| row.status == posting::CLOSED);
        let closed = closed.and_then(|row| Some((Millis(row.closed_at?), row.closed_by?)));
        Ok(MonthStatus { period, closed })
    }

    /// The number of people in a month, and their sums.
    async fn sums(&self, period: PayrollMonth) -> Result<(u64, Entry), DbErr> {
        let columns = [
            ("hours_hundredths", "hours"),
            ("earned_kopecks", "earned"),
            ("bonus_kopecks", "bonus"),
            ("deduction_kopecks", "deduction"),
            ("total_kopecks", "total"),
            ("paid_kopecks", "paid"),
            ("version", "version"),
        ];
        let query = entry::Entity::find()
            .filter(entry::Column::Period.eq(period.to_string()))
            .select_only()
            .column_as(Expr::cust("COUNT(*)"), "people");
        let query = columns.into_iter().fold(query, |query, (column, name)| query.column_as(bigint_sum(column), name));
        let row = query.into_model::<SumRow>().one(self.domain.read()).await?;
        let row = row.ok_or_else(|| DbErr::RecordNotFound("sums of a month".into()))?;
        let sum = Entry {
            user_id: 0,
            hours: PaidHours::from_hundredths(row.hours),
            earned: Money::from_kopecks(row.earned),
            bonus: Money::from_kopecks(row.bonus),
            deduction: Money::from_kopecks(row.deduction),
            total: Money::from_kopecks(row.total),
            paid: Money::from_kopecks(row.paid),
            credit: Money::ZERO,
            version: row.version,
        };
        Ok((u64::try_from(row.people).unwrap_or_default(), sum))
    }
}

fn highest_paid_first(period: PayrollMonth) -> Select<entry::Entity> {
    let of_month = entry::Entity::find().filter(entry::Column::Period.eq(period.to_string()));
    of_month.order_by_desc(entry::Column::TotalKopecks).order_by_asc(entry::Column::UserId)
}
