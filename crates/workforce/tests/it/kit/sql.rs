//! Raw SQL in tests, committed as the application's own writes are.

use opora::store::WriteError;
use sea_orm::ConnectionTrait;
use workforce::domain::{Domain, Transaction};

/// Runs a statement in its own commit.
pub async fn run_sql(domain: &Domain, sql: impl Into<String>) {
    let sql = sql.into();
    domain.write(move |db| Box::pin(execute(db, sql))).await.unwrap();
}

/// Runs a statement within a commit.
pub async fn execute(db: &Transaction<'_, '_>, sql: String) -> Result<(), WriteError> {
    db.execute_unprepared(&sql).await?;
    Ok(())
}
