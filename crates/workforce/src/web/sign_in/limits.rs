//! How often PINs may be asked for and tried.
//!
//! Counted in the database, so that all processes count together and a restart forgives nothing. Who asks is kept as a
//! hash: the table tells nobody's address. Each has one number, the time at which it would be idle again.

use std::time::Duration;

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::{Expr, ExprTrait, OnConflict};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, Set};

use crate::application::App;
use crate::domain::Writing;
use crate::web::oops::Oops;
use crate::web::secrets;

/// So many in so long, at once or spread.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    what: &'static str,
    most: i64,
    within: Duration,
}

// A name is what was typed, whether or not anybody has it. Over all browsers and addresses 40 tries an hour are judged in
// one, against PINs of six digits each: one in 25,000 that an hour hits. A person has three names (a number, a phone, a
// username), so a day of it hits with 40 × 24 × 3 in a million, 0.3 %, and puts a PIN into that person's chat for every
// sixth try, some 500 a day. One address gets less than a name has, and so cannot use up what is left for others.
const QUARTER: Duration = Duration::from_secs(15 * 60);
const HOUR: Duration = Duration::from_secs(60 * 60);
/// PINs asked for from an address.
pub const PINS_BY_ADDRESS: Limit = Limit { what: "pins by address", most: 20, within: QUARTER };
/// PINs asked for in a name from an address: 20 in an hour.
pub const PINS_BY_NAME_AND_ADDRESS: Limit = Limit { what: "pins by name and address", most: 5, within: QUARTER };
/// PINs asked for in a name.
pub const PINS_BY_NAME: Limit = Limit { what: "pins by name", most: 30, within: HOUR };
/// PINs tried from an address.
pub const TRIES_BY_ADDRESS: Limit = Limit { what: "tries by address", most: 40, within: QUARTER };
/// PINs tried in a name from an address: 32 in an hour.
pub const TRIES_BY_NAME_AND_ADDRESS: Limit = Limit { what: "tries by name and address", most: 8, within: QUARTER };
/// PINs tried in a name.
pub const TRIES_BY_NAME: Limit = Limit { what: "tries by name", most: 40, within: HOUR };
/// PINs asked for from a device that its person has used before. What strangers do does not count here.
pub const PINS_BY_DEVICE: Limit = Limit { what: "pins by device", most: 10, within: QUARTER };
/// PINs tried from such a device.
pub const TRIES_BY_DEVICE: Limit = Limit { what: "tries by device", most: 20, within: HOUR };

impl Limit {
    /// Counts one, or says how long to wait.
    pub async fn take(self, app: &App, asker: &str, now: Millis) -> Result<(), Oops> {
        let asker = asker.to_owned();
        let counted = app.domain.write_and_get(move |db| Box::pin(async move { self.count(db, &asker, now).await }));
        match counted.await? {
            0 => Ok(()),
            too_early_ms => Err(Oops::TooMany { retry_after_s: too_early_ms.div_ceil(1000) }),
        }
    }

    /// Counts one within a commit; answers by how much it is too early, and then counts nothing.
    pub async fn count(self, db: &Writing<'_, '_>, asker: &str, now: Millis) -> Result<u64, WriteError> {
        let asker = secrets::hash(&["limit", self.what, asker]);
        let within_ms = i64::try_from(self.within.as_millis()).unwrap_or(i64::MAX);
        let step_ms = within_ms / self.most;
        let row = table::ActiveModel { asker: Set(asker.clone()), idle_at: Set(now.0) };
        let known = OnConflict::column(table::Column::Asker).do_nothing().to_owned();
        table::Entity::insert(row).on_conflict(known).exec_without_returning(db).await?;
        let own = table::Column::Asker.eq(asker.as_str());
        let idle = table::ActiveModel { idle_at: Set(now.0), ..Default::default() };
        let is_idle = own.clone().and(table::Column::IdleAt.lt(now.0));
        table::Entity::update_many().set(idle).filter(is_idle).exec(db).await?;
        // Asked and raised in one statement: two processes cannot both take the last one.
        let has_room = own.clone().and(table::Column::IdleAt.lte(now.0 + within_ms - step_ms));
        let taken = table::Entity::update_many()
            .col_expr(table::Column::IdleAt, Expr::col(table::Column::IdleAt).add(step_ms))
            .filter(has_room)
            .exec(db)
            .await?;
        if taken.rows_affected > 0 {
            return Ok(0);
        }
        let idle_at = table::Entity::find().filter(own).one(db).await?.map_or(now.0, |row| row.idle_at);
        Ok((idle_at + step_ms - now.0 - within_ms).unsigned_abs())
    }
}

/// Removes what is over.
pub async fn forget_idle(db: &Writing<'_, '_>, now: Millis) -> Result<(), WriteError> {
    table::Entity::delete_many().filter(table::Column::IdleAt.lte(now.0)).exec(db).await?;
    Ok(())
}

mod table {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "sign_in_limits")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub asker: String,
        pub idle_at: i64,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}
