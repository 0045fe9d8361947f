//! Chats and their messages in the database.

use std::collections::HashMap;

use opora::clock::Millis;
use opora::store::{Refusal, WriteError};
use sea_orm::{ActiveModelTrait, ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QuerySelect, Set};

use super::super::tables::{chat, message};
use crate::domain::Transaction;
use crate::person::{OWNERS, Person};

/// The open chat of a person.
pub async fn open_chat(db: &impl ConnectionTrait, user_id: i64) -> Result<Option<chat::Model>, DbErr> {
    let of_it = chat::Entity::find().filter(chat::Column::UserId.eq(user_id));
    of_it.filter(chat::Column::EndedAt.is_null()).one(db).await
}

/// Number of open chats per person who answers.
pub async fn open_chats_per_answerer(db: &impl ConnectionTrait) -> Result<HashMap<i64, i64>, DbErr> {
    let counts = chat::Entity::find()
        .select_only()
        .column(chat::Column::InChargeId)
        .column_as(chat::Column::Id.count(), "chats")
        .filter(chat::Column::EndedAt.is_null())
        .group_by(chat::Column::InChargeId);
    let counts: Vec<(i64, i64)> = counts.into_tuple().all(db).await?;
    Ok(counts.into_iter().collect())
}

/// Stores a question; the first one begins a chat.
pub async fn ask(
    db: &Transaction<'_, '_>,
    user_id: i64,
    in_charge_id: i64,
    text: String,
    at: Millis,
) -> Result<(), WriteError> {
    let chat = match open_chat(db, user_id).await? {
        Some(chat) if chat.in_charge_id == in_charge_id => chat.id,
        Some(chat) => {
            let mut chat: chat::ActiveModel = chat.into();
            chat.in_charge_id = Set(in_charge_id);
            chat.update(db).await?.id
        }
        None => {
            let chat = chat::ActiveModel {
                user_id: Set(user_id),
                in_charge_id: Set(in_charge_id),
                began_at: Set(at.0),
                ..Default::default()
            };
            chat.insert(db).await?.id
        }
    };
    store_message(db, chat, user_id, text, at).await
}

/// Whether this person may answer in a chat: the person in charge of it, and owners.
pub fn may_answer(chat: &chat::Model, person: &Person) -> bool {
    chat.in_charge_id == person.id || person.may(OWNERS)
}

/// Stores an answer; refused if the chat was closed meanwhile, or was given to another person.
pub async fn answer(
    db: &Transaction<'_, '_>,
    user_id: i64,
    by: Person,
    text: String,
    at: Millis,
) -> Result<(), WriteError> {
    let chat = open_chat(db, user_id).await?.filter(|chat| may_answer(chat, &by));
    let chat = chat.ok_or_else(|| Refusal::because("the conversation is closed"))?;
    store_message(db, chat.id, by.id, text, at).await
}

/// Ends a chat for the person who answers; a chat that was given to another person stays open.
pub async fn close_by(db: &Transaction<'_, '_>, user_id: i64, by: Person, at: Millis) -> Result<(), WriteError> {
    match open_chat(db, user_id).await? {
        Some(chat) if may_answer(&chat, &by) => close(db, user_id, at).await,
        _ => Ok(()),
    }
}

/// Ends a chat; one that has ended stays as it is.
pub async fn close(db: &Transaction<'_, '_>, user_id: i64, at: Millis) -> Result<(), WriteError> {
    if let Some(chat) = open_chat(db, user_id).await? {
        let mut chat: chat::ActiveModel = chat.into();
        chat.ended_at = Set(Some(at.0));
        chat.update(db).await?;
    }
    Ok(())
}

async fn store_message(
    db: &Transaction<'_, '_>,
    chat: i64,
    author: i64,
    text: String,
    at: Millis,
) -> Result<(), WriteError> {
    let row = message::ActiveModel {
        chat_id: Set(chat),
        author_id: Set(author),
        text: Set(text),
        at: Set(at.0),
        ..Default::default()
    };
    row.insert(db).await?;
    Ok(())
}
