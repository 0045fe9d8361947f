//! Relays events between processes on the same PostgreSQL, by LISTEN and NOTIFY.
//!
//! Nothing is stored or repeated: after an interruption a process tells its pages to reload everything. With SQLite
//! there is one machine, and nothing is relayed.

use std::time::Duration;

use opora::store::BoxError;
use sea_orm::DbBackend;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio::sync::mpsc;

use super::Event;
use crate::application::App;
use crate::web::secrets;

/// Pause after a failure.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// A server may host several installations, each in its own schema.
const CHANNEL: &str = "SELECT 'opora_live_' || md5(coalesce(current_schema(), ''))";

/// An event on the channel.
#[derive(Debug, Serialize, Deserialize)]
struct RelayedEvent {
    /// The process that published it, and has told its own pages.
    from: String,
    event: Event,
}

/// Relays events in both directions until dropped.
pub async fn run(app: &App) {
    let Some(mut outgoing) = app.events.take_outgoing() else { return };
    if app.domain.read().get_database_backend() != DbBackend::Postgres {
        // There is no other process, and events must not pile up.
        outgoing.close();
        return;
    }
    let readers = app.domain.read().get_postgres_connection_pool();
    // A listening connection cannot be shared.
    let own = PgPoolOptions::new().max_connections(1).idle_timeout(None).max_lifetime(None);
    let own = own.connect_lazy_with((*readers.connect_options()).clone());
    let from = secrets::short_id().unwrap_or_default();
    let mut is_logged = false;
    loop {
        match pass(app, readers, &own, &from, &mut outgoing).await {
            // Only the first failure in a row is logged.
            Err(error) if !is_logged => {
                is_logged = true;
                tracing::warn!(%error, "live events cannot be relayed to other processes; trying again");
            }
            Err(_) => {}
            Ok(()) => is_logged = false,
        }
        tokio::time::sleep(RETRY_PAUSE).await;
        // Events of other processes may have been missed.
        app.events.publish_locally(Event::everything());
    }
}

async fn pass(
    app: &App,
    readers: &PgPool,
    own: &PgPool,
    from: &str,
    outgoing: &mut mpsc::Receiver<Event>,
) -> Result<(), BoxError> {
    let channel: String = sqlx::query_scalar(CHANNEL).fetch_one(readers).await?;
    let mut listener = PgListener::connect_with(own).await?;
    listener.listen(&channel).await?;
    loop {
        tokio::select! {
            notification = listener.try_recv() => {
                // None: the connection was lost.
                let Some(notification) = notification? else { return Ok(()) };
                match serde_json::from_str::<RelayedEvent>(notification.payload()) {
                    Ok(passed) if passed.from == from => {}
                    Ok(passed) => app.events.publish_locally(passed.event),
                    // Another version may send what this one cannot parse.
                    Err(_) => app.events.publish_locally(Event::everything()),
                }
            }
            Some(event) = outgoing.recv() => {
                let body = serde_json::to_string(&RelayedEvent { from: from.to_owned(), event })?;
                sqlx::query("SELECT pg_notify($1, $2)").bind(&channel).bind(body).execute(readers).await?;
            }
        }
    }
}
