//! A group that became a supergroup: what waits for the old chat goes to the new one.
//!
//! The call itself names the chat too, where it names one. Its parameters are changed here and not by the server, whose
//! JSON knows neither every text nor the order of a call's parameters.

use serde_json::Value;
use sqlx::{PgConnection, Row};

use super::texts::{json, said};
use crate::store::sql::failure::GroupFailed;
use crate::store::sql::rows::Rows;

const FIND: &str = "
SELECT o.id, o.body, moved.new, o.id = moved.id
FROM (SELECT (value->>0)::bigint AS bot, (value->>1)::bigint AS id, (value->>2)::bigint AS old,
             (value->>3)::bigint AS new
      FROM jsonb_array_elements($1::jsonb)) AS moved
JOIN opora_outbox AS o ON o.id >= moved.id AND o.bot = moved.bot AND o.chat = moved.old
ORDER BY o.id FOR UPDATE OF o";

const CHANGE: &str = "
UPDATE opora_outbox AS o
SET chat = (said.value->>1)::bigint, body = said.value->>2, sending = o.sending AND NOT (said.value->>3)::boolean
FROM jsonb_array_elements($1::jsonb) AS said WHERE o.id = (said.value->>0)::bigint";

/// Writes rows of `bot, id, from, to`.
pub(super) async fn write(moved: Rows, connection: &mut PgConnection) -> Result<(), GroupFailed> {
    if moved.is_empty() {
        return Ok(());
    }
    let found = sqlx::query(FIND).bind(json(moved)).fetch_all(&mut *connection).await?;
    let mut changed = Rows::default();
    for row in found {
        let (id, chat): (i64, i64) = (row.try_get(0)?, row.try_get(2)?);
        let body = said(row.try_get(1)?);
        changed.add(&(id, chat, addressed(&body, chat), row.try_get::<bool, _>(3)?))?;
    }
    if !changed.is_empty() {
        sqlx::query(CHANGE).bind(json(changed)).execute(connection).await?;
    }
    Ok(())
}

/// The call's parameters with another chat.
fn addressed(body: &str, chat: i64) -> String {
    match serde_json::from_str(body) {
        Ok(Value::Object(mut call)) if call.contains_key("chat_id") => {
            call.insert("chat_id".to_owned(), chat.into());
            Value::Object(call).to_string()
        }
        _ => body.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_keeps_its_texts_and_their_order() {
        let call = r#"{"text":"a\u0000b","chat_id":-5,"silent":true}"#;
        assert_eq!(addressed(call, 7), r#"{"text":"a\u0000b","chat_id":7,"silent":true}"#);
        assert_eq!(addressed(r#"{"text":"x"}"#, 7), r#"{"text":"x"}"#);
        assert_eq!(addressed("not JSON", 7), "not JSON");
    }
}
