//! The actor of a change, read again within the commit.
//!
//! A handler or a page checks roles before its commit, and an owner may block its person in between. So the commit locks
//! the actor's row and compares. A change of roles or status that comes at the same time waits for this commit, or this
//! commit waits for it and is refused.

use futures_util::future::BoxFuture;
use opora::store::{Refusal, WriteError};
use opora::turn::Turn;
use sea_orm::sea_query::LockType;
use sea_orm::{ColumnTrait, ConnectionTrait, DbBackend, DbErr, EntityTrait, QueryFilter, QuerySelect};

use super::tables::user;
use super::{Person, Role, Status, find};
use crate::domain::{InTurn, NOT_ALLOWED, Writing};

/// Turns that write for a person who must still be allowed to act when the turn commits.
pub trait WriteAs {
    /// Writes within the turn's commit, like [`InTurn::write`]. Refused where the person's status or roles have changed
    /// since the handler looked.
    fn write_as<F>(&mut self, person: &Person, run: F)
    where
        F: for<'w> FnOnce(&'w Writing<'_, '_>) -> BoxFuture<'w, Result<(), WriteError>> + Send + 'static;
}

impl WriteAs for Turn {
    fn write_as<F>(&mut self, person: &Person, run: F)
    where
        F: for<'w> FnOnce(&'w Writing<'_, '_>) -> BoxFuture<'w, Result<(), WriteError>> + Send + 'static,
    {
        let person = person.clone();
        self.write(move |db| {
            Box::pin(async move {
                unchanged(db, &person).await?;
                run(db).await
            })
        });
    }
}

/// Refuses the commit unless the actor is verified and has the same roles as when the right was checked.
pub async fn unchanged(db: &Writing<'_, '_>, actor: &Person) -> Result<(), WriteError> {
    let now = locked(db, actor.id).await?;
    let is_same = now.is_some_and(|now| now.status == Status::Verified && now.roles == actor.roles);
    if is_same { Ok(()) } else { Err(Refusal::because(NOT_ALLOWED)) }
}

/// Refuses the commit unless the actor may act in one of these roles.
pub async fn still_may(db: &Writing<'_, '_>, actor: i64, roles: &[Role]) -> Result<(), WriteError> {
    let may = locked(db, actor).await?.is_some_and(|now| now.may(roles));
    if may { Ok(()) } else { Err(Refusal::because(NOT_ALLOWED)) }
}

/// A person, whom no other commit changes before this one is over.
async fn locked(db: &Writing<'_, '_>, id: i64) -> Result<Option<Person>, DbErr> {
    // SQLite has one writer, so there is nothing to lock.
    if db.get_database_backend() == DbBackend::Postgres {
        let row = user::Entity::find().select_only().column(user::Column::Id).filter(user::Column::Id.eq(id));
        row.lock(LockType::Share).into_tuple::<i64>().one(db).await?;
    }
    // In a statement of its own: after a wait, the first one has not seen what changed meanwhile.
    Ok(find(db, user::Column::Id.eq(id)).await?.into_iter().next())
}
