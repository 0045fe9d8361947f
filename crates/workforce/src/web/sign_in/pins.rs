//! PINs: kept as hashes, for five minutes, for one use and a few tries.
//!
//! A PIN belongs to a name and to the browser that asked: what a stranger asks for and tries in somebody's name ends
//! nothing of theirs, and locks the stranger's own browser. How much can be tried over all browsers is up to
//! [`limits`](super::limits).

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
use crate::domain::{NotWritten, Writing};
use crate::person::Person;
use crate::web::secrets;

pub const LIFE: Duration = Duration::from_secs(300);
/// The wrong try after so many locks the PIN.
const WRONG_TRIES: i64 = 5;
/// How long a browser can neither sign in under that name, nor ask for another PIN, after that.
const LOCK: Duration = Duration::from_secs(15 * 60);

/// Who wants to sign in, as far as it is said: the same of somebody and of nobody.
#[derive(Clone, Debug)]
pub struct Asker {
    /// What was typed, in one form.
    pub name: String,
    pub address: String,
    pub cookie: String,
    /// The cookie of this browser, if the person has signed in with it before.
    pub device: Option<String>,
}

/// A PIN as it is kept.
#[derive(Debug)]
pub struct Pin {
    place: String,
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
    /// So much was tried that nothing more is judged for so long.
    TooMany {
        wait_ms: u64,
    },
}

/// What comes of asking for a PIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The PIN is stored and can be sent.
    Kept,
    /// This browser is locked out of the name until then.
    Locked(Millis),
    TooMany {
        wait_ms: u64,
    },
}

impl Asker {
    fn place(&self) -> String {
        place(&self.name, &self.cookie)
    }

    /// What a PIN that is asked for counts against.
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

    /// What a try from an unknown device counts against, before the PIN is judged.
    fn address_limit(&self) -> Vec<(Limit, String)> {
        let is_known = self.device.is_some();
        if is_known { Vec::new() } else { vec![(TRIES_BY_ADDRESS, self.address.clone())] }
    }

    /// What a try at a PIN counts against.
    fn try_limits(&self) -> Vec<(Limit, String)> {
        match &self.device {
            Some(device) => vec![(TRIES_BY_DEVICE, device.clone())],
            None => vec![(TRIES_BY_NAME_AND_ADDRESS, self.name_and_address()), (TRIES_BY_NAME, self.name.clone())],
        }
    }

    /// The name, and from where it is used.
    fn name_and_address(&self) -> String {
        format!("{} {}", self.name, self.address)
    }
}

impl Pin {
    /// A PIN for whoever asks. One for nobody fits no PIN.
    pub fn new(asker: &Asker, person: Option<&Person>, pin: &str, now: Millis) -> Self {
        let hash = person.map(|person| hash(person, pin, &asker.cookie)).unwrap_or_default();
        Self { place: asker.place(), hash, expires_at: now.plus(LIFE) }
    }
}

/// Counts a PIN that is asked for and stores it, unless there were too many or the browser is locked out. One commit: a
/// flood of requests shares the writer with the bot's turns.
pub async fn ask(app: &App, asker: Asker, pin: Pin, now: Millis) -> Result<Asked, NotWritten> {
    let asking = app.domain.write_and_get(move |db| {
        Box::pin(async move {
            if let Some(wait_ms) = count_all(db, &asker.pin_limits(), now).await? {
                return Ok(Asked::TooMany { wait_ms });
            }
            let row = table::Entity::find_by_id(asker.place()).one(db).await?;
            let locked_until = row.map(|row| Millis(row.locked_until)).filter(|until| *until > now);
            if let Some(until) = locked_until {
                return Ok(Asked::Locked(until));
            }
            keep(db, pin, now).await?;
            Ok(Asked::Kept)
        })
    });
    asking.await
}

/// Keeps a PIN in place of an earlier one. Wrong tries of one that is not over yet still count: asking anew gives no more.
async fn keep(db: &Writing<'_, '_>, pin: Pin, now: Millis) -> Result<(), WriteError> {
    let over = table::Column::ExpiresAt.lte(now.0).and(table::Column::LockedUntil.lte(now.0));
    let own = table::Column::Name.eq(pin.place.as_str());
    table::Entity::delete_many().filter(own.and(over)).exec(db).await?;
    let row = table::ActiveModel {
        name: Set(pin.place),
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

/// Whether this browser has asked for a PIN in this name. One that has not can guess none, so its tries need no commit: a
/// flood of them costs the bot nothing.
pub async fn is_asked_for(app: &App, name: &str, cookie: &str) -> Result<bool, DbErr> {
    Ok(table::Entity::find_by_id(place(name, cookie)).one(app.domain.read()).await?.is_some())
}

/// Judges a PIN, counts the try, and uses it up, in one commit. `fits_any`: any PIN signs this person in.
pub async fn check(
    app: &App,
    asker: Asker,
    person: Option<&Person>,
    pin: &str,
    fits_any: bool,
) -> Result<Verdict, NotWritten> {
    let hash = person.map(|person| hash(person, pin, &asker.cookie));
    let now = app.clock.now();
    let checking = app.domain.write_and_get(move |db| {
        Box::pin(async move {
            match count_all(db, &asker.address_limit(), now).await? {
                Some(wait_ms) => Ok(Verdict::TooMany { wait_ms }),
                None if fits_any => Ok(Verdict::Right),
                None => judge(db, asker, hash, now).await,
            }
        })
    });
    checking.await
}

/// Removes what is over.
pub async fn forget_expired(db: &Writing<'_, '_>, now: Millis) -> Result<(), WriteError> {
    let over = table::Column::ExpiresAt.lte(now.0).and(table::Column::LockedUntil.lte(now.0));
    table::Entity::delete_many().filter(over).exec(db).await?;
    Ok(())
}

async fn judge(db: &Writing<'_, '_>, asker: Asker, hash: Option<String>, now: Millis) -> Result<Verdict, WriteError> {
    let place = asker.place();
    let own = || table::Column::Name.eq(place.as_str());
    // Counted first: the row is ours from here on, so that two tries at once are two.
    table::Entity::update_many()
        .col_expr(table::Column::Tries, Expr::col(table::Column::Tries).add(1))
        .filter(own())
        .exec(db)
        .await?;
    let Some(row) = table::Entity::find_by_id(place.as_str()).one(db).await? else { return Ok(Verdict::Wrong) };
    if row.locked_until > now.0 {
        return Ok(Verdict::Locked(Millis(row.locked_until)));
    }
    if row.expires_at <= now.0 {
        return Ok(Verdict::Expired);
    }
    if let Some(wait_ms) = count_all(db, &asker.try_limits(), now).await? {
        return Ok(Verdict::TooMany { wait_ms });
    }
    if hash.is_some_and(|hash| secrets::same(&row.pin_hash, &hash)) {
        table::Entity::delete_many().filter(own()).exec(db).await?;
        return Ok(Verdict::Right);
    }
    if row.tries <= WRONG_TRIES {
        return Ok(Verdict::Wrong);
    }
    let until = now.plus(LOCK);
    let locked = table::ActiveModel { locked_until: Set(until.0), ..Default::default() };
    table::Entity::update_many().set(locked).filter(own()).exec(db).await?;
    Ok(Verdict::Locked(until))
}

/// Under which name the PIN of this name and this browser is kept.
fn place(name: &str, cookie: &str) -> String {
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
