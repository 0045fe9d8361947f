//! Queries and decisions about registrations.

use std::collections::HashMap;

use chrono::NaiveDate;
use opora::clock::Millis;
use opora::jobs::{Job, JobContext, JobError};
use opora::store::{Refusal, WriteError};
use opora::telegram::Say;
use sea_orm::sea_query::{Expr, ExprTrait, Query, SelectStatement};
use sea_orm::{ActiveModelTrait, ColumnTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Set};
use serde::{Deserialize, Serialize};

use super::tables::{decision, document};
use super::{Document, DocumentStatus, answers, deciding};
use crate::application::App;
use crate::domain::{NOT_ALLOWED, NotWritten, RefusalReason, Transaction};
use crate::jobs::{self, NOTIFICATIONS};
use crate::people;
use crate::person::{OWNERS, Person, Role, Status};
use crate::sites::{self, AboutContract, ChangedBy, SiteRefusal, Sites, contract_changed};

/// The refusal of a decision about documents that the decider did not see.
const CHANGED: &str = "these are not the documents that were looked at";

/// Tells a person about a decision that was taken on a page.
#[derive(Debug, Serialize, Deserialize)]
pub struct TellDecision {
    /// The id of its row.
    pub decision: i64,
}

impl Job for TellDecision {
    const NAME: &'static str = "registration-decision";
    const QUEUE: &'static str = NOTIFICATIONS;
}

/// The public functions of the room.
#[derive(Clone, Debug)]
pub struct Registrations {
    pub(super) app: App,
}

/// A person who waits for a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingRegistration {
    pub person: Person,
    pub since: Millis,
    pub documents: Vec<Document>,
}

/// A decision about a registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub is_approved: bool,
    pub reason: Option<String>,
    /// The decider; none if that person is gone.
    pub by: Option<Person>,
    pub at: Millis,
}

/// Why a decision was not taken.
#[derive(Debug, thiserror::Error)]
pub enum DecisionError {
    /// Another person decided, or there is nothing to decide.
    #[error("this registration does not wait any more")]
    NotWaiting(Option<Decision>),
    /// The person now waits with other documents than the decider saw.
    #[error("the documents have changed since they were looked at")]
    Changed,
    #[error("only owners and superadmins decide on registrations")]
    NotAllowed,
    #[error("a reason has 1 to {} characters", answers::MAX_REASON_UNITS)]
    BadReason,
    /// The contract that comes with the approval is not possible: a site is gone, or the rate is wrong.
    #[error("the contract was refused: {0:?}")]
    Contract(SiteRefusal),
    #[error(transparent)]
    Failed(anyhow::Error),
}

/// What an approval gives the person at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approval {
    /// The sites of a contract; no contract without a site.
    pub sites: Vec<i64>,
    /// The contract's own rate per hour.
    pub rate_kopecks: Option<i64>,
    /// The last day of the main document.
    pub valid_until: Option<NaiveDate>,
}

/// How a registration ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Approved(Approval),
    /// With the reason.
    Rejected(String),
}

/// A decision to write.
#[derive(Clone, Debug)]
pub struct Verdict {
    pub user_id: i64,
    /// The document that the decider saw, or how its id begins.
    pub main_document_begins: String,
    pub by: i64,
    pub decision: Outcome,
    /// The same commit sends the message to the person.
    pub is_told: bool,
}

impl Registrations {
    pub fn of_app(app: &App) -> Self {
        Self { app: app.clone() }
    }

    /// Pending registrations, oldest first.
    pub async fn waiting(&self, max: u64) -> Result<Vec<PendingRegistration>, DbErr> {
        let people = self.app.people.first(Status::Pending, max, oldest_pending).await?;
        let pending = document::Column::Status.eq(DocumentStatus::Pending.name());
        let of_people = document::Column::UserId.is_in(people.iter().map(|person| person.id));
        let mut documents: HashMap<i64, Vec<Document>> = HashMap::new();
        for document in self.documents(pending.and(of_people)).await? {
            documents.entry(document.user_id).or_default().push(document);
        }
        let waits = |person: Person| {
            let documents = documents.remove(&person.id).unwrap_or_default();
            let since = documents.first().map_or(person.created_at, |document| document.created_at);
            PendingRegistration { person, since, documents }
        };
        Ok(people.into_iter().map(waits).collect())
    }

    /// Number of pending registrations.
    pub async fn count(&self) -> Result<u64, DbErr> {
        self.app.people.count(Status::Pending).await
    }

