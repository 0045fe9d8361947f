//! Removes forgotten people from the bot's store: conversations, drafts, failed messages, parked turns.
//!
//! [`super::forget`] adds the account to the forget queue in its commit. The leader removes its data from the store,
//! and then from the queue, so a crash in between loses nothing. Other instances and the command line leave it to the
//! leader; without one it is done when the bot runs next.

use std::time::Duration;

use opora::key::ConversationKey;
use opora::store::{Filter, Seq};
use serde_json::Value;

use super::forget_queue;
use crate::application::App;
use crate::failpoints;

/// Poll interval of the leader.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Rows per read.
const PAGE: usize = 200;

/// Forgets the queued people while this instance leads; runs until dropped.
pub async fn run(app: &App) {
    let mut is_logged = false;
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        match forget_pending(app).await {
            Ok(()) => is_logged = false,
            // Only the first failure in a row is logged.
            Err(error) if !is_logged => {
                is_logged = true;
                tracing::warn!(error = format!("{error:#}"), "conversations are not forgotten yet; trying again");
            }
            Err(_) => {}
        }
    }
}

/// Forgets the queued people now, in the background. After a failure the leader tries again.
pub fn start_now(app: &App) {
    let app = app.clone();
    tokio::spawn(async move {
        if let Err(error) = forget_pending(&app).await {
            tracing::warn!(error = format!("{error:#}"), "conversations are not forgotten yet; trying again");
        }
    });
}

/// Removes all queued people from the store; does nothing unless this instance leads.
pub async fn forget_pending(app: &App) -> anyhow::Result<()> {
    if !app.bot.is_running() {
        return Ok(());
    }
    for telegram_id in forget_queue::pending(&app.domain).await? {
        let states = states_of(app, telegram_id).await?;
        for room in app.rooms.iter() {
            room.discard_drafts(app, &states).await?;
        }
        failpoints::hit(failpoints::FORGETTING_BEFORE_STORE).await;
        let removed = app.bot.forget(telegram_id).await?;
        failpoints::hit(failpoints::FORGETTING_AFTER_STORE).await;
        forget_queue::remove(&app.domain, telegram_id).await?;
        tracing::info!(removed, "conversations of a person forgotten");
    }
    Ok(())
}

/// What the store keeps of a person's conversations, as JSON: states, waiting inputs and effects.
async fn states_of(app: &App, user: i64) -> anyhow::Result<Vec<Value>> {
    let (store, bot) = (app.domain.store(), app.bot_id);
    let filter = Filter { bot: Some(bot), user: Some(user), ..Filter::default() };
    let (mut texts, mut after): (Vec<String>, Option<ConversationKey>) = (Vec::new(), None);
    loop {
        let page = store.list(&filter, after.as_ref(), PAGE).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.key.clone());
        for row in page {
            let waiting = store.waiting_for(&row.key, Seq(i64::MIN), PAGE).await?;
            texts.extend(waiting.into_iter().map(|row| row.incoming.body.to_string()));
            texts.extend(row.stored.map(|stored| stored.value.into()));
        }
    }
    Ok(texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect())
}
