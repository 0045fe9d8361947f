//! The front door: who waits, whose documents there are, and deciding.

use std::collections::HashMap;

use opora::clock::Millis;
use opora::store::{Refusal, WriteError};
use opora::telegram::Say;
use sea_orm::sea_query::{Expr, ExprTrait, Query, SelectStatement};
use sea_orm::{ActiveModelTrait, ColumnTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Set};

use super::tables::{decision, document};
use super::{Document, DocumentStatus, answers, deciding};
use crate::application::App;
use crate::domain::{NOT_ALLOWED, NotWritten, Writing};
use crate::jobs;
use crate::onboarding::Onboarding;
use crate::people;
use crate::person::{OWNERS, Person, Role, Status};

/// Why a commit is refused that decides on documents which nobody has looked at.
const CHANGED: &str = "these are not the documents that were looked at";

/// The job that tells people of decisions.
pub const NEWS: &str = "registration-news";
/// How many people are told of decisions in one run of the job.
const TOLD_AT_ONCE: u64 = 100;

/// The front door.
#[derive(Clone, Debug)]
pub struct Registrations {
    app: App,
}

/// Somebody who waits to be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub person: Person,
    pub since: Millis,
    pub documents: Vec<Document>,
}

/// How a registration was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    pub is_approved: bool,
    pub reason: Option<String>,
    /// Who decided; none if that person is gone.
    pub by: Option<Person>,
    pub at: Millis,
}

/// Why a decision does not count.
#[derive(Debug, thiserror::Error)]
pub enum NotDecided {
    /// Somebody was faster, or there is nothing to decide.
    #[error("this registration does not wait any more")]
    NotWaiting(Option<Decided>),
    /// The person waits with other documents than those that were looked at.
    #[error("the documents have changed since they were looked at")]
    Changed,
    #[error("only owners and superadmins decide on registrations")]
    NotAllowed,
    #[error("a reason has 1 to {} characters", answers::REASON_UNITS_MOST)]
    BadReason,
    #[error(transparent)]
    Failed(anyhow::Error),
}

/// A decision to be written.
#[derive(Clone, Debug)]
pub struct Verdict {
    pub user_id: i64,
    /// The document that was looked at, or how its id begins. What nobody has looked at is not decided on.
    pub main_document_begins: String,
    pub by: i64,
    /// Why it is rejected; approved without one.
    pub reason: Option<String>,
    /// The person is written to in the same commit.
    pub is_told: bool,
}

impl Registrations {
    pub fn of_app(app: &App) -> Self {
        Self { app: app.clone() }
    }

    /// Some of those who wait, the longest first.
    pub async fn waiting(&self, most: u64) -> Result<Vec<Waiting>, DbErr> {
        let people = self.app.people.first(Status::Pending, most, oldest_pending).await?;
        let pending = document::Column::Status.eq(DocumentStatus::Pending.name());
        let theirs = document::Column::UserId.is_in(people.iter().map(|person| person.id));
        let mut documents: HashMap<i64, Vec<Document>> = HashMap::new();
        for document in self.documents(pending.and(theirs)).await? {
            documents.entry(document.user_id).or_default().push(document);
        }
        let waits = |person: Person| {
            let documents = documents.remove(&person.id).unwrap_or_default();
            let since = documents.first().map_or(person.created_at, |document| document.created_at);
            Waiting { person, since, documents }
        };
        Ok(people.into_iter().map(waits).collect())
    }

    /// How many wait.
    pub async fn count(&self) -> Result<u64, DbErr> {
        self.app.people.count(Status::Pending).await
    }

    /// All documents of a person, the oldest first; none if there are none.
    pub async fn of(&self, user_id: i64) -> Result<Vec<Document>, DbErr> {
        self.documents(document::Column::UserId.eq(user_id)).await
    }

    /// One document.
    pub async fn document(&self, id: &str) -> Result<Option<Document>, DbErr> {
        Ok(self.documents(document::Column::Id.eq(id)).await?.pop())
    }

    /// How a person's registration was decided the last time.
    pub async fn last_decision(&self, user_id: i64) -> Result<Option<Decided>, DbErr> {
        let of_person = decision::Entity::find().filter(decision::Column::UserId.eq(user_id));
        let row = of_person.order_by_desc(decision::Column::Id).limit(1).one(self.app.domain.read()).await?;
        let Some(row) = row else { return Ok(None) };
        let by = self.app.people.by_id(row.decided_by).await?;
        Ok(Some(Decided { is_approved: row.is_approved, reason: row.reason, by, at: Millis(row.decided_at) }))
    }

    /// Lets somebody in. `by` is the person who decides, `looked_at` the mark of what was looked at.
    pub async fn approve(&self, by: i64, user_id: i64, looked_at: &str) -> Result<(), NotDecided> {
        self.decide(by, user_id, looked_at, None).await
    }

    /// Turns somebody away, who may register again.
    pub async fn reject(&self, by: i64, user_id: i64, looked_at: &str, reason: &str) -> Result<(), NotDecided> {
        let reason = answers::reason(reason).ok_or(NotDecided::BadReason)?;
        self.decide(by, user_id, looked_at, Some(reason)).await
    }

