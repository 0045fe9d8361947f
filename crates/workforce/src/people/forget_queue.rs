//! The forget queue: accounts whose data the bot's store still has to forget.
//!
//! The commit that forgets a person adds a row. It is removed when nothing is left, so a crash in between keeps it.

use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::{ConnectionTrait, DbErr, Statement};

use crate::domain::{Domain, NotWritten, Transaction};

/// Rows per read.
const BATCH: i64 = 100;

const ADD: &str = "INSERT INTO people_to_forget (telegram_id, asked_at) VALUES ($1, $2) ON CONFLICT DO NOTHING";
const PENDING: &str = "SELECT telegram_id FROM people_to_forget ORDER BY asked_at, telegram_id LIMIT $1";
const REMOVE: &str = "DELETE FROM people_to_forget WHERE telegram_id = $1";

/// Queues an account for the leader, within the commit that forgets the person.
pub async fn add(db: &Transaction<'_, '_>, telegram_id: i64, at: Millis) -> Result<(), WriteError> {
    let values = [telegram_id.into(), at.0.into()];
    db.execute_raw(Statement::from_sql_and_values(db.get_database_backend(), ADD, values)).await?;
    Ok(())
}

/// Queued accounts, oldest first.
pub async fn pending(domain: &Domain) -> Result<Vec<i64>, DbErr> {
    let db = domain.read();
    let rows = Statement::from_sql_and_values(db.get_database_backend(), PENDING, [BATCH.into()]);
    db.query_all_raw(rows).await?.iter().map(|row| row.try_get_by_index(0)).collect()
}

/// Removes an account from the queue.
pub async fn remove(domain: &Domain, telegram_id: i64) -> Result<(), NotWritten> {
    domain
        .write(move |db| {
            Box::pin(async move {
                let values = [telegram_id.into()];
                db.execute_raw(Statement::from_sql_and_values(db.get_database_backend(), REMOVE, values)).await?;
                Ok(())
            })
        })
        .await
}
