//! Looks conversations up on a connection that waits for no writer.

use sqlx::sqlite::SqliteRow;
use sqlx::{Connection, SqliteConnection};

use super::file::DatabaseFile;
use crate::store::sql::failure::GroupError;
use crate::store::sql::opens::ConversationLookup;
use crate::store::sql::rows::Rows;

const OPEN: &str = "
SELECT asked.key, coalesce(c.version, (SELECT floor FROM opora_version_floor)), c.value, c.states, c.expires_at,
       EXISTS (SELECT 1 FROM opora_marks AS m
               WHERE m.bot = asked.value->>1 AND m.update_id = asked.value->>2 AND m.identity = asked.value->>3)
FROM jsonb_each(?1) AS asked LEFT JOIN opora_conversations AS c ON c.key = asked.value->>0";

/// The connection that opens conversations. It connects on first use.
pub(super) struct LookupConnection {
    file: DatabaseFile,
    connection: Option<SqliteConnection>,
}

impl LookupConnection {
    pub(super) fn new(file: DatabaseFile) -> Self {
        Self { file, connection: None }
    }
}

impl ConversationLookup for LookupConnection {
    type Row = SqliteRow;

    async fn find(&mut self, requested: Rows) -> Result<Vec<SqliteRow>, GroupError> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.file.connect_to_read().await.map_err(GroupError::because)?,
        };
        let rows = sqlx::query(OPEN).bind(requested.into_json()).fetch_all(&mut connection).await?;
        self.connection = Some(connection);
        Ok(rows)
    }

    async fn close(self) {
        if let Some(connection) = self.connection {
            // It only reads, so a failed close loses nothing.
            let _ = connection.close().await;
        }
    }
}
