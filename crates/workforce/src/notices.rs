//! News for people: written in the commit of what they tell of, and sent after it, once.
//!
//! A page or a job has no turn to speak in. So a notice is a row first, and no request waits for it to be sent. A job posts
//! the rows that were not posted yet: after the commit of a page or a turn, every minute, and soon after a start. The number
//! of the row names the post, so a job that is killed half-way and runs again sends nothing twice.

use std::time::Duration;

use futures_util::future::BoxFuture;
use opora::bot::Bot;
use opora::clock::Millis;
use opora::store::WriteError;
use opora::telegram::Say;
use opora::turn::Turn;
use sea_orm::{ColumnTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Set};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::closed::{Closed, PaidLine};
pub use self::leaving::told;
pub use self::pay_news::PayNews;
use self::table as notice;
use crate::application::App;
use crate::domain::{Domain, Writing};
use crate::failpoints;
use crate::front::menu_button;
use crate::jobs;
use crate::money::{Money, Period};
use crate::person::{Person, Status};
use crate::rooms::{Job, Room};
use crate::text;
use crate::texts::Language;

mod closed;
mod leaving;
mod pay_news;
mod table;

const EFFECT: &str = "notices";
/// How many are read at once; before they are marked twice as many are sent at most.
const AT_ONCE: usize = 100;
/// How long a run of the job takes at most.
const RUN: Duration = Duration::from_secs(30);
/// How often the job looks for what was not sent.
const EVERY: Duration = Duration::from_secs(60);
const JOB: &str = "notices";
/// How long an effect sends at most, where many notices wait.
const EFFECT_TIME: Duration = Duration::from_secs(1);

/// The room.
#[derive(Debug)]
pub struct NoticesRoom;

impl Room for NoticesRoom {
    fn name(&self) -> &'static str {
        "notices"
    }

    fn work(&self, app: &App, bot: Bot) -> Bot {
        work(app, bot)
    }

    fn forget<'a>(
        &'a self,
        db: &'a Writing<'_, '_>,
        person: &'a Person,
        _: Millis,
    ) -> BoxFuture<'a, Result<Vec<String>, WriteError>> {
        Box::pin(async move {
            leaving::forget(db, person).await?;
            Ok(Vec::new())
        })
    }

    fn jobs(&self) -> Vec<Job> {
        vec![Job { name: JOB, every: EVERY, run: |app| Box::pin(tell(app)) }]
    }
}

/// What somebody is told. Times are written by the clock of the place already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Notice {
    /// The hours of a slot that the person has planned for have changed.
    PlanMoved {
        site: String,
        before: String,
        after: String,
    },
    /// Somebody in charge has planned for the person.
    PlanMade {
        site: String,
        when: String,
    },
    PlanCancelled {
        site: String,
        when: String,
    },
    PlanRestored {
        site: String,
        when: String,
    },
    /// A shift begins soon.
    Reminder {
        site: String,
        when: String,
    },
    /// Nobody came.
    Missed {
        name: String,
        site: String,
        when: String,
    },
    /// The person was expected and did not come.
    YouMissed {
        site: String,
        when: String,
    },
    /// The person has closed the own shift.
    Closed(Closed),
    /// A shift was closed because its time was over.
    ClosedByTime {
        site: String,
        end: String,
        total: Money,
    },
    /// A site that the person had opened was closed because its hours were over and nobody worked there.
    SiteClosedByTime {
        site: String,
    },
    /// Somebody in charge has closed the person's shift.
    ClosedByStaff {
        site: String,
        end: String,
        total: Money,
    },
    /// Somebody does not come after all, and says why.
    Cancelled {
        name: String,
        site: String,
        when: String,
    },
    ReasonAccepted {
        site: String,
        when: String,
    },
    ReasonRejected {
        site: String,
        when: String,
        fine: Money,
    },
    /// Somebody in charge has changed the person's pay of a month by hand, or marked that it was paid.
    Pay {
        month: Period,
        what: PayNews,
    },
}

/// Writes notices, each for a person.
pub async fn write(db: &Writing<'_, '_>, notices: Vec<(i64, Notice)>, at: Millis) -> Result<(), WriteError> {
    let mut rows = Vec::with_capacity(notices.len());
    for (user_id, notice) in notices {
        rows.push(notice::ActiveModel {
            user_id: Set(user_id),
            body: Set(serde_json::to_string(&notice)?),
            created_at: Set(at.0),
            ..Default::default()
        });
    }
    if !rows.is_empty() {
        notice::Entity::insert_many(rows).exec_without_returning(db).await?;
    }
    Ok(())
}

/// Lets what a turn writes be told right after it.
pub fn after(turn: &mut Turn) {
    turn.effect_without_outcome(EFFECT, &());
}

/// Lets a bot send what its turns have written.
fn work(app: &App, bot: Bot) -> Bot {
    let app = app.clone();
    bot.effect(EFFECT, move |_| {
        let app = app.clone();
        async move {
            // The effect is over once its notice is posted: a process that is killed before runs it again.
            match tell_for(&app, EFFECT_TIME).await {
                Ok(Told::Everything) => {}
                Ok(Told::Some) => soon(&app),
                Err(error) => tracing::debug!(error = format!("{error:#}"), "notices will be sent later"),
            }
            Ok(Value::Null)
        }
    })
}

