//! Fines of cancelled plans: what they are now, and removing them when a decision is taken back.

use std::collections::{BTreeSet, HashMap};

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::ExprTrait;
use sea_orm::{ColumnTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect};

use super::posting::{self, CLOSED, Deltas, Sums};
use super::tables::{adjustment, period};
use super::{Money, Payroll, changes};
use crate::domain::Transaction;

/// The fine of a cancelled plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanFine {
    /// Negative or zero.
    pub amount: Money,
    /// Whether its month is closed, so it cannot be taken back.
    pub is_month_closed: bool,
}

impl Payroll {
    /// The fines of these plans; plans without one are left out.
    pub async fn fines_of_plans(&self, plans: &[i64]) -> Result<HashMap<i64, PlanFine>, DbErr> {
        let db = self.domain.read();
        let of_plans = adjustment::Column::PlanId.is_in(plans.iter().copied());
        let live = adjustment::Column::DeletedAt.is_null();
        let rows = adjustment::Entity::find().filter(of_plans).filter(live).all(db).await?;
        let months: BTreeSet<&str> = rows.iter().map(|row| row.period.as_str()).collect();
        let closed = period::Entity::find().filter(period::Column::Id.is_in(months));
        let closed = closed.filter(period::Column::Status.eq(CLOSED)).all(db).await?;
        let mut fines: HashMap<i64, PlanFine> = HashMap::new();
        for row in &rows {
            let fine = fines.entry(row.plan_id.unwrap_or_default()).or_default();
            fine.amount = fine.amount + Money::from_kopecks(row.amount_kopecks);
            fine.is_month_closed |= closed.iter().any(|month| month.id == row.period);
        }
        Ok(fines)
    }

    /// Removes the fine of a plan within a commit and returns it; None if its month is closed.
    pub async fn remove_fine(
        db: &Transaction<'_, '_>,
        plan_id: i64,
        by: i64,
        at: Millis,
    ) -> Result<Option<Money>, WriteError> {
        let live = adjustment::Column::PlanId.eq(plan_id).and(adjustment::Column::DeletedAt.is_null());
        let rows = adjustment::Entity::find().filter(live).order_by_asc(adjustment::Column::Id);
        let rows = rows.lock_exclusive().all(db).await?;
        let mut deltas = Deltas::new();
        let mut fine = Money::ZERO;
        for row in rows {
            // A shared lock, so the month cannot be closed meanwhile.
            let month = period::Entity::find_by_id(row.period.as_str()).lock_shared().one(db).await?;
            if month.is_some_and(|month| month.status == CLOSED) {
                return Ok(None);
            }
            fine = fine + Money::from_kopecks(row.amount_kopecks);
            posting::add(&mut deltas, &row, Sums::from_row(&row).minus());
            changes::update(db, adjustment::Model { deleted_at: Some(at.0), ..row }, by, "removed", at).await?;
        }
        if !deltas.is_empty() {
            posting::apply(db, deltas).await?;
        }
        Ok(Some(fine))
    }
}
