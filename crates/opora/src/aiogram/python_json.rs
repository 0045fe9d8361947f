//! JSON as Python's `json` module writes it, without loss.
//!
//! Numbers keep their digits, so integers beyond 64 bits, `NaN` and `Infinity` stay unchanged. Dictionaries keep their
//! order and duplicate names. Texts may contain lone surrogates. What Python wrote with its default settings is written
//! back byte for byte; other formatting is read, and written in Python's default format.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::store::BoxError;

pub use self::text::Text;

mod reader;
#[cfg(test)]
mod tests;
mod text;

/// How deep dictionaries and lists may be nested. Python's own limit is not much higher.
const DEPTH_MAX: usize = 500;
/// The nesting limit of serde_json.
const DEPTH_FOR_SERDE: usize = 100;

/// A value of Python's JSON.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `None`.
    Null,
    /// `True` or `False`.
    Bool(bool),
    /// An `int` or a `float`.
    Number(Number),
    /// A `str`.
    Text(Text),
    /// A `list` or a tuple.
    List(Vec<Value>),
    /// A `dict`.
    Dict(Data),
}

/// A number as its digits, or `NaN`, `Infinity`, `-Infinity`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number(Box<str>);

/// A dictionary that keeps its order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Data {
    entries: Vec<(Text, Value)>,
}

/// A syntax error in JSON of Python.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} at byte {at}")]
pub struct PythonJsonError {
    /// The error, without any content.
    pub message: &'static str,
    /// The position in bytes.
    pub at: usize,
}

/// Why a value cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// The name is missing, and the type has no value for that.
    #[error("there is no `{0}`")]
    Missing(Box<str>),
    /// Python writes it, but it is not valid JSON.
    #[error("`{field}` {reason}")]
    NotJson {
        /// The path of the field.
        field: String,
        /// What is not valid.
        reason: &'static str,
    },
    /// It does not fit the type.
    #[error("`{field}` does not fit: {source}")]
    WrongType {
        /// The name; empty for the whole dictionary.
        field: Box<str>,
        /// The error of serde.
        source: serde_json::Error,
    },
    /// An error of the application.
    #[error(transparent)]
    Other(#[from] BoxError),
}

impl Data {
    /// Parses a dictionary.
    pub fn parse(json: &[u8]) -> Result<Self, PythonJsonError> {
        match Value::parse(json)? {
            Value::Dict(data) => Ok(data),
            _ => Err(PythonJsonError { message: "expected a dictionary", at: 0 }),
        }
    }

    /// Whether it is empty. aiogram stores no key then.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value of a name; of duplicates the last, as in Python.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        let name = Text::new(name);
        self.entries.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Reads a value as a Rust type. A missing value is `None` for an `Option`.
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> Result<T, DataError> {
        let Some(value) = self.get(name) else {
            return serde_json::from_str("null").map_err(|_| DataError::Missing(name.into()));
        };
        let json = value.to_json(name)?;
        serde_json::from_str(&json).map_err(|source| DataError::WrongType { field: name.into(), source })
    }

    /// Reads the whole dictionary as a Rust struct.
    pub fn read_all<T: DeserializeOwned>(&self) -> Result<T, DataError> {
        self.check("", 0)?;
        serde_json::from_str(&self.to_string()).map_err(|source| DataError::WrongType { field: Box::default(), source })
    }

    /// Sets a value. A new name is added at the end.
    pub fn set(&mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Result<(), DataError> {
        let json = serde_json::to_vec(value).map_err(|source| DataError::WrongType { field: name.into(), source })?;
        let value = Value::parse(&json).map_err(|error| DataError::Other(error.into()))?;
        self.put(name, value);
        Ok(())
    }

    /// Sets a Python value.
    pub fn put(&mut self, name: &str, value: Value) {
        let name = Text::new(name);
        match self.entries.iter_mut().rev().find(|(known, _)| *known == name) {
            Some((_, existing)) => *existing = value,
            None => self.entries.push((name, value)),
        }
    }

    /// Removes a name. False if it was missing.
    pub fn remove(&mut self, name: &str) -> bool {
        let name = Text::new(name);
        let before = self.entries.len();
        self.entries.retain(|(known, _)| *known != name);
        self.entries.len() < before
    }

    /// Names and values in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&Text, &Value)> {
        self.entries.iter().map(|(name, value)| (name, value))
    }

    fn check(&self, field: &str, depth: usize) -> Result<(), DataError> {
        for (name, value) in &self.entries {
            let dot = if field.is_empty() { "" } else { "." };
            let field = format!("{field}{dot}{name}");
            if name.decode().is_none() {
                return Err(DataError::NotJson { field, reason: "has half a character in its name" });
            }
            value.check(&field, depth + 1)?;
        }
        Ok(())
    }
}

impl Value {
    /// Parses any value.
    pub fn parse(json: &[u8]) -> Result<Self, PythonJsonError> {
        reader::read(json)
    }

    /// The value as valid JSON. `field` is its name for errors.
    pub fn to_json(&self, field: &str) -> Result<String, DataError> {
        self.check(field, 0)?;
        Ok(self.to_string())
    }

    fn check(&self, field: &str, depth: usize) -> Result<(), DataError> {
        let no_json = |reason| Err(DataError::NotJson { field: field.to_owned(), reason });
        if depth > DEPTH_FOR_SERDE {
            return no_json("is nested too deep");
        }
        match self {
            Self::Number(number) if !number.is_finite() => no_json("is NaN or infinite, and JSON has no such number"),
            Self::Text(text) if text.decode().is_none() => no_json("has half a character in its text"),
            Self::List(items) => items.iter().try_for_each(|item| item.check(field, depth + 1)),
            Self::Dict(data) => data.check(field, depth + 1),
            _ => Ok(()),
        }
    }
}

impl Number {
    /// The digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is neither `NaN` nor infinite.
    #[must_use]
    pub fn is_finite(&self) -> bool {
        !self.0.contains(['N', 'I'])
    }
}

/// As `json.dumps` writes it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(yes) => write!(f, "{yes}"),
            Self::Number(number) => f.write_str(&number.0),
            Self::Text(text) => write!(f, "\"{text}\""),
            Self::Dict(data) => data.fmt(f),
            Self::List(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    f.write_str(comma(index))?;
                    item.fmt(f)?;
                }
                f.write_str("]")
            }
        }
    }
}

/// As `json.dumps` writes it.
impl fmt::Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (index, (name, value)) in self.entries.iter().enumerate() {
            write!(f, "{}\"{name}\": {value}", comma(index))?;
        }
        f.write_str("}")
    }
}

fn comma(index: usize) -> &'static str {
    if index == 0 { "" } else { ", " }
}
