//! PINs: stored as hashes, valid for five minutes, one use and a few tries.
//!
//! A PIN belongs to an identifier and a browser. A stranger who requests and tries PINs for a person's identifier does
//! not affect the person, and locks only the stranger's browser. [`limits`](super::limits) bounds the tries over all
//! browsers.

use std::time::Duration;

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::{Expr, ExprTrait, OnConflict};
use sea_orm::{ColumnTrait, DbErr, EntityTrait, QueryFilter, Set};

use super::limits::{
    Limit, PINS_BY_ADDRESS, PINS_BY_DEVICE, PINS_BY_NAME, PINS_BY_NAME_AND_ADDRESS, TRIES_BY_ADDRESS, TRIES_BY_DEVICE,
    TRIES_BY_NAME, TRIES_BY_NAME_AND_ADDRESS, count_all,
};
use crate::application::App;
use crate::domain::{NotWritten, Transaction};
use crate::person::Person;
use crate::web::secrets;

pub const TTL: Duration = Duration::from_secs(300);
/// The next wrong try after so many locks the PIN.
const MAX_WRONG_TRIES: i64 = 5;
/// How long the browser then can neither sign in with that identifier nor request another PIN.
const LOCK_TIME: Duration = Duration::from_secs(15 * 60);

/// A sign-in attempt. It looks the same whether or not the person exists.
#[derive(Clone, Debug)]
pub struct SignInAttempt {
    /// The typed identifier, in canonical form.
    pub name: String,
    pub address: String,
    pub cookie: String,
    /// The device cookie of this browser, if the person has signed in with it before.
    pub device: Option<String>,
}

/// A PIN as it is stored.
#[derive(Debug)]
pub struct Pin {
    key: String,
    hash: String,
    expires_at: Millis,
}

/// The result of a tried PIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Right,
    /// Also if there is no PIN, or no longer.
    Wrong,
    Expired,
    /// Locked until then.
    Locked(Millis),
    /// Too many tries: nothing is judged for this time.
    TooMany {
        wait_ms: u64,
    },
}

/// The result of a PIN request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinRequest {
    /// The PIN is stored and can be sent.
    Stored,
    /// This browser is locked for the identifier until then.
    Locked(Millis),
    TooMany {
        wait_ms: u64,
    },
}

impl SignInAttempt {
    fn key(&self) -> String {
        row_key(&self.name, &self.cookie)
    }

    /// The limits for a PIN request.
    fn pin_limits(&self) -> Vec<(Limit, String)> {
        match &self.device {
            Some(device) => vec![(PINS_BY_DEVICE, device.clone())],
            None => vec![
                (PINS_BY_ADDRESS, self.address.clone()),
                (PINS_BY_NAME_AND_ADDRESS, self.name_and_address()),
                (PINS_BY_NAME, self.name.clone()),
            ],
        }
    }

    /// The limit for a try from an unknown device, before the PIN is judged.
    fn address_limit(&self) -> Vec<(Limit, String)> {
        let is_known = self.device.is_some();
        if is_known { Vec::new() } else { vec![(TRIES_BY_ADDRESS, self.address.clone())] }
    }

    /// The limits for a try.
    fn try_limits(&self) -> Vec<(Limit, String)> {
        match &self.device {
            Some(device) => vec![(TRIES_BY_DEVICE, device.clone())],
            None => vec![(TRIES_BY_NAME_AND_ADDRESS, self.name_and_address()), (TRIES_BY_NAME, self.name.clone())],
        }
    }

    fn name_and_address(&self) -> String {
        format!("{} {}", self.name, self.address)
    }
}

impl Pin {
    /// A PIN for this attempt. Without a person its hash matches no PIN.
    pub fn new(attempt: &SignInAttempt, person: Option<&Person>, pin: &str, now: Millis) -> Self {
        let hash = person.map(|person| hash(person, pin, &attempt.cookie)).unwrap_or_default();
        Self { key: attempt.key(), hash, expires_at: now.plus(TTL) }
    }
}

/// Counts a PIN request and stores the PIN, unless there were too many or the browser is locked. It is one commit,
/// because a flood of requests shares the writer with the bot's turns.
pub async fn request(app: &App, attempt: SignInAttempt, pin: Pin, now: Millis) -> Result<PinRequest, NotWritten> {
    let asking = app.domain.write_and_get(move |db| {
        Box::pin(async move {
            if let Some(wait_ms) = count_all(db, &attempt.pin_limits(), now).await? {
                return Ok(PinRequest::TooMany { wait_ms });
            }
            let row = table::Entity::find_by_id(attempt.key()).one(db).await?;
            let locked_until = row.map(|row| Millis(row.locked_until)).filter(|until| *until > now);
            if let Some(until) = locked_until {
                return Ok(PinRequest::Locked(until));
            }
            store(db, pin, now).await?;
            Ok(PinRequest::Stored)
        })
    });
    asking.await
}