    async fn decide(&self, by: i64, user_id: i64, looked_at: &str, reason: Option<String>) -> Result<(), NotDecided> {
        let decider = self.app.people.by_id(by).await?;
        if !decider.is_some_and(|person| person.may(OWNERS)) {
            return Err(NotDecided::NotAllowed);
        }
        let verdict = Verdict { user_id, main_document_begins: looked_at.to_owned(), by, reason, is_told: false };
        let at = self.app.clock.now();
        match self.app.domain.write(move |db| Box::pin(decide(db, verdict, at))).await {
            Ok(()) => {}
            Err(NotWritten::Refused(why)) if why == CHANGED => return Err(NotDecided::Changed),
            Err(NotWritten::Refused(why)) if why == NOT_ALLOWED => return Err(NotDecided::NotAllowed),
            Err(NotWritten::Refused(_)) => return Err(NotDecided::NotWaiting(self.last_decision(user_id).await?)),
            Err(NotWritten::Failed(error)) => return Err(NotDecided::Failed(error.into())),
        }
        // The decision is a row that was not told yet: no request waits for that.
        jobs::soon(&self.app, NEWS);
        Ok(())
    }

    /// Writes to everybody who has not heard of a decision yet.
    async fn tell(&self) -> anyhow::Result<()> {
        let untold = decision::Entity::find().filter(decision::Column::IsTold.eq(false));
        let rows = untold.order_by_asc(decision::Column::Id).limit(TOLD_AT_ONCE).all(self.app.domain.read()).await?;
        if rows.is_empty() {
            return Ok(());
        }
        let ids = rows.iter().map(|row| row.user_id).collect::<Vec<_>>();
        let people = self.app.people.with_ids(&ids).await?;
        for row in &rows {
            if let Some(person) = people.iter().find(|person| person.id == row.user_id) {
                let once = format!("registration-decision-{}", row.id);
                self.app
                    .bot
                    .post(&once, person.telegram_id, told(person, row.reason.as_deref(), row.is_approved))
                    .await?;
                if let Some(invitation) = Onboarding::invitation(person).filter(|_| row.is_approved) {
                    self.app.bot.post(&format!("{once}-questions"), person.telegram_id, invitation).await?;
                }
            }
        }
        let told: Vec<_> = rows.iter().map(|row| row.id).collect();
        self.app.domain.write(move |db| Box::pin(mark_told(db, told))).await?;
        Ok(())
    }

    async fn documents(&self, which: impl sea_orm::sea_query::IntoCondition) -> Result<Vec<Document>, DbErr> {
        let found = document::Entity::find().filter(which).filter(document::Column::UserId.is_not_null());
        let ordered = found.order_by_asc(document::Column::CreatedAt).order_by_asc(document::Column::Kind);
        ordered.all(self.app.domain.read()).await?.into_iter().map(Document::try_from).collect()
    }
}

impl From<DbErr> for NotDecided {
    fn from(error: DbErr) -> Self {
        Self::Failed(error.into())
    }
}

/// The job that tells people what was decided on a page.
pub async fn tell_all(app: App) -> anyhow::Result<()> {
    Registrations::of_app(&app).tell().await
}

/// Decides within a commit. Refused where the person does not wait any more: whoever comes second changes nothing. Refused
/// too where the decider may not decide any more.
pub async fn decide(db: &Writing<'_, '_>, verdict: Verdict, at: Millis) -> Result<(), WriteError> {
    let Verdict { user_id, main_document_begins, by, reason, is_told } = verdict;
    people::still_may(db, by, OWNERS).await?;
    let is_approved = reason.is_none();
    let status = if is_approved { DocumentStatus::Approved } else { DocumentStatus::Rejected };
    let pending = document::Column::UserId.eq(user_id).and(document::Column::Status.eq(DocumentStatus::Pending.name()));
    let rows = document::Entity::find().filter(pending.clone()).all(db).await?;
    let is_looked_at = |row: &document::Model| {
        let mark = main_document_begins.as_str();
        !mark.is_empty() && row.kind != super::DocumentKind::Selfie.name() && row.id.starts_with(mark)
    };
    // The rows themselves are what two deciders meet at: the second finds none that wait.
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
    if is_approved {
        people::take_on(db, user_id).await?;
    }
    let row = decision::ActiveModel {
        user_id: Set(user_id),
        is_approved: Set(is_approved),
        reason: Set(reason),
        decided_by: Set(by),
        decided_at: Set(at.0),
        is_told: Set(is_told),
        ..Default::default()
    };
    row.insert(db).await?;
    Ok(())
}

/// Since when somebody's oldest document waits, as a query of one value.
fn oldest_pending(user_id: Expr) -> SelectStatement {
    let of_user = Expr::col((document::Entity, document::Column::UserId)).eq(user_id);
    Query::select()
        .expr(Expr::col((document::Entity, document::Column::CreatedAt)).min())
        .from(document::Entity)
        .and_where(of_user.and(document::Column::Status.eq(DocumentStatus::Pending.name())))
        .take()
}

/// What a person hears of a decision.
pub fn told(person: &Person, reason: Option<&str>, is_approved: bool) -> Say {
    deciding::outcome_words(person.language, reason, is_approved)
}

/// A person as an approval makes one.
pub fn let_in(person: &Person) -> Person {
    let roles = person.roles.iter().filter(|role| *role != Role::Applicant).chain([Role::Employee]).collect();
    Person { status: Status::Verified, roles, ..person.clone() }
}

async fn mark_told(db: &Writing<'_, '_>, ids: Vec<i64>) -> Result<(), WriteError> {
    decision::Entity::update_many()
        .set(decision::ActiveModel { is_told: Set(true), ..Default::default() })
        .filter(decision::Column::Id.is_in(ids))
        .exec(db)
        .await?;
    Ok(())
}
