//! Idempotency keys of forms.
//!
//! A form that creates something has no version that would tell a second click from the first. It carries a key
//! instead. The commit of the form stores the key, and a later commit with the same key is refused.

use opora::clock::Millis;
use opora::store::{Refusal, WriteError};
use sea_orm::{ConnectionTrait, Statement};

use super::Transaction;

/// The refusal of a commit whose key is already stored.
pub(super) const ALREADY_DONE: &str = "carried out before";
const KEEP: &str = "INSERT INTO sent_forms (key, sent_at) VALUES ($1, $2) ON CONFLICT DO NOTHING";
const FORGET: &str = "DELETE FROM sent_forms WHERE sent_at < $1";
/// Retention of keys. No form is sent again after that.
const RETENTION_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// The idempotency key of a form. The default has no key, for actions that may be repeated.
#[derive(Clone, Debug, Default)]
pub struct FormKey(Option<String>);

impl FormKey {
    pub const fn new(key: String) -> Self {
        Self(Some(key))
    }

    /// Stores the key within a commit; refused if it is stored already. A concurrent commit with the same key waits.
    pub async fn store(&self, db: &Transaction<'_, '_>, at: Millis) -> Result<(), WriteError> {
        let Some(key) = &self.0 else { return Ok(()) };
        let values = [key.as_str().into(), at.0.into()];
        let inserted = db.execute_raw(Statement::from_sql_and_values(db.get_database_backend(), KEEP, values)).await?;
        if inserted.rows_affected() == 0 { Err(Refusal::because(ALREADY_DONE)) } else { Ok(()) }
    }
}

/// Deletes keys beyond their retention.
pub async fn delete_old_form_keys(db: &Transaction<'_, '_>, at: Millis) -> Result<(), WriteError> {
    let values = [(at.0 - RETENTION_MS).into()];
    db.execute_raw(Statement::from_sql_and_values(db.get_database_backend(), FORGET, values)).await?;
    Ok(())
}
