//! Limits of requested and tried PINs.
//!
//! They are counted in the database, so that all processes count together and a restart resets nothing. The counted key
//! is stored as a hash, so the table holds no address. Each row has one number, the time at which the key is idle
//! again.

use std::time::Duration;

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::{Expr, ExprTrait, OnConflict};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, Set};

use crate::domain::Transaction;
use crate::web::secrets;

/// At most `max_events` in a `period`, at once or spread.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    name: &'static str,
    max_events: i64,
    period: Duration,
}

// A name is what was typed, whether or not a person has it. For one name, 40 tries an hour are judged over all browsers
// and addresses, against PINs of six digits: one hour succeeds with 1 in 25,000. A person has three names (id, phone,
// username), so a day of attack succeeds with 40 × 24 × 3 in a million (0.3 %), and puts a PIN into that person's chat
// for every sixth try, about 500 a day. One address gets less than a name, so it cannot use up what is left for others.
const QUARTER: Duration = Duration::from_secs(15 * 60);
const HOUR: Duration = Duration::from_secs(60 * 60);
/// PINs requested from an address.
pub const PINS_BY_ADDRESS: Limit = Limit { name: "pins by address", max_events: 20, period: QUARTER };
/// PINs requested for a name from an address: 20 an hour.
pub const PINS_BY_NAME_AND_ADDRESS: Limit = Limit { name: "pins by name and address", max_events: 5, period: QUARTER };
/// PINs requested for a name.
pub const PINS_BY_NAME: Limit = Limit { name: "pins by name", max_events: 30, period: HOUR };
/// PINs tried from an address.
pub const TRIES_BY_ADDRESS: Limit = Limit { name: "tries by address", max_events: 40, period: QUARTER };
/// PINs tried for a name from an address: 32 an hour.
pub const TRIES_BY_NAME_AND_ADDRESS: Limit =
    Limit { name: "tries by name and address", max_events: 8, period: QUARTER };
/// PINs tried for a name.
pub const TRIES_BY_NAME: Limit = Limit { name: "tries by name", max_events: 40, period: HOUR };
/// PINs requested from a known device. What strangers do does not count here.
pub const PINS_BY_DEVICE: Limit = Limit { name: "pins by device", max_events: 10, period: QUARTER };
/// PINs tried from a known device.
pub const TRIES_BY_DEVICE: Limit = Limit { name: "tries by device", max_events: 20, period: HOUR };

impl Limit {
    /// Counts one event within a commit. Returns by how many milliseconds it is too early; then nothing is counted.
    pub async fn count(self, db: &Transaction<'_, '_>, key: &str, now: Millis) -> Result<u64, WriteError> {
        let key_hash = secrets::hash(&["limit", self.name, key]);
        let period_ms = i64::try_from(self.period.as_millis()).unwrap_or(i64::MAX);
        let step_ms = period_ms / self.max_events;
        let idle_at = || Expr::col((table::Entity, table::Column::IdleAt));
        // Checked and raised in one statement, so that two processes cannot both take the last one.
        let begins_at = Expr::case(idle_at().lt(now.0), now.0).finally(idle_at());
        let raised = OnConflict::column(table::Column::KeyHash)
            .value(table::Column::IdleAt, Expr::Case(Box::new(begins_at)).add(step_ms))
            .action_and_where(idle_at().lte(now.0 + period_ms - step_ms))
            .to_owned();
        let row = table::ActiveModel { key_hash: Set(key_hash.clone()), idle_at: Set(now.0 + step_ms) };
        let rows_affected = table::Entity::insert(row).on_conflict(raised).exec_without_returning(db).await?;
        if rows_affected > 0 {
            return Ok(0);
        }
        let row = table::Entity::find_by_id(key_hash).one(db).await?;
        let idle_at = row.map_or(now.0, |row| row.idle_at);
        Ok((idle_at + step_ms - now.0 - period_ms).unsigned_abs())
    }
}

/// Counts one event of each limit, up to the first that refuses; returns by how many milliseconds that is too early.
pub async fn count_all(
    db: &Transaction<'_, '_>,
    limits: &[(Limit, String)],
    now: Millis,
) -> Result<Option<u64>, WriteError> {
    for (limit, key) in limits {
        let wait_ms = limit.count(db, key, now).await?;
        if wait_ms > 0 {
            return Ok(Some(wait_ms));
        }
    }
    Ok(None)
}

/// Deletes idle rows.
pub async fn delete_idle(db: &Transaction<'_, '_>, now: Millis) -> Result<(), WriteError> {
    table::Entity::delete_many().filter(table::Column::IdleAt.lte(now.0)).exec(db).await?;
    Ok(())
}

mod table {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "sign_in_limits")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false, column_name = "asker")]
        pub key_hash: String,
        pub idle_at: i64,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}
