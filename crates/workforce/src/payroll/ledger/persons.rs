//! One person's pay: a month, a shift, and the export of personal data.

use std::collections::HashMap;

use opora::clock::Millis;
use sea_orm::sea_query::{Expr, ExprTrait, Query, SelectStatement};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect};
use serde_json::{Value, json};

use super::super::tables::{adjustment, change, entry, payment};
use super::super::{Kind, Money, Payroll, PayrollMonth};
use super::{Adjustment, AdjustmentChange, AdjustmentCursor, Earnings, Entry, Payment, bigint_sum, lines};
use crate::domain::Domain;

impl Payroll {
    /// A person's month: sums, adjustments, payments and history.
    pub async fn of_person(&self, user_id: i64, period: PayrollMonth) -> Result<Earnings, DbErr> {
        self.of_person_after(user_id, period, None).await
    }

    /// A person's month with the page of adjustments after a cursor, and their history.
    pub async fn of_person_after(
        &self,
        user_id: i64,
        period: PayrollMonth,
        after: Option<&AdjustmentCursor>,
    ) -> Result<Earnings, DbErr> {
        let db = self.domain.read();
        let month = period.to_string();
        let of_person = adjustment::Column::UserId.eq(user_id).and(adjustment::Column::Period.eq(month.as_str()));
        let rows = lines::page(db, adjustment::Entity::find().filter(of_person), after);
        let payments = payment::Entity::find()
            .filter(payment::Column::Period.eq(month.as_str()).and(payment::Column::UserId.eq(user_id)))
            .order_by_asc(payment::Column::Id);
        let (state, found, (rows, next_page), payments) =
            tokio::try_join!(self.month(period), self.entry_of(user_id, period), rows, payments.all(db))?;
        let written: Vec<i64> = rows.iter().filter(|row| row.created_by.is_some()).map(|row| row.id).collect();
        let (changes, corrections) = tokio::try_join!(self.changes(&written), self.corrections(&written))?;
        let lines = rows.into_iter().map(|row| line(row, &corrections)).collect::<Result<_, _>>()?;
        let payments = payments.into_iter().map(Payment::from).collect();
        Ok(Earnings { month: state, entry: found, lines, next_page, payments, changes })
    }

    /// A person's sums of a month; None if there are none.
    pub async fn entry_of(&self, user_id: i64, period: PayrollMonth) -> Result<Option<Entry>, DbErr> {
        let (db, month) = (self.domain.read(), period.to_string());
        let found = entry::Entity::find_by_id((month.clone(), user_id)).one(db);
        let (found, credit) = tokio::try_join!(found, credit_before(db, user_id, &month))?;
        Ok(found.map(|row| Entry { credit, ..Entry::from(row) }))
    }

    /// The adjustments of a shift, in the order of posting.
    pub async fn of_shift(&self, shift_id: i64) -> Result<Vec<Adjustment>, DbErr> {
        Self::lines_of_shift(self.domain.read(), shift_id).await
    }

    /// The adjustments of a shift, also within a commit.
    pub async fn lines_of_shift(db: &impl ConnectionTrait, shift_id: i64) -> Result<Vec<Adjustment>, DbErr> {
        let of_shift = adjustment::Column::ShiftId.eq(shift_id).and(adjustment::Column::DeletedAt.is_null());
        let rows = adjustment::Entity::find().filter(of_shift).order_by_asc(adjustment::Column::Id);
        let none = HashMap::new();
        rows.all(db).await?.into_iter().map(|row| line(row, &none)).collect()
    }

    /// The share of an order and its corrections, in the order of posting.
    pub async fn of_order(&self, order_id: i64) -> Result<Vec<Adjustment>, DbErr> {
        let of_order = adjustment::Column::OrderId.eq(order_id).and(adjustment::Column::DeletedAt.is_null());
        let rows = adjustment::Entity::find().filter(of_order).order_by_asc(adjustment::Column::Id);
        let none = HashMap::new();
        rows.all(self.domain.read()).await?.into_iter().map(|row| line(row, &none)).collect()
    }

    /// An adjustment, with its corrections.
    pub async fn adjustment(&self, id: i64) -> Result<Option<Adjustment>, DbErr> {
        let Some(row) = adjustment::Entity::find_by_id(id).one(self.domain.read()).await? else { return Ok(None) };
        let corrections = self.corrections(&[id]).await?;
        line(row, &corrections).map(Some)
    }

