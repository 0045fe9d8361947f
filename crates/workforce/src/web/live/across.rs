//! Events of other processes on the same PostgreSQL, by its own LISTEN and NOTIFY.
//!
//! Nothing is stored and nothing is repeated: a process that could not listen for a while tells its pages to load
//! everything anew. Where the tables are in a file there is one machine, and nothing is passed on.

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

/// How long after a failure it is tried again.
const PAUSE: Duration = Duration::from_secs(1);
/// One server may serve several installations, each in a schema of its own.
const CHANNEL: &str = "SELECT 'opora_live_' || md5(coalesce(current_schema(), ''))";

/// An event on its way.
#[derive(Debug, Serialize, Deserialize)]
struct Passed {
    /// The process that published it, and has told its own pages.
    from: String,
    event: Event,
}

/// Passes events on in both directions until it is dropped.
pub async fn run(app: &App) {
    let Some(mut outgoing) = app.events.take_outgoing() else { return };
    if app.domain.read().get_database_backend() != DbBackend::Postgres {
        // Nobody is there to be told; what is published must not pile up.
        outgoing.close();
        return;
    }
    let readers = app.domain.read().get_postgres_connection_pool();
    // A connection that listens is nobody else's.
    let own = PgPoolOptions::new().max_connections(1).idle_timeout(None).max_lifetime(None);
    let own = own.connect_lazy_with((*readers.connect_options()).clone());
    let from = secrets::short().unwrap_or_default();
    let mut is_told = false;
    loop {
        match pass(app, readers, &own, &from, &mut outgoing).await {
            // The first failure says it all.
            Err(error) if !is_told => {
                is_told = true;
                tracing::warn!(%error, "live pages of other processes cannot be told; trying again");
            }
            Err(_) => {}
            Ok(()) => is_told = false,
        }
        tokio::time::sleep(PAUSE).await;
        // What others published meanwhile is not known.
        app.events.publish_here(Event::everything());
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
            heard = listener.try_recv() => {
                // None: the connection was lost.
                let Some(heard) = heard? else { return Ok(()) };
                match serde_json::from_str::<Passed>(heard.payload()) {
                    Ok(passed) if passed.from == from => {}
                    Ok(passed) => app.events.publish_here(passed.event),
                    // Another version may say more than this one knows.
                    Err(_) => app.events.publish_here(Event::everything()),
                }
            }
            Some(event) = outgoing.recv() => {
                let body = serde_json::to_string(&Passed { from: from.to_owned(), event })?;
                sqlx::query("SELECT pg_notify($1, $2)").bind(&channel).bind(body).execute(readers).await?;
            }
        }
    }
}
