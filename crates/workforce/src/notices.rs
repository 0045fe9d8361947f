//! Notices: messages about committed changes, each sent once.
//!
//! A page or a job has no turn in which to say something, so a notice is a row first, written in the commit of the
//! change together with the job that sends it ([`SendNotice`]). The job knows the row by its id and nothing of its
//! content.

use chrono::{NaiveDate, NaiveDateTime};
use futures_util::future::BoxFuture;
use opora::bot::Bot;
use opora::clock::Millis;
use opora::dialogue::Script;
use opora::store::WriteError;
use opora::turn::Turn;
use sea_orm::{ColumnTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, Set};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::daily_summary::DailySummary;
pub use self::order_news::{OrderNews, OrderNewsKind};
pub use self::pay_change::PayChange;
pub use self::personal_data::{forget_orders, notices_of};
pub use self::sending::SendNotice;
pub use self::shift_summary::{ShiftSummary, SummaryLine};
use self::table::notice;
use crate::application::App;
use crate::domain::{Domain, Transaction};
use crate::jobs::Jobs;
use crate::money::{Money, PayrollMonth};
use crate::person::Person;
use crate::rooms::{BlockChange, Room};
use crate::texts::LocalPeriod;

pub mod daily_summary;
pub mod order_buttons;
mod order_news;
mod pay_change;
mod personal_data;
mod pruning;
pub mod quiet;
mod sending;
mod shift_summary;
mod table;
mod text;

const EFFECT: &str = "notices";

#[derive(Debug)]
pub struct NoticesRoom;

impl Room for NoticesRoom {
    fn name(&self) -> &'static str {
        "notices"
    }

    fn dialogues(&self, script: Script) -> Script {
        script.dialogue(quiet::dialogue())
    }

    fn export<'a>(&'a self, domain: &'a Domain, person: &'a Person) -> BoxFuture<'a, anyhow::Result<Value>> {
        Box::pin(async move {
            let hours = quiet::export(domain, person.id).await?;
            let summary = daily_summary::hour_of(domain, person.id).await?;
            let is_chosen = !hours.is_null() || summary.is_some();
            Ok(if is_chosen { json!({ "quiet_hours": hours, "summary_hour": summary }) } else { Value::Null })
        })
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
        app.bot.wake_jobs();
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

    fn jobs(&self, jobs: Jobs) -> Jobs {
        jobs.worker(sending::send).scheduled(pruning::PruneNotices {}, "30 3 * * *", pruning::prune)
    }
}

/// A notice. Times are by the clock of the site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Notice {
    /// The hours of a planned slot have changed.
    PlanMoved {
        site: String,
        before: LocalPeriod,
        after: LocalPeriod,
    },
    /// Staff planned a slot for the person.
    PlanMade {
        site: String,
        when: LocalPeriod,
    },
    PlanCancelled {
        site: String,
        when: LocalPeriod,
    },
    /// Staff gave the person a contract, or made one active. `from` is its first day, if that is still to come.
    ContractMade {
        sites: Vec<String>,
        from: Option<NaiveDate>,
        /// The person had it before, and it was suspended or over.
        #[serde(default)]
        is_again: bool,
    },
    PlanRestored {
        site: String,
        when: LocalPeriod,
    },
    /// A planned shift starts soon.
    Reminder {
        site: String,
        when: LocalPeriod,
    },
    /// To staff: a person did not come.
    Missed {
        name: String,
        site: String,
        when: LocalPeriod,
    },
    /// To the person who did not come.
    YouMissed {
        site: String,
        when: LocalPeriod,
    },
    /// The summary of the person's own closed shift.
    Closed(ShiftSummary),
    /// A shift was closed automatically.
    ClosedByTime {
        site: String,
        end: NaiveDateTime,
        total: Money,
    },
    /// A site that the person had opened was closed automatically.
    SiteClosedByTime {
        site: String,
    },
    /// Staff closed the person's shift.
    ClosedByStaff {
        site: String,
        end: NaiveDateTime,
        total: Money,
    },
    /// To staff: a person cancelled a plan and gave a reason.
    Cancelled {
        name: String,
        site: String,
        when: LocalPeriod,
    },
    ReasonAccepted {
        site: String,
        when: LocalPeriod,
    },
    ReasonRejected {
        site: String,
        when: LocalPeriod,
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
        when: LocalPeriod,
        fine: Money,
    },
    /// To an owner: the day, and what waits.
    DailySummary(DailySummary),
    /// A document of the person expires soon. Its kind, and its last day.
    DocumentExpires {
        document: String,
        until: NaiveDate,
    },
    /// To staff: a document of a person expires soon.
    DocumentOfMemberExpires {
        name: String,
        document: String,
        until: NaiveDate,
    },
    /// An owner changed the person's pay, or marked a payment.
    Pay {
        month: PayrollMonth,
        what: PayChange,
    },
    /// News about an order, to its master or to dispatchers.
    Order(OrderNews),
}

/// Writes notices, each with its person, and enqueues the jobs that send them.
pub async fn write(db: &Transaction<'_, '_>, notices: Vec<(i64, Notice)>, at: Millis) -> Result<(), WriteError> {
    if notices.is_empty() {
        return Ok(());
    }
    let mut rows = Vec::with_capacity(notices.len());
    for (user_id, notice) in &notices {
        rows.push(notice::ActiveModel {
            user_id: Set(*user_id),
            body: Set(serde_json::to_string(notice)?),
            created_at: Set(at.0),
            ..Default::default()
        });
    }
    let mut written = notice::Entity::insert_many(rows).exec_with_returning(db).await?;
    // Ids rise in the order of the rows, but the answer may have another order.
    written.sort_unstable_by_key(|row| row.id);
    let jobs = written.iter().zip(&notices).map(|(row, (_, notice))| sending::job(row.id, notice));
    db.enqueue(jobs, at).await
}

/// Starts the jobs of a turn's notices right after its commit, and not within the next second.
pub fn send_after(turn: &mut Turn) {
    turn.effect_without_outcome(EFFECT, &());
}

fn register_effect(app: &App, bot: Bot) -> Bot {
    let app = app.clone();
    bot.effect(EFFECT, move |_| {
        app.bot.wake_jobs();
        async { Ok(Value::Null) }
    })
}

/// Unsent notices, oldest first: id, person, notice. Unreadable ones are left out: a newer version may have written
/// them.
pub async fn unsent(domain: &Domain) -> Result<Vec<(i64, i64, Notice)>, DbErr> {
    let waiting = notice::Entity::find().filter(notice::Column::IsTold.eq(false));
    let rows = waiting.order_by_asc(notice::Column::Id).all(domain.read()).await?;
    let readable = |row: notice::Model| Some((row.id, row.user_id, serde_json::from_str(&row.body).ok()?));
    Ok(rows.into_iter().filter_map(readable).collect())
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
