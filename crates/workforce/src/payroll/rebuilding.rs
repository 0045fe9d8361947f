//! The nightly look at the sums: those of open months are compared with their rows, and put right where they differ.
//!
//! They never should: every commit that writes a row writes the sums. The database compares, month by month, so that nobody
//! waits for long and only differences are read. What is put right is told in the log.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::Context;
use chrono::{NaiveDate, Timelike};
use opora::store::WriteError;
use parking_lot::Mutex;
use sea_orm::sea_query::ExprTrait;
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, FromQueryResult, QueryFilter, QueryOrder, QuerySelect, Statement,
};

use super::posting::{self, Deltas, Sums};
use super::tables::period;
use super::{Hours, Money, Period};
use crate::application::App;
use crate::domain::Writing;
use crate::money::earned_names;

/// The hour of the night from which on it works, by the clock of the business.
const HOUR: u32 = 4;

/// What a person's rows of a month are more than their sums.
#[derive(Debug, FromQueryResult)]
struct Difference {
    user_id: i64,
    hours: i64,
    earned: i64,
    bonus: i64,
    deduction: i64,
}

/// The last day on which all sums were looked at; clones share it. A process that starts anew looks at them once more, which
/// costs little and changes nothing.
#[derive(Clone, Debug, Default)]
pub struct LookedAfter(Arc<Mutex<Option<NaiveDate>>>);

/// The job: every hour, and once a day it works: at its own hour, or as soon after that as the machine is on. What failed is
/// tried again in an hour.
pub async fn nightly(app: App) -> anyhow::Result<()> {
    let now = app.payroll.now_here().await?;
    let (today, LookedAfter(last)) = (now.date_naive(), &app.payroll.looked_after);
    if now.hour() < HOUR || *last.lock() == Some(today) {
        return Ok(());
    }
    rebuild(&app, Period::of(today)).await?;
    *last.lock() = Some(today);
    Ok(())
}

/// Makes sure that there is a month to write into, and that all sums agree with their rows. A month that cannot be put
/// right keeps no other from it.
pub async fn rebuild(app: &App, current: Period) -> anyhow::Result<()> {
    app.domain
        .write(move |db| Box::pin(async move { posting::open_periods(db, &BTreeSet::from([current])).await.map(drop) }))
        .await?;
    let open = period::Entity::find().filter(period::Column::Status.eq(posting::OPEN));
    let open = open.order_by_asc(period::Column::Id).select_only().column(period::Column::Id);
    let mut went = Ok(());
    for month in open.into_tuple::<String>().all(app.domain.read()).await? {
        let name = month.clone();
        let done = app.domain.write(move |db| Box::pin(put_right(db, month))).await;
        went = went.and(done.with_context(|| format!("the sums of {name}")));
    }
    went
}

async fn put_right(db: &Writing<'_, '_>, month: String) -> Result<(), WriteError> {
    // Alone with the month: whoever posts shares its row. One that was closed meanwhile stays as it is.
    let open = period::Column::Id.eq(month.as_str()).and(period::Column::Status.eq(posting::OPEN));
    if period::Entity::find().filter(open).lock_exclusive().one(db).await?.is_none() {
        return Ok(());
    }
    let compare = Statement::from_sql_and_values(db.get_database_backend(), differences(), [month.as_str().into()]);
    let mut deltas = Deltas::new();
    for found in Difference::find_by_statement(compare).all(db).await? {
        let user = found.user_id;
        tracing::warn!(month, user, "payroll: the sums did not agree with their rows, and are put right");
        deltas.insert((month.clone(), user), Sums::from(found));
    }
    if deltas.is_empty() { Ok(()) } else { posting::apply(db, deltas).await }
}

/// The rows of a month, with its sums taken away: of whom something is left over.
fn differences() -> String {
    let earned = earned_names();
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
            hours: Hours::from_hundredths(row.hours),
            earned: Money::from_kopecks(row.earned),
            bonus: Money::from_kopecks(row.bonus),
            deduction: Money::from_kopecks(row.deduction),
        }
    }
}
