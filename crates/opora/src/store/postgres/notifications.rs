//! Announces deliveries by LISTEN and NOTIFY.
//!
//! Notifications are database-wide: those of another schema only cause a needless read.

use std::time::Duration;

use futures_util::{StreamExt, stream};
use sqlx::SqlSafeStr;
use sqlx::postgres::{PgListener, PgPoolOptions};

use super::reads::Readers;
use super::server::Server;
use crate::key::ConversationKey;
use crate::store::delivery::{AnnouncedConversations, decode_announcement, encode_announcements};
use crate::store::sql::columns::{ReadConnections, values};
use crate::store::sql::failure::unavailable;
use crate::store::{StoreError, StoreResult};

/// A notification has at most 8,000 bytes.
const MAX_BYTES: usize = 7_500;
const LISTEN_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) async fn announce(readers: &Readers, bot: i64, keys: Vec<ConversationKey>) -> StoreResult<()> {
    const TELL: &str = "SELECT pg_notify($1, $2)";
    for text in encode_announcements(&keys, MAX_BYTES) {
        let values = values![channel(bot), text];
        readers.rows(TELL.into_sql_str(), values).await.map_err(unavailable)?;
    }
    Ok(())
}

/// Listens on a connection of its own until it is lost.
pub(super) async fn listen(server: &Server, bot: i64) -> StoreResult<AnnouncedConversations> {
    let options = server.options();
    let pool = PgPoolOptions::new().max_connections(1).acquire_timeout(LISTEN_TIMEOUT).connect_lazy_with(options);
    let listening = async {
        let mut listener = PgListener::connect_with(&pool).await?;
        listener.eager_reconnect(false);
        listener.listen(&channel(bot)).await?;
        Ok::<_, sqlx::Error>(listener)
    };
    let listener = match tokio::time::timeout(LISTEN_TIMEOUT, listening).await {
        Ok(listener) => listener.map_err(unavailable)?,
        Err(_) => return Err(StoreError::Unavailable("the server did not answer LISTEN in time".into())),
    };
    let next = |mut listener: PgListener| async {
        let notification = listener.try_recv().await.ok().flatten()?;
        Some((decode_announcement(notification.payload()), listener))
    };
    Ok(stream::unfold(listener, next).boxed())
}

fn channel(bot: i64) -> String {
    format!("opora_inbox_{bot}")
}
