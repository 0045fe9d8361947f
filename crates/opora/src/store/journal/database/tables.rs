//! The journal's tables.

use crate::store::database::read;
use crate::store::sql::columns::Columns;
use crate::store::sql::tables::Tables;
use crate::store::{SqlDatabase, StoreError, StoreResult};

pub(super) static TABLES: Tables = Tables { name: "opora_journal_schema", scripts: &[include_str!("tables.sql")] };

/// Creates the tables in an application's database. Refused if the database itself stores conversations: the journal is
/// cleared after an outage, and would delete them, or copy old labels to Redis.
pub(super) async fn create_in_database(database: &SqlDatabase) -> StoreResult<()> {
    const KEPT: &str = "
        SELECT count(*) FROM (
            SELECT 1 FROM opora_conversations
            UNION ALL SELECT 1 FROM opora_inbox UNION ALL SELECT 1 FROM opora_outbox
            UNION ALL SELECT 1 FROM opora_effects UNION ALL SELECT 1 FROM opora_timers
            UNION ALL SELECT 1 FROM opora_parked UNION ALL SELECT 1 FROM opora_failed
            UNION ALL SELECT 1 FROM opora_labels LIMIT 1) AS kept";
    if !TABLES.are_in(database).await? && read!(database, KEPT, Vec::new(), |row| row.number(0))?.pop() != Some(0) {
        return Err(StoreError::Unsupported(KEEPS_CONVERSATIONS));
    }
    TABLES.make(database).await
}

/// Why a database cannot have a journal.
pub(crate) const KEEPS_CONVERSATIONS: &str = "the database has stored conversations itself, before they moved to Redis, and a journal would be mixed up with them: \
     remove them with `opora state discard`, or leave `journal=database` out";
