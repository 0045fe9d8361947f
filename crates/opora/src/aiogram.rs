//! Conversations of bots written with aiogram 3: its layout in Redis, read and written without loss.
//!
//! [`KeyBuilder`] and [`Strategy`] name the keys, [`Data`] carries what Python's `json` wrote, a [`Mapping`] says what
//! aiogram's states mean in a dialogue, and [`import`] brings them into a store; the source is only read then. An
//! [`AiogramStore`] works on aiogram's own keys instead, beside an aiogram bot: see the
//! [guide](crate::guide::from_aiogram).
//!
//! Bots that keep their own classes in the data, by a `json_dumps` of their own, need a closure that reads what that
//! wrote.

pub use self::import::{ImportError, ImportOptions, ImportReport, LeftOut, import};
pub use self::keys::{DEFAULT_DESTINY, KeyBuilder, KeyError, Part, StorageKey};
pub use self::layout::AiogramLayout;
pub use self::mapping::{Mapping, Record, Translate, Untranslated};
pub use self::python_json::{Data, NotPythonJson, Number, Text, Unfit, Value};
pub use self::storage::{Found, Layout, Scan, Storage, Unreadable};
pub use self::strategy::{NoConversation, NotAStrategy, Strategy};
pub use crate::store::AiogramStore;

mod import;
mod keys;
mod layout;
mod mapping;
mod python_json;
pub(crate) mod shape;
mod storage;
mod strategy;
