//! News for clients: rows in the commit of the change, each sent once by a job.
//!
//! A client is no member, so the room of notices does not know clients. A client without Telegram, or who has blocked
//! the bot, gets no row.

use std::time::Duration;

use opora::clock::Millis;
use opora::jobs::{Job, JobContext, JobError};
use opora::store::WriteError;
use opora::telegram::Say;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, Set};
use serde::{Deserialize, Serialize};

use super::tables::{client, notice};
use crate::application::App;
use crate::domain::Transaction;
use crate::jobs::{self, NOTIFICATIONS};
use crate::notices::OrderNews;
use crate::texts::Language;

/// Sends one piece of news to a client.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct TellClient {
    /// The id of its row.
    pub notice: i64,
}

impl Job for TellClient {
    const NAME: &'static str = "client-notice";
    const QUEUE: &'static str = NOTIFICATIONS;
    const TIMEOUT: Duration = Duration::from_secs(30);
}

/// Writes news for a client, and enqueues the jobs that send them.
pub async fn write(
    db: &Transaction<'_, '_>,
    client_id: i64,
    news: Vec<OrderNews>,
    at: Millis,
) -> Result<(), WriteError> {
    if news.is_empty() {
        return Ok(());
    }
    let client = client::Entity::find_by_id(client_id).one(db).await?;
    if !client.is_some_and(|client| client.telegram_id.is_some() && client.bot_blocked_at.is_none()) {
        return Ok(());
    }
    let mut rows = Vec::with_capacity(news.len());
    for one in &news {
        rows.push(notice::ActiveModel {
            client_id: Set(client_id),
            body: Set(serde_json::to_string(one)?),
            created_at: Set(at.0),
            is_told: Set(false),
            ..Default::default()
        });
    }
    let mut written = notice::Entity::insert_many(rows).exec_with_returning(db).await?;
    written.sort_unstable_by_key(|row| row.id);
    db.enqueue(written.iter().map(|row| TellClient { notice: row.id }), at).await
}

/// The job. Its post has the id of the row as a name, so a repeated run sends nothing twice.
pub async fn send(app: App, TellClient { notice: id }: TellClient, job: JobContext) -> Result<(), JobError> {
    let row = notice::Entity::find_by_id(id).one(app.domain.read()).await?;
    let Some(row) = row.filter(|row| !row.is_told) else { return Ok(()) };
    let news: OrderNews = serde_json::from_str(&row.body)?;
    let client = client::Entity::find_by_id(row.client_id).one(app.domain.read()).await?;
    let reachable = client.filter(|client| client.forgotten_at.is_none() && client.bot_blocked_at.is_none());
    if let Some((telegram_id, language)) = reachable.and_then(|client| Some((client.telegram_id?, client.language))) {
        let text = news.text(Language::of_code(&language));
        let posted = app.bot.post(&format!("client-notice-{id}"), telegram_id, Say::text(text)).await;
        posted.map_err(jobs::not_posted)?;
    }
    app.domain.write_at_end(&job, move |db| Box::pin(mark_told(db, id)));
    Ok(())
}

async fn mark_told(db: &Transaction<'_, '_>, id: i64) -> Result<(), WriteError> {
    notice::Entity::update_many()
        .set(notice::ActiveModel { is_told: Set(true), ..Default::default() })
        .filter(notice::Column::Id.eq(id))
        .exec(db)
        .await?;
    Ok(())
}
