//! Sessions and answers in the database.
//!
//! What a dialogue wants is refused where the session is not as it believes: its handler is asked again and looks.

use std::str::FromStr;

use opora::clock::Millis;
use opora::store::{Refusal, WriteError};
use sea_orm::sea_query::OnConflict;
use sea_orm::{ActiveModelTrait, ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, Set};

use super::tables::{answer, questionnaire, session};
use crate::domain::Writing;

/// Where a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Active,
    /// The person has put it aside.
    Paused,
    Completed,
    /// The person did not consent.
    Declined,
}

impl Status {
    const ALL: [Self; 4] = [Self::Active, Self::Paused, Self::Completed, Self::Declined];

    /// Its name in the database.
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

/// Notes a questionnaire as the newest, unless it is that already.
pub async fn note_questionnaire(db: &Writing<'_, '_>, body: String, at: Millis) -> Result<(), WriteError> {
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

/// The person consents, and the questions begin.
pub async fn begin(db: &Writing<'_, '_>, user_id: i64, questionnaire_id: i64, at: Millis) -> Result<(), WriteError> {
    if under_way(db, user_id).await?.is_some() {
        return Err(Refusal::because("a session is under way"));
    }
    insert(db, user_id, questionnaire_id, Status::Active, at).await
}

/// The person does not consent.
pub async fn decline(db: &Writing<'_, '_>, user_id: i64, questionnaire_id: i64, at: Millis) -> Result<(), WriteError> {
    insert(db, user_id, questionnaire_id, Status::Declined, at).await
}

/// Keeps an answer, in place of an earlier one; none is a skipped question. The last one completes the session.
pub async fn answer(
    db: &Writing<'_, '_>,
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
    let again = OnConflict::columns([answer::Column::SessionId, answer::Column::Question])
        .update_columns([answer::Column::Answer, answer::Column::AnsweredAt])
        .to_owned();
    answer::Entity::insert(row).on_conflict(again).exec_without_returning(db).await?;
    if is_last {
        end(db, session, at).await?;
    }
    Ok(())
}

/// All questions have answers.
pub async fn complete(db: &Writing<'_, '_>, user_id: i64, at: Millis) -> Result<(), WriteError> {
    match under_way(db, user_id).await? {
        Some(session) => end(db, session, at).await,
        None => Ok(()),
    }
}

/// Puts the session aside, or takes it up again.
pub async fn set_status(db: &Writing<'_, '_>, user_id: i64, status: Status) -> Result<(), WriteError> {
    if let Some(session) = under_way(db, user_id).await?
        && session.status != status.name()
    {
        let mut session: session::ActiveModel = session.into();
        session.status = Set(status.name().to_owned());
        session.update(db).await?;
    }
    Ok(())
}

async fn active(db: &Writing<'_, '_>, user_id: i64) -> Result<session::Model, WriteError> {
    let found = under_way(db, user_id).await?.filter(|session| session.status == Status::Active.name());
    found.ok_or_else(|| Refusal::because("no session is active"))
}

async fn under_way(db: &Writing<'_, '_>, user_id: i64) -> Result<Option<session::Model>, DbErr> {
    let names = [Status::Active, Status::Paused].map(Status::name);
    let of_it = session::Entity::find().filter(session::Column::UserId.eq(user_id));
    of_it.filter(session::Column::Status.is_in(names)).one(db).await
}

async fn insert(
    db: &Writing<'_, '_>,
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

async fn end(db: &Writing<'_, '_>, session: session::Model, at: Millis) -> Result<(), WriteError> {
    let mut session: session::ActiveModel = session.into();
    session.status = Set(Status::Completed.name().to_owned());
    session.ended_at = Set(Some(at.0));
    session.update(db).await?;
    Ok(())
}
