//! The read connections, and the conversion of their rows.
//!
//! In WAL mode a reader sees everything that was committed before it asked. Readers and the writer do not wait for each
//! other.

use std::borrow::Cow;

use sqlx::sqlite::{SqliteArguments, SqlitePool, SqlitePoolOptions, SqliteRow};
use sqlx::{Row, SqlStr, Sqlite};

use super::file::DatabaseFile;
use crate::store::sql::columns::{Columns, ReadConnections, Value};
use crate::store::sql::reads::Reads;

type Query = sqlx::query::Query<'static, Sqlite, SqliteArguments>;

const READERS: u32 = 3;

pub(super) fn for_file(file: &DatabaseFile) -> Reads<SqlitePool> {
    let options = SqlitePoolOptions::new().max_connections(READERS).test_before_acquire(false);
    Reads(options.connect_lazy_with(file.reading()))
}

impl ReadConnections for SqlitePool {
    type Row = SqliteRow;

    const EACH_STATE: &'static str = "json_each(states)";

    async fn rows(&self, query: SqlStr, values: Vec<Value>) -> sqlx::Result<Vec<SqliteRow>> {
        bound(sqlx::query(query), values).fetch_all(self).await
    }

    async fn close(&self) {
        self.close().await;
    }
}

pub(crate) fn bound(query: Query, values: Vec<Value>) -> Query {
    values.into_iter().fold(query, |query, value| match value {
        Value::Number(number) => query.bind(number),
        Value::MaybeNumber(number) => query.bind(number),
        Value::Text(text) => query.bind(text),
        Value::Rows(rows) => query.bind(rows.into_json()),
    })
}

impl Columns for SqliteRow {
    fn maybe_number(&self, column: usize) -> sqlx::Result<Option<i64>> {
        self.try_get(column)
    }

    fn flag(&self, column: usize) -> sqlx::Result<bool> {
        self.try_get(column)
    }

    fn maybe_str(&self, column: usize) -> sqlx::Result<Option<Cow<'_, str>>> {
        Ok(self.try_get::<Option<&str>, _>(column)?.map(Cow::Borrowed))
    }
}
