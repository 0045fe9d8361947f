//! Posting adjustments within a commit: rows, and the sums that they change.
//!
//! An adjustment belongs to the month of its day, or to the next open month. Existing adjustments are not posted again,
//! so posting can be repeated.

use std::collections::{BTreeMap, BTreeSet};

use opora::clock::Millis;
use opora::store::{Refusal, WriteError};
use sea_orm::sea_query::{Expr, OnConflict};
use sea_orm::{
    ActiveModelTrait, ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QuerySelect, Set,
};

use super::tables::{adjustment, entry, period};
use super::{Basis, Money, NewAdjustment, PaidHours, Source};
use crate::domain::Transaction;
use crate::money::{PayrollMonth, day_of};

pub const OPEN: &str = "open";
pub const CLOSED: &str = "closed";

/// What a row adds to the sums of its person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    pub hours: PaidHours,
    pub earned: Money,
    pub bonus: Money,
    pub deduction: Money,
}

/// Sums by month and person. Sorted, so that all commits lock entries in the same order.
pub type Deltas = BTreeMap<(String, i64), Sums>;

impl Sums {
    pub fn total(&self) -> Money {
        self.earned + self.bonus + self.deduction
    }

    /// The contribution of a row.
    pub fn from_row(row: &adjustment::Model) -> Self {
        let amount = Money::from_kopecks(row.amount_kopecks);
        let is_earned = row.kind.parse().is_ok_and(super::Kind::is_earned);
        let hours = PaidHours::from_hundredths(row.hours_hundredths);
        match (is_earned, amount.is_negative()) {
            (true, _) => Self { hours, earned: amount, ..Self::default() },
            (false, false) => Self { hours, bonus: amount, ..Self::default() },
            (false, true) => Self { hours, deduction: amount, ..Self::default() },
        }
    }

    pub fn plus(self, other: Self) -> Self {
        Self {
            hours: PaidHours::from_hundredths(self.hours.hundredths() + other.hours.hundredths()),
            earned: self.earned + other.earned,
            bonus: self.bonus + other.bonus,
            deduction: self.deduction + other.deduction,
        }
    }

    /// The negated sums.
    pub fn minus(self) -> Self {
        Self {
            hours: PaidHours::from_hundredths(-self.hours.hundredths()),
            earned: -self.earned,
            bonus: -self.bonus,
            deduction: -self.deduction,
        }
    }
}

/// Posts adjustments; existing ones stay.
pub async fn post(
    db: &Transaction<'_, '_>,
    site_id: Option<i64>,
    rows: Vec<NewAdjustment>,
    at: Millis,
) -> Result<(), WriteError> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut months = BTreeSet::new();
    for row in &rows {
        months.insert(month_of(&row.day)?);
    }
    let open = open_periods(db, &months).await?;
    let models = rows.into_iter().map(|row| {
        let period = month_of(&row.day).map(|month| open.get(&month).copied().unwrap_or(month))?;
        model(row, site_id, period, at)
    });
    let models = models.collect::<Result<Vec<_>, WriteError>>()?;
    let once = OnConflict::new().do_nothing().to_owned();
    let posted = adjustment::Entity::insert_many(models).on_conflict(once).exec_with_returning(db).await?;
    let mut deltas = Deltas::new();
    for row in &posted {
        add(&mut deltas, row, Sums::from_row(row));
    }
    apply(db, deltas).await
}

/// Adds to the sums of a row's person and month.
pub fn add(deltas: &mut Deltas, row: &adjustment::Model, sums: Sums) {
    let one = deltas.entry((row.period.clone(), row.user_id)).or_default();
    *one = one.plus(sums);
}

/// The open month for each of these months. Creates its row if necessary.
pub async fn open_periods(
    db: &Transaction<'_, '_>,
    months: &BTreeSet<PayrollMonth>,
) -> Result<BTreeMap<PayrollMonth, PayrollMonth>, WriteError> {
    let Some(first) = months.first() else { return Ok(BTreeMap::new()) };
    let closed: Vec<String> = period::Entity::find()
        .select_only()
        .column(period::Column::Id)
        .filter(period::Column::Id.gte(first.to_string()))
        .filter(period::Column::Status.eq(CLOSED))
        .into_tuple()
        .all(db)
        .await?;
    let closed: BTreeSet<PayrollMonth> = closed.iter().filter_map(|id| id.parse().ok()).collect();
    let first_open = |month: &PayrollMonth| {
        let mut open = *month;
        while closed.contains(&open) {
            open = open.next();
        }
        (*month, open)
    };
    let open: BTreeMap<_, _> = months.iter().map(first_open).collect();
    let wanted: BTreeSet<_> = open.values().copied().collect();
    let rows = wanted.into_iter().map(|one| period::ActiveModel {
        id: Set(one.to_string()),
        status: Set(OPEN.to_owned()),
        closed_at: Set(None),
        closed_by: Set(None),
    });
    let on_conflict = OnConflict::new().do_nothing().to_owned();
    period::Entity::insert_many(rows).on_conflict(on_conflict).exec_without_returning(db).await?;
    Ok(open)
}