    /// The amount of a payment.
    pub async fn payment_amount(&self, id: i64) -> Result<Option<Money>, DbErr> {
        let found = payment::Entity::find_by_id(id).one(self.domain.read()).await?;
        Ok(found.map(|row| Money::from_kopecks(row.amount_kopecks)))
    }

    /// The totals of several shifts, by shift.
    pub async fn totals_of_shifts(&self, shifts: &[i64]) -> Result<HashMap<i64, Money>, DbErr> {
        let counted = adjustment::Column::ShiftId.is_in(shifts.iter().copied());
        let rows: Vec<(i64, i64)> = adjustment::Entity::find()
            .select_only()
            .column(adjustment::Column::ShiftId)
            .column_as(bigint_sum("amount_kopecks"), "total")
            .filter(counted.and(adjustment::Column::DeletedAt.is_null()))
            .group_by(adjustment::Column::ShiftId)
            .into_tuple()
            .all(self.domain.read())
            .await?;
        Ok(rows.into_iter().map(|(shift, total)| (shift, Money::from_kopecks(total))).collect())
    }

    async fn changes(&self, ids: &[i64]) -> Result<Vec<AdjustmentChange>, DbErr> {
        let of_these = change::Entity::find().filter(change::Column::AdjustmentId.is_in(ids.iter().copied()));
        let rows = of_these.order_by_asc(change::Column::Id).all(self.domain.read()).await?;
        Ok(rows.into_iter().map(AdjustmentChange::from).collect())
    }

    /// The number and the sum of the corrections of each of these adjustments.
    async fn corrections(&self, ids: &[i64]) -> Result<HashMap<i64, (i64, Money)>, DbErr> {
        let of_these = adjustment::Column::CorrectsId.is_in(ids.iter().copied());
        let rows: Vec<(i64, i64, i64)> = adjustment::Entity::find()
            .select_only()
            .column(adjustment::Column::CorrectsId)
            .column_as(Expr::cust("COUNT(*)"), "count")
            .column_as(bigint_sum("amount_kopecks"), "total")
            .filter(of_these.and(adjustment::Column::DeletedAt.is_null()))
            .group_by(adjustment::Column::CorrectsId)
            .into_tuple()
            .all(self.domain.read())
            .await?;
        Ok(rows.into_iter().map(|(id, count, total)| (id, (count, Money::from_kopecks(total)))).collect())
    }
}

/// What a person was overpaid in all earlier months together.
pub async fn credit_before(db: &impl ConnectionTrait, user_id: i64, month: &str) -> Result<Money, DbErr> {
    let before =
        entry::Entity::find().filter(entry::Column::UserId.eq(user_id)).filter(entry::Column::Period.lt(month));
    let overpaid_by = before.select_only().column_as(bigint_sum("paid_kopecks - total_kopecks"), "beyond");
    let overpaid_by: Option<i64> = overpaid_by.into_tuple().one(db).await?;
    Ok(Money::from_kopecks(overpaid_by.unwrap_or_default()).max(Money::ZERO))
}

/// All adjustments and payments of a person, for the person.
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
        let amount = Money::from_kopecks(row.amount_kopecks).to_string();
        json!({"day": row.day, "period": row.period, "kind": row.kind, "amount": amount, "reason": row.reason})
    };
    let paid = |row: &payment::Model| json!({"period": row.period, "amount": Money::from_kopecks(row.amount_kopecks).to_string(), "at": row.paid_at});
    let (amounts, payments): (Vec<_>, Vec<_>) =
        (rows.iter().map(amount).collect(), payments.iter().map(paid).collect());
    Ok(json!({ "amounts": amounts, "payments": payments }))
}

pub fn line(row: adjustment::Model, corrections: &HashMap<i64, (i64, Money)>) -> Result<Adjustment, DbErr> {
    let amount = Money::from_kopecks(row.amount_kopecks);
    let correction = corrections.get(&row.id);
    Ok(Adjustment {
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

/// The adjustment for the hours of a shift, as a subquery for the id of the shift. A removed one counts, so it is not
/// posted again.
pub fn base_of_shift(shift_id: Expr) -> SelectStatement {
    Query::select()
        .expr(Expr::val(1))
        .from(adjustment::Entity)
        .and_where(Expr::col((adjustment::Entity, adjustment::Column::ShiftId)).eq(shift_id))
        .and_where(adjustment::Column::Kind.eq(Kind::ShiftBase.name()))
        .take()
}
