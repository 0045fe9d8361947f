//! The summary of a day for owners, at an hour of each owner's choice. An owner has to ask for it.

use chrono::NaiveDate;
use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::OnConflict;
use sea_orm::{ColumnTrait, DbErr, EntityTrait, QueryFilter, QuerySelect, Set};
use serde::{Deserialize, Serialize};

use super::table::summary;
use super::{Notice, write};
use crate::domain::{Domain, Transaction};
use crate::money::{Money, PaidHours};
use crate::text;
use crate::texts::{Language, day};

/// The hours that can be chosen.
pub const HOURS: [i64; 6] = [18, 19, 20, 21, 22, 23];

/// A day of the business, and what is known of the next one. It names no person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DailySummary {
    pub day: NaiveDate,
    /// Shifts that began on this day.
    pub shifts: usize,
    /// How many of these shifts are still open.
    pub open_shifts: usize,
    pub no_shows: usize,
    pub hours: PaidHours,
    pub pay: Money,
    /// People who are expected tomorrow, and places that are free.
    pub expected: usize,
    pub free_places: i64,
    pub applications: u64,
    pub cancellations: usize,
    /// Documents that are expired or expire soon.
    pub documents: usize,
}

impl DailySummary {
    /// The text that the owner reads.
    pub(super) fn text(&self, language: Language) -> String {
        let Self { shifts, open_shifts, no_shows, expected, free_places, .. } = *self;
        let mut lines = vec![
            text!(language, "summary-title", day = day(self.day, language)),
            text!(language, "summary-shifts", count = shifts, open = open_shifts),
            text!(language, "summary-hours", hours = self.hours.shown(language)),
            text!(language, "summary-pay", pay = self.pay.shown(language)),
            text!(language, "summary-no-shows", count = no_shows),
            String::new(),
            text!(language, "summary-tomorrow", expected = expected, free = free_places),
        ];
        let waiting = [
            (self.applications, text!(language, "summary-applications", count = self.applications)),
            (self.cancellations as u64, text!(language, "summary-cancellations", count = self.cancellations)),
            (self.documents as u64, text!(language, "summary-documents", count = self.documents)),
        ];
        lines.extend(waiting.into_iter().filter(|(count, _)| *count > 0).map(|(_, line)| line));
        lines.join("\n")
    }
}

/// The hour that a person has chosen; none for no summaries.
pub async fn hour_of(domain: &Domain, user_id: i64) -> Result<Option<i64>, DbErr> {
    Ok(summary::Entity::find_by_id(user_id).one(domain.read()).await?.map(|row| row.hour))
}

/// Stores the hour of a person. The first summary is that of today.
pub async fn set_hour(
    db: &Transaction<'_, '_>,
    user_id: i64,
    hour: Option<i64>,
    today: NaiveDate,
) -> Result<(), WriteError> {
    let Some(hour) = hour else { return forget(db, user_id).await };
    let sent_on = today.pred_opt().unwrap_or(today).to_string();
    let row = summary::ActiveModel { user_id: Set(user_id), hour: Set(hour), sent_on: Set(sent_on) };
    let again = OnConflict::column(summary::Column::UserId).update_column(summary::Column::Hour).to_owned();
    summary::Entity::insert(row).on_conflict(again).exec_without_returning(db).await?;
    Ok(())
}

pub(super) async fn forget(db: &Transaction<'_, '_>, user_id: i64) -> Result<(), WriteError> {
    summary::Entity::delete_many().filter(summary::Column::UserId.eq(user_id)).exec(db).await?;
    Ok(())
}

/// People whose hour has come on this day, and who have not got its summary.
pub async fn due(domain: &Domain, day: NaiveDate, hour: i64) -> Result<Vec<i64>, DbErr> {
    let waiting = summary::Entity::find().filter(is_due(day)).filter(summary::Column::Hour.lte(hour));
    waiting.select_only().column(summary::Column::UserId).into_tuple().all(domain.read()).await
}

fn is_due(day: NaiveDate) -> sea_orm::sea_query::Expr {
    summary::Column::SentOn.lt(day.to_string())
}

/// Writes the summary for a person, once a day.
pub async fn send(db: &Transaction<'_, '_>, user_id: i64, summary: DailySummary, at: Millis) -> Result<(), WriteError> {
    let noted = summary::Entity::update_many()
        .set(summary::ActiveModel { sent_on: Set(summary.day.to_string()), ..Default::default() })
        .filter(summary::Column::UserId.eq(user_id))
        .filter(is_due(summary.day))
        .exec(db)
        .await?;
    if noted.rows_affected == 0 {
        return Ok(());
    }
    write(db, vec![(user_id, Notice::DailySummary(summary))], at).await
}
