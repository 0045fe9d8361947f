//! The nightly look at the sums: those of open months are compared with their rows, and put right where they differ.
//!
//! They never should: every commit that writes a row writes the sums. What is put right is told in the log.

use std::collections::BTreeSet;

use chrono::Timelike;
use opora::store::WriteError;
use sea_orm::sea_query::ExprTrait;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QuerySelect};

use super::posting::{self, Deltas, Sums};
use super::tables::{adjustment, entry, period};
use super::{Hours, Money, Period};
use crate::application::App;
use crate::domain::Writing;

/// The hour of the night, by the clock of the business.
const HOUR: u32 = 4;

/// The job: every hour, and at its own it works.
pub async fn nightly(app: App) -> anyhow::Result<()> {
    let now = app.payroll.now_here().await?;
    if now.hour() == HOUR {
        rebuild(&app, Period::of(now.date_naive())).await?;
    }
    Ok(())
}

/// Makes sure that there is a month to write into, and that all sums agree with their rows.
pub async fn rebuild(app: &App, current: Period) -> anyhow::Result<()> {
    app.domain.write(move |db| Box::pin(put_right(db, current))).await?;
    Ok(())
}

async fn put_right(db: &Writing<'_, '_>, current: Period) -> Result<(), WriteError> {
    posting::open_periods(db, &BTreeSet::from([current])).await?;
    // Alone with the open months: whoever posts shares their rows.
    let open = period::Entity::find().filter(period::Column::Status.eq(posting::OPEN)).lock_exclusive().all(db).await?;
    let months: Vec<String> = open.into_iter().map(|row| row.id).collect();
    let counts = adjustment::Column::Period.is_in(months.clone()).and(adjustment::Column::DeletedAt.is_null());
    let rows = adjustment::Entity::find().filter(counts).all(db).await?;
    let mut deltas = Deltas::new();
    for row in &rows {
        posting::add(&mut deltas, row, Sums::of(row));
    }
    for row in entry::Entity::find().filter(entry::Column::Period.is_in(months)).all(db).await? {
        let stands = Sums {
            hours: Hours::from_hundredths(row.hours_hundredths),
            earned: Money::from_kopecks(row.earned_kopecks),
            bonus: Money::from_kopecks(row.bonus_kopecks),
            deduction: Money::from_kopecks(row.deduction_kopecks),
        };
        let one = deltas.entry((row.period, row.user_id)).or_default();
        *one = one.plus(stands.minus());
    }
    deltas.retain(|_, sums| *sums != Sums::default());
    for (month, user) in deltas.keys() {
        tracing::warn!(month, user, "payroll: the sums did not agree with their rows, and are put right");
    }
    posting::apply(db, deltas).await
}
