//! Reading pay: by month, by person, by shift, by days.

use std::collections::HashMap;

use chrono::{Datelike, NaiveDate};
use opora::clock::Millis;
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{
    ColumnTrait, Condition, DbErr, EntityTrait, FromQueryResult, QueryFilter, QueryOrder, QuerySelect, Select,
};
use serde_json::{Value, json};

use super::period::day_of;
use super::tables::{adjustment, change, entry, payment, period};
use super::{Basis, Hours, Kind, Money, Payroll, Period, posting};
use crate::domain::Domain;

/// How many people a page of a month has.
pub const PAGE: u64 = 50;
/// How many rows of one person and month are shown at most.
const LINES_MOST: u64 = 500;

/// A person's sums of a month.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub user_id: i64,
    pub hours: Hours,
    pub earned: Money,
    pub bonus: Money,
    pub deduction: Money,
    pub total: Money,
    pub paid: Money,
    pub version: i64,
}

/// A month.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Month {
    pub period: Period,
    /// When it was closed, and by whom.
    pub closed: Option<(Millis, i64)>,
}

/// A month with a page of its people, those with the most first.
#[derive(Clone, Debug)]
pub struct Sheet {
    pub month: Month,
    pub entries: Vec<Entry>,
    /// How many people there are on all pages.
    pub people: u64,
    /// Their sums.
    pub sum: Entry,
    /// By id; of those on this page.
    pub names: HashMap<i64, String>,
}

/// An amount and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub id: i64,
    pub user_id: i64,
    pub period: String,
    pub day: String,
    pub kind: Kind,
    pub amount: Money,
    pub basis: Basis,
    pub reason: Option<String>,
    pub shift_id: Option<i64>,
    pub created_at: Millis,
    pub created_by: Option<i64>,
    pub is_removed: bool,
    /// Raised by every change, and by every correction.
    pub version: i64,
    /// What corrections have made of it, if there are any.
    pub corrected: Option<Money>,
}

/// A mark that somebody was paid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payment {
    pub id: i64,
    pub amount: Money,
    pub at: Millis,
    pub by: i64,
    pub is_taken_back: bool,
}

/// One change of an amount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    pub adjustment_id: i64,
    pub at: Millis,
    pub by: i64,
    /// `added`, `changed`, `removed` or `restored`.
    pub deed: String,
    pub amount: Money,
    pub reason: String,
}

/// All that there is of a person's month.
#[derive(Clone, Debug)]
pub struct Earnings {
    pub month: Month,
    /// None if there is nothing in it.
    pub entry: Option<Entry>,
    /// The newest day first.
    pub lines: Vec<Line>,
    pub payments: Vec<Payment>,
    pub changes: Vec<Changed>,
}

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
    /// How many shifts began late.
    pub late: i64,
}

#[derive(Debug, FromQueryResult)]
struct SumRow {
    people: i64,
    hours: i64,
    earned: i64,
    bonus: i64,
    deduction: i64,
    total: i64,
    paid: i64,
}

impl Entry {
    /// What is still to be paid.
    pub fn due(&self) -> Money {
        self.total - self.paid
    }
}

impl Month {
    pub const fn is_closed(&self) -> bool {
        self.closed.is_some()
    }
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
    /// A month and a page of its people. Pages are counted from zero.
    pub async fn of_period(&self, period: Period, page: u64) -> Result<Sheet, DbErr> {
        let db = self.domain.read();
        let of_month = entry::Entity::find().filter(entry::Column::Period.eq(period.to_string()));
        let listed = of_month.order_by_desc(entry::Column::TotalKopecks).order_by_asc(entry::Column::UserId);
        let listed = listed.limit(PAGE).offset(page.saturating_mul(PAGE)).all(db);
        let (month, sums, rows) = tokio::try_join!(self.month(period), self.sums(period), listed)?;
        let entries: Vec<Entry> = rows.into_iter().map(Entry::from).collect();
        let names = self.people.names(entries.iter().map(|entry| entry.user_id)).await?;
        let (people, sum) = sums;
        Ok(Sheet { month, entries, people, sum, names })
    }

    /// Everybody of a month, for lists that leave the product.
    pub async fn all_of_period(&self, period: Period) -> Result<Sheet, DbErr> {
        let of_month = entry::Entity::find().filter(entry::Column::Period.eq(period.to_string()));
        let listed = of_month.order_by_desc(entry::Column::TotalKopecks).order_by_asc(entry::Column::UserId);
        let db = self.domain.read();
        let (month, sums, rows) = tokio::try_join!(self.month(period), self.sums(period), listed.all(db))?;
        let entries: Vec<Entry> = rows.into_iter().map(Entry::from).collect();
        let names = self.people.names(entries.iter().map(|entry| entry.user_id)).await?;
        Ok(Sheet { month, entries, people: sums.0, sum: sums.1, names })
    }