    /// All documents of a person, the oldest first.
    pub async fn documents_of(&self, user_id: i64) -> Result<Vec<Document>, DbErr> {
        self.documents(document::Column::UserId.eq(user_id)).await
    }

    pub async fn document(&self, id: &str) -> Result<Option<Document>, DbErr> {
        Ok(self.documents(document::Column::Id.eq(id)).await?.pop())
    }

    /// The last decision about a person.
    pub async fn last_decision(&self, user_id: i64) -> Result<Option<Decision>, DbErr> {
        let of_person = decision::Entity::find().filter(decision::Column::UserId.eq(user_id));
        let row = of_person.order_by_desc(decision::Column::Id).limit(1).one(self.app.domain.read()).await?;
        let Some(row) = row else { return Ok(None) };
        let by = self.app.people.by_id(row.decided_by).await?;
        Ok(Some(Decision { is_approved: row.is_approved, reason: row.reason, by, at: Millis(row.decided_at) }))
    }

    /// Approves a registration without a contract. `by` is the decider, `looked_at` the document that was seen.
    pub async fn approve(&self, by: i64, user_id: i64, looked_at: &str) -> Result<(), DecisionError> {
        self.approve_with(by, user_id, looked_at, Approval::default()).await
    }

    /// Approves a registration and gives a contract in the same commit.
    pub async fn approve_with(
        &self,
        by: i64,
        user_id: i64,
        looked_at: &str,
        approval: Approval,
    ) -> Result<(), DecisionError> {
        let events = contract_changed(user_id, &approval.sites);
        self.decide(by, user_id, looked_at, Outcome::Approved(approval)).await?;
        events.into_iter().for_each(|event| self.app.events.publish(event));
        Ok(())
    }

    /// Rejects a registration; the person may register again.
    pub async fn reject(&self, by: i64, user_id: i64, looked_at: &str, reason: &str) -> Result<(), DecisionError> {
        let reason = answers::reason(reason).ok_or(DecisionError::BadReason)?;
        self.decide(by, user_id, looked_at, Outcome::Rejected(reason)).await
    }

    async fn decide(&self, by: i64, user_id: i64, looked_at: &str, decision: Outcome) -> Result<(), DecisionError> {
        let decider = self.app.people.by_id(by).await?;
        if !decider.is_some_and(|person| person.may(OWNERS)) {
            return Err(DecisionError::NotAllowed);
        }
        let verdict = Verdict { user_id, main_document_begins: looked_at.to_owned(), by, decision, is_told: false };
        let at = self.app.clock.now();
        match self.app.domain.write(move |db| Box::pin(decide(db, verdict, at))).await {
            Ok(()) => {}
            Err(NotWritten::Refused(refusal)) if refusal == CHANGED => return Err(DecisionError::Changed),
            Err(NotWritten::Refused(refusal)) if refusal == NOT_ALLOWED => return Err(DecisionError::NotAllowed),
            Err(NotWritten::Refused(refusal)) => {
                return Err(match SiteRefusal::parse(&refusal) {
                    Some(why) => DecisionError::Contract(why),
                    None => DecisionError::NotWaiting(self.last_decision(user_id).await?),
                });
            }
            Err(NotWritten::Failed(error)) => return Err(DecisionError::Failed(error.into())),
        }
        // A job sends the message, so that no request waits for it.
        self.app.bot.wake_jobs();
        Ok(())
    }

    /// The message about a decision. An approval names the sites of the person's contracts.
    async fn message(&self, row: &decision::Model, person: &Person) -> Result<Say, DbErr> {
        if !row.is_approved {
            return Ok(deciding::rejection_message(person.language, row.reason.as_deref()));
        }
        let sites = Sites::of_app(&self.app).sites_of_worker(person.id).await?;
        let names: Vec<_> = sites.into_iter().map(|site| site.about.name).collect();
        Ok(deciding::approval_message(person, &names))
    }

    pub(super) async fn documents(
        &self,
        which: impl sea_orm::sea_query::IntoCondition,
    ) -> Result<Vec<Document>, DbErr> {
        let found = document::Entity::find().filter(which).filter(document::Column::UserId.is_not_null());
        let ordered = found.order_by_asc(document::Column::CreatedAt).order_by_asc(document::Column::Kind);
        ordered.all(self.app.domain.read()).await?.into_iter().map(Document::try_from).collect()
    }
}

impl From<DbErr> for DecisionError {
    fn from(error: DbErr) -> Self {
        Self::Failed(error.into())
    }
}

