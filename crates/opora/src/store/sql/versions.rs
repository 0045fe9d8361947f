//! Checks the schema version of a database.

use crate::store::{StoreError, StoreResult};

/// Refuses tables of a newer library: their rows may mean something else.
pub(crate) fn not_newer(found: usize, known: usize) -> StoreResult<()> {
    if found > known { Err(StoreError::Unsupported(NEWER)) } else { Ok(()) }
}

/// Refuses tables that do not have exactly this library's version; none means that there are no tables.
pub(crate) fn exactly(found: Option<usize>, known: usize) -> StoreResult<()> {
    match found {
        None => Err(StoreError::Unsupported(FOREIGN)),
        Some(found) if found < known => Err(StoreError::Unsupported(OLDER)),
        Some(found) => not_newer(found, known),
    }
}

/// The error for a database without tables of this library.
pub(crate) const FOREIGN: &str = "this database holds no conversations: it is not a bot's store";

const OLDER: &str = "this database was made by an older version of the library: start the bot once, which brings it up to \
                     date, or use the program of that version";

const NEWER: &str = "this database was written by a newer version of the library: update the program, or open an older \
                     backup";
