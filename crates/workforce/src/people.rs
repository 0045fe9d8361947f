//! People: who they are, what they may do, and which language they speak.
//!
//! The front door of the room is [`People`]. A role is a guard, not a place: whoever has several sees what each of them
//! may see.

use std::str::FromStr;

use opora::clock::Millis;
use opora::store::{Refusal, WriteError};
use sea_orm::sea_query::OnConflict;
use sea_orm::{
    ActiveModelTrait, ColumnTrait, Condition, ConnectionTrait, DbErr, EntityTrait, IntoActiveModel, QueryFilter,
    QueryOrder, Set,
};

pub use self::role::{Role, Roles};
use self::tables::{role as user_role, user};
use crate::audit;
use crate::domain::{Domain, Writing};
use crate::texts::Language;

pub mod command;
mod role;
mod tables;

/// A person as the rooms see one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    pub id: i64,
    pub telegram_id: i64,
    pub full_name: String,
    pub language: Language,
    pub status: Status,
    pub roles: Roles,
    pub is_test: bool,
}

/// Where a person stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Registered, and nobody has looked yet.
    Pending,
    Verified,
    Rejected,
    /// Kept out by staff.
    Blocked,
}

/// The front door.
#[derive(Clone, Debug)]
pub struct People {
    domain: Domain,
}

impl Person {
    /// Whether the person may act in any of these roles: nobody may who is blocked or not verified.
    pub fn may(&self, roles: &[Role]) -> bool {
        self.status == Status::Verified && self.roles.has_any(roles)
    }
}

impl Status {
    const ALL: [Self; 4] = [Self::Pending, Self::Verified, Self::Rejected, Self::Blocked];

    /// Its name in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Verified => "verified",
            Self::Rejected => "rejected",
            Self::Blocked => "blocked",
        }
    }
}

impl FromStr for Status {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|status| status.name() == name).ok_or_else(|| format!("no status `{name}`"))
    }
}

impl People {
    pub fn new(domain: Domain) -> Self {
        Self { domain }
    }

    /// The person with this Telegram account.
    pub async fn by_telegram(&self, telegram_id: i64) -> Result<Option<Person>, DbErr> {
        let found = self.find(user::Column::TelegramId.eq(telegram_id).into()).await?;
        Ok(found.into_iter().next())
    }

    pub async fn by_id(&self, id: i64) -> Result<Option<Person>, DbErr> {
        let found = self.find(user::Column::Id.eq(id).into()).await?;
        Ok(found.into_iter().next())
    }

    /// Verified people with any of these roles, in the order in which they came.
    pub async fn with_any(&self, roles: &[Role]) -> Result<Vec<Person>, DbErr> {
        let verified = user::Column::Status.eq(Status::Verified.name());
        let names = roles.iter().map(|role| role.name());
        let holders = sea_orm::sea_query::Query::select()
            .column(user_role::Column::UserId)
            .from(user_role::Entity)
            .and_where(user_role::Column::Role.is_in(names))
            .take();
        self.find(Condition::all().add(verified).add(user::Column::Id.in_subquery(holders))).await
    }

    /// Everybody, in the order in which they came.
    pub async fn all(&self) -> Result<Vec<Person>, DbErr> {
        self.find(Condition::all()).await
    }

    async fn find(&self, which: Condition) -> Result<Vec<Person>, DbErr> {
        let found = user::Entity::find().filter(which).order_by_asc(user::Column::Id);
        let rows = found.find_with_related(user_role::Entity).all(self.domain.read()).await?;
        rows.into_iter().map(|(user, roles)| person(user, &roles)).collect()
    }
}

