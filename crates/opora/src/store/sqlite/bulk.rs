//! Writes what a group has decided, all tables in one statement.
//!
//! The driver says after every statement of a script that it is done, and each word wakes a thread: ten of them cost a
//! turn more than what they write. So a connection that writes has a view, whose columns are the rows for each table,
//! and a trigger on it that takes them apart. It also checks what a group was decided by, where the group says so.

use std::sync::LazyLock;

use sqlx::{AssertSqlSafe, SqliteConnection};

use crate::failpoints;
use crate::store::sql::bulk::{Bulk, Kind, Part};
use crate::store::sql::facts::Questions;
use crate::store::sql::failure::GroupFailed;
use crate::store::sql::rows::Rows;

/// What a refusal by the trigger is numbered: SQLITE_CONSTRAINT_TRIGGER.
const NOT_AS_EXPECTED: &str = "1811";

/// What a group takes for granted. Without rows there is nothing to check.
#[derive(Default)]
pub(super) struct Expected {
    /// `epoch`.
    pub(super) epochs: Rows,
    pub(super) questions: Questions,
}

/// Gives a connection what it writes groups with. The tables are there.
pub(super) async fn prepare(connection: &mut SqliteConnection) -> sqlx::Result<()> {
    sqlx::raw_sql(AssertSqlSafe(group())).execute(connection).await.map(drop)
}

/// Writes everything; the transaction stays open.
pub(super) async fn write(bulk: Bulk, connection: &mut SqliteConnection) -> Result<(), GroupFailed> {
    Ok(execute(bulk, Expected::default(), &WRITE, connection).await?)
}

/// Writes everything and commits.
pub(super) async fn write_and_commit(bulk: Bulk, connection: &mut SqliteConnection) -> Result<(), GroupFailed> {
    if failpoints::is_armed(failpoints::STORE_IN_COMMIT) {
        write(bulk, connection).await?;
        failpoints::hit(failpoints::STORE_IN_COMMIT).await;
        sqlx::query("COMMIT").execute(connection).await?;
        return Ok(());
    }
    Ok(execute(bulk, Expected::default(), &WRITE_AND_COMMIT, connection).await?)
}

/// Writes everything in a transaction of its own, if all is as expected. False: it is not, and nothing was written.
pub(super) async fn write_if(
    expected: Expected,
    bulk: Bulk,
    connection: &mut SqliteConnection,
) -> Result<bool, GroupFailed> {
    match execute(bulk, expected, &WRITE, connection).await {
        Ok(()) => Ok(true),
        Err(sqlx::Error::Database(said)) if said.code().as_deref() == Some(NOT_AS_EXPECTED) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

async fn execute(
    bulk: Bulk,
    expected: Expected,
    statement: &'static str,
    connection: &mut SqliteConnection,
) -> sqlx::Result<()> {
    // Where there are no rows the array is not even looked at.
    let json = parts(expected, bulk).map(|part| (!part.is_empty()).then(|| part.into_rows().into_json()));
    json.fold(sqlx::query(statement), sqlx::query::Query::bind).execute(connection).await.map(drop)
}

/// What the columns of the view are, in their order: what a group was decided by, and what it writes.
fn parts(Expected { epochs, questions }: Expected, bulk: Bulk) -> impl Iterator<Item = Part> {
    use Kind::{Number, Text};
    let fresh: &[_] = &[("bot", Number), ("update_id", Number), ("identity", Text)];
    let expected = [
        // Epochs that are held.
        Part::new("expected_epochs", &[("epoch", Number)], epochs),
        // Updates that were not taken.
        Part::new("expected_fresh", fresh, questions.fresh),
        // Inputs and parked turns that are there, conversations with their versions.
        Part::new("expected_inputs", &[("seq", Number)], questions.inputs),
        Part::new("expected_versions", &[("key", Text), ("version", Number)], questions.versions),
        Part::new("expected_parked", &[("id", Number)], questions.parked),
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

/// The view and its trigger.
fn group() -> String {
    let parts = no_parts();
    let names: Vec<_> = parts.iter().map(|part| part.name).collect();
    let mut script = include_str!("group.sql").replace("{names}", &names.join(", "));
    script = script.replace("{nothing}", &vec!["NULL"; parts.len()].join(", "));
    for part in parts {
        let name = part.name;
        let columns = part.selected(|place, _| place.map_or("value".to_owned(), |place| format!("value->>{place}")));
        let table = format!("(SELECT {columns} FROM jsonb_each(NEW.{name}))");
        script = script.replace(&format!("{{{name} columns}}"), &part.columns());
        script = script.replace(&format!("{{{name}}}"), &table);
    }
    script
}
