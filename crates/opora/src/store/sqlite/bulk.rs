//! Writes what a group has decided, all tables in one statement.
//!
//! The driver says after every statement of a script that it is done, and each word wakes a thread: ten of them cost a
//! turn more than what they write. So a connection that writes has a view, whose columns are the rows for each table,
//! and a trigger on it that takes them apart. It also checks what a group was decided by, where the group says so.

use sqlx::SqliteConnection;

use crate::failpoints;
use crate::store::sql::bulk::Bulk;
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
    sqlx::raw_sql(GROUP).execute(connection).await.map(drop)
}

/// Writes everything; the transaction stays open.
pub(super) async fn write(bulk: Bulk, connection: &mut SqliteConnection) -> Result<(), GroupFailed> {
    Ok(execute(bulk, Expected::default(), WRITE, connection).await?)
}

/// Writes everything and commits.
pub(super) async fn write_and_commit(bulk: Bulk, connection: &mut SqliteConnection) -> Result<(), GroupFailed> {
    if failpoints::is_armed(failpoints::STORE_IN_COMMIT) {
        write(bulk, connection).await?;
        failpoints::hit(failpoints::STORE_IN_COMMIT).await;
        sqlx::query("COMMIT").execute(connection).await?;
        return Ok(());
    }
    Ok(execute(bulk, Expected::default(), WRITE_AND_COMMIT, connection).await?)
}

/// Writes everything in a transaction of its own, if all is as expected. False: it is not, and nothing was written.
pub(super) async fn write_if(
    expected: Expected,
    bulk: Bulk,
    connection: &mut SqliteConnection,
) -> Result<bool, GroupFailed> {
    match execute(bulk, expected, WRITE, connection).await {
        Ok(()) => Ok(true),
        Err(sqlx::Error::Database(said)) if said.code().as_deref() == Some(NOT_AS_EXPECTED) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// In the order of the view's columns.
async fn execute(
    bulk: Bulk,
    Expected { epochs, questions }: Expected,
    statement: &'static str,
    connection: &mut SqliteConnection,
) -> sqlx::Result<()> {
    let rows = [
        epochs,
        questions.fresh,
        questions.inputs,
        questions.versions,
        questions.parked,
        bulk.renewed,
        bulk.inputs_gone,
        bulk.marks,
        bulk.inputs,
        bulk.delivered,
        bulk.last_place,
        bulk.fresh_gone,
        bulk.changed,
        bulk.kept,
        bulk.expiry,
        bulk.outbox,
        bulk.posts,
        bulk.sending,
        bulk.not_sent,
        bulk.failed,
        bulk.unsent_gone,
        bulk.labels,
        bulk.moved,
        bulk.timers_gone,
        bulk.timers_cancelled,
        bulk.timers,
        bulk.effects_gone,
        bulk.effects,
        bulk.transitions,
        bulk.parked_gone,
        bulk.parked,
    ];
    // Where there are no rows the array is not even looked at.
    let json = rows.map(|rows| (!rows.is_empty()).then(|| rows.into_json()));
    json.into_iter().fold(sqlx::query(statement), sqlx::query::Query::bind).execute(connection).await.map(drop)
}

macro_rules! write {
    () => {
        "INSERT INTO temp.opora_group
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);"
    };
}

const WRITE: &str = write!();
const WRITE_AND_COMMIT: &str = concat!(write!(), "COMMIT;");

/// The view and its trigger.
const GROUP: &str = include_str!("group.sql");