/// Has the job send what was committed, without waiting for it.
pub fn soon(app: &App) {
    jobs::soon(app, JOB);
}

/// The job.
pub async fn tell(app: App) -> anyhow::Result<()> {
    tell_for(&app, RUN).await.map(drop)
}

/// How much of what waited was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Everything,
    Some,
}

/// Tells what waits, for so long at most; at least some of it.
async fn tell_for(app: &App, time: Duration) -> anyhow::Result<Told> {
    let until = app.clock.now().plus(time);
    while tell_some(app).await? {
        if app.clock.now() >= until {
            return Ok(Told::Some);
        }
    }
    Ok(Told::Everything)
}

/// False if nothing waits.
async fn tell_some(app: &App) -> anyhow::Result<bool> {
    let rows = untold(&app.domain).await?;
    if rows.is_empty() {
        return Ok(false);
    }
    let people = app.people.with_ids(&rows.iter().map(|row| row.1).collect::<Vec<_>>()).await?;
    for (id, user_id, notice) in &rows {
        // Who is kept out, or forgotten, is not written to any more; it counts as told.
        let member = people.iter().find(|person| person.id == *user_id && person.status == Status::Verified);
        if let Some(person) = member {
            let said = Say::text(notice.words(person.language)).buttons([[menu_button(person.language)]]);
            failpoints::hit(failpoints::NOTICE_BEFORE_POST).await;
            app.bot.post(&format!("notice-{id}"), person.telegram_id, said).await?;
            failpoints::hit(failpoints::NOTICE_AFTER_POST).await;
        }
    }
    let told: Vec<_> = rows.iter().map(|row| row.0).collect();
    app.domain.write(move |db| Box::pin(mark_told(db, told))).await?;
    Ok(true)
}

/// What waits to be told, the oldest first: number, person, notice. What cannot be read is passed over and goes on
/// waiting: a newer version that works beside this one may have written it, and tells it once it leads.
pub async fn untold(domain: &Domain) -> Result<Vec<(i64, i64, Notice)>, DbErr> {
    let (mut found, mut unreadable, mut after) = (Vec::new(), Vec::new(), 0);
    loop {
        let rows = waiting(domain, after).await?;
        let has_more = rows.len() == AT_ONCE;
        after = rows.last().map_or(after, |row| row.id);
        for row in rows {
            match serde_json::from_str(&row.body) {
                Ok(notice) => found.push((row.id, row.user_id, notice)),
                Err(error) => unreadable.push((row.id, error)),
            }
        }
        if !has_more || found.len() >= AT_ONCE {
            break;
        }
    }
    // A run asks until there is nothing left to tell: so it says this once.
    if let Some((id, error)) = unreadable.first().filter(|_| found.is_empty()) {
        let count = unreadable.len();
        tracing::error!(%error, id, count, "notices that cannot be read are passed over; this is the first of them");
    }
    Ok(found)
}

async fn waiting(domain: &Domain, after: i64) -> Result<Vec<notice::Model>, DbErr> {
    let waiting = notice::Entity::find().filter(notice::Column::IsTold.eq(false));
    let later = waiting.filter(notice::Column::Id.gt(after));
    later.order_by_asc(notice::Column::Id).limit(AT_ONCE as u64).all(domain.read()).await
}

async fn mark_told(db: &Writing<'_, '_>, ids: Vec<i64>) -> Result<(), WriteError> {
    notice::Entity::update_many()
        .set(notice::ActiveModel { is_told: Set(true), ..Default::default() })
        .filter(notice::Column::Id.is_in(ids))
        .exec(db)
        .await?;
    Ok(())
}

impl Notice {
    /// What the person reads.
    pub fn words(&self, language: Language) -> String {
        match self.clone() {
            Self::PlanMoved { site, before, after } => {
                text!(language, "notice-plan-moved", site = site, before = before, after = after)
            }
            Self::PlanMade { site, when } => text!(language, "notice-plan-made", site = site, when = when),
            Self::PlanCancelled { site, when } => text!(language, "notice-plan-cancelled", site = site, when = when),
            Self::PlanRestored { site, when } => text!(language, "notice-plan-restored", site = site, when = when),
            Self::Reminder { site, when } => text!(language, "notice-reminder", site = site, when = when),
            Self::Missed { name, site, when } => {
                text!(language, "notice-missed", name = name, site = site, when = when)
            }
            Self::YouMissed { site, when } => text!(language, "notice-you-missed", site = site, when = when),
            Self::Closed(closed) => closed.words(language),
            Self::ClosedByTime { site, end, total } => {
                let total = total.shown(language);
                text!(language, "notice-closed-by-time", site = site, end = end, total = total)
            }
            Self::SiteClosedByTime { site } => text!(language, "notice-site-closed-by-time", site = site),
            Self::ClosedByStaff { site, end, total } => {
                let total = total.shown(language);
                text!(language, "notice-closed-by-staff", site = site, end = end, total = total)
            }
            Self::Cancelled { name, site, when } => {
                text!(language, "notice-cancelled", name = name, site = site, when = when)
            }
            Self::ReasonAccepted { site, when } => text!(language, "notice-reason-accepted", site = site, when = when),
            Self::ReasonRejected { site, when, fine } => {
                let fine = fine.shown(language);
                text!(language, "notice-reason-rejected", site = site, when = when, fine = fine)
            }
            Self::Pay { month, what } => what.words(month, language),
        }
    }
}
