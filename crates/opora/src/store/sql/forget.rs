//! Forgets a person: removes the messages to and from the bot in every table.
//!
//! Marks stay, so that nothing is processed twice. Conversations stay as ended rows, so that no version is repeated.

use super::bulk::Bulk;
use super::columns::{Columns, values};
use super::exclusive::Session;
use super::failure::GroupError;
use super::rows::{Rows, delete_from};
use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::Version;
use crate::store::operator::is_of_person;

/// Forgets a person within the session's transaction. Returns the number of removed rows.
pub(super) async fn forget(session: &mut impl Session, bot: i64, user: i64, now: Millis) -> Result<u64, GroupError> {
    if user <= 0 {
        return Ok(0);
    }
    let mut keys = Vec::new();
    for row in session.rows(KEYS, values![bot, user, format!("{bot}:%{user}%")]).await? {
        let key: ConversationKey = row.key(0)?;
        if is_of_person(&key, user) {
            keys.push(key);
        }
    }
    keys.sort();
    let mut removed = end_all(session, &keys, now).await?;
    for statement in OF_CHAT {
        removed += session.change(statement, values![bot, user]).await?;
    }
    for key in &keys {
        session.change(MARK_INPUTS, values![key.to_string(), now.0]).await?;
        for statement in OF_KEY {
            removed += session.change(statement, values![key.to_string()]).await?;
        }
    }
    Ok(removed)
}

/// Ends the open conversations; a running turn is overtaken.
async fn end_all(session: &mut impl Session, keys: &[ConversationKey], now: Millis) -> Result<u64, GroupError> {
    let mut rows = Rows::default();
    let mut bulk = Bulk::default();
    let mut ended = 0;
    keys.iter().try_for_each(|key| rows.add(key))?;
    for (key, current) in keys.iter().zip(session.lock_conversations(rows).await?) {
        if current.flag(1)? {
            let from = Version(current.number(0)?);
            let version = Version(from.0.saturating_add(1));
            bulk.change(&key.to_string(), key, (from, version), None, now)?;
            ended += 1;
        }
    }
    if ended > 0 {
        session.write(bulk).await?;
    }
    Ok(ended)
}

/// Keys that may belong to the person. The LIKE pattern finds too many, so the caller filters them.
const KEYS: &str = r#"
SELECT key FROM opora_conversations WHERE bot = $1 AND ("user" = $2 OR chat = $2)
UNION SELECT key FROM opora_inbox WHERE bot = $1 AND key LIKE $3
UNION SELECT key FROM opora_outbox WHERE bot = $1 AND key LIKE $3
UNION SELECT key FROM opora_failed WHERE bot = $1 AND key LIKE $3
UNION SELECT key FROM opora_timers WHERE bot = $1 AND key LIKE $3
UNION SELECT key FROM opora_effects WHERE bot = $1 AND key LIKE $3
UNION SELECT key FROM opora_parked WHERE bot = $1 AND key LIKE $3
UNION SELECT key FROM opora_transitions WHERE bot = $1 AND key LIKE $3"#;

/// Messages from other conversations to the person's chat, and its labels.
const OF_CHAT: [&str; 3] = delete_from!(outbox, failed, labels; "bot = $1 AND chat = $2");

/// An update that is removed unprocessed must not be processed when Telegram delivers it again.
const MARK_INPUTS: &str = "
INSERT INTO opora_marks (bot, update_id, identity, taken_at)
SELECT bot, update_id, identity, $2 FROM opora_inbox WHERE key = $1 AND update_id IS NOT NULL
ON CONFLICT DO NOTHING";

const OF_KEY: [&str; 7] = delete_from!(inbox, outbox, failed, timers, effects, parked, transitions; "key = $1");