/// Adds the deltas to the stored sums.
pub async fn apply(db: &impl ConnectionTrait, deltas: Deltas) -> Result<(), WriteError> {
    let rows = deltas.into_iter().map(|((period, user_id), sums)| entry::ActiveModel {
        period: Set(period),
        user_id: Set(user_id),
        hours_hundredths: Set(sums.hours.hundredths()),
        earned_kopecks: Set(sums.earned.kopecks()),
        bonus_kopecks: Set(sums.bonus.kopecks()),
        deduction_kopecks: Set(sums.deduction.kopecks()),
        total_kopecks: Set(sums.total().kopecks()),
        paid_kopecks: Set(0),
        version: Set(1),
    });
    let added = [
        (entry::Column::HoursHundredths, "payroll_entries.hours_hundredths + excluded.hours_hundredths"),
        (entry::Column::EarnedKopecks, "payroll_entries.earned_kopecks + excluded.earned_kopecks"),
        (entry::Column::BonusKopecks, "payroll_entries.bonus_kopecks + excluded.bonus_kopecks"),
        (entry::Column::DeductionKopecks, "payroll_entries.deduction_kopecks + excluded.deduction_kopecks"),
        (entry::Column::TotalKopecks, "payroll_entries.total_kopecks + excluded.total_kopecks"),
        (entry::Column::Version, "payroll_entries.version + 1"),
    ];
    let added = added.map(|(column, sum)| (column, Expr::cust(sum)));
    let on_conflict = OnConflict::columns([entry::Column::Period, entry::Column::UserId]).values(added).to_owned();
    entry::Entity::insert_many(rows).on_conflict(on_conflict).exec_without_returning(db).await?;
    Ok(())
}

fn month_of(day: &str) -> Result<PayrollMonth, WriteError> {
    day_of(day).map(PayrollMonth::containing).ok_or_else(|| Refusal::because(format!("`{day}` is not a day")))
}

fn model(
    row: NewAdjustment,
    site_id: Option<i64>,
    period: PayrollMonth,
    at: Millis,
) -> Result<adjustment::ActiveModel, WriteError> {
    let NewAdjustment { user_id, kind, source, day, amount, basis } = row;
    if !kind.fits(amount) {
        return Err(Refusal::because(format!("{} cannot be {amount}", kind.name())));
    }
    let hours = if let Basis::Hours { hours, .. } = &basis { *hours } else { PaidHours::default() };
    let (shift_id, task_id, plan_id, order_id) = match source {
        Source::Shift(shift) => (Some(shift), None, None, None),
        Source::Task(shift, task) => (Some(shift), Some(task), None, None),
        Source::Plan(plan) => (None, None, Some(plan), None),
        Source::Order(order) => (None, None, None, Some(order)),
    };
    let row = adjustment::Model {
        id: 0,
        user_id,
        period: period.to_string(),
        day,
        kind: kind.name().to_owned(),
        amount_kopecks: amount.kopecks(),
        hours_hundredths: hours.hundredths(),
        shift_id,
        task_id,
        plan_id,
        order_id,
        site_id,
        corrects_id: None,
        basis: basis_json(&basis),
        reason: None,
        created_at: at.0,
        created_by: None,
        deleted_at: None,
        version: 1,
    };
    Ok(insertable(row))
}

/// A row to insert, with all columns set.
pub fn insertable(row: adjustment::Model) -> adjustment::ActiveModel {
    let mut row = row.into_active_model().reset_all();
    row.id = sea_orm::NotSet;
    row
}

/// A basis as stored.
pub fn basis_json(basis: &Basis) -> String {
    // Numbers and strings always serialize.
    serde_json::to_string(basis).unwrap_or_default()
}
