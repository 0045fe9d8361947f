//! Sessions and answers in the database.
//!
//! A write is refused if the session is not in the expected state; then the handler runs again and reads the session.

use std::str::FromStr;

use opora::clock::Millis;
use opora::store::{Refusal, WriteError};
use sea_orm::sea_query::OnConflict;
use sea_orm::{ActiveModelTrait, ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, Set};

use super::tables::{answer, questionnaire, session};
use crate::domain::Transaction;

/// The status of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Active,
    /// Paused by the person.
    Paused,
    Completed,
    /// The person did not consent.
    Declined,
}

impl Status {
    const ALL: [Self; 4] = [Self::Active, Self::Paused, Self::Completed, Self::Declined];

    /// The status's name in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Declined => "declined",
        }
    }
}

impl FromStr for Status {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|status| status.name() == name).ok_or_else(|| format!("no session is `{name}`"))
    }
}

/// The newest questionnaire.
pub async fn last_questionnaire(db: &impl ConnectionTrait) -> Result<Option<questionnaire::Model>, DbErr> {
    questionnaire::Entity::find().order_by_desc(questionnaire::Column::Id).one(db).await
}

pub async fn questionnaires(db: &impl ConnectionTrait, ids: Vec<i64>) -> Result<Vec<questionnaire::Model>, DbErr> {
    questionnaire::Entity::find().filter(questionnaire::Column::Id.is_in(ids)).all(db).await
}

/// Stores a questionnaire as the newest one, unless it is that already.
pub async fn store_questionnaire(db: &Transaction<'_, '_>, body: String, at: Millis) -> Result<(), WriteError> {
    if last_questionnaire(db).await?.is_some_and(|last| last.body == body) {
        return Ok(());
    }
    questionnaire::ActiveModel { body: Set(body), noted_at: Set(at.0), ..Default::default() }.insert(db).await?;
    Ok(())
}

/// The sessions of a person, the oldest first.
pub async fn sessions(db: &impl ConnectionTrait, user_id: i64) -> Result<Vec<session::Model>, DbErr> {
    let of_it = session::Entity::find().filter(session::Column::UserId.eq(user_id));
    of_it.order_by_asc(session::Column::Id).all(db).await
}

/// The last session of a person.
pub async fn last_session(db: &impl ConnectionTrait, user_id: i64) -> Result<Option<session::Model>, DbErr> {
    let of_it = session::Entity::find().filter(session::Column::UserId.eq(user_id));
    of_it.order_by_desc(session::Column::Id).one(db).await
}

/// The answers of these sessions.
pub async fn answers(
    db: &impl ConnectionTrait,
    sessions: impl Iterator<Item = i64>,
) -> Result<Vec<answer::Model>, DbErr> {
    answer::Entity::find().filter(answer::Column::SessionId.is_in(sessions)).all(db).await
}

/// Begins a session after the person's consent.
pub async fn begin(
    db: &Transaction<'_, '_>,
    user_id: i64,
    questionnaire_id: i64,
    at: Millis,
) -> Result<(), WriteError> {
    if open_session(db, user_id).await?.is_some() {
        return Err(Refusal::because("there is an open session"));
    }
    insert(db, user_id, questionnaire_id, Status::Active, at).await
}

/// Records that the person did not consent.
pub async fn decline(
    db: &Transaction<'_, '_>,
    user_id: i64,
    questionnaire_id: i64,
    at: Millis,
) -> Result<(), WriteError> {
    insert(db, user_id, questionnaire_id, Status::Declined, at).await
}

/// Stores an answer, in place of an earlier one; none means skipped. The last answer completes the session.
pub async fn answer(
    db: &Transaction<'_, '_>,
    user_id: i64,
    question: String,
    given: Option<String>,
    is_last: bool,
    at: Millis,
) -> Result<(), WriteError> {
    let session = active(db, user_id).await?;
    let row = answer::ActiveModel {
        session_id: Set(session.id),
        question: Set(question),
        answer: Set(given),
        answered_at: Set(at.0),
    };
    let on_conflict = OnConflict::columns([answer::Column::SessionId, answer::Column::Question])
        .update_columns([answer::Column::Answer, answer::Column::AnsweredAt])
        .to_owned();
    answer::Entity::insert(row).on_conflict(on_conflict).exec_without_returning(db).await?;
    if is_last {
        end(db, session, at).await?;
    }
    Ok(())
}

/// Completes the session: all questions have answers.
pub async fn complete(db: &Transaction<'_, '_>, user_id: i64, at: Millis) -> Result<(), WriteError> {
    match open_session(db, user_id).await? {
        Some(session) => end(db, session, at).await,
        None => Ok(()),
    }
}

/// Pauses or resumes the session.
pub async fn set_status(db: &Transaction<'_, '_>, user_id: i64, status: Status) -> Result<(), WriteError> {
    if let Some(session) = open_session(db, user_id).await?
        && session.status != status.name()
    {
        let mut session: session::ActiveModel = session.into();
        session.status = Set(status.name().to_owned());
        session.update(db).await?;
    }
    Ok(())
}

async fn active(db: &Transaction<'_, '_>, user_id: i64) -> Result<session::Model, WriteError> {
    let found = open_session(db, user_id).await?.filter(|session| session.status == Status::Active.name());
    found.ok_or_else(|| Refusal::because("no session is active"))
}

async fn open_session(db: &Transaction<'_, '_>, user_id: i64) -> Result<Option<session::Model>, DbErr> {
    let names = [Status::Active, Status::Paused].map(Status::name);
    let of_it = session::Entity::find().filter(session::Column::UserId.eq(user_id));
    of_it.filter(session::Column::Status.is_in(names)).one(db).await
}

async fn insert(
    db: &Transaction<'_, '_>,
    user_id: i64,
    questionnaire_id: i64,
    status: Status,
    at: Millis,
) -> Result<(), WriteError> {
    let row = session::ActiveModel {
        user_id: Set(user_id),
        questionnaire_id: Set(questionnaire_id),
        status: Set(status.name().to_owned()),
        began_at: Set(at.0),
        ended_at: Set((status == Status::Declined).then_some(at.0)),
        ..Default::default()
    };
    row.insert(db).await?;
    Ok(())
}

async fn end(db: &Transaction<'_, '_>, session: session::Model, at: Millis) -> Result<(), WriteError> {
    let mut session: session::ActiveModel = session.into();
    session.status = Set(Status::Completed.name().to_owned());
    session.ended_at = Set(Some(at.0));
    session.update(db).await?;
    Ok(())
}
