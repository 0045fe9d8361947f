//! Rows and questions, in words that both databases know.

use std::borrow::Cow;
use std::future::Future;

use serde::de::DeserializeOwned;
use sqlx::SqlStr;

use super::rows::Rows;
use crate::key::DialogueKey;

/// A row, read by the places of its columns.
pub(in crate::store) trait Columns {
    /// A number, where there is one.
    fn maybe_number(&self, column: usize) -> sqlx::Result<Option<i64>>;
    /// A yes or no.
    fn flag(&self, column: usize) -> sqlx::Result<bool>;
    /// A text as it was before it was stored, where there is one.
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

    fn key(&self, column: usize) -> sqlx::Result<DialogueKey> {
        self.str(column)?.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))
    }

    /// What is stored as JSON, where there is something.
    fn json<T: DeserializeOwned>(&self, column: usize) -> sqlx::Result<Option<T>> {
        let text = self.maybe_str(column)?;
        text.map(|text| serde_json::from_str(&text)).transpose().map_err(|error| sqlx::Error::Decode(Box::new(error)))
    }
}

/// What a query is asked with.
#[derive(Clone, Debug)]
pub(in crate::store) enum Value {
    Number(i64),
    MaybeNumber(Option<i64>),
    Text(String),
    /// Rows of JSON.
    Rows(Rows),
}

/// Connections that answer queries.
pub(in crate::store) trait Ask: Sync {
    /// What they answer.
    type Row: Columns + Send;

    /// A table of the JSON values in the column `places`, in the database's own words.
    const EACH_PLACE: &'static str;

    /// All rows that a query finds.
    fn rows(&self, query: SqlStr, values: Vec<Value>) -> impl Future<Output = sqlx::Result<Vec<Self::Row>>> + Send;
    /// The same of what an operator asks for, which may take longer than a turn can wait.
    fn rows_at_leisure(
        &self,
        query: SqlStr,
        values: Vec<Value>,
    ) -> impl Future<Output = sqlx::Result<Vec<Self::Row>>> + Send {
        self.rows(query, values)
    }
    /// Lets go of all connections.
    fn close(&self) -> impl Future<Output = ()> + Send;
}

/// A limit as databases count.
pub(in crate::store) fn count(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn missing(column: usize) -> sqlx::Error {
    sqlx::Error::Decode(format!("column {column} holds nothing").into())
}