    /// A person's month: sums, rows with their reasons, payments and history.
    pub async fn of_person(&self, user_id: i64, period: Period) -> Result<Earnings, DbErr> {
        let db = self.domain.read();
        let month = period.to_string();
        let of_person = adjustment::Column::UserId.eq(user_id).and(adjustment::Column::Period.eq(month.as_str()));
        let rows = adjustment::Entity::find()
            .filter(of_person.clone())
            .order_by_desc(adjustment::Column::Day)
            .order_by_asc(adjustment::Column::Id)
            .limit(LINES_MOST);
        let payments = payment::Entity::find()
            .filter(payment::Column::Period.eq(month.as_str()).and(payment::Column::UserId.eq(user_id)))
            .order_by_asc(payment::Column::Id);
        let (state, found, rows, payments) =
            tokio::try_join!(self.month(period), self.entry_of(user_id, period), rows.all(db), payments.all(db))?;
        let written: Vec<i64> = rows.iter().filter(|row| row.created_by.is_some()).map(|row| row.id).collect();
        let (changes, corrections) = tokio::try_join!(self.changes(&written), self.corrections(&written))?;
        let lines = rows.into_iter().map(|row| line(row, &corrections)).collect::<Result<_, _>>()?;
        let payments = payments.into_iter().map(Payment::from).collect();
        Ok(Earnings { month: state, entry: found, lines, payments, changes })
    }

    /// A person's sums of a month; none if there is nothing in it.
    pub async fn entry_of(&self, user_id: i64, period: Period) -> Result<Option<Entry>, DbErr> {
        let found = entry::Entity::find_by_id((period.to_string(), user_id)).one(self.domain.read()).await?;
        Ok(found.map(Entry::from))
    }

    /// The rows of a shift, in the order in which they came about.
    pub async fn of_shift(&self, shift_id: i64) -> Result<Vec<Line>, DbErr> {
        let of_shift = adjustment::Column::ShiftId.eq(shift_id).and(adjustment::Column::DeletedAt.is_null());
        let rows = adjustment::Entity::find().filter(of_shift).order_by_asc(adjustment::Column::Id);
        let none = HashMap::new();
        rows.all(self.domain.read()).await?.into_iter().map(|row| line(row, &none)).collect()
    }

    /// What several shifts were worth, by shift.
    pub async fn totals_of_shifts(&self, shifts: &[i64]) -> Result<HashMap<i64, Money>, DbErr> {
        let counted = adjustment::Column::ShiftId.is_in(shifts.iter().copied());
        let rows: Vec<(i64, i64)> = adjustment::Entity::find()
            .select_only()
            .column(adjustment::Column::ShiftId)
            .column_as(whole_sum("amount_kopecks"), "total")
            .filter(counted.and(adjustment::Column::DeletedAt.is_null()))
            .group_by(adjustment::Column::ShiftId)
            .into_tuple()
            .all(self.domain.read())
            .await?;
        Ok(rows.into_iter().map(|(shift, total)| (shift, Money::from_kopecks(total))).collect())
    }

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
            .column_as(whole_sum("CASE WHEN kind = 'late_start' THEN 1 ELSE 0 END"), "late")
            .filter(within.and(adjustment::Column::DeletedAt.is_null()))
            .group_by(adjustment::Column::Day)
            .order_by_asc(adjustment::Column::Day)
            .into_model()
            .all(self.domain.read())
            .await
    }

    pub(super) async fn month(&self, period: Period) -> Result<Month, DbErr> {
        let found = period::Entity::find_by_id(period.to_string()).one(self.domain.read()).await?;
        let closed = found.filter(|row| row.status == posting::CLOSED);
        let closed = closed.and_then(|row| Some((Millis(row.closed_at?), row.closed_by?)));
        Ok(Month { period, closed })
    }

    /// How many people a month has, and their sums.
    async fn sums(&self, period: Period) -> Result<(u64, Entry), DbErr> {
        let columns = [
            ("hours_hundredths", "hours"),
            ("earned_kopecks", "earned"),
            ("bonus_kopecks", "bonus"),
            ("deduction_kopecks", "deduction"),
            ("total_kopecks", "total"),
            ("paid_kopecks", "paid"),
        ];
        let query = entry::Entity::find()
            .filter(entry::Column::Period.eq(period.to_string()))
            .select_only()
            .column_as(Expr::cust("COUNT(*)"), "people");
        let query = columns.into_iter().fold(query, |query, (column, name)| query.column_as(whole_sum(column), name));
        let row = query.into_model::<SumRow>().one(self.domain.read()).await?;
        let row = row.ok_or_else(|| DbErr::RecordNotFound("the sums of a month".into()))?;
        let sum = Entry {
            user_id: 0,
            hours: Hours::from_hundredths(row.hours),
            earned: Money::from_kopecks(row.earned),
            bonus: Money::from_kopecks(row.bonus),
            deduction: Money::from_kopecks(row.deduction),
            total: Money::from_kopecks(row.total),
            paid: Money::from_kopecks(row.paid),
            version: 0,
        };
        Ok((u64::try_from(row.people).unwrap_or_default(), sum))
    }

    async fn changes(&self, ids: &[i64]) -> Result<Vec<Changed>, DbErr> {
        let of_these = change::Entity::find().filter(change::Column::AdjustmentId.is_in(ids.iter().copied()));
        let rows = of_these.order_by_asc(change::Column::Id).all(self.domain.read()).await?;
        Ok(rows.into_iter().map(Changed::from).collect())
    }

    /// How many corrections each of these rows has, and what they add up to.
    async fn corrections(&self, ids: &[i64]) -> Result<HashMap<i64, (i64, Money)>, DbErr> {
        let of_these = adjustment::Column::CorrectsId.is_in(ids.iter().copied());
        let rows: Vec<(i64, i64, i64)> = adjustment::Entity::find()
            .select_only()
            .column(adjustment::Column::CorrectsId)
            .column_as(Expr::cust("COUNT(*)"), "count")
            .column_as(whole_sum("amount_kopecks"), "total")
            .filter(of_these.and(adjustment::Column::DeletedAt.is_null()))
            .group_by(adjustment::Column::CorrectsId)
            .into_tuple()
            .all(self.domain.read())
            .await?;
        Ok(rows.into_iter().map(|(id, count, total)| (id, (count, Money::from_kopecks(total)))).collect())
    }
}

