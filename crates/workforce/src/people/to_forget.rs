//! Whose conversations the bot is still to forget.
//!
//! A row is written by the commit that forgets the person and removed when nothing is left: a crash in between leaves it.

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::{ConnectionTrait, DbErr, Statement};

use crate::domain::{Domain, NotWritten, Writing};

/// How many are read at once.
const AT_ONCE: i64 = 100;

const LEAVE: &str = "INSERT INTO people_to_forget (telegram_id, asked_at) VALUES ($1, $2) ON CONFLICT DO NOTHING";
const WAITING: &str = "SELECT telegram_id FROM people_to_forget ORDER BY asked_at, telegram_id LIMIT $1";
const DONE: &str = "DELETE FROM people_to_forget WHERE telegram_id = $1";

/// Leaves an account to the instance that leads, within the commit that forgets its person.
pub async fn leave(db: &Writing<'_, '_>, telegram_id: i64, at: Millis) -> Result<(), WriteError> {
    let values = [telegram_id.into(), at.0.into()];
    db.execute_raw(Statement::from_sql_and_values(db.get_database_backend(), LEAVE, values)).await?;
    Ok(())
}

/// The accounts that wait, the first one first.
pub async fn waiting(domain: &Domain) -> Result<Vec<i64>, DbErr> {
    let db = domain.read();
    let rows = Statement::from_sql_and_values(db.get_database_backend(), WAITING, [AT_ONCE.into()]);
    db.query_all_raw(rows).await?.iter().map(|row| row.try_get_by_index(0)).collect()
}

/// Nothing is left of an account.
pub async fn done(domain: &Domain, telegram_id: i64) -> Result<(), NotWritten> {
    domain
        .write(move |db| {
            Box::pin(async move {
                let values = [telegram_id.into()];
                db.execute_raw(Statement::from_sql_and_values(db.get_database_backend(), DONE, values)).await?;
                Ok(())
            })
        })
        .await
}
