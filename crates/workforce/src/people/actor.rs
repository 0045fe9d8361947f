//! Checks the actor of a change again, within the commit.
//!
//! A handler or a page checks roles before its commit, and an owner may block the actor in between. So the commit locks
//! the actor's row and compares. A concurrent change of roles or status waits for this commit, or this commit waits for
//! it and is refused.

use futures_util::future::BoxFuture;
use opora::store::{Refusal, WriteError};
use opora::turn::Turn;
use sea_orm::sea_query::LockType;
use sea_orm::{ColumnTrait, ConnectionTrait, DbBackend, DbErr, EntityTrait, QueryFilter, QuerySelect};

use super::tables::user;
use super::{Person, Role, Status, find};
use crate::domain::{NOT_ALLOWED, Transaction, WriteInTurn};

/// Writes of a turn on behalf of a person who must still be allowed to act at the commit.
pub trait WriteAs {
    /// Writes within the turn's commit, like [`WriteInTurn::write`]. Refused if the person's status or roles have
    /// changed since the handler checked them.
    fn write_as<F>(&mut self, person: &Person, run: F)
    where
        F: for<'w> FnOnce(&'w Transaction<'_, '_>) -> BoxFuture<'w, Result<(), WriteError>> + Send + 'static;
}

impl WriteAs for Turn {
    fn write_as<F>(&mut self, person: &Person, run: F)
    where
        F: for<'w> FnOnce(&'w Transaction<'_, '_>) -> BoxFuture<'w, Result<(), WriteError>> + Send + 'static,
    {
        let person = person.clone();
        self.write(move |db| {
            Box::pin(async move {
                require_unchanged(db, &person).await?;
                run(db).await
            })
        });
    }
}

/// Refuses the commit unless the actor is verified and has the same roles as at the first check.
pub async fn require_unchanged(db: &Transaction<'_, '_>, actor: &Person) -> Result<(), WriteError> {
    let now = locked(db, actor.id).await?;
    let is_same = now.is_some_and(|now| now.status == Status::Verified && now.roles == actor.roles);
    if is_same { Ok(()) } else { Err(Refusal::because(NOT_ALLOWED)) }
}

/// Refuses the commit unless the actor is verified and has one of these roles.
pub async fn require_role(db: &Transaction<'_, '_>, actor: i64, roles: &[Role]) -> Result<(), WriteError> {
    let may = locked(db, actor).await?.is_some_and(|now| now.may(roles));
    if may { Ok(()) } else { Err(Refusal::because(NOT_ALLOWED)) }
}

/// Locks a person against changes by other commits, and returns the status; None for an unknown person.
pub async fn lock_status(db: &Transaction<'_, '_>, id: i64) -> Result<Option<Status>, DbErr> {
    Ok(locked(db, id).await?.map(|person| person.status))
}

/// Locks a person against changes by other commits, and reads the row.
async fn locked(db: &Transaction<'_, '_>, id: i64) -> Result<Option<Person>, DbErr> {
    // SQLite has one writer, so there is nothing to lock.
    if db.get_database_backend() == DbBackend::Postgres {
        let row = user::Entity::find().select_only().column(user::Column::Id).filter(user::Column::Id.eq(id));
        row.lock(LockType::Share).into_tuple::<i64>().one(db).await?;
    }
    // A separate statement: after a wait for the lock, the first one does not see the other commit's changes.
    Ok(find(db, user::Column::Id.eq(id)).await?.into_iter().next())
}
