//! One person's pay: a month with its rows, a shift, and everything for whoever asks for their own data.

use std::collections::{HashMap, HashSet};

use opora::clock::Millis;
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect};
use serde_json::{Value, json};

use super::super::tables::{adjustment, change, entry, payment};
use super::super::{Kind, Money, Payroll, Period};
use super::{Changed, Earnings, Entry, Line, LineMark, Payment, lines, whole_sum};
use crate::domain::Domain;

impl Payroll {
    /// A person's month: sums, rows with their reasons, payments and history.
    pub async fn of_person(&self, user_id: i64, period: Period) -> Result<Earnings, DbErr> {
        self.of_person_after(user_id, period, None).await
    }

    /// The same with the page of rows that begins after this place, and the history of those.
    pub async fn of_person_after(
        &self,
        user_id: i64,
        period: Period,
        after: Option<&LineMark>,
    ) -> Result<Earnings, DbErr> {
        let db = self.domain.read();
        let month = period.to_string();
        let of_person = adjustment::Column::UserId.eq(user_id).and(adjustment::Column::Period.eq(month.as_str()));
        let rows = lines::page(db, adjustment::Entity::find().filter(of_person), after);
        let payments = payment::Entity::find()
            .filter(payment::Column::Period.eq(month.as_str()).and(payment::Column::UserId.eq(user_id)))
            .order_by_asc(payment::Column::Id);
        let (state, found, (rows, further), payments) =
            tokio::try_join!(self.month(period), self.entry_of(user_id, period), rows, payments.all(db))?;
        let written: Vec<i64> = rows.iter().filter(|row| row.created_by.is_some()).map(|row| row.id).collect();
        let (changes, corrections) = tokio::try_join!(self.changes(&written), self.corrections(&written))?;
        let lines = rows.into_iter().map(|row| line(row, &corrections)).collect::<Result<_, _>>()?;
        let payments = payments.into_iter().map(Payment::from).collect();
        Ok(Earnings { month: state, entry: found, lines, further, payments, changes })
    }

    /// A person's sums of a month; none if there is nothing in it.
    pub async fn entry_of(&self, user_id: i64, period: Period) -> Result<Option<Entry>, DbErr> {
        let (db, month) = (self.domain.read(), period.to_string());
        let found = entry::Entity::find_by_id((month.clone(), user_id)).one(db);
        let (found, credit) = tokio::try_join!(found, credit_before(db, user_id, &month))?;
        Ok(found.map(|row| Entry { credit, ..Entry::from(row) }))
    }

    /// The rows of a shift, in the order in which they came about.
    pub async fn of_shift(&self, shift_id: i64) -> Result<Vec<Line>, DbErr> {
        Self::lines_of_shift(self.domain.read(), shift_id).await
    }

    /// The same within a commit: what was written so far.
    pub async fn lines_of_shift(db: &impl ConnectionTrait, shift_id: i64) -> Result<Vec<Line>, DbErr> {
        let of_shift = adjustment::Column::ShiftId.eq(shift_id).and(adjustment::Column::DeletedAt.is_null());
        let rows = adjustment::Entity::find().filter(of_shift).order_by_asc(adjustment::Column::Id);
        let none = HashMap::new();
        rows.all(db).await?.into_iter().map(|row| line(row, &none)).collect()
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

    /// Which of these shifts have an amount for their hours. One that was removed counts: it is not posted again.
    pub async fn with_base(&self, shifts: &[i64]) -> Result<HashSet<i64>, DbErr> {
        let of_these = adjustment::Column::ShiftId.is_in(shifts.iter().copied());
        let found: Vec<i64> = adjustment::Entity::find()
            .select_only()
            .column(adjustment::Column::ShiftId)
            .filter(of_these.and(adjustment::Column::Kind.eq(Kind::ShiftBase.name())))
            .into_tuple()
            .all(self.domain.read())
            .await?;
        Ok(found.into_iter().collect())
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

/// What somebody was paid beyond what was due, in all months before one together.
pub async fn credit_before(db: &impl ConnectionTrait, user_id: i64, month: &str) -> Result<Money, DbErr> {
    let before =
        entry::Entity::find().filter(entry::Column::UserId.eq(user_id)).filter(entry::Column::Period.lt(month));
    let beyond = before.select_only().column_as(whole_sum("paid_kopecks - total_kopecks"), "beyond");
    let beyond: Option<i64> = beyond.into_tuple().one(db).await?;
    Ok(Money::from_kopecks(beyond.unwrap_or_default()).max(Money::ZERO))
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

pub fn line(row: adjustment::Model, corrections: &HashMap<i64, (i64, Money)>) -> Result<Line, DbErr> {
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
