//! Removes private data from decision records: secret messages, and people who are to be forgotten.

use crate::key::ConversationKey;
use crate::store::database::{SqlChange, read};
use crate::store::operator::is_of_person;
use crate::store::sql::columns::{Columns, Value, values};
use crate::store::{SqlDatabase, StoreResult, Version};

impl SqlDatabase {
    /// Replaces the body of a record by one without secrets, unless a later decision has replaced the record.
    pub(super) async fn replace_decision(&self, key: &ConversationKey, to: Version, body: String) -> StoreResult<()> {
        const REPLACE: &str =
            "UPDATE opora_decisions SET body = $3, has_secrets = 0 WHERE key = $1 AND to_version = $2";
        let values = values![key.to_string(), to.0, body];
        self.change(vec![SqlChange::plain(REPLACE, values)]).await
    }

    /// A bot's conversations whose records hold secrets.
    pub(super) async fn decided_with_secrets(&self, bot: i64) -> StoreResult<Vec<ConversationKey>> {
        const SECRETS: &str = "SELECT key FROM opora_decisions WHERE bot = $1 AND has_secrets <> 0";
        read!(self, SECRETS, values![bot], |row| row.key(0))
    }

    /// Removes the records of a person's conversations. Returns how many. Decided turns stay carried out, and their
    /// inputs stay known.
    pub(super) async fn forget_decisions(&self, bot: i64, user: i64) -> StoreResult<u64> {
        const KEYS: &str = "SELECT key FROM opora_decisions WHERE key > $1 AND key < $2 AND key LIKE $3";
        const FORGET: &str = "DELETE FROM opora_decisions WHERE key = $1";
        let like = [format!("{bot}:"), format!("{bot};"), format!("{bot}:%{user}%")];
        let keys: Vec<ConversationKey> = read!(self, KEYS, like.map(Value::Text).into(), |row| row.key(0))?;
        let of_person: Vec<_> = keys.into_iter().filter(|key| is_of_person(key, user)).collect();
        let removed = of_person.len() as u64;
        if removed > 0 {
            let forget = |key: ConversationKey| SqlChange::plain(FORGET, values![key.to_string()]);
            self.change(of_person.into_iter().map(forget).collect()).await?;
        }
        Ok(removed)
    }
}
