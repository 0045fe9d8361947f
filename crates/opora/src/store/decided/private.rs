//! What must not stay in records: secret messages that are on their way, and people who are to be forgotten.

use crate::key::DialogueKey;
use crate::store::database::{change, read};
use crate::store::operator::is_of_person;
use crate::store::sql::columns::{Columns, Value};
use crate::store::{DomainWrites, SqlDatabase, StoreResult, Version};

impl SqlDatabase {
    /// Writes a record once more, without secrets, unless a later one has replaced it.
    pub(super) async fn replace_decision(&self, key: &DialogueKey, to: Version, body: String) -> StoreResult<()> {
        const REPLACE: &str =
            "UPDATE opora_decisions SET body = $3, has_secrets = 0 WHERE key = $1 AND to_version = $2";
        let values = vec![Value::Text(key.to_string()), Value::Number(to.0), Value::Text(body)];
        let replace = DomainWrites::new(move |database| {
            Box::pin(async move {
                change(database, REPLACE, values).await?;
                Ok(())
            })
        });
        self.write(replace).await
    }

    /// The conversations of a bot whose records hold secrets.
    pub(super) async fn decided_with_secrets(&self, bot: i64) -> StoreResult<Vec<DialogueKey>> {
        const SECRETS: &str = "SELECT key FROM opora_decisions WHERE bot = $1 AND has_secrets <> 0";
        read!(self, SECRETS, vec![Value::Number(bot)], |row| row.key(0))
    }

    /// Removes the records of a person's conversations; how many there were. What was decided stays carried out, and the
    /// inputs that were decided on stay known.
    pub(super) async fn forget_decisions(&self, bot: i64, user: i64) -> StoreResult<u64> {
        const KEYS: &str = "SELECT key FROM opora_decisions WHERE key > $1 AND key < $2 AND key LIKE $3";
        const FORGET: &str = "DELETE FROM opora_decisions WHERE key = $1";
        let like = [format!("{bot}:"), format!("{bot};"), format!("{bot}:%{user}%")];
        let keys: Vec<DialogueKey> = read!(self, KEYS, like.map(Value::Text).into(), |row| row.key(0))?;
        let theirs: Vec<_> = keys.into_iter().filter(|key| is_of_person(key, user)).collect();
        let gone = theirs.len() as u64;
        let forget = DomainWrites::new(move |database| {
            Box::pin(async move {
                for key in theirs {
                    change(database, FORGET, vec![Value::Text(key.to_string())]).await?;
                }
                Ok(())
            })
        });
        if gone > 0 {
            self.write(forget).await?;
        }
        Ok(gone)
    }
}
