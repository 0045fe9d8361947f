//! Looks conversations up, many in one query, on a connection that waits for no writer.

use sqlx::sqlite::SqliteRow;
use sqlx::{Connection, SqliteConnection};

use super::file::DatabaseFile;
use crate::store::sql::failure::GroupFailed;
use crate::store::sql::opens::Finds;
use crate::store::sql::rows::Rows;

const OPEN: &str = "
SELECT asked.key, coalesce(c.version, (SELECT floor FROM opora_version_floor)), c.value, c.places, c.expires_at,
       EXISTS (SELECT 1 FROM opora_marks AS m
               WHERE m.bot = asked.value->>1 AND m.update_id = asked.value->>2 AND m.identity = asked.value->>3)
FROM jsonb_each(?1) AS asked LEFT JOIN opora_conversations AS c ON c.key = asked.value->>0";

/// What opens conversations; it connects when it is first asked.
pub(super) struct Finder {
    file: DatabaseFile,
    connection: Option<SqliteConnection>,
}

impl Finder {
    pub(super) fn of(file: DatabaseFile) -> Self {
        Self { file, connection: None }
    }
}

impl Finds for Finder {
    type Row = SqliteRow;

    async fn find(&mut self, asked: Rows) -> Result<Vec<SqliteRow>, GroupFailed> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.file.connect_to_read().await.map_err(GroupFailed::because)?,
        };
        let rows = sqlx::query(OPEN).bind(asked.into_json()).fetch_all(&mut connection).await?;
        self.connection = Some(connection);
        Ok(rows)
    }

    async fn close(self) {
        if let Some(connection) = self.connection {
            // It only read: there is nothing to lose.
            let _ = connection.close().await;
        }
    }
}
