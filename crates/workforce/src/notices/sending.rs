//! The job that sends one notice.
//!
//! Its post has the notice's id as a name, so a job that is killed and runs again sends nothing twice. The mark that
//! the notice was sent commits with the end of the job.

use std::time::Duration;

use opora::jobs::{Job, JobContext, JobError, NewJob};
use opora::store::WriteError;
use opora::telegram::Say;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, Set};
use serde::{Deserialize, Serialize};

use super::quiet::quiet_until;
use super::{Notice, notice};
use crate::application::App;
use crate::domain::Transaction;
use crate::failpoints;
use crate::front::menu_button;
use crate::jobs::{self, NOTIFICATIONS};
use crate::person::{Person, Status};

/// The priority of the jobs of bulk notices.
const BULK_PRIORITY: u8 = 5;

/// Sends one notice.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct SendNotice {
    /// The id of its row.
    pub notice: i64,
}

impl Job for SendNotice {
    const NAME: &'static str = "notice";
    const QUEUE: &'static str = NOTIFICATIONS;
    const TIMEOUT: Duration = Duration::from_secs(30);
}

/// The job of a notice.
pub(super) fn job(id: i64, notice: &Notice) -> NewJob {
    let job = NewJob::from(SendNotice { notice: id });
    if notice.is_bulk() { job.priority(BULK_PRIORITY) } else { job }
}

/// The job.
pub(super) async fn send(app: App, SendNotice { notice: id }: SendNotice, job: JobContext) -> Result<(), JobError> {
    let row = notice::Entity::find_by_id(id).one(app.domain.read()).await?;
    // The person may be forgotten.
    let Some(row) = row.filter(|row| !row.is_told) else { return Ok(()) };
    // A notice of a newer version is sent by the newer version.
    let notice: Notice = serde_json::from_str(&row.body)?;
    // A notice to a person who may not get it counts as sent.
    let recipient = app.people.by_id(row.user_id).await?.filter(|person| notice.is_for(person));
    if let Some(person) = recipient {
        if !notice.is_urgent()
            && let Some(until) = quiet_until(&app, &person, app.clock.now()).await?
        {
            return Err(JobError::Snooze(until.into()));
        }
        failpoints::hit(failpoints::NOTICE_BEFORE_POST).await;
        let posted = app.bot.post(&format!("notice-{id}"), person.telegram_id, message(&notice, &person)).await;
        posted.map_err(jobs::not_posted)?;
        failpoints::hit(failpoints::NOTICE_AFTER_POST).await;
    }
    app.domain.write_at_end(&job, move |db| Box::pin(mark_sent(db, id)));
    Ok(())
}

fn message(notice: &Notice, person: &Person) -> Say {
    let mut message = Say::text(notice.text(person.language));
    if notice.is_bulk() {
        message = message.low_priority();
    }
    match person.status {
        Status::Verified => message.buttons([[menu_button(person.language)]]),
        _ => message,
    }
}

async fn mark_sent(db: &Transaction<'_, '_>, id: i64) -> Result<(), WriteError> {
    notice::Entity::update_many()
        .set(notice::ActiveModel { is_told: Set(true), ..Default::default() })
        .filter(notice::Column::Id.eq(id))
        .exec(db)
        .await?;
    Ok(())
}
