//! Tells the deciders of a new registration: at once, or at the end of their quiet hours if it still waits then.

use opora::clock::Millis;
use opora::jobs::{Job, JobContext, JobError, NewJob};
use opora::prelude::*;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};

use super::DocumentStatus;
use super::deciding::{self, Card};
use super::tables::document;
use crate::application::App;
use crate::jobs::{self, NOTIFICATIONS};
use crate::notices::quiet::{quiet_until, quiet_until_of};
use crate::person::{OWNERS, Status};
use crate::settings::TIME_ZONE;

/// Maximum number of people who are told about a registration.
const MAX_NOTIFIED: usize = 50;

/// A registration that is about to be written.
pub struct Announced<'a> {
    pub telegram_id: i64,
    pub name: &'a str,
    pub main_document_id: &'a str,
}

/// Tells a decider of a registration that waits.
#[derive(Debug, Serialize, Deserialize)]
pub struct TellDecider {
    /// The id of the main document.
    document: String,
    decider: i64,
}

impl Job for TellDecider {
    const NAME: &'static str = "registration-waiting";
    const QUEUE: &'static str = NOTIFICATIONS;
}

/// Tells all deciders; returns how many. Jobs tell those who have quiet hours.
pub async fn announce(turn: &mut Turn, app: &App, new: &Announced<'_>) -> Result<usize, BoxError> {
    let at = turn.now();
    let (mut deciders, zone) = tokio::try_join!(app.people.with_any(OWNERS), app.settings.get(&TIME_ZONE))?;
    deciders.truncate(MAX_NOTIFIED);
    let ids: Vec<i64> = deciders.iter().map(|decider| decider.id).collect();
    let quiet = quiet_until_of(app, &ids, at).await?;
    for decider in &deciders {
        if let Some(morning) = quiet.get(&decider.id) {
            let job = TellDecider { document: new.main_document_id.to_owned(), decider: decider.id };
            turn.enqueue(NewJob::from(job).at(*morning));
            continue;
        }
        let since = deciding::moment(at, zone, decider.language);
        let Announced { telegram_id, name, main_document_id } = *new;
        let card = Card { telegram_id, name, since, main_document_id };
        turn.say_to(decider.telegram_id, card.announced(decider.language));
    }
    Ok(deciders.len())
}

/// The job.
pub async fn tell_decider(app: App, job: TellDecider, _: JobContext) -> Result<(), JobError> {
    let pending = document::Column::Status.eq(DocumentStatus::Pending.name());
    let row = document::Entity::find_by_id(job.document.as_str()).filter(pending).one(app.domain.read()).await?;
    // Decided or forgotten meanwhile.
    let Some((applicant, row)) = row.and_then(|row| Some((row.user_id?, row))) else { return Ok(()) };
    let people = app.people.with_ids(&[applicant, job.decider]).await?;
    let of_id = |id: i64| people.iter().find(|person| person.id == id);
    let applicant = of_id(applicant).filter(|person| person.status == Status::Pending);
    let decider = of_id(job.decider).filter(|person| person.status == Status::Verified && person.may(OWNERS));
    let (Some(applicant), Some(decider)) = (applicant, decider) else { return Ok(()) };
    if let Some(until) = quiet_until(&app, decider, app.clock.now()).await? {
        return Err(JobError::Snooze(until.into()));
    }
    let zone = app.settings.get(&TIME_ZONE).await?;
    let card = Card {
        telegram_id: applicant.telegram_id,
        name: &applicant.full_name,
        since: deciding::moment(Millis(row.created_at), zone, decider.language),
        main_document_id: &row.id,
    };
    let name = format!("registration-waiting-{}-{}", row.id, decider.id);
    app.bot.post(&name, decider.telegram_id, card.announced(decider.language)).await.map_err(jobs::not_posted)
}
