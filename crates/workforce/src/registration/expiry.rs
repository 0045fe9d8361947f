//! Tells people and staff that a document expires soon: once for each document and threshold.

use std::collections::HashSet;

use chrono::{Days, NaiveDate};
use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::ExprTrait;
use sea_orm::{ColumnTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, Set};

use super::tables::document;
use super::{DocumentStatus, Registrations};
use crate::application::App;
use crate::domain::Transaction;
use crate::jobs::{NOTIFICATIONS, scheduled_job, written_or_skipped};
use crate::notices::{self, Notice};
use crate::person::{MANAGERS, OWNERS, Person, Status};

/// Days before the last day at which people are told, the longest first.
const THRESHOLDS: [i64; 2] = [30, 7];

scheduled_job! { pub TellExpiring = "document-expiry" in NOTIFICATIONS }

/// The job.
pub async fn tell_expiring(app: App) -> anyhow::Result<()> {
    let (today, now) = (Registrations::of_app(&app).today().await?, app.clock.now());
    let rows = due(&app, today).await?;
    if rows.is_empty() {
        return Ok(());
    }
    let owners_of_documents: Vec<i64> = rows.iter().filter_map(|row| row.user_id).collect();
    let people = app.people.with_ids(&owners_of_documents).await?;
    let staff = Staff::of_app(&app).await?;
    for row in rows {
        let person = people.iter().find(|person| Some(person.id) == row.user_id);
        let Some(person) = person.filter(|person| person.status == Status::Verified) else { continue };
        let (id, notices) = (person.id, notices_of(&row, person, &staff));
        let told = app.domain.write(move |db| Box::pin(tell(db, row, notices, today, now))).await;
        written_or_skipped(told, "document of user", id)?;
    }
    app.bot.wake_jobs();
    Ok(())
}

/// Approved documents that expire soon, and whose people do not know yet how soon.
async fn due(app: &App, today: NaiveDate) -> Result<Vec<document::Model>, DbErr> {
    let last = |days: i64| today.checked_add_days(Days::new(days.unsigned_abs())).unwrap_or(today).to_string();
    let is_new = THRESHOLDS.into_iter().map(|days| {
        let is_untold = document::Column::ExpiryToldDays.is_null().or(document::Column::ExpiryToldDays.gt(days));
        document::Column::ValidUntil.lte(last(days)).and(is_untold)
    });
    let is_new = is_new.reduce(ExprTrait::or).unwrap_or_else(|| document::Column::Id.is_null());
    document::Entity::find()
        .filter(document::Column::Status.eq(DocumentStatus::Approved.name()))
        .filter(document::Column::ValidUntil.gte(today.to_string()))
        .filter(is_new)
        .order_by_asc(document::Column::ValidUntil)
        .order_by_asc(document::Column::Id)
        .all(app.domain.read())
        .await
}

/// Owners, and managers with the people they look after.
struct Staff {
    owners: Vec<Person>,
    managers: Vec<(i64, HashSet<i64>)>,
}

impl Staff {
    async fn of_app(app: &App) -> Result<Self, DbErr> {
        let owners = app.people.with_any(OWNERS).await?;
        let mut managers = Vec::new();
        // A business has few managers.
        for manager in app.people.with_any(MANAGERS).await? {
            for room in app.rooms.iter() {
                if let Some(managed) = room.managed_people(app, &manager).await? {
                    managers.push((manager.id, managed.into_iter().collect()));
                    break;
                }
            }
        }
        Ok(Self { owners, managers })
    }

    /// The staff in charge of a person.
    fn of(&self, person: i64) -> HashSet<i64> {
        let managers = self.managers.iter().filter(|(_, managed)| managed.contains(&person)).map(|(id, _)| *id);
        let staff = self.owners.iter().map(|owner| owner.id).chain(managers);
        staff.filter(|id| *id != person).collect()
    }
}

fn notices_of(row: &document::Model, person: &Person, staff: &Staff) -> Vec<(i64, Notice)> {
    let Some(until) = row.valid_until.as_deref().and_then(|day| day.parse().ok()) else { return Vec::new() };
    let document = row.kind.clone();
    let own = Notice::DocumentExpires { document: document.clone(), until };
    let of_member = Notice::DocumentOfMemberExpires { name: person.full_name.clone(), document, until };
    let staff = staff.of(person.id).into_iter().map(|id| (id, of_member.clone()));
    [(person.id, own)].into_iter().chain(staff).collect()
}

/// Notes the threshold and writes the notices, unless another run did or the date has changed.
async fn tell(
    db: &Transaction<'_, '_>,
    row: document::Model,
    notices: Vec<(i64, Notice)>,
    today: NaiveDate,
    now: Millis,
) -> Result<(), WriteError> {
    let days_left = |day: NaiveDate| day.signed_duration_since(today).num_days();
    let left = row.valid_until.as_deref().and_then(|day| day.parse().ok()).map_or(0, days_left);
    let threshold = THRESHOLDS.into_iter().filter(|days| left <= *days).min();
    let Some(threshold) = threshold else { return Ok(()) };
    let is_untold = document::Column::ExpiryToldDays.is_null().or(document::Column::ExpiryToldDays.gt(threshold));
    let noted = document::Entity::update_many()
        .set(document::ActiveModel { expiry_told_days: Set(Some(threshold)), ..Default::default() })
        .filter(document::Column::Id.eq(row.id))
        .filter(document::Column::ValidUntil.eq(row.valid_until))
        .filter(is_untold)
        .exec(db)
        .await?;
    if noted.rows_affected == 0 { Ok(()) } else { notices::write(db, notices, now).await }
}
