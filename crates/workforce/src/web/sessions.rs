//! Sessions of signed-in browsers.
//!
//! Only a hash of a session's cookie is stored, so a reader of the table cannot sign in. A session lives while it is
//! used, up to a limit. It ends with a sign-out, from another browser, and when the person is blocked.

use std::time::Duration;

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::ExprTrait;
use sea_orm::{ActiveModelTrait, ColumnTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, Set};

use super::secrets;
use crate::application::App;
use crate::domain::Transaction;
use crate::person::{Person, Status};

/// Lifetime of a session that is not used.
pub const IDLE_TTL: Duration = Duration::from_secs(14 * 24 * 3600);
/// Lifetime of a guest's cookie.
pub const GUEST_COOKIE_TTL: Duration = Duration::from_secs(24 * 3600);
/// Maximum age of a session.
const MAX_AGE: Duration = Duration::from_secs(90 * 24 * 3600);
/// Interval of updates while a session is used, so that not every page writes.
const EXTEND_INTERVAL: Duration = Duration::from_secs(5 * 60);
/// Maximum length of a stored user agent.
const MAX_AGENT_CHARS: usize = 200;

/// A session, as its person sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    pub id: i64,
    /// The browser's `User-Agent`.
    pub agent: String,
    pub created_at: Millis,
    pub seen_at: Millis,
}

/// The person and session of a cookie.
#[derive(Clone, Debug)]
pub struct SignedInSession {
    pub person: Person,
    pub session: i64,
    /// The expiry was just extended, and the browser's cookie should be, too.
    pub is_extended: bool,
}

/// The person and session of this cookie; none if the session has ended or the person is not verified any more.
pub async fn find(app: &App, cookie: &str) -> Result<Option<SignedInSession>, DbErr> {
    let of_cookie = table::Column::TokenHash.eq(hash(cookie));
    let row = table::Entity::find().filter(of_cookie).one(app.domain.read()).await?;
    let Some((row, person)) = with_person(app, row).await? else { return Ok(None) };
    let now = app.clock.now();
    let is_extended = now.since(Millis(row.seen_at)) >= EXTEND_INTERVAL;
    if is_extended {
        extend(app, &row, now);
    }
    Ok(Some(SignedInSession { person, session: row.id, is_extended }))
}

/// The person of a session, if it has not ended.
pub async fn person_of(app: &App, session: i64) -> Result<Option<Person>, DbErr> {
    let row = table::Entity::find_by_id(session).one(app.domain.read()).await?;
    Ok(with_person(app, row).await?.map(|(_, person)| person))
}

/// The sessions of a person, the last used first.
pub async fn of_person(app: &App, user_id: i64) -> Result<Vec<Session>, DbErr> {
    let alive = table::Column::UserId.eq(user_id).and(table::Column::ExpiresAt.gt(app.clock.now().0));
    let rows = table::Entity::find().filter(alive).order_by_desc(table::Column::SeenAt);
    let session = |row: table::Model| Session {
        id: row.id,
        agent: row.agent,
        created_at: Millis(row.created_at),
        seen_at: Millis(row.seen_at),
    };
    Ok(rows.all(app.domain.read()).await?.into_iter().map(session).collect())
}

/// Opens a session for a cookie.
pub async fn begin(
    db: &Transaction<'_, '_>,
    user_id: i64,
    cookie: &str,
    agent: &str,
    at: Millis,
) -> Result<(), WriteError> {
    let row = table::ActiveModel {
        token_hash: Set(hash(cookie)),
        user_id: Set(user_id),
        agent: Set(agent.chars().take(MAX_AGENT_CHARS).collect()),
        created_at: Set(at.0),
        seen_at: Set(at.0),
        expires_at: Set(at.plus(IDLE_TTL).0),
        ..Default::default()
    };
    row.insert(db).await?;
    Ok(())
}

/// Ends a session of this person.
pub async fn end(db: &Transaction<'_, '_>, user_id: i64, session: i64) -> Result<(), WriteError> {
    let own = table::Column::UserId.eq(user_id).and(table::Column::Id.eq(session));
    table::Entity::delete_many().filter(own).exec(db).await?;
    Ok(())
}

/// Ends all sessions of a person except this one.
pub async fn end_others(db: &Transaction<'_, '_>, user_id: i64, session: i64) -> Result<(), WriteError> {
    let others = table::Column::UserId.eq(user_id).and(table::Column::Id.ne(session));
    table::Entity::delete_many().filter(others).exec(db).await?;
    Ok(())
}

/// Ends all sessions of a person.
pub async fn end_all(db: &Transaction<'_, '_>, user_id: i64) -> Result<(), WriteError> {
    table::Entity::delete_many().filter(table::Column::UserId.eq(user_id)).exec(db).await?;
    Ok(())
}

/// Deletes expired sessions.
pub async fn delete_expired(db: &Transaction<'_, '_>, now: Millis) -> Result<(), WriteError> {
    table::Entity::delete_many().filter(table::Column::ExpiresAt.lte(now.0)).exec(db).await?;
    Ok(())
}

async fn with_person(app: &App, row: Option<table::Model>) -> Result<Option<(table::Model, Person)>, DbErr> {
    let now = app.clock.now();
    let Some(row) = row.filter(|row| row.expires_at > now.0) else { return Ok(None) };
    let person = app.people.by_id(row.user_id).await?;
    let person = person.filter(|person| person.status == Status::Verified);
    Ok(person.map(|person| (row, person)))
}

/// Extends the expiry in the background. If that fails, the next page tries again.
fn extend(app: &App, row: &table::Model, now: Millis) {
    let latest = Millis(row.created_at).plus(MAX_AGE);
    let (id, expires_at) = (row.id, now.plus(IDLE_TTL).min(latest));
    let domain = app.domain.clone();
    tokio::spawn(async move {
        let noted = domain.write(move |db| Box::pin(set_expiry(db, id, now, expires_at))).await;
        if let Err(error) = noted {
            tracing::warn!(%error, session = id, "a session could not be extended");
        }
    });
}

async fn set_expiry(db: &Transaction<'_, '_>, id: i64, seen_at: Millis, expires_at: Millis) -> Result<(), WriteError> {
    let used = table::ActiveModel { seen_at: Set(seen_at.0), expires_at: Set(expires_at.0), ..Default::default() };
    // The session may have ended meanwhile.
    table::Entity::update_many().set(used).filter(table::Column::Id.eq(id)).exec(db).await?;
    Ok(())
}

fn hash(cookie: &str) -> String {
    secrets::hash(&["session", cookie])
}

mod table {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "sessions")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub token_hash: String,
        pub user_id: i64,
        pub agent: String,
        pub created_at: i64,
        pub seen_at: i64,
        pub expires_at: i64,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}
