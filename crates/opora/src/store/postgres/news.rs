//! Who has delivered what, told by the server's own notifications.
//!
//! They are of the whole database: what instances in another schema announce only makes somebody look in vain.

use std::time::Duration;

use futures_util::{StreamExt, stream};
use sqlx::SqlSafeStr;
use sqlx::postgres::{PgListener, PgPoolOptions};

use super::reads::Readers;
use super::server::Server;
use crate::key::DialogueKey;
use crate::store::fleet::{News, announced, announcements};
use crate::store::sql::columns::{Ask, Value};
use crate::store::sql::failure::unavailable;
use crate::store::{StoreError, StoreResult};

/// A notification has 8,000 bytes at most.
const MOST_BYTES: usize = 7_500;
/// How long it may take until somebody listens.
const LISTENS_WITHIN: Duration = Duration::from_secs(5);

pub(super) async fn announce(readers: &Readers, bot: i64, keys: Vec<DialogueKey>) -> StoreResult<()> {
    const TELL: &str = "SELECT pg_notify($1, $2)";
    for text in announcements(&keys, MOST_BYTES) {
        let values = vec![Value::Text(channel(bot)), Value::Text(text)];
        readers.rows(TELL.into_sql_str(), values).await.map_err(unavailable)?;
    }
    Ok(())
}

/// Listens on a connection of its own, until that is lost.
pub(super) async fn listen(server: &Server, bot: i64) -> StoreResult<News> {
    let options = server.options();
    let pool = PgPoolOptions::new().max_connections(1).acquire_timeout(LISTENS_WITHIN).connect_lazy_with(options);
    let listening = async {
        let mut listener = PgListener::connect_with(&pool).await?;
        listener.eager_reconnect(false);
        listener.listen(&channel(bot)).await?;
        Ok::<_, sqlx::Error>(listener)
    };
    let listener = match tokio::time::timeout(LISTENS_WITHIN, listening).await {
        Ok(listener) => listener.map_err(unavailable)?,
        Err(_) => return Err(StoreError::Unavailable("the server does not let anybody listen".into())),
    };
    let next = |mut listener: PgListener| async {
        let heard = listener.try_recv().await.ok().flatten()?;
        Some((announced(heard.payload()), listener))
    };
    Ok(stream::unfold(listener, next).boxed())
}

fn channel(bot: i64) -> String {
    format!("opora_inbox_{bot}")
}