/// Everything that a person earned and was paid, for the person.
pub async fn export(domain: &Domain, user_id: i64) -> anyhow::Result<Value> {
    let rows = adjustment::Entity::find()
        .filter(adjustment::Column::UserId.eq(user_id).and(adjustment::Column::DeletedAt.is_null()))
        .order_by_asc(adjustment::Column::Id);
    let payments = payment::Entity::find()
        .filter(payment::Column::UserId.eq(user_id).and(payment::Column::TakenBackAt.is_null()))
        .order_by_asc(payment::Column::Id);
    let (rows, payments) = tokio::try_join!(rows.all(domain.read()), payments.all(domain.read()))?;
    if rows.is_empty() && payments.is_empty() {
        return Ok(Value::Null);
    }
    let amount = |row: &adjustment::Model| {
        let roubles = Money::from_kopecks(row.amount_kopecks).to_string();
        json!({"day": row.day, "period": row.period, "kind": row.kind, "roubles": roubles, "reason": row.reason})
    };
    let paid = |row: &payment::Model| json!({"period": row.period, "roubles": Money::from_kopecks(row.amount_kopecks).to_string(), "at": row.paid_at});
    let (amounts, payments): (Vec<_>, Vec<_>) =
        (rows.iter().map(amount).collect(), payments.iter().map(paid).collect());
    Ok(json!({ "amounts": amounts, "payments": payments }))
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

/// PostgreSQL sums whole numbers up to something wider; nothing sums up to NULL.
pub(super) fn whole_sum(column: &str) -> Expr {
    Expr::cust(format!("CAST(COALESCE(SUM({column}), 0) AS BIGINT)"))
}

pub(super) fn line(row: adjustment::Model, corrections: &HashMap<i64, (i64, Money)>) -> Result<Line, DbErr> {
    let amount = Money::from_kopecks(row.amount_kopecks);
    let correction = corrections.get(&row.id);
    Ok(Line {
        id: row.id,
        user_id: row.user_id,
        period: row.period,
        day: row.day,
        kind: row.kind.parse().map_err(DbErr::Custom)?,
        amount,
        basis: serde_json::from_str(&row.basis).map_err(|error| DbErr::Custom(error.to_string()))?,
        reason: row.reason,
        shift_id: row.shift_id,
        created_at: Millis(row.created_at),
        created_by: row.created_by,
        is_removed: row.deleted_at.is_some(),
        version: row.version + correction.map_or(0, |(count, _)| *count),
        corrected: correction.map(|(_, total)| amount + *total),
    })
}

impl From<entry::Model> for Entry {
    fn from(row: entry::Model) -> Self {
        Self {
            user_id: row.user_id,
            hours: Hours::from_hundredths(row.hours_hundredths),
            earned: Money::from_kopecks(row.earned_kopecks),
            bonus: Money::from_kopecks(row.bonus_kopecks),
            deduction: Money::from_kopecks(row.deduction_kopecks),
            total: Money::from_kopecks(row.total_kopecks),
            paid: Money::from_kopecks(row.paid_kopecks),
            version: row.version,
        }
    }
}

impl From<payment::Model> for Payment {
    fn from(row: payment::Model) -> Self {
        Self {
            id: row.id,
            amount: Money::from_kopecks(row.amount_kopecks),
            at: Millis(row.paid_at),
            by: row.paid_by,
            is_taken_back: row.taken_back_at.is_some(),
        }
    }
}

impl From<change::Model> for Changed {
    fn from(row: change::Model) -> Self {
        Self {
            adjustment_id: row.adjustment_id,
            at: Millis(row.at),
            by: row.by_id,
            deed: row.deed,
            amount: Money::from_kopecks(row.amount_kopecks),
            reason: row.reason,
        }
    }
}
