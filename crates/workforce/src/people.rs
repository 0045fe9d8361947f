//! People: who they are, what they may do, and which language they speak.
//!
//! The front door of the room is [`People`] for questions and the functions of [`changes`] for writes. A role is a
//! guard, not a place: whoever has several sees what each of them may see.

use std::collections::BTreeSet;

use futures_util::future::BoxFuture;
use opora::clock::Millis;
use sea_orm::sea_query::{IntoCondition, Query};
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder};

pub use self::acting::{WriteAs, still_may, unchanged};
pub use self::changes::{
    Enrolment, Grant, add_role, delete_waiting, enrol, give_role, grant, mark_as_test, revoke, set_documents,
    set_language, set_status, set_test, set_username, take_on, take_role,
};
pub use self::leaving::{export, forget};
pub use self::owners::{Deed, Hindrance, hold};
pub use self::search::{PAGE, Page};
use self::tables::{role as user_role, user};
use crate::application::App;
use crate::domain::Domain;
use crate::key;
use crate::person::{KEEPERS, Permission, Person, Role, Roles, Status};
use crate::rooms::Room;
use crate::web::{Card, NavItem, Oops, Routes};

mod acting;
pub mod changes;
pub mod command;
pub mod forgetting;
mod leaving;
mod owners;
mod pages;
mod search;
mod tables;
pub mod to_forget;

/// The room.
#[derive(Debug)]
pub struct PeopleRoom;

impl Room for PeopleRoom {
    fn name(&self) -> &'static str {
        "people"
    }

    fn routes(&self) -> Routes {
        pages::routes()
    }

    fn nav(&self) -> Vec<NavItem> {
        let needs = Some(Permission::Employees);
        vec![NavItem { caption: key!("web-nav-people"), path: "/people", roles: KEEPERS, needs }]
    }

    fn home<'a>(&'a self, app: &'a App, viewer: &'a Person) -> BoxFuture<'a, Result<Vec<Card>, Oops>> {
        Box::pin(async move { Ok(pages::counts(app, viewer).await?) })
    }
}

/// The front door.
#[derive(Clone, Debug)]
pub struct People {
    domain: Domain,
}

impl People {
    pub fn new(domain: Domain) -> Self {
        Self { domain }
    }

    /// The person with this Telegram account.
    pub async fn by_telegram(&self, telegram_id: i64) -> Result<Option<Person>, DbErr> {
        by_telegram(self.domain.read(), telegram_id).await
    }

    pub async fn by_id(&self, id: i64) -> Result<Option<Person>, DbErr> {
        let found = find(self.domain.read(), user::Column::Id.eq(id)).await?;
        Ok(found.into_iter().next())
    }

    /// Those of these ids who are known.
    pub async fn with_ids(&self, ids: &[i64]) -> Result<Vec<Person>, DbErr> {
        find(self.domain.read(), user::Column::Id.is_in(ids.iter().copied())).await
    }

    /// Verified people with any of these roles, in the order in which they came.
    pub async fn with_any(&self, roles: &[Role]) -> Result<Vec<Person>, DbErr> {
        let verified = user::Column::Status.eq(Status::Verified.name());
        let names = roles.iter().map(|role| role.name());
        let holders = Query::select()
            .column(user_role::Column::UserId)
            .from(user_role::Entity)
            .and_where(user_role::Column::Role.is_in(names))
            .take();
        let which = Condition::all().add(verified).add(user::Column::Id.in_subquery(holders));
        find(self.domain.read(), which).await
    }

    /// Everybody in this state, in the order in which they came.
    pub async fn with_status(&self, status: Status) -> Result<Vec<Person>, DbErr> {
        find(self.domain.read(), user::Column::Status.eq(status.name())).await
    }

    /// Everybody, in the order in which they came.
    pub async fn all(&self) -> Result<Vec<Person>, DbErr> {
        find(self.domain.read(), Condition::all()).await
    }
}

/// The person with this Telegram account, also as a commit under way has it.
pub async fn by_telegram(db: &impl ConnectionTrait, telegram_id: i64) -> Result<Option<Person>, DbErr> {
    let found = find(db, user::Column::TelegramId.eq(telegram_id)).await?;
    Ok(found.into_iter().next())
}

/// Those of these people who are verified, as a commit under way has them.
pub async fn verified_of(db: &impl ConnectionTrait, ids: impl Iterator<Item = i64>) -> Result<BTreeSet<i64>, DbErr> {
    let verified =
        Condition::all().add(user::Column::Id.is_in(ids)).add(user::Column::Status.eq(Status::Verified.name()));
    Ok(find(db, verified).await?.into_iter().map(|person| person.id).collect())
}

/// Whether a person waits to be looked at, as a commit under way has it.
pub async fn is_pending(db: &impl ConnectionTrait, id: i64) -> Result<bool, DbErr> {
    let found = find(db, user::Column::Id.eq(id)).await?;
    Ok(found.first().is_some_and(|person| person.status == Status::Pending))
}

/// Whether a person became known by a role that was given, and not by registering.
pub async fn is_granted(db: &impl ConnectionTrait, id: i64) -> Result<bool, DbErr> {
    let row = user::Entity::find_by_id(id).one(db).await?;
    Ok(row.is_some_and(|row| row.enrolled_by == "grant"))
}

async fn find(db: &impl ConnectionTrait, which: impl IntoCondition) -> Result<Vec<Person>, DbErr> {
    let found = user::Entity::find().filter(which).order_by_asc(user::Column::Id);
    let rows = found.find_with_related(user_role::Entity).all(db).await?;
    rows.into_iter().map(|(user, roles)| person(user, &roles)).collect()
}

fn person(user: user::Model, roles: &[user_role::Model]) -> Result<Person, DbErr> {
    let roles: Result<Roles, String> = roles.iter().map(|row| row.role.parse::<Role>()).collect();
    Ok(Person {
        id: user.id,
        telegram_id: user.telegram_id,
        full_name: user.full_name,
        phone: user.phone,
        username: user.username,
        email: user.email,
        language: user.language.parse().map_err(DbErr::Custom)?,
        status: user.status.parse().map_err(DbErr::Custom)?,
        roles: roles.map_err(DbErr::Custom)?,
        is_test: user.is_test,
        created_at: Millis(user.created_at),
        version: user.version,
    })
}
