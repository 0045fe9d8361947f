//! What the bot keeps of people who are forgotten: conversations, drafts, messages that failed, parked turns.
//!
//! [`super::forget`] notes an account in its commit. The instance that leads removes what the store
//! keeps of it and then the note, so an end of the process in between loses nothing. Pages of other instances and the
//! command line leave it to that instance; without one it is done when the bot runs next.

use std::time::Duration;

use opora::key::DialogueKey;
use opora::store::{Filter, Seq};
use serde_json::Value;

use super::to_forget;
use crate::application::App;
use crate::failpoints;

/// How often the instance that leads looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How much is read at once.
const PAGE: usize = 200;

/// Forgets whoever waits for it, while the bot leads here; until it is dropped.
pub async fn run(app: &App) {
    let mut is_told = false;
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        match forget_waiting(app).await {
            Ok(()) => is_told = false,
            // The first failure says it all.
            Err(error) if !is_told => {
                is_told = true;
                tracing::warn!(error = format!("{error:#}"), "conversations are not forgotten yet; trying again");
            }
            Err(_) => {}
        }
    }
}

/// Does it now where the bot leads, without waiting for it. After a failure the instance that leads tries again.
pub fn soon(app: &App) {
    let app = app.clone();
    tokio::spawn(async move {
        if let Err(error) = forget_waiting(&app).await {
            tracing::warn!(error = format!("{error:#}"), "conversations are not forgotten yet; trying again");
        }
    });
}

/// Removes what the bot keeps of everybody who waits to be forgotten; nothing where it does not lead.
pub async fn forget_waiting(app: &App) -> anyhow::Result<()> {
    if !app.bot.is_running() {
        return Ok(());
    }
    for telegram_id in to_forget::waiting(&app.domain).await? {
        let states = states_of(app, telegram_id).await?;
        for room in app.rooms.iter() {
            room.discard_drafts(app, &states).await?;
        }
        failpoints::hit(failpoints::FORGETTING_BEFORE_STORE).await;
        let gone = app.bot.forget(telegram_id).await?;
        failpoints::hit(failpoints::FORGETTING_AFTER_STORE).await;
        to_forget::done(&app.domain, telegram_id).await?;
        tracing::info!(gone, "the conversations of a person are forgotten");
    }
    Ok(())
}

/// What is kept of a person's conversations, as JSON: states, inputs that wait, and effects.
async fn states_of(app: &App, user: i64) -> anyhow::Result<Vec<Value>> {
    let (store, bot) = (app.domain.store(), app.bot_id);
    let filter = Filter { bot: Some(bot), user: Some(user), ..Filter::default() };
    let (mut texts, mut after): (Vec<String>, Option<DialogueKey>) = (Vec::new(), None);
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
