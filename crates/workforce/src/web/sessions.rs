//! Signed-in browsers.
//!
//! Only a hash of a session's cookie is kept: who reads the table can sign in nowhere. A session lives as long as it is
//! used, up to a limit; it ends with a sign-out, from another browser, and with whoever is blocked.

use std::time::Duration;

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::ExprTrait;
use sea_orm::{ActiveModelTrait, ColumnTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, Set};

use super::secrets;
use crate::application::App;
use crate::domain::Writing;
use crate::person::{Person, Status};

/// How long a session lasts that nobody uses.
pub const LIFE: Duration = Duration::from_secs(14 * 24 * 3600);
/// How long the cookie of somebody lasts who is not signed in.
pub const GUEST: Duration = Duration::from_secs(24 * 3600);
/// How long a session lasts at most.
const LONGEST: Duration = Duration::from_secs(90 * 24 * 3600);
/// Using a session is noted this often, so that a page is not a write.
const NOTED_EVERY: Duration = Duration::from_secs(5 * 60);
/// What a browser calls itself is cut here.
const LONGEST_AGENT: usize = 200;

/// A signed-in browser, for its owner's eyes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    pub id: i64,
    /// What the browser calls itself.
    pub agent: String,
    pub created_at: Millis,
    pub seen_at: Millis,
}

/// Who a cookie stands for.
#[derive(Clone, Debug)]
pub struct Found {
    pub person: Person,
    pub session: i64,
    /// It was put off just now, and the browser's copy should be, too.
    pub is_extended: bool,
}

/// Who this cookie stands for; nobody if the session is over or the person is not verified any more.
pub async fn find(app: &App, cookie: &str) -> Result<Option<Found>, DbErr> {
    let of_cookie = table::Column::TokenHash.eq(hash(cookie));
    let row = table::Entity::find().filter(of_cookie).one(app.domain.read()).await?;
    let Some((row, person)) = with_person(app, row).await? else { return Ok(None) };
    let now = app.clock.now();
    let is_extended = now.since(Millis(row.seen_at)) >= NOTED_EVERY;
    if is_extended {
        note_use(app, &row, now);
    }
    Ok(Some(Found { person, session: row.id, is_extended }))
}

/// Who a session belongs to, if it is not over.
pub async fn person_of(app: &App, session: i64) -> Result<Option<Person>, DbErr> {
    let row = table::Entity::find_by_id(session).one(app.domain.read()).await?;
    Ok(with_person(app, row).await?.map(|(_, person)| person))
}

/// The sessions of a person, the last used first.
pub async fn of(app: &App, user_id: i64) -> Result<Vec<Session>, DbErr> {
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
    db: &Writing<'_, '_>,
    user_id: i64,
    cookie: &str,
    agent: &str,
    at: Millis,
) -> Result<(), WriteError> {
    let row = table::ActiveModel {
        token_hash: Set(hash(cookie)),
        user_id: Set(user_id),
        agent: Set(agent.chars().take(LONGEST_AGENT).collect()),
        created_at: Set(at.0),
        seen_at: Set(at.0),
        expires_at: Set(at.plus(LIFE).0),
        ..Default::default()
    };
    row.insert(db).await?;
    Ok(())
}

/// Ends a session of this person's.
pub async fn end(db: &Writing<'_, '_>, user_id: i64, session: i64) -> Result<(), WriteError> {
    let own = table::Column::UserId.eq(user_id).and(table::Column::Id.eq(session));
    table::Entity::delete_many().filter(own).exec(db).await?;
    Ok(())
}

/// Ends all sessions of a person but this one.
pub async fn end_others(db: &Writing<'_, '_>, user_id: i64, session: i64) -> Result<(), WriteError> {
    let others = table::Column::UserId.eq(user_id).and(table::Column::Id.ne(session));
    table::Entity::delete_many().filter(others).exec(db).await?;
    Ok(())
}

/// Ends all sessions of a person.
pub async fn end_all(db: &Writing<'_, '_>, user_id: i64) -> Result<(), WriteError> {
    table::Entity::delete_many().filter(table::Column::UserId.eq(user_id)).exec(db).await?;
    Ok(())
}

/// Removes what is over.
pub async fn forget_expired(db: &Writing<'_, '_>, now: Millis) -> Result<(), WriteError> {
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

/// Puts the end off. Nobody waits for it: were it lost, the next page would do it.
fn note_use(app: &App, row: &table::Model, now: Millis) {
    let latest = Millis(row.created_at).plus(LONGEST);
    let (id, expires_at) = (row.id, now.plus(LIFE).min(latest));
    let domain = app.domain.clone();
    tokio::spawn(async move {
        let noted = domain.write(move |db| Box::pin(put_off(db, id, now, expires_at))).await;
        if let Err(error) = noted {
            tracing::warn!(%error, session = id, "the use of a session could not be noted");
        }
    });
}

async fn put_off(db: &Writing<'_, '_>, id: i64, seen_at: Millis, expires_at: Millis) -> Result<(), WriteError> {
    let used = table::ActiveModel { seen_at: Set(seen_at.0), expires_at: Set(expires_at.0), ..Default::default() };
    // It may have been ended meanwhile.
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
