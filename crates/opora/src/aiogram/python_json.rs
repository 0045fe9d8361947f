//! JSON as Python's `json` module writes it, kept without loss.
//!
//! Numbers stay the digits that they are, so that integers beyond 64 bits, `NaN` and `Infinity` go through unchanged;
//! dictionaries keep their order and entries of the same name; texts may hold halves of surrogate pairs. What Python
//! wrote with its default settings is written again byte for byte. Other spellings, such as spaces left out, are read
//! and written in Python's own.
//!
//! Nothing here knows of aiogram.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::store::BoxError;

pub use self::text::Text;

mod reader;
#[cfg(test)]
mod tests;
mod text;

/// How deep dictionaries and lists may lie in one another; Python's own reader gives up not far beyond.
const DEPTH_MAX: usize = 500;
/// How deep serde reads.
const DEPTH_FOR_SERDE: usize = 100;

/// A value of Python's, as far as JSON carries it.
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
    /// A `list`, or what was a tuple.
    List(Vec<Value>),
    /// A `dict`.
    Dict(Data),
}

/// A number by its digits, or `NaN`, `Infinity`, `-Infinity`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number(Box<str>);

/// A dictionary: names and values in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Data {
    entries: Vec<(Text, Value)>,
}

/// Why bytes are not what Python's `json` could have written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {at}")]
pub struct NotPythonJson {
    /// What was found or missed; nothing of the content.
    pub what: &'static str,
    /// Where.
    pub at: usize,
}

/// Why a value cannot be used here.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    /// It is not there, and the type has nothing for that.
    #[error("there is no `{0}`")]
    Missing(Box<str>),
    /// JSON has nothing for it, though Python writes it.
    #[error("`{field}` {why}")]
    NoJson {
        /// Where, from the outermost name on.
        field: String,
        /// What it holds.
        why: &'static str,
    },
    /// It has another shape than the type.
    #[error("`{field}` does not fit: {source}")]
    OtherShape {
        /// Its name; empty for all of them.
        field: Box<str>,
        /// What serde stumbled on.
        source: serde_json::Error,
    },
    /// The application says so.
    #[error(transparent)]
    Other(#[from] BoxError),
}

impl Data {
    /// Reads a dictionary.
    pub fn parse(json: &[u8]) -> Result<Self, NotPythonJson> {
        match Value::parse(json)? {
            Value::Dict(data) => Ok(data),
            _ => Err(NotPythonJson { what: "a dictionary was expected, and it is something else", at: 0 }),
        }
    }

    /// Whether nothing is in it. aiogram keeps no key for that.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value of a name; of several, the last, as in Python.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        let name = Text::new(name);
        self.entries.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Reads one value as a type of Rust's. One that is not there is a `None` for an `Option`.
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> Result<T, Unfit> {
        let Some(value) = self.get(name) else {
            return serde_json::from_str("null").map_err(|_| Unfit::Missing(name.into()));
        };
        let json = value.to_json(name)?;
        serde_json::from_str(&json).map_err(|source| Unfit::OtherShape { field: name.into(), source })
    }

    /// Reads everything as a struct of Rust's.
    pub fn read_all<T: DeserializeOwned>(&self) -> Result<T, Unfit> {
        self.check("", 0)?;
        serde_json::from_str(&self.to_string()).map_err(|source| Unfit::OtherShape { field: Box::default(), source })
    }

    /// Sets a value, in its place if the name is there, else at the end.
    pub fn set(&mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Result<(), Unfit> {
        let json = serde_json::to_vec(value).map_err(|source| Unfit::OtherShape { field: name.into(), source })?;
        let value = Value::parse(&json).map_err(|error| Unfit::Other(error.into()))?;
        self.put(name, value);
        Ok(())
    }

    /// The same with a value of Python's.
    pub fn put(&mut self, name: &str, value: Value) {
        let name = Text::new(name);
        match self.entries.iter_mut().rev().find(|(known, _)| *known == name) {
            Some((_, there)) => *there = value,
            None => self.entries.push((name, value)),
        }
    }

    /// Takes a name away; false if it was not there.
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

    fn check(&self, field: &str, depth: usize) -> Result<(), Unfit> {
        for (name, value) in &self.entries {
            let dot = if field.is_empty() { "" } else { "." };
            let field = format!("{field}{dot}{name}");
            if name.read().is_none() {
                return Err(Unfit::NoJson { field, why: "has half a character in its name" });
            }
            value.check(&field, depth + 1)?;
        }
        Ok(())
    }
}

impl Value {
    /// Reads any value.
    pub fn parse(json: &[u8]) -> Result<Self, NotPythonJson> {
        reader::read(json)
    }

    /// The value in JSON proper, for serde; `field` is how an error names it.
    pub fn to_json(&self, field: &str) -> Result<String, Unfit> {
        self.check(field, 0)?;
        Ok(self.to_string())
    }

    fn check(&self, field: &str, depth: usize) -> Result<(), Unfit> {
        let no_json = |why| Err(Unfit::NoJson { field: field.to_owned(), why });
        if depth > DEPTH_FOR_SERDE {
            return no_json("is nested too deep");
        }
        match self {
            Self::Number(number) if !number.is_finite() => no_json("is NaN or infinite, and JSON has no such number"),
            Self::Text(text) if text.read().is_none() => no_json("has half a character in its text"),
            Self::List(items) => items.iter().try_for_each(|item| item.check(field, depth + 1)),
            Self::Dict(data) => data.check(field, depth + 1),
            _ => Ok(()),
        }
    }
}

impl Number {
    /// Its digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is not `NaN` or infinite.
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
