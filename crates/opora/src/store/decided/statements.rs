//! Statements within a commit under way, on either database.

use sqlx::Row;

use crate::store::sql::columns::Value;
use crate::store::{Database, postgres, sqlite};

/// Carries a statement out; answers how many rows it has changed.
pub(super) async fn change(
    database: &mut Database<'_>,
    statement: &'static str,
    values: Vec<Value>,
) -> sqlx::Result<u64> {
    if database.is_postgres() {
        let done = postgres::bound(sqlx::query(statement), values).execute(database.postgres()).await?;
        Ok(done.rows_affected())
    } else {
        let done = sqlite::bound(sqlx::query(statement), values).execute(database.sqlite()).await?;
        Ok(done.rows_affected())
    }
}

/// The numbers in the first row that a query finds, if it finds one.
pub(super) async fn numbers<const COLUMNS: usize>(
    database: &mut Database<'_>,
    query: &'static str,
    values: Vec<Value>,
) -> sqlx::Result<Option<[i64; COLUMNS]>> {
    let mut numbers = [0; COLUMNS];
    if database.is_postgres() {
        let found = postgres::bound(sqlx::query(query), values).fetch_optional(database.postgres()).await?;
        let Some(row) = found else { return Ok(None) };
        for (column, number) in numbers.iter_mut().enumerate() {
            *number = row.try_get(column)?;
        }
    } else {
        let found = sqlite::bound(sqlx::query(query), values).fetch_optional(database.sqlite()).await?;
        let Some(row) = found else { return Ok(None) };
        for (column, number) in numbers.iter_mut().enumerate() {
            *number = row.try_get(column)?;
        }
    }
    Ok(Some(numbers))
}
