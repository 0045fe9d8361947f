//! What is done once, however often it is sent.
//!
//! A form that makes something new has no version by which a second click would be told from the first. It carries a number
//! instead: the commit that does what the form says keeps its key, and a commit that comes with the same key is refused.

use opora::clock::Millis;
use opora::store::{Refusal, WriteError};
use sea_orm::{ConnectionTrait, Statement};

use super::Writing;

/// What a commit is refused by that was carried out before.
pub(super) const REPEATED: &str = "carried out before";
const KEEP: &str = "INSERT INTO sent_forms (key, sent_at) VALUES ($1, $2) ON CONFLICT DO NOTHING";
const FORGET: &str = "DELETE FROM sent_forms WHERE sent_at < $1";
/// Nobody sends a form again that is older.
const KEPT_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// The key of something that is done once. The default is that of something that may be done again.
#[derive(Clone, Debug, Default)]
pub struct Once(Option<String>);

impl Once {
    pub const fn by(key: String) -> Self {
        Self(Some(key))
    }

    /// Keeps the key within a commit; refused where another one has done so. Who comes at the same time waits for the other.
    pub async fn keep(&self, db: &Writing<'_, '_>, at: Millis) -> Result<(), WriteError> {
        let Some(key) = &self.0 else { return Ok(()) };
        let values = [key.as_str().into(), at.0.into()];
        let kept = db.execute_raw(Statement::from_sql_and_values(db.get_database_backend(), KEEP, values)).await?;
        if kept.rows_affected() == 0 { Err(Refusal::because(REPEATED)) } else { Ok(()) }
    }
}

/// Forgets keys that nobody will send again.
pub async fn forget_sent(db: &Writing<'_, '_>, at: Millis) -> Result<(), WriteError> {
    let values = [(at.0 - KEPT_MS).into()];
    db.execute_raw(Statement::from_sql_and_values(db.get_database_backend(), FORGET, values)).await?;
    Ok(())
}
