//! Conversations of bots written with aiogram 3, read from and written to Redis without loss.
//!
//! [`KeyBuilder`] and [`Strategy`] build and parse the keys. [`Data`] holds the JSON of Python. A [`Mapping`]
//! translates aiogram's states into states of a dialogue. [`import`] copies conversations into a store and only reads
//! the source. An [`AiogramStore`] works on aiogram's own keys instead, beside an aiogram bot: see the
//! [guide](crate::guide::from_aiogram).
//!
//! Bots that store their own classes in the data, with a custom `json_dumps`, need a closure that reads them.

pub use self::import::{ImportError, ImportOptions, ImportReport, SkippedKey, import};
pub use self::keys::{DEFAULT_DESTINY, KeyBuilder, KeyError, Part, StorageKey};
pub use self::layout::AiogramLayout;
pub use self::mapping::{Mapping, Record, Translate, TranslateError};
pub use self::python_json::{Data, DataError, Number, PythonJsonError, Text, Value};
pub use self::storage::{Layout, Scan, ScannedKey, Storage, UnreadableKey};
pub use self::strategy::{Strategy, StrategyParseError, UnsupportedKey};
pub use crate::store::AiogramStore;

pub(crate) mod conversion;
mod import;
mod keys;
mod layout;
mod mapping;
mod python_json;
mod storage;
mod strategy;
