//! Writes the rows of a group to all tables in one statement.
//!
//! The driver wakes a thread after every statement of a script, which would cost a turn more than the writes. So a
//! write connection has a temporary view whose columns are the rows for each table, and a trigger on it that unpacks
//! them. The trigger also checks the assumptions of an optimistic group.

use std::sync::LazyLock;

use sqlx::{AssertSqlSafe, SqliteConnection};

use crate::failpoints;
use crate::store::sql::bulk::{Bulk, ColumnKind, Part};
use crate::store::sql::facts::Lookups;
use crate::store::sql::failure::GroupError;
use crate::store::sql::rows::Rows;

/// The error code of the trigger: SQLITE_CONSTRAINT_TRIGGER.
const NOT_AS_EXPECTED: &str = "1811";

/// The assumptions of a group. Parts without rows are not checked.
#[derive(Default)]
pub(super) struct Expected {
    /// `epoch`.
    pub(super) epochs: Rows,
    pub(super) lookups: Lookups,
}

/// Creates the view and the trigger on a connection. The tables must exist.
pub(super) async fn prepare(connection: &mut SqliteConnection) -> sqlx::Result<()> {
    sqlx::raw_sql(AssertSqlSafe(group())).execute(connection).await.map(drop)
}

/// Writes all rows. The transaction stays open.
pub(super) async fn write(bulk: Bulk, connection: &mut SqliteConnection) -> Result<(), GroupError> {
    Ok(execute(bulk, Expected::default(), &WRITE, connection).await?)
}

pub(super) async fn write_and_commit(bulk: Bulk, connection: &mut SqliteConnection) -> Result<(), GroupError> {
    if failpoints::is_armed(failpoints::STORE_IN_COMMIT) {
        write(bulk, connection).await?;
        failpoints::hit(failpoints::STORE_IN_COMMIT).await;
        sqlx::query("COMMIT").execute(connection).await?;
        return Ok(());
    }
    Ok(execute(bulk, Expected::default(), &WRITE_AND_COMMIT, connection).await?)
}

/// Writes all rows in a transaction of their own if the assumptions hold. Returns false if not; then nothing was
/// written.
pub(super) async fn write_if(
    expected: Expected,
    bulk: Bulk,
    connection: &mut SqliteConnection,
) -> Result<bool, GroupError> {
    match execute(bulk, expected, &WRITE, connection).await {
        Ok(()) => Ok(true),
        Err(sqlx::Error::Database(database_error)) if database_error.code().as_deref() == Some(NOT_AS_EXPECTED) => {
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

async fn execute(
    bulk: Bulk,
    expected: Expected,
    statement: &'static str,
    connection: &mut SqliteConnection,
) -> sqlx::Result<()> {
    // A part without rows is NULL.
    let json = parts(expected, bulk).map(|part| (!part.is_empty()).then(|| part.into_rows().into_json()));
    json.fold(sqlx::query(statement), sqlx::query::Query::bind).execute(connection).await.map(drop)
}

/// The columns of the view, in order: the assumptions of a group, then its rows.
fn parts(Expected { epochs, lookups }: Expected, bulk: Bulk) -> impl Iterator<Item = Part> {
    use ColumnKind::{Number, Text};
    let direct: &[_] = &[("bot", Number), ("update_id", Number), ("identity", Text)];
    let expected = [
        // Held epochs.
        Part::new("expected_epochs", &[("epoch", Number)], epochs),
        // Direct updates that were not processed.
        Part::new("expected_direct", direct, lookups.direct),
        // Existing inputs and parked turns, and conversations with their versions.
        Part::new("expected_inputs", &[("seq", Number)], lookups.inputs),
        Part::new("expected_versions", &[("key", Text), ("version", Number)], lookups.versions),
        Part::new("expected_parked", &[("id", Number)], lookups.parked),
    ];
    expected.into_iter().chain(bulk.into_parts())
}

fn no_parts() -> Vec<Part> {
    parts(Expected::default(), Bulk::default()).collect()
}

static WRITE: LazyLock<String> = LazyLock::new(|| {
    let values = vec!["?"; no_parts().len()].join(", ");
    format!("INSERT INTO temp.opora_group VALUES ({values});")
});
static WRITE_AND_COMMIT: LazyLock<String> = LazyLock::new(|| format!("{}COMMIT;", *WRITE));

fn group() -> String {
    let parts = no_parts();
    let names: Vec<_> = parts.iter().map(|part| part.name).collect();
    let mut script = include_str!("group.sql").replace("{names}", &names.join(", "));
    script = script.replace("{nothing}", &vec!["NULL"; parts.len()].join(", "));
    for part in parts {
        let name = part.name;
        script = script.replace(&format!("{{{name} columns}}"), &part.columns());
        script = script.replace(&format!("{{{name}}}"), &table(&part, &format!("NEW.{name}")));
    }
    script
}

/// The rows of a part as a table.
pub(super) fn table(part: &Part, json: &str) -> String {
    let columns = part.selected(|place, _| place.map_or("value".to_owned(), |place| format!("value->>{place}")));
    format!("(SELECT {columns} FROM jsonb_each({json}))")
}
