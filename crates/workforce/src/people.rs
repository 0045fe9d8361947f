//! People: identity, roles, status and language.
//!
//! The public functions are [`People`] for queries and [`changes`] for writes. A role grants rights and is no place in
//! an organisation: a person with several roles sees what each of them may see.

use std::collections::BTreeSet;

use futures_util::future::BoxFuture;
use opora::clock::Millis;
use sea_orm::sea_query::{IntoCondition, Query, SelectStatement};
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect};

pub use self::actor::{WriteAs, lock_status, require_role, require_unchanged};
pub use self::changes::{
    Enrolment, Grant, Imported, add_role, delete_pending, enrol, give_role, grant, import, make_employee, mark_as_test,
    revoke, set_documents, set_language, set_status, set_test, set_username, take_role,
};
pub use self::owners::{OwnerAction, OwnerActionRefusal, lock_and_check};
pub use self::personal_data::{export, forget, forget_documents, forget_unchanged};
pub use self::search::{PAGE, Page, PeopleFilter, names};
use self::tables::{role as user_role, user};
use crate::application::App;
use crate::domain::Domain;
use crate::key;
use crate::person::{Permission, Person, Role, Roles, SITE_STAFF, Status};
use crate::rooms::Room;
use crate::web::ui::Icon;
use crate::web::{Card, NavItem, PageError, Routes, SearchGroups};

mod actor;
pub mod blocking;
pub mod changes;
pub mod command;
pub mod editing;
pub mod forget_queue;
pub mod forgetting;
mod owners;
mod pages;
mod personal_data;
mod search;
mod tables;

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
        let item = NavItem::new(key!("web-nav-people"), "/people", Icon::People, SITE_STAFF);
        vec![item.needs(Permission::Employees)]
    }

    fn search<'a>(
        &'a self,
        app: &'a App,
        viewer: &'a Person,
        words: &'a str,
    ) -> BoxFuture<'a, Result<SearchGroups, PageError>> {
        Box::pin(pages::search(app, viewer, words))
    }

    fn home_cards<'a>(&'a self, app: &'a App, viewer: &'a Person) -> BoxFuture<'a, Result<Vec<Card>, PageError>> {
        Box::pin(async move { Ok(pages::counts(app, viewer).await?) })
    }
}

/// Queries about people.
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

    /// Whether there is more than one person.
    pub async fn has_several(&self) -> Result<bool, DbErr> {
        let ids = user::Entity::find().select_only().column(user::Column::Id).limit(2).into_tuple::<i64>();
        Ok(ids.all(self.domain.read()).await?.len() > 1)
    }

    /// The id of a person's selfie, as a document.
    pub async fn photo_of(&self, id: i64) -> Result<Option<String>, DbErr> {
        Ok(user::Entity::find_by_id(id).one(self.domain.read()).await?.and_then(|user| user.selfie_id))
    }

    /// The people with these ids; unknown ids are left out.
    pub async fn with_ids(&self, ids: &[i64]) -> Result<Vec<Person>, DbErr> {
        find(self.domain.read(), user::Column::Id.is_in(ids.iter().copied())).await
    }

    /// The people with these Telegram accounts; unknown accounts are left out.
    pub async fn with_telegram_ids(&self, telegram_ids: &[i64]) -> Result<Vec<Person>, DbErr> {
        find(self.domain.read(), user::Column::TelegramId.is_in(telegram_ids.iter().copied())).await
    }

    /// Verified people with any of these roles, in the order of their ids.
    pub async fn with_any(&self, roles: &[Role]) -> Result<Vec<Person>, DbErr> {
        with_any(self.domain.read(), roles).await
    }

    /// People with this status, in the order of their ids.
    pub async fn with_status(&self, status: Status) -> Result<Vec<Person>, DbErr> {
        find(self.domain.read(), user::Column::Status.eq(status.name())).await
    }

    /// All people, in the order of their ids.
    pub async fn all(&self) -> Result<Vec<Person>, DbErr> {
        find(self.domain.read(), Condition::all()).await
    }
}

