//! Rows and query values, for both databases.

use std::borrow::Cow;
use std::future::Future;

use serde::de::DeserializeOwned;
use sqlx::SqlStr;

use super::rows::Rows;
use crate::key::ConversationKey;

/// A row, read by column index.
pub(crate) trait Columns {
    fn maybe_number(&self, column: usize) -> sqlx::Result<Option<i64>>;
    fn flag(&self, column: usize) -> sqlx::Result<bool>;
    /// A decoded text or NULL.
    fn maybe_str(&self, column: usize) -> sqlx::Result<Option<Cow<'_, str>>>;

    fn number(&self, column: usize) -> sqlx::Result<i64> {
        self.maybe_number(column)?.ok_or_else(|| missing(column))
    }

    fn str(&self, column: usize) -> sqlx::Result<Cow<'_, str>> {
        self.maybe_str(column)?.ok_or_else(|| missing(column))
    }

    fn text<'r, T: From<Cow<'r, str>>>(&'r self, column: usize) -> sqlx::Result<T> {
        self.str(column).map(T::from)
    }

    fn maybe_text<'r, T: From<Cow<'r, str>>>(&'r self, column: usize) -> sqlx::Result<Option<T>> {
        Ok(self.maybe_str(column)?.map(T::from))
    }

    fn key(&self, column: usize) -> sqlx::Result<ConversationKey> {
        self.str(column)?.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))
    }

    /// A value stored as JSON, or NULL.
    fn json<T: DeserializeOwned>(&self, column: usize) -> sqlx::Result<Option<T>> {
        let text = self.maybe_str(column)?;
        text.map(|text| serde_json::from_str(&text)).transpose().map_err(|error| sqlx::Error::Decode(Box::new(error)))
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Number(i64),
    MaybeNumber(Option<i64>),
    Text(String),
    Rows(Rows),
}

/// The values of a statement, in order.
macro_rules! values {
    ($($value:expr),+) => { vec![$(crate::store::sql::columns::Value::from($value)),+] };
}
pub(crate) use values;

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<Option<i64>> for Value {
    fn from(number: Option<i64>) -> Self {
        Self::MaybeNumber(number)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// A pool of read connections.
pub(crate) trait ReadConnections: Sync {
    type Row: Columns + Send;

    /// SQL for a table of the JSON values in the column `states`.
    const EACH_STATE: &'static str;

    fn rows(&self, query: SqlStr, values: Vec<Value>) -> impl Future<Output = sqlx::Result<Vec<Self::Row>>> + Send;
    /// The rows of an operator's query, which has a longer timeout.
    fn rows_for_operator(
        &self,
        query: SqlStr,
        values: Vec<Value>,
    ) -> impl Future<Output = sqlx::Result<Vec<Self::Row>>> + Send {
        self.rows(query, values)
    }
    fn close(&self) -> impl Future<Output = ()> + Send;
}

/// A limit as a database integer.
pub(crate) fn count(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn missing(column: usize) -> sqlx::Error {
    sqlx::Error::Decode(format!("column {column} is NULL").into())
}