/// Stores a PIN in place of an earlier one. Wrong tries of an unexpired PIN still count, so a new PIN gives no more
/// tries.
async fn store(db: &Transaction<'_, '_>, pin: Pin, now: Millis) -> Result<(), WriteError> {
    let over = table::Column::ExpiresAt.lte(now.0).and(table::Column::LockedUntil.lte(now.0));
    let own = table::Column::Name.eq(pin.key.as_str());
    table::Entity::delete_many().filter(own.and(over)).exec(db).await?;
    let row = table::ActiveModel {
        name: Set(pin.key),
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

/// Whether this browser has requested a PIN for this identifier. If not, it cannot guess one, so its tries need no
/// commit, and a flood of them costs the bot nothing.
pub async fn is_requested(app: &App, name: &str, cookie: &str) -> Result<bool, DbErr> {
    Ok(table::Entity::find_by_id(row_key(name, cookie)).one(app.domain.read()).await?.is_some())
}

/// Judges a PIN, counts the try and uses the PIN up, in one commit. With `fits_any` any PIN signs this person in.
pub async fn check(
    app: &App,
    attempt: SignInAttempt,
    person: Option<&Person>,
    pin: &str,
    fits_any: bool,
) -> Result<Verdict, NotWritten> {
    let hash = person.map(|person| hash(person, pin, &attempt.cookie));
    let now = app.clock.now();
    let checking = app.domain.write_and_get(move |db| {
        Box::pin(async move {
            match count_all(db, &attempt.address_limit(), now).await? {
                Some(wait_ms) => Ok(Verdict::TooMany { wait_ms }),
                None if fits_any => Ok(Verdict::Right),
                None => judge(db, attempt, hash, now).await,
            }
        })
    });
    checking.await
}

/// Deletes expired PINs.
pub async fn delete_expired(db: &Transaction<'_, '_>, now: Millis) -> Result<(), WriteError> {
    let over = table::Column::ExpiresAt.lte(now.0).and(table::Column::LockedUntil.lte(now.0));
    table::Entity::delete_many().filter(over).exec(db).await?;
    Ok(())
}

async fn judge(
    db: &Transaction<'_, '_>,
    attempt: SignInAttempt,
    hash: Option<String>,
    now: Millis,
) -> Result<Verdict, WriteError> {
    let key = attempt.key();
    let own = || table::Column::Name.eq(key.as_str());
    // Counted first, which locks the row: two concurrent tries count as two.
    table::Entity::update_many()
        .col_expr(table::Column::Tries, Expr::col(table::Column::Tries).add(1))
        .filter(own())
        .exec(db)
        .await?;
    let Some(row) = table::Entity::find_by_id(key.as_str()).one(db).await? else { return Ok(Verdict::Wrong) };
    if row.locked_until > now.0 {
        return Ok(Verdict::Locked(Millis(row.locked_until)));
    }
    if row.expires_at <= now.0 {
        return Ok(Verdict::Expired);
    }
    if let Some(wait_ms) = count_all(db, &attempt.try_limits(), now).await? {
        return Ok(Verdict::TooMany { wait_ms });
    }
    if hash.is_some_and(|hash| secrets::constant_time_eq(&row.pin_hash, &hash)) {
        table::Entity::delete_many().filter(own()).exec(db).await?;
        return Ok(Verdict::Right);
    }
    if row.tries <= MAX_WRONG_TRIES {
        return Ok(Verdict::Wrong);
    }
    let until = now.plus(LOCK_TIME);
    let locked = table::ActiveModel { locked_until: Set(until.0), ..Default::default() };
    table::Entity::update_many().set(locked).filter(own()).exec(db).await?;
    Ok(Verdict::Locked(until))
}

/// The row key of the PIN for an identifier and a browser.
fn row_key(name: &str, cookie: &str) -> String {
    secrets::hash(&["pin of", name, cookie])
}

fn hash(person: &Person, pin: &str, cookie: &str) -> String {
    secrets::hash(&["pin", &person.id.to_string(), pin, cookie])
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