/// Gives a role to whoever has this Telegram account; one who is not known yet becomes known by it, without documents.
pub async fn grant(db: &Writing<'_, '_>, granted: Grant, at: Millis) -> Result<(), WriteError> {
    let known = user::Entity::find().filter(user::Column::TelegramId.eq(granted.telegram_id)).one(db).await?;
    let id = match known {
        Some(user) => {
            let id = user.id;
            let mut changed = user.into_active_model();
            changed.status = Set(Status::Verified.name().to_owned());
            changed.updated_at = Set(at.0);
            changed.enrolled_by = Set("grant".to_owned());
            changed.update(db).await?;
            id
        }
        None => enrolled_by_grant(db, &granted, at).await?,
    };
    add_role(db, id, granted.role).await?;
    let detail = serde_json::json!({ "role": granted.role.name() });
    audit::record(db, audit::Entry { at, actor: granted.by, action: "role granted", subject: ("user", id), detail }).await
}

/// Takes a role away; refused for one whom nobody knows, or who has it not.
pub async fn revoke(db: &Writing<'_, '_>, telegram_id: i64, role: Role, at: Millis) -> Result<(), WriteError> {
    let known = user::Entity::find().filter(user::Column::TelegramId.eq(telegram_id)).one(db).await?;
    let Some(user) = known else {
        return Err(Refusal::because(format!("nobody with the Telegram id {telegram_id} is known")));
    };
    let row = user_role::ActiveModel { user_id: Set(user.id), role: Set(role.name().to_owned()) };
    if user_role::Entity::delete(row).exec(db).await?.rows_affected == 0 {
        return Err(Refusal::because(format!("{telegram_id} is not {role}")));
    }
    let detail = serde_json::json!({ "role": role.name() });
    audit::record(db, audit::Entry { at, actor: None, action: "role revoked", subject: ("user", user.id), detail }).await
}

/// Adds a role; one that is there stays.
pub async fn add_role(db: &impl ConnectionTrait, user_id: i64, role: Role) -> Result<(), WriteError> {
    let row = user_role::ActiveModel { user_id: Set(user_id), role: Set(role.name().to_owned()) };
    let known = OnConflict::columns([user_role::Column::UserId, user_role::Column::Role]).do_nothing().to_owned();
    user_role::Entity::insert(row).on_conflict(known).exec_without_returning(db).await?;
    Ok(())
}

/// Changes the language in which the bot speaks to a person.
pub async fn set_language(db: &Writing<'_, '_>, id: i64, language: Language, at: Millis) -> Result<(), WriteError> {
    let changed = user::ActiveModel {
        id: Set(id),
        language: Set(language.code().to_owned()),
        updated_at: Set(at.0),
        ..Default::default()
    };
    changed.update(db).await?;
    Ok(())
}

/// A role to give.
#[derive(Clone, Debug)]
pub struct Grant {
    pub telegram_id: i64,
    pub full_name: String,
    pub role: Role,
    pub language: Language,
    /// The person who gives it; nobody if it comes from the command line.
    pub by: Option<i64>,
}

async fn enrolled_by_grant(db: &Writing<'_, '_>, granted: &Grant, at: Millis) -> Result<i64, DbErr> {
    let user = user::ActiveModel {
        telegram_id: Set(granted.telegram_id),
        full_name: Set(granted.full_name.clone()),
        language: Set(granted.language.code().to_owned()),
        status: Set(Status::Verified.name().to_owned()),
        enrolled_by: Set("grant".to_owned()),
        is_test: Set(false),
        created_at: Set(at.0),
        updated_at: Set(at.0),
        version: Set(1),
        ..Default::default()
    };
    Ok(user.insert(db).await?.id)
}

fn person(user: user::Model, roles: &[user_role::Model]) -> Result<Person, DbErr> {
    let roles: Result<Roles, String> = roles.iter().map(|row| row.role.parse::<Role>()).collect();
    Ok(Person {
        id: user.id,
        telegram_id: user.telegram_id,
        full_name: user.full_name,
        language: user.language.parse().map_err(DbErr::Custom)?,
        status: user.status.parse().map_err(DbErr::Custom)?,
        roles: roles.map_err(DbErr::Custom)?,
        is_test: user.is_test,
    })
}
