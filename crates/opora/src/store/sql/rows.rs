//! Rows for a bulk statement.
//!
//! A statement costs a thread switch or a network round trip; a row costs little. So the rows of a group go to each
//! table as one JSON array, which the database unpacks.

use serde::Serialize;

#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    json: Vec<u8>,
}

impl Rows {
    /// Adds a row: a tuple where the statement reads several columns, a plain value where it reads one.
    pub(crate) fn add(&mut self, row: &(impl Serialize + ?Sized)) -> Result<(), serde_json::Error> {
        self.json.push(if self.json.is_empty() { b'[' } else { b',' });
        serde_json::to_writer(&mut self.json, row)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.json.is_empty()
    }

    pub(crate) fn into_json(mut self) -> String {
        if self.json.is_empty() {
            self.json.push(b'[');
        }
        self.json.push(b']');
        // serde_json writes UTF-8; the check is cheap and avoids `unsafe`.
        String::from_utf8(self.json).unwrap_or_default()
    }
}

/// Statements that delete the rows of several tables for which a condition holds.
macro_rules! delete_from {
    ($($table:ident),+; $condition:literal) => {
        [$(concat!("DELETE FROM opora_", stringify!($table), " WHERE ", $condition)),+]
    };
}
pub(crate) use delete_from;
