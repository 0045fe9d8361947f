//! PINs: kept as hashes, for five minutes, for one use and a few tries.

use std::time::Duration;

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::{Expr, ExprTrait, OnConflict};
use sea_orm::{ColumnTrait, DbErr, EntityTrait, QueryFilter, Set};
use tokio::sync::oneshot;

use crate::application::App;
use crate::domain::Writing;
use crate::people::Person;
use crate::web::oops::Oops;
use crate::web::secrets;

const LIFE: Duration = Duration::from_secs(300);
/// The wrong try after so many locks the PIN.
const WRONG_TRIES: i64 = 5;
/// How long nobody can sign in under a name, or ask for another PIN, after that.
const LOCK: Duration = Duration::from_secs(15 * 60);

/// A PIN as it is kept.
#[derive(Debug)]
pub struct Pin {
    name: String,
    hash: String,
    expires_at: Millis,
}

/// What is to be said of a PIN that somebody brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Right,
    /// Also where there is none, or none any more.
    Wrong,
    Expired,
    /// Until then.
    Locked(Millis),
}

impl Pin {
    /// A PIN for the browser with this cookie. One for nobody fits no PIN.
    pub fn new(name: String, pin: &str, cookie: &str, is_somebodys: bool, now: Millis) -> Self {
        let hash = if is_somebodys { hash(&name, pin, cookie) } else { String::new() };
        Self { name, hash, expires_at: now.plus(LIFE) }
    }
}

/// Until when a name is locked, if it is.
pub async fn locked_until(app: &App, name: &str) -> Result<Option<Millis>, DbErr> {
    let row = table::Entity::find_by_id(name).one(app.domain.read()).await?;
    let until = row.map(|row| Millis(row.locked_until));
    Ok(until.filter(|until| *until > app.clock.now()))
}

/// Keeps a PIN in place of an earlier one. Wrong tries of one that is not over yet still count: asking anew gives no more.
pub async fn keep(db: &Writing<'_, '_>, pin: Pin, now: Millis) -> Result<(), WriteError> {
    let over = table::Column::ExpiresAt.lte(now.0).and(table::Column::LockedUntil.lte(now.0));
    let own = table::Column::Name.eq(pin.name.as_str());
    table::Entity::delete_many().filter(own.and(over)).exec(db).await?;
    let row = table::ActiveModel {
        name: Set(pin.name),
        pin_hash: Set(pin.hash),
        expires_at: Set(pin.expires_at.0),
        tries: Set(0),
        locked_until: Set(0),
    };
    let columns = [table::Column::PinHash, table::Column::ExpiresAt];
    let replaced = OnConflict::column(table::Column::Name).update_columns(columns).to_owned();
    table::Entity::insert(row).on_conflict(replaced).exec_without_returning(db).await?;
    Ok(())
}

/// Judges a PIN, counts the try, and uses it up, in one commit.
pub async fn check(app: &App, name: String, pin: &str, cookie: &str, now: Millis) -> Result<Verdict, Oops> {
    let hash = hash(&name, pin, cookie);
    let (tell, told) = oneshot::channel();
    app.domain
        .write(move |db| {
            Box::pin(async move {
                let verdict = judge(db, &name, &hash, now).await?;
                // Whoever asked may have gone.
                let _ = tell.send(verdict);
                Ok(())
            })
        })
        .await?;
    told.await.map_err(|_| anyhow::anyhow!("a PIN was judged and nobody told").into())
}

/// Under which name the PINs of a person are kept.
pub fn name_of(person: &Person) -> String {
    format!("telegram:{}", person.telegram_id)
}

/// Removes a person's.
pub async fn forget(db: &Writing<'_, '_>, person: &Person) -> Result<(), WriteError> {
    table::Entity::delete_by_id(name_of(person)).exec(db).await?;
    Ok(())
}

/// Removes what is over.
pub async fn forget_expired(db: &Writing<'_, '_>, now: Millis) -> Result<(), WriteError> {
    let over = table::Column::ExpiresAt.lte(now.0).and(table::Column::LockedUntil.lte(now.0));
    table::Entity::delete_many().filter(over).exec(db).await?;
    Ok(())
}

async fn judge(db: &Writing<'_, '_>, name: &str, hash: &str, now: Millis) -> Result<Verdict, WriteError> {
    // Counted first: the row is ours from here on, so that two tries at once are two.
    table::Entity::update_many()
        .col_expr(table::Column::Tries, Expr::col(table::Column::Tries).add(1))
        .filter(table::Column::Name.eq(name))
        .exec(db)
        .await?;
    let Some(row) = table::Entity::find_by_id(name).one(db).await? else { return Ok(Verdict::Wrong) };
    if row.locked_until > now.0 {
        return Ok(Verdict::Locked(Millis(row.locked_until)));
    }
    if row.expires_at <= now.0 {
        return Ok(Verdict::Expired);
    }
    if secrets::same(&row.pin_hash, hash) {
        table::Entity::delete_by_id(name).exec(db).await?;
        return Ok(Verdict::Right);
    }
    if row.tries <= WRONG_TRIES {
        return Ok(Verdict::Wrong);
    }
    let until = now.plus(LOCK);
    let locked = table::ActiveModel { locked_until: Set(until.0), ..Default::default() };
    table::Entity::update_many().set(locked).filter(table::Column::Name.eq(name)).exec(db).await?;
    Ok(Verdict::Locked(until))
}

fn hash(name: &str, pin: &str, cookie: &str) -> String {
    secrets::hash(&["pin", name, pin, cookie])
}

mod table {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "pins")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub name: String,
        pub pin_hash: String,
        pub expires_at: i64,
        pub tries: i64,
        pub locked_until: i64,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}