/// The job. Its message is posted once by its name.
pub async fn tell_decision(app: App, job: TellDecision, _: JobContext) -> Result<(), JobError> {
    let row = decision::Entity::find_by_id(job.decision).one(app.domain.read()).await?;
    let Some(row) = row else { return Ok(()) };
    let Some(person) = app.people.by_id(row.user_id).await? else { return Ok(()) };
    let message = Registrations::of_app(&app).message(&row, &person).await?;
    let name = format!("registration-decision-{}", row.id);
    app.bot.post(&name, person.telegram_id, message).await.map_err(jobs::not_posted)
}

/// Decides within a commit. Refused if the registration is not pending any more, so a second decision changes nothing.
/// Refused, too, if the decider has lost the right.
pub async fn decide(db: &Transaction<'_, '_>, verdict: Verdict, at: Millis) -> Result<(), WriteError> {
    let Verdict { user_id, main_document_begins, by, decision, is_told } = verdict;
    people::require_role(db, by, OWNERS).await?;
    let (approval, reason) = match decision {
        Outcome::Approved(approval) => (Some(approval), None),
        Outcome::Rejected(reason) => (None, Some(reason)),
    };
    let is_approved = approval.is_some();
    let status = if is_approved { DocumentStatus::Approved } else { DocumentStatus::Rejected };
    let pending = document::Column::UserId.eq(user_id).and(document::Column::Status.eq(DocumentStatus::Pending.name()));
    let rows = document::Entity::find().filter(pending.clone()).all(db).await?;
    let is_looked_at = |row: &document::Model| {
        let mark = main_document_begins.as_str();
        !mark.is_empty() && row.kind != super::DocumentKind::Selfie.name() && row.id.starts_with(mark)
    };
    // Two deciders conflict on these rows: the second finds none that are pending.
    let decided = document::Entity::update_many()
        .set(document::ActiveModel {
            status: Set(status.name().to_owned()),
            reason: Set(reason.clone()),
            ..Default::default()
        })
        .filter(pending.and(document::Column::Id.is_in(rows.iter().map(|row| row.id.as_str()))))
        .exec(db)
        .await?;
    let is_decided = !rows.is_empty() && decided.rows_affected == rows.len() as u64;
    if !is_decided || !people::is_pending(db, user_id).await? {
        return Err(Refusal::because("this registration does not wait any more"));
    }
    if !rows.iter().any(is_looked_at) {
        return Err(Refusal::because(CHANGED));
    }
    let status = if is_approved { Status::Verified } else { Status::Rejected };
    people::set_status(db, user_id, status, Some(by), at).await?;
    if let Some(approval) = approval {
        people::make_employee(db, user_id).await?;
        let main = rows.iter().find(|row| is_looked_at(row)).map(|row| row.id.as_str());
        if let (Some(id), Some(day)) = (main, approval.valid_until) {
            super::validity::set(db, id, Some(day)).await?;
        }
        give_contract(db, user_id, approval, ChangedBy { person: Some(by), at }).await?;
    }
    let row = decision::ActiveModel {
        user_id: Set(user_id),
        is_approved: Set(is_approved),
        reason: Set(reason),
        decided_by: Set(by),
        decided_at: Set(at.0),
        ..Default::default()
    };
    let decision = row.insert(db).await?.id;
    if is_told { Ok(()) } else { db.enqueue([TellDecision { decision }], at).await }
}

/// Gives a member a contract; none without a site. Refused if a site is gone or has a contract of this person, or if
/// the person is not a member any more.
pub async fn give_contract(
    db: &Transaction<'_, '_>,
    user_id: i64,
    approval: Approval,
    by: ChangedBy,
) -> Result<(), WriteError> {
    let mut sites = approval.sites;
    sites.sort_unstable();
    sites.dedup();
    if sites.is_empty() {
        return Ok(());
    }
    let about = AboutContract { rate_kopecks: approval.rate_kopecks, ..AboutContract::active(sites) };
    sites::create_contract(db, user_id, about, by).await?;
    Ok(())
}

/// When a person's oldest pending document was created, as a scalar subquery.
fn oldest_pending(user_id: Expr) -> SelectStatement {
    let of_user = Expr::col((document::Entity, document::Column::UserId)).eq(user_id);
    Query::select()
        .expr(Expr::col((document::Entity, document::Column::CreatedAt)).min())
        .from(document::Entity)
        .and_where(of_user.and(document::Column::Status.eq(DocumentStatus::Pending.name())))
        .take()
}

/// The person as the approval will make them.
pub fn approved(person: &Person) -> Person {
    let roles = person.roles.iter().filter(|role| *role != Role::Applicant).chain([Role::Employee]).collect();
    Person { status: Status::Verified, roles, ..person.clone() }
}
