//! How often PINs may be asked for and tried.
//!
//! Counted in the database, so that all processes count together and a restart forgives nothing. The asker is stored as
//! a hash, so the table holds no address. Each row has one number: the time at which the asker is idle again.

use std::time::Duration;

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::{Expr, ExprTrait, OnConflict};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, Set};

use crate::domain::Writing;
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
    /// Counts one within a commit; answers by how many milliseconds it is too early, and then counts nothing.
    pub async fn count(self, db: &Writing<'_, '_>, asker: &str, now: Millis) -> Result<u64, WriteError> {
        let asker = secrets::hash(&["limit", self.what, asker]);
        let within_ms = i64::try_from(self.within.as_millis()).unwrap_or(i64::MAX);
        let step_ms = within_ms / self.most;
        let idle_at = || Expr::col((table::Entity, table::Column::IdleAt));
        // Asked and raised in one statement: two processes cannot both take the last one.
        let begins_at = Expr::case(idle_at().lt(now.0), now.0).finally(idle_at());
        let raised = OnConflict::column(table::Column::Asker)
            .value(table::Column::IdleAt, Expr::Case(Box::new(begins_at)).add(step_ms))
            .action_and_where(idle_at().lte(now.0 + within_ms - step_ms))
            .to_owned();
        let row = table::ActiveModel { asker: Set(asker.clone()), idle_at: Set(now.0 + step_ms) };
        let taken = table::Entity::insert(row).on_conflict(raised).exec_without_returning(db).await?;
        if taken > 0 {
            return Ok(0);
        }
        let row = table::Entity::find_by_id(asker).one(db).await?;
        let idle_at = row.map_or(now.0, |row| row.idle_at);
        Ok((idle_at + step_ms - now.0 - within_ms).unsigned_abs())
    }
}

/// Counts one of each in turn, up to the first that refuses; answers by how many milliseconds that is too early.
pub async fn count_all(
    db: &Writing<'_, '_>,
    limits: &[(Limit, String)],
    now: Millis,
) -> Result<Option<u64>, WriteError> {
    for (limit, asker) in limits {
        let wait_ms = limit.count(db, asker, now).await?;
        if wait_ms > 0 {
            return Ok(Some(wait_ms));
        }
    }
    Ok(None)
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
