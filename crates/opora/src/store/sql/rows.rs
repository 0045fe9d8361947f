//! Rows on their way to a bulk statement.
//!
//! A statement costs a change of threads or a way to a server, a row costs little. So the rows of a group go to each table
//! as one JSON array, which the database takes apart.

use serde::Serialize;

/// A JSON array that grows row by row.
#[derive(Clone, Debug, Default)]
pub(in crate::store) struct Rows {
    json: Vec<u8>,
}

impl Rows {
    /// Adds a row: a tuple where the statement reads several columns, a plain value where it reads one.
    pub(in crate::store) fn add(&mut self, row: &(impl Serialize + ?Sized)) -> Result<(), serde_json::Error> {
        self.json.push(if self.json.is_empty() { b'[' } else { b',' });
        serde_json::to_writer(&mut self.json, row)
    }

    pub(in crate::store) fn is_empty(&self) -> bool {
        self.json.is_empty()
    }

    /// The whole array.
    pub(in crate::store) fn into_json(mut self) -> String {
        if self.json.is_empty() {
            self.json.push(b'[');
        }
        self.json.push(b']');
        // What serde_json writes is UTF-8; checking it costs less than `unsafe` would.
        String::from_utf8(self.json).unwrap_or_default()
    }
}
