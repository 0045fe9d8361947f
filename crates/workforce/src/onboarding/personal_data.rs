//! Exports and forgets the personal data of onboarding.

use std::path::Path;

use opora::clock::Clock;
use opora::store::WriteError;
use sea_orm::{ColumnTrait, Condition, EntityTrait, QueryFilter, QueryOrder, Set};
use serde_json::{Value, json};

use super::tables::{chat, message, session};
use super::{Onboarding, Session};
use crate::domain::{Domain, Transaction};
use crate::person::Person;

/// Questionnaires with their answers, and the messages of chats.
pub async fn export(domain: &Domain, person: &Person) -> anyhow::Result<Value> {
    // The owner's file is not needed.
    let onboarding = Onboarding::new(domain.clone(), Clock::machine(), Path::new(""));
    let sessions = onboarding.answers_of(person.id, person.language).await?;
    let chats = chat::Entity::find().filter(chat::Column::UserId.eq(person.id)).all(domain.read()).await?;
    let within = message::Column::ChatId.is_in(chats.iter().map(|chat| chat.id));
    let messages = message::Entity::find().filter(Condition::any().add(within).add(written_by(person.id)));
    let messages = messages.order_by_asc(message::Column::Id).all(domain.read()).await?;
    let chat_messages = messages
        .iter()
        .map(|one| json!({ "at_ms": one.at, "text": one.text, "is_by_the_person": one.author_id == person.id }));
    Ok(
        json!({ "questionnaires": sessions.iter().map(session_json).collect::<Value>(), "messages": chat_messages.collect::<Value>() }),
    )
}

/// Deletes sessions and chats; answers to other people lose their text.
pub async fn forget(db: &Transaction<'_, '_>, user_id: i64) -> Result<(), WriteError> {
    session::Entity::delete_many().filter(session::Column::UserId.eq(user_id)).exec(db).await?;
    chat::Entity::delete_many().filter(chat::Column::UserId.eq(user_id)).exec(db).await?;
    let empty = message::ActiveModel { text: Set(String::new()), ..Default::default() };
    message::Entity::update_many().set(empty).filter(written_by(user_id)).exec(db).await?;
    Ok(())
}

fn written_by(user_id: i64) -> sea_orm::sea_query::Expr {
    message::Column::AuthorId.eq(user_id)
}

fn session_json(session: &Session) -> Value {
    let answers = session
        .answers
        .iter()
        .map(|one| json!({ "question": one.question, "answer": one.answer, "answered_at_ms": one.answered_at.0 }));
    json!({
        "status": session.status.name(),
        "began_at_ms": session.began_at.0,
        "ended_at_ms": session.ended_at.map(|at| at.0),
        "answers": answers.collect::<Value>(),
    })
}
