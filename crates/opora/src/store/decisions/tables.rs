//! The tables of decision records.
//!
//! They are in the application's database, because they commit with its tables, and have a schema version of their own:
//! a database without a Redis does not need them.

use crate::store::sql::tables::Tables;

pub(super) static TABLES: Tables = Tables { name: "opora_decisions_schema", scripts: &[include_str!("tables.sql")] };