/// Verified people with any of these roles, in the order of their ids. Works within a commit.
pub async fn with_any(db: &impl ConnectionTrait, roles: &[Role]) -> Result<Vec<Person>, DbErr> {
    let verified = user::Column::Status.eq(Status::Verified.name());
    let names = roles.iter().map(|role| role.name());
    let holders = Query::select()
        .column(user_role::Column::UserId)
        .from(user_role::Entity)
        .and_where(user_role::Column::Role.is_in(names))
        .take();
    find(db, Condition::all().add(verified).add(user::Column::Id.in_subquery(holders))).await
}

/// The person with this Telegram account, also within a commit.
pub async fn by_telegram(db: &impl ConnectionTrait, telegram_id: i64) -> Result<Option<Person>, DbErr> {
    let found = find(db, user::Column::TelegramId.eq(telegram_id)).await?;
    Ok(found.into_iter().next())
}

/// The verified ones of these people, within a commit.
pub async fn verified_of(db: &impl ConnectionTrait, ids: impl Iterator<Item = i64>) -> Result<BTreeSet<i64>, DbErr> {
    let verified =
        Condition::all().add(user::Column::Id.is_in(ids)).add(user::Column::Status.eq(Status::Verified.name()));
    Ok(find(db, verified).await?.into_iter().map(|person| person.id).collect())
}

/// The ids of all verified people, for a condition of a query.
pub fn verified_ids() -> SelectStatement {
    let verified = user::Column::Status.eq(Status::Verified.name());
    Query::select().column(user::Column::Id).from(user::Entity).and_where(verified).take()
}

/// Whether a person waits for a review, within a commit.
pub async fn is_pending(db: &impl ConnectionTrait, id: i64) -> Result<bool, DbErr> {
    let found = find(db, user::Column::Id.eq(id)).await?;
    Ok(found.first().is_some_and(|person| person.status == Status::Pending))
}

/// Whether a person was added by a granted role, and not by registration.
pub async fn is_granted(db: &impl ConnectionTrait, id: i64) -> Result<bool, DbErr> {
    let row = user::Entity::find_by_id(id).one(db).await?;
    Ok(row.is_some_and(|row| row.enrolled_by == "grant"))
}

/// Whether a person names a document and a selfie.
pub async fn has_documents(db: &impl ConnectionTrait, id: i64) -> Result<bool, DbErr> {
    let row = user::Entity::find_by_id(id).one(db).await?;
    Ok(row.is_some_and(|row| row.main_document_id.is_some() && row.selfie_id.is_some()))
}

/// Whose data is forgotten after some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetentionGroup {
    /// People who were rejected and have never had another role than that of an applicant.
    RejectedApplicants,
    BlockedWithDocuments,
}

/// The first people of a group whose row was last changed before a time, in the order of their ids.
pub async fn unchanged_since(
    db: &impl ConnectionTrait,
    group: RetentionGroup,
    before: Millis,
    max: u64,
) -> Result<Vec<Person>, DbErr> {
    let due = Condition::all()
        .add(user::Column::UpdatedAt.lt(before.0))
        // A negative account is a person who is forgotten already.
        .add(user::Column::TelegramId.gt(0));
    let due = match group {
        RetentionGroup::RejectedApplicants => {
            // A member whose documents are gone is rejected after an unblock, and has worked and been paid.
            let members = Query::select()
                .column(user_role::Column::UserId)
                .from(user_role::Entity)
                .and_where(user_role::Column::Role.ne(Role::Applicant.name()))
                .take();
            let is_rejected = user::Column::Status.eq(Status::Rejected.name());
            due.add(is_rejected).add(user::Column::Id.not_in_subquery(members))
        }
        RetentionGroup::BlockedWithDocuments => {
            due.add(user::Column::Status.eq(Status::Blocked.name())).add(user::Column::MainDocumentId.is_not_null())
        }
    };
    let ids = user::Entity::find().select_only().column(user::Column::Id).filter(due);
    let ids: Vec<i64> = ids.order_by_asc(user::Column::Id).limit(max).into_tuple().all(db).await?;
    find(db, user::Column::Id.is_in(ids)).await
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
