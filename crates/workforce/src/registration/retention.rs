//! Forgets old personal data after the time that the owner has set.
//!
//! A rejected applicant is forgotten as a whole, like by `opora people forget`. Of a blocked member only the documents
//! are forgotten: the person stays blocked, and work and pay stay. A draft that is not completed ends after a day by
//! itself. The time counts from the last change of the person. A repeated run finds nothing more to do.

use std::time::Duration;

use opora::store::WriteError;

use super::personal_data;
use crate::application::App;
use crate::domain::Transaction;
use crate::jobs::{self, scheduled_job};
use crate::people::{self, RetentionGroup};
use crate::settings::RETENTION_DAYS;

/// People of each kind per run; the next run goes on.
const BATCH: u64 = 100;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

scheduled_job! { pub Retain = "retention" in jobs::DEFAULT }

/// The job.
pub async fn run(app: App) -> anyhow::Result<()> {
    let days = app.settings.get(&RETENTION_DAYS).await?;
    if days == 0 {
        return Ok(());
    }
    let at = app.clock.now();
    let before = at.minus(DAY * u32::from(days));
    let (mut people_forgotten, mut documents_forgotten, mut skipped) = (0_u64, 0_u64, 0_u64);
    let rejected =
        people::unchanged_since(app.domain.read(), RetentionGroup::RejectedApplicants, before, BATCH).await?;
    for person in rejected {
        match people::forget_unchanged(&app, &person, at).await? {
            true => people_forgotten += 1,
            false => skipped += 1,
        }
    }
    let blocked =
        people::unchanged_since(app.domain.read(), RetentionGroup::BlockedWithDocuments, before, BATCH).await?;
    for person in blocked {
        match people::forget_documents(&app, &person, at, |db, id| Box::pin(documents(db, id))).await? {
            true => documents_forgotten += 1,
            false => skipped += 1,
        }
    }
    if people_forgotten + documents_forgotten + skipped > 0 {
        tracing::info!(days, people_forgotten, documents_forgotten, skipped, "old personal data forgotten");
    }
    Ok(())
}

async fn documents(db: &Transaction<'_, '_>, user_id: i64) -> Result<Vec<String>, WriteError> {
    personal_data::forget_documents(db, user_id).await
}
