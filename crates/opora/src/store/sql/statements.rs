//! Statements within a commit, on either database.
//!
//! Statements here work on both databases. Statements over lists take rows as JSON, which each database unpacks in its
//! own way ([`SqlPair`]).

use sqlx::{Row, SqlSafeStr, raw_sql};

use super::columns::Value;
#[cfg(feature = "redis")]
use super::rows::Rows;
use crate::store::Database;

/// Runs an expression with the connection of either database, and with the function that binds values for it.
macro_rules! with_connection {
    ($database:expr, $connection:ident, $bound:pat => $answer:expr) => {
        match $database.connection() {
            crate::store::writes::Connection::Sqlite(connection) => {
                let $connection = &mut **connection;
                let $bound = crate::store::sqlite::bound;
                $answer
            }
            #[cfg(feature = "postgres")]
            crate::store::writes::Connection::Postgres(connection) => {
                let $connection = &mut **connection;
                let $bound = crate::store::postgres::bound;
                $answer
            }
        }
    };
}

/// A statement for SQLite and for PostgreSQL.
#[cfg(feature = "redis")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct SqlPair {
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

#[cfg(feature = "redis")]
impl SqlPair {
    /// The statement for one of the databases.
    pub(crate) fn pick(&self, is_postgres: bool) -> &'static str {
        if is_postgres { self.postgres } else { self.sqlite }
    }
}

/// Makes an [`SqlPair`] from the SQL before and after the rows. The rows are the first value; a row is an array named
/// `value`.
#[cfg(feature = "redis")]
macro_rules! over_rows {
    ($before:literal, $behind:literal) => {
        crate::store::sql::statements::SqlPair {
            sqlite: concat!($before, " json_each($1) ", $behind),
            postgres: concat!($before, " jsonb_array_elements(CAST($1 AS jsonb)) AS listed (value) ", $behind),
        }
    };
}
#[cfg(feature = "redis")]
pub(crate) use over_rows;

/// Rows as the parameter of a statement over each of them.
#[cfg(feature = "redis")]
pub(crate) fn rows_of<T: serde::Serialize>(all: impl IntoIterator<Item = T>) -> Result<Value, serde_json::Error> {
    let mut rows = Rows::default();
    all.into_iter().try_for_each(|row| rows.add(&row))?;
    Ok(Value::Rows(rows))
}

/// Runs several statements without values.
pub(crate) async fn script(database: &mut Database<'_>, statements: impl SqlSafeStr) -> sqlx::Result<()> {
    with_connection!(database, connection, _ => raw_sql(statements).execute(connection).await.map(drop))
}

/// Runs a statement. Returns the number of changed rows.
pub(crate) async fn change(
    database: &mut Database<'_>,
    statement: impl SqlSafeStr,
    values: Vec<Value>,
) -> sqlx::Result<u64> {
    with_connection!(database, connection, bound => {
        Ok(bound(sqlx::query(statement), values).execute(connection).await?.rows_affected())
    })
}

/// The numbers in the first row of a query, if there is one.
pub(crate) async fn numbers<const COLUMNS: usize>(
    database: &mut Database<'_>,
    query: impl SqlSafeStr,
    values: Vec<Value>,
) -> sqlx::Result<Option<[i64; COLUMNS]>> {
    let mut numbers = [0; COLUMNS];
    with_connection!(database, connection, bound => {
        let found = bound(sqlx::query(query), values).fetch_optional(connection).await?;
        let Some(row) = found else { return Ok(None) };
        for (column, number) in numbers.iter_mut().enumerate() {
            *number = row.try_get(column)?;
        }
    });
    Ok(Some(numbers))
}
