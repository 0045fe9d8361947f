//! Notices: messages about committed changes, each sent once.
//!
//! A page or a job has no turn in which to say something, so a notice is a row first, written in the commit of the
//! change. A job posts unsent rows: after the commit of a page or a turn, every minute, and soon after a start. The id
//! of the row identifies the post, so a job that is killed and runs again sends nothing twice.

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

pub use self::pay_change::PayChange;
pub use self::personal_data::notices_of;
pub use self::shift_summary::{ShiftSummary, SummaryLine};
use self::table as notice;
use crate::application::App;
use crate::domain::{Domain, Transaction};
use crate::failpoints;
use crate::front::menu_button;
use crate::jobs;
use crate::money::{Money, PayrollMonth};
use crate::person::{Person, Status};
use crate::rooms::{BlockChange, Job, Room};
use crate::text;
use crate::texts::Language;

mod pay_change;
mod personal_data;
mod shift_summary;
mod table;

const EFFECT: &str = "notices";
/// How many notices are read at once. Up to twice as many are sent before they are marked.
const BATCH_SIZE: usize = 100;
const MAX_RUN_TIME: Duration = Duration::from_secs(30);
const JOB_INTERVAL: Duration = Duration::from_secs(60);
const JOB: &str = "notices";
/// How long an effect sends notices if many wait.
const MAX_EFFECT_TIME: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct NoticesRoom;

impl Room for NoticesRoom {
    fn name(&self) -> &'static str {
        "notices"
    }

    fn effects(&self, app: &App, bot: Bot) -> Bot {
        register_effect(app, bot)
    }

    fn tell_of_block<'a>(
        &'a self,
        db: &'a Transaction<'_, '_>,
        person_id: i64,
        change: BlockChange,
        at: Millis,
    ) -> BoxFuture<'a, Result<(), WriteError>> {
        let notice = match change {
            BlockChange::Blocked { given_back } => Notice::Blocked { given_back },
            BlockChange::Unblocked { restored } => Notice::Unblocked { restored },
        };
        Box::pin(write(db, vec![(person_id, notice)], at))
    }

    fn after_block(&self, app: &App, _: i64) {
        send_soon(app);
    }

    fn forget<'a>(
        &'a self,
        db: &'a Transaction<'_, '_>,
        person: &'a Person,
        _: Millis,
    ) -> BoxFuture<'a, Result<Vec<String>, WriteError>> {
        Box::pin(async move {
            personal_data::forget(db, person).await?;
            Ok(Vec::new())
        })
    }

    fn jobs(&self) -> Vec<Job> {
        vec![Job { name: JOB, every: JOB_INTERVAL, run: |app| Box::pin(send_pending(app)) }]
    }
}

/// A notice. Times are already formatted by the site's clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Notice {
    /// The hours of a planned slot have changed.
    PlanMoved {
        site: String,
        before: String,
        after: String,
    },
    /// Staff planned a slot for the person.
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
    /// A planned shift starts soon.
    Reminder {
        site: String,
        when: String,
    },
    /// To staff: a person did not come.
    Missed {
        name: String,
        site: String,
        when: String,
    },
    /// To the person who did not come.
    YouMissed {
        site: String,
        when: String,
    },
    /// The summary of the person's own closed shift.
    Closed(ShiftSummary),
    /// A shift was closed automatically.
    ClosedByTime {
        site: String,
        end: String,
        total: Money,
    },
    /// A site that the person had opened was closed automatically.
    SiteClosedByTime {
        site: String,
    },
    /// Staff closed the person's shift.
    ClosedByStaff {
        site: String,
        end: String,
        total: Money,
    },
    /// To staff: a person cancelled a plan and gave a reason.
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
    /// An owner blocked the person. The last notice until an unblock.
    Blocked {
        given_back: u64,
    },
    /// An owner unblocked the person.
    Unblocked {
        restored: u64,
    },
    /// Staff took back a decision about a reason; the fine is removed.
    DecisionTakenBack {
        site: String,
        when: String,
        fine: Money,
    },
    /// An owner changed the person's pay, or marked a payment.
    Pay {
        month: PayrollMonth,
        what: PayChange,
    },
}

/// Writes notices, each with its person.
pub async fn write(db: &Transaction<'_, '_>, notices: Vec<(i64, Notice)>, at: Millis) -> Result<(), WriteError> {
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

/// Sends the notices of a turn right after its commit.
pub fn send_after(turn: &mut Turn) {
    turn.effect_without_outcome(EFFECT, &());
}

/// Registers the effect that sends the notices of turns.
fn register_effect(app: &App, bot: Bot) -> Bot {
    let app = app.clone();
    bot.effect(EFFECT, move |_| {
        let app = app.clone();
        async move {
            // The effect ends once the notices are posted. If the process is killed before, the effect runs again.
            match send_for(&app, MAX_EFFECT_TIME).await {
                Ok(SendProgress::AllSent) => {}
                Ok(SendProgress::MoreWaiting) => send_soon(&app),
                Err(error) => tracing::debug!(error = format!("{error:#}"), "notices will be sent later"),
            }
            Ok(Value::Null)
        }
    })
}

/// Asks the job to send committed notices, without waiting for it.
pub fn send_soon(app: &App) {
    jobs::run_soon(app, JOB);
}

/// The job: sends unsent notices.
pub async fn send_pending(app: App) -> anyhow::Result<()> {
    send_for(&app, MAX_RUN_TIME).await.map(drop)
}

/// Whether all unsent notices were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SendProgress {
    AllSent,
    MoreWaiting,
}

