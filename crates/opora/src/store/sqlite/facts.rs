//! Reads the facts of a group in one statement.

use std::sync::LazyLock;

use futures_util::TryStreamExt;
use sqlx::SqliteConnection;

use super::bulk::table;
use crate::store::sql::facts::{self, Facts, Lookups};
use crate::store::sql::failure::GroupError;
use crate::store::sql::operation::Operation;

static READ: LazyLock<String> =
    LazyLock::new(|| facts::statement(false, |part, number| table(part, &format!("?{number}"))));
/// A group without application writes begins its transaction with this statement, which saves a thread switch.
static BEGIN_AND_READ: LazyLock<String> = LazyLock::new(|| format!("BEGIN IMMEDIATE;{}", *READ));

/// Reads the facts of these operations within a transaction.
pub(super) fn read<'c>(
    connection: &'c mut SqliteConnection,
    operations: &[Operation],
) -> impl Future<Output = Result<Facts, GroupError>> + Send + use<'c> {
    query(connection, operations, &READ)
}

/// Begins a transaction and reads the facts of these operations.
pub(super) fn begin<'c>(
    connection: &'c mut SqliteConnection,
    operations: &[Operation],
) -> impl Future<Output = Result<Facts, GroupError>> + Send + use<'c> {
    query(connection, operations, &BEGIN_AND_READ)
}

/// Builds the lookups before the future, so that the future does not borrow the operations.
fn query<'c>(
    connection: &'c mut SqliteConnection,
    operations: &[Operation],
    statement: &'static str,
) -> impl Future<Output = Result<Facts, GroupError>> + Send + use<'c> {
    let expected = Facts::expected(operations);
    async move {
        let (mut facts, lookups) = expected?;
        read_rows(&mut facts, connection, lookups, statement).await?;
        Ok(facts)
    }
}

async fn read_rows(
    facts: &mut Facts,
    connection: &mut SqliteConnection,
    lookups: Lookups,
    statement: &'static str,
) -> Result<(), GroupError> {
    let json = lookups.into_parts().map(|part| part.into_rows().into_json());
    let mut rows = json.into_iter().fold(sqlx::query(statement), sqlx::query::Query::bind).fetch(connection);
    while let Some(row) = rows.try_next().await? {
        facts.add_row(&row)?;
    }
    Ok(())
}
