//! The job that sends one notice.
//!
//! Its post has the notice's id as a name, so a job that is killed and runs again sends nothing twice. The mark that
//! the notice was sent commits with the end of the job.
//!
//! A notice that could not be sent waits for another attempt, while later ones of the same person have their first. So
//! a job sends the earlier notices first, and their own jobs find nothing to do.

use std::collections::HashSet;
use std::time::Duration;

use opora::bot::HandleError;
use opora::jobs::{Job, JobContext, JobError, JobFilter, JobRow, JobState, NewJob};
use opora::store::WriteError;
use opora::telegram::{Button, Say};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, Set};
use serde::{Deserialize, Serialize};

use super::quiet::quiet_until;
use super::{Notice, notice, order_buttons};
use crate::application::App;
use crate::domain::Transaction;
use crate::failpoints;
use crate::front::menu_button;
use crate::jobs::{self, NOTIFICATIONS};
use crate::person::{Person, Status};

/// The priority of the jobs of bulk notices.
const BULK_PRIORITY: u8 = 5;
/// An older notice is not sent with a later one. Finished jobs are kept for as long.
const EARLIER_MAX_AGE: Duration = Duration::from_secs(7 * 24 * 3600);
/// How many cancelled jobs are read at most.
const MAX_CANCELLED: usize = 10_000;

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
    let mut told = vec![id];
    if let Some(person) = app.people.by_id(row.user_id).await? {
        let now = app.clock.now();
        let mut notices = earlier(&app, &row, &notice).await?;
        notices.push((id, notice));
        let is_urgent = notices.iter().all(|(_, one)| one.is_always_urgent());
        let quiet_until = if is_urgent { None } else { quiet_until(&app, &person, now).await? };
        // A notice to a person who may not get it, or that is of no use any more, counts as sent.
        notices.retain(|(_, one)| one.is_for(&person) && !one.is_outdated(now));
        if let Some(until) = quiet_until {
            if notices.iter().any(|(one, notice)| *one == id && !notice.is_urgent(now, until)) {
                return Err(JobError::Snooze(until.into()));
            }
            notices.retain(|(_, notice)| notice.is_urgent(now, until));
        }
        for (one, notice) in without_cancelled(&app, id, notices).await? {
            match post(&app, &person, one, &notice).await {
                Ok(()) => told.push(one),
                // It can never be sent, and its own job says so.
                Err(HandleError::Message(_)) if one != id => {}
                Err(error) => return Err(jobs::not_posted(error)),
            }
        }
    }
    app.domain.write_at_end(&job, move |db| Box::pin(mark_sent(db, told)));
    Ok(())
}

/// The person's unsent notices that go before this one. Bulk notices give way to all others.
async fn earlier(app: &App, row: &notice::Model, notice: &Notice) -> Result<Vec<(i64, Notice)>, JobError> {
    let unsent = notice::Entity::find().filter(notice::Column::IsTold.eq(false));
    let of_person = unsent.filter(notice::Column::UserId.eq(row.user_id)).filter(notice::Column::Id.lt(row.id));
    let oldest = app.clock.now().minus(EARLIER_MAX_AGE).0;
    let recent = of_person.filter(notice::Column::CreatedAt.gte(oldest)).order_by_asc(notice::Column::Id);
    let rows = recent.all(app.domain.read()).await?;
    // An unreadable one holds up only itself.
    let readable = rows.into_iter().filter_map(|row| Some((row.id, serde_json::from_str::<Notice>(&row.body).ok()?)));
    Ok(readable.filter(|(_, earlier)| notice.is_bulk() || !earlier.is_bulk()).collect())
}

/// Leaves out earlier notices whose jobs an operator has cancelled.
async fn without_cancelled(
    app: &App,
    id: i64,
    mut notices: Vec<(i64, Notice)>,
) -> Result<Vec<(i64, Notice)>, JobError> {
    if notices.iter().all(|(one, _)| *one == id) {
        return Ok(notices);
    }
    let (name, state) = (Some(SendNotice::NAME.to_owned()), Some(JobState::Cancelled));
    let filter = JobFilter { bot: app.bot_id, name, state, ..JobFilter::default() };
    let jobs = app.domain.store().operator().jobs(&filter, None, MAX_CANCELLED).await?;
    let notice_of = |job: &JobRow| serde_json::from_str::<SendNotice>(&job.args).ok();
    let cancelled: HashSet<i64> = jobs.iter().filter_map(notice_of).map(|job| job.notice).collect();
    notices.retain(|(one, _)| *one == id || !cancelled.contains(one));
    Ok(notices)
}

/// Posts a notice, once by its name.
async fn post(app: &App, person: &Person, id: i64, notice: &Notice) -> Result<(), HandleError> {
    failpoints::hit(failpoints::NOTICE_BEFORE_POST).await;
    app.bot.post(&format!("notice-{id}"), person.telegram_id, message(notice, person)).await?;
    failpoints::hit(failpoints::NOTICE_AFTER_POST).await;
    Ok(())
}

fn message(notice: &Notice, person: &Person) -> Say {
    let mut message = Say::text(notice.text(person.language));
    if notice.is_bulk() {
        message = message.low_priority();
    }
    match person.status {
        Status::Verified => message.buttons(buttons(notice, person)),
        _ => message,
    }
}

/// The buttons under a notice.
fn buttons(notice: &Notice, person: &Person) -> Vec<Vec<Button>> {
    match notice {
        Notice::Order(news) => order_buttons::rows(news, person.language),
        _ => vec![vec![menu_button(person.language)]],
    }
}

async fn mark_sent(db: &Transaction<'_, '_>, ids: Vec<i64>) -> Result<(), WriteError> {
    notice::Entity::update_many()
        .set(notice::ActiveModel { is_told: Set(true), ..Default::default() })
        .filter(notice::Column::Id.is_in(ids))
        .exec(db)
        .await?;
    Ok(())
}