/// Sends unsent notices for a limited time; at least one batch.
async fn send_for(app: &App, time: Duration) -> anyhow::Result<SendProgress> {
    let until = app.clock.now().plus(time);
    while send_batch(app).await? {
        if app.clock.now() >= until {
            return Ok(SendProgress::MoreWaiting);
        }
    }
    Ok(SendProgress::AllSent)
}

/// Sends a batch; returns false if there was none.
async fn send_batch(app: &App) -> anyhow::Result<bool> {
    let rows = unsent(&app.domain).await?;
    if rows.is_empty() {
        return Ok(false);
    }
    let people = app.people.with_ids(&rows.iter().map(|row| row.1).collect::<Vec<_>>()).await?;
    for (id, user_id, notice) in &rows {
        // Notices to other people count as sent.
        let recipient = people.iter().find(|person| person.id == *user_id && notice.is_for(person));
        if let Some(person) = recipient {
            let mut message = Say::text(notice.text(person.language));
            if person.status == Status::Verified {
                message = message.buttons([[menu_button(person.language)]]);
            }
            failpoints::hit(failpoints::NOTICE_BEFORE_POST).await;
            app.bot.post(&format!("notice-{id}"), person.telegram_id, message).await?;
            failpoints::hit(failpoints::NOTICE_AFTER_POST).await;
        }
    }
    let ids: Vec<_> = rows.iter().map(|row| row.0).collect();
    app.domain.write(move |db| Box::pin(mark_sent(db, ids))).await?;
    Ok(true)
}

/// Unsent notices, oldest first: id, person, notice. Unreadable ones are skipped and stay unsent: a newer version may
/// have written them, and sends them once it leads.
pub async fn unsent(domain: &Domain) -> Result<Vec<(i64, i64, Notice)>, DbErr> {
    let (mut found, mut unreadable, mut after) = (Vec::new(), Vec::new(), 0);
    loop {
        let rows = waiting(domain, after).await?;
        let has_more = rows.len() == BATCH_SIZE;
        after = rows.last().map_or(after, |row| row.id);
        for row in rows {
            match serde_json::from_str(&row.body) {
                Ok(notice) => found.push((row.id, row.user_id, notice)),
                Err(error) => unreadable.push((row.id, error)),
            }
        }
        if !has_more || found.len() >= BATCH_SIZE {
            break;
        }
    }
    // A run repeats until nothing is left, so this is logged only in its last round.
    if let Some((id, error)) = unreadable.first().filter(|_| found.is_empty()) {
        let count = unreadable.len();
        tracing::error!(%error, id, count, "unreadable notices are skipped; this is the first one");
    }
    Ok(found)
}

async fn waiting(domain: &Domain, after: i64) -> Result<Vec<notice::Model>, DbErr> {
    let waiting = notice::Entity::find().filter(notice::Column::IsTold.eq(false));
    let later = waiting.filter(notice::Column::Id.gt(after));
    later.order_by_asc(notice::Column::Id).limit(BATCH_SIZE as u64).all(domain.read()).await
}

/// Counts all notices so far as sent: sample data of the past is not announced.
pub async fn discard_unsent(db: &Transaction<'_, '_>) -> Result<(), WriteError> {
    notice::Entity::update_many()
        .set(notice::ActiveModel { is_told: Set(true), ..Default::default() })
        .filter(notice::Column::IsTold.eq(false))
        .exec(db)
        .await?;
    Ok(())
}

async fn mark_sent(db: &Transaction<'_, '_>, ids: Vec<i64>) -> Result<(), WriteError> {
    notice::Entity::update_many()
        .set(notice::ActiveModel { is_told: Set(true), ..Default::default() })
        .filter(notice::Column::Id.is_in(ids))
        .exec(db)
        .await?;
    Ok(())
}

impl Notice {
    /// Whether the person gets this notice. Blocked and forgotten people get none, except that they are blocked.
    fn is_for(&self, person: &Person) -> bool {
        match self {
            Self::Blocked { .. } => !person.is_forgotten(),
            Self::Unblocked { .. } => !person.is_forgotten() && person.status != Status::Blocked,
            _ => person.status == Status::Verified,
        }
    }

    /// The text that the person reads.
    pub fn text(&self, language: Language) -> String {
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
            Self::Closed(closed) => closed.text(language),
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
                let fine = (-fine.as_deduction()).shown(language);
                text!(language, "notice-reason-rejected", site = site, when = when, fine = fine)
            }
            Self::Blocked { given_back } => text!(language, "notice-blocked", count = given_back),
            Self::Unblocked { restored } => text!(language, "notice-unblocked", count = restored),
            Self::DecisionTakenBack { site, when, fine } if fine == Money::ZERO => {
                text!(language, "notice-decision-taken-back", site = site, when = when)
            }
            Self::DecisionTakenBack { site, when, fine } => {
                let fine = (-fine.as_deduction()).shown(language);
                text!(language, "notice-fine-taken-back", site = site, when = when, fine = fine)
            }
            Self::Pay { month, what } => what.text(month, language),
        }
    }
}
