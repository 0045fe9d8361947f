//! Moves messages when a group becomes a supergroup.
//!
//! The body may name the chat too. It is changed here and not by the server, whose JSON neither keeps every text nor
//! the order of parameters.

use sqlx::{AssertSqlSafe, PgConnection, Row};

use super::bulk::table;
use super::texts::{decode, json};
use crate::store::Outgoing;
use crate::store::sql::bulk::Part;
use crate::store::sql::failure::GroupError;
use crate::store::sql::rows::Rows;

const FIND: &str = "
SELECT o.id, o.body, said.to_chat, o.id = said.first
FROM $rows JOIN opora_outbox AS o ON o.id >= said.first AND o.bot = said.bot AND o.chat = said.from_chat
ORDER BY o.id FOR UPDATE OF o";

const CHANGE: &str = "
UPDATE opora_outbox AS o
SET chat = (said.value->>1)::bigint, body = said.value->>2, sending = o.sending AND NOT (said.value->>3)::boolean
FROM jsonb_array_elements($1::jsonb) AS said WHERE o.id = (said.value->>0)::bigint";

pub(super) async fn write(moved: Part, connection: &mut PgConnection) -> Result<(), GroupError> {
    if moved.is_empty() {
        return Ok(());
    }
    let find = sqlx::query(AssertSqlSafe(FIND.replace("$rows", &table(&moved, 1))));
    let found = find.bind(json(moved.into_rows())).fetch_all(&mut *connection).await?;
    let mut changed = Rows::default();
    for row in found {
        let id: i64 = row.try_get(0)?;
        let chat: i64 = row.try_get(2)?;
        let body = decode(row.try_get(1)?);
        let redirected = Outgoing::redirected_body(&body, chat).unwrap_or_else(|| body.into_owned());
        changed.add(&(id, chat, redirected, row.try_get::<bool, _>(3)?))?;
    }
    if !changed.is_empty() {
        sqlx::query(CHANGE).bind(json(changed)).execute(connection).await?;
    }
    Ok(())
}
