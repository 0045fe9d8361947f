//! The nightly check: compares the sums of open months with their adjustments and corrects differences.
//!
//! There should be none, because every commit writes both. The database compares month by month, so locks are short and
//! only differences are read. Corrections are logged.

use std::collections::BTreeSet;

use anyhow::Context;
use opora::store::WriteError;
use sea_orm::sea_query::ExprTrait;
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, FromQueryResult, QueryFilter, QueryOrder, QuerySelect, Statement,
};

use super::posting::{self, Deltas, Sums};
use super::tables::period;
use super::{Money, PaidHours, PayrollMonth};
use crate::application::App;
use crate::domain::Transaction;
use crate::jobs::{ANALYTICS, scheduled_job};
use crate::money::earned_kinds_sql;

scheduled_job! { pub Rebuild = "payroll" in ANALYTICS }

/// The difference between a person's adjustments and sums in a month.
#[derive(Debug, FromQueryResult)]
struct Difference {
    user_id: i64,
    hours: i64,
    earned: i64,
    bonus: i64,
    deduction: i64,
}

/// The job.
pub async fn nightly(app: App) -> anyhow::Result<()> {
    let today = app.payroll.today().await?;
    rebuild(&app, PayrollMonth::containing(today)).await
}

/// Creates the current month and corrects the sums of all open months. A month that cannot be corrected does not stop
/// the others.
pub async fn rebuild(app: &App, current: PayrollMonth) -> anyhow::Result<()> {
    app.domain
        .write(move |db| Box::pin(async move { posting::open_periods(db, &BTreeSet::from([current])).await.map(drop) }))
        .await?;
    let open = period::Entity::find().filter(period::Column::Status.eq(posting::OPEN));
    let open = open.order_by_asc(period::Column::Id).select_only().column(period::Column::Id);
    let mut result = Ok(());
    for month in open.into_tuple::<String>().all(app.domain.read()).await? {
        let name = month.clone();
        let done = app.domain.write(move |db| Box::pin(correct_sums(db, month))).await;
        result = result.and(done.with_context(|| format!("sums of {name}")));
    }
    result
}

async fn correct_sums(db: &Transaction<'_, '_>, month: String) -> Result<(), WriteError> {
    // An exclusive lock: posting holds a shared one. A month that was closed meanwhile is skipped.
    let open = period::Column::Id.eq(month.as_str()).and(period::Column::Status.eq(posting::OPEN));
    if period::Entity::find().filter(open).lock_exclusive().one(db).await?.is_none() {
        return Ok(());
    }
    let compare = Statement::from_sql_and_values(db.get_database_backend(), differences_sql(), [month.as_str().into()]);
    let mut deltas = Deltas::new();
    for found in Difference::find_by_statement(compare).all(db).await? {
        let user = found.user_id;
        tracing::warn!(month, user, "payroll sums did not match their adjustments and were corrected");
        deltas.insert((month.clone(), user), Sums::from(found));
    }
    if deltas.is_empty() { Ok(()) } else { posting::apply(db, deltas).await }
}

/// Adjustments of a month minus its sums, by person, if they differ.
fn differences_sql() -> String {
    let earned = earned_kinds_sql();
    let columns = ["hours", "earned", "bonus", "deduction"];
    let sums = columns.map(|name| format!("CAST(SUM({name}) AS BIGINT) AS {name}")).join(", ");
    let differ = columns.map(|name| format!("SUM({name}) <> 0")).join(" OR ");
    format!(
        "SELECT user_id, {sums} FROM (
            SELECT user_id, hours_hundredths AS hours,
                CASE WHEN kind IN ({earned}) THEN amount_kopecks ELSE 0 END AS earned,
                CASE WHEN kind NOT IN ({earned}) AND amount_kopecks >= 0 THEN amount_kopecks ELSE 0 END AS bonus,
                CASE WHEN kind NOT IN ({earned}) AND amount_kopecks < 0 THEN amount_kopecks ELSE 0 END AS deduction
            FROM adjustments WHERE period = $1 AND deleted_at IS NULL
            UNION ALL
            SELECT user_id, -hours_hundredths, -earned_kopecks, -bonus_kopecks, -deduction_kopecks
            FROM payroll_entries WHERE period = $1
        ) AS both_sides GROUP BY user_id HAVING {differ} ORDER BY user_id"
    )
}

impl From<Difference> for Sums {
    fn from(row: Difference) -> Self {
        Self {
            hours: PaidHours::from_hundredths(row.hours),
            earned: Money::from_kopecks(row.earned),
            bonus: Money::from_kopecks(row.bonus),
            deduction: Money::from_kopecks(row.deduction),
        }
    }
}
